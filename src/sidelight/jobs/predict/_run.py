"""``sidelight predict``: new rows by a saved model."""

from __future__ import annotations

from sidelight.io.inner import check_readable
from sidelight.jobs._table._applied import Applied, apply_model
from sidelight.jobs._table._model import Model, load_model
from sidelight.jobs.predict._request import PredictRequest


def prepare(request: PredictRequest) -> Applied:
    """Give new rows what the model gives: clusters, classes, categories or coordinates."""
    model = request.model
    if not isinstance(model, Model):
        model = load_model(model)
        for path in request.inputs[1:]:
            check_readable(path)
    return apply_model(model, request.data, id_column=request.id_column, request=request)
