"""``sidelight predict`` and ``sidelight transform --model``: new rows by a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight.cli._run import claim, dense_values, features_line, heading
from sidelight.cli._screen import Screen, class_lines, size_table
from sidelight.exceptions import InvalidRequest
from sidelight.io._table import check_readable
from sidelight.jobs import Applied, CategoriesApplied, ClassesApplied, load_model, transform
from sidelight.jobs._table._applied import predict

#: What is written about new rows, by the kind of the method; labels by default.
WRITTEN = {"classifier": "classes", "categorizer": "ranked"}


def run_predict(
    model: Path,
    data: Path,
    screen: Screen,
    *,
    id_column: str | None,
    output: Path | None,
    spreadsheet_safe: bool,
    force: bool,
) -> None:
    """Predict and write."""
    loaded = load_model(model)
    kind = loaded.estimator.__sidelight_tags__().kind
    outputs = {WRITTEN.get(kind, "labels"): output}
    claim(screen, [model, data], force=force, **outputs)
    check_readable(data)
    found = predict(loaded, data, id_column=id_column)
    screen.note(*found.notes)
    if isinstance(found, ClassesApplied):
        from sidelight.cli._classify import predicted_parts

        screen.show(heading(found), *predicted_parts(found))
        told = {
            "sizes": found.sizes,
            "n_unknown": found.n_unknown,
            "least_certain": found.least_certain(np.arange(found.data.n_rows)),
        }
        _write(found, screen, "predict", model, told, spreadsheet_safe=spreadsheet_safe, **outputs)
        return
    if isinstance(found, CategoriesApplied):
        from sidelight.cli.categories._run import ranked_facts, ranked_parts

        screen.show(heading(found), *ranked_parts(found))
        _write(
            found,
            screen,
            "predict",
            model,
            ranked_facts(found),
            spreadsheet_safe=spreadsheet_safe,
            **outputs,
        )
        return
    classes = found.class_names
    screen.show(heading(found), size_table(found.sizes, classes))
    screen.show(*class_lines(classes, found.sizes))
    facts = {"sizes": found.sizes, "classes": classes}
    _write(found, screen, "predict", model, facts, spreadsheet_safe=spreadsheet_safe, **outputs)


def run_transform(
    model_path: Path,
    data: Path,
    screen: Screen,
    *,
    id_column: str | None,
    force: bool,
    spreadsheet_safe: bool,
    command: str = "transform",
    **outputs: Path | None,
) -> None:
    """Transform new rows, or place them on a map; the first output is that of the rows."""
    kind = next(iter(outputs))
    written = {kind: outputs.pop(kind)}
    if any(path is not None for path in outputs.values()):
        raise InvalidRequest("with --model nothing is learned: --save and --report have no use.")
    claim(screen, [model_path, data], force=force, **written)
    model = load_model(model_path)
    if command == "embed" and model.estimator.__sidelight_tags__().kind != "embedding":
        raise InvalidRequest(
            f"{model_path} holds {model.method}, which makes no map; see `sidelight transform` and "
            "`sidelight predict`."
        )
    found = transform(model, data, id_column=id_column)
    screen.note(*found.notes)
    screen.show(features_line(found))
    facts = {"features_in": found.model.features_in, "features_out": found.feature_names}
    _write(found, screen, command, model_path, facts, spreadsheet_safe=spreadsheet_safe, **written)


def _write(
    found: Applied,
    screen: Screen,
    command: str,
    model: Path,
    facts: dict[str, Any],
    *,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Write what the model gives, and tell the facts."""
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    (kind,) = outputs
    rows = {} if paths else {"ids": found.data.row_ids, **dense_values(found)}
    screen.result(
        {
            "command": command,
            "model": str(model),
            "data": str(found.data.path),
            "method": found.model.method,
            "n_rows": found.data.n_rows,
            "parameters": found.estimator.get_params(),
            "seconds": found.seconds,
            "outputs": screen.written(paths, f"-o {kind}.csv keeps the {kind}."),
            **facts,
            **rows,
        }
    )
