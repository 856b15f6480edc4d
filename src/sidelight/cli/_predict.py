"""``sidelight predict``: new rows to the clusters of a saved model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sidelight.cli._cluster import size_table
from sidelight.cli._common import Screen, check_output, counted, plain_text
from sidelight.cli._model import Model, load_model
from sidelight.exceptions import SidelightError
from sidelight.io import Table, read_table, write_labels
from sidelight.io._formats import column_names, table_format
from sidelight.io._labels import check_labels_path
from sidelight.io._table import check_readable


def run(
    model_path: Path, data_path: Path, *, id_column: str | None, output: Path | None, screen: Screen
) -> None:
    """Predict and write."""
    if output is not None:
        check_labels_path(output)
        check_output(output, ("",))
    check_readable(data_path)
    model = load_model(model_path)
    if not hasattr(model.estimator, "predict"):
        hint = (
            f"; `sidelight transform {data_path} --model {model_path}` gives its features"
            if hasattr(model.estimator, "transform")
            else ""
        )
        raise SidelightError(f"{model.method} cannot assign new rows to clusters{hint}.")
    data = read_like(model, data_path, id_column)
    for sentence in data.notes:
        screen.note(sentence)
    labels = model.predict(data)
    if output is not None:
        write_labels(output, data.ids, labels)
    screen.show(
        f"[bold]{type(model.estimator).__name__}[/] on {plain_text(data_path)}: "
        f"{counted(data.n_rows, 'row')}",
        size_table(labels),
        f"Written: {plain_text(output)}" if output else "-o labels.csv keeps the labels.",
    )
    clusters, sizes = np.unique(labels, return_counts=True)
    facts = {
        "command": "predict",
        "model": str(model_path),
        "data": str(data_path),
        "method": model.method,
        "n_rows": data.n_rows,
        "sizes": {str(cluster): int(n) for cluster, n in zip(clusters, sizes, strict=True)},
        "outputs": {} if output is None else {"labels": str(output)},
    }
    if output is None:
        facts |= {"ids": data.row_ids, "labels": labels}
    screen.result(facts)


def read_like(model: Model, path: Path, id_column: str | None) -> Table:
    """Read a table in the way the data of the model was read."""
    if table_format(path) == "libsvm":
        data = read_table(path, zero_based=model.zero_based)
        if len(data.feature_names) > len(model.feature_names):
            raise SidelightError(
                f"{path} has {len(data.feature_names)} features, but the model knows only "
                f"{len(model.feature_names)}."
            )
        return data
    if id_column is None and model.id_column in column_names(path):
        id_column = model.id_column
    return read_table(
        path,
        id_column=id_column,
        columns=model.feature_names,
        allow_missing=model.estimator.__sidelight_tags__().missing,
    )
