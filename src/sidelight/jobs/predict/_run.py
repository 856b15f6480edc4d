"""``sidelight predict``: new rows by a saved model."""

from __future__ import annotations

from sidelight.io.inner import check_readable
from sidelight.jobs._large._when import in_blocks
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
    if in_blocks(request):
        # Here, since a table in memory does without these imports.
        from sidelight.jobs._large._applied import apply_to_parts

        return apply_to_parts(model, request)
    return apply_model(model, request.data, id_column=request.id_column, request=request)
