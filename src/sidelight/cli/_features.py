"""``sidelight transform`` and ``sidelight select``: new features of the rows, or fewer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidelight import catalog
from sidelight.cli._cluster import (
    Fit,
    Request,
    read_rows,
    report_run,
    save_run,
    say_what_is_ignored,
    scale,
)
from sidelight.cli._common import (
    Screen,
    check_output,
    counted,
    knowledge_facts,
    number,
    plain_text,
    table,
    write_all,
)
from sidelight.cli._errors import UsageError
from sidelight.cli._model import load_model
from sidelight.cli._predict import read_like
from sidelight.cli._settings import command_for, make_estimator
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.io import write_table
from sidelight.io._write_table import check_table_path

SHOWN_FEATURES = 30


@dataclass
class Made(Fit):
    """Features that were made, and from what."""

    features: Any
    names: list[str]


def run_transform(request: Request, screen: Screen) -> None:
    """Learn a transformation from the rows and what is known, and write the new features."""
    _check(request, "transform")
    made = _fit(request, screen)
    write_all(_outputs(made, request))
    _say(made, request, screen, "transform")


def run_apply(model_path: Path, request: Request, screen: Screen) -> None:
    """Transform new rows by a saved model."""
    if request.save is not None or request.report is not None:
        raise UsageError("with --model nothing is learned: --save and --report have no use.")
    _check_output(request)
    model = load_model(model_path)
    if not hasattr(model.estimator, "transform"):
        raise SidelightError(f"{model.method} does not make features; use `sidelight predict`.")
    data = read_like(model, request.data, request.id_column)
    start = time.perf_counter()
    X = data.X if model.scaler is None else model.scaler.transform(data.X)
    features = model.estimator.transform(X)
    names = _names(model.estimator, model.feature_names)
    seconds = time.perf_counter() - start
    nothing = Constraints(n_samples=data.n_rows)
    made = Made(
        model.estimator, model.method, model.scaler, X, data, nothing, seconds, features, names
    )
    write_all(_outputs(made, request))
    _say(made, request, screen, "transform")


def run_select(request: Request, n_features: int | None, screen: Screen) -> None:
    """Rank the features by what is known, show the ranking and write the chosen columns."""
    _check(request, "select")
    if n_features is not None:
        request.settings = (*request.settings, f"n_features_to_select={n_features}")
    made = _fit(request, screen)
    write_all(_outputs(made, request))
    chosen = [
        name for name, kept in zip(made.data.feature_names, _support(made), strict=True) if kept
    ]
    screen.show(_ranking(made))
    _say(made, request, screen, "select", selected=chosen, **_scores(made))


def _check(request: Request, command: str) -> None:
    if request.method is None:
        kinds = [m.name for m in catalog.methods() if command_for(m) == command]
        raise UsageError(f"say how: -m NAME, one of {', '.join(kinds)}.")
    method = catalog.get(request.method)
    if command_for(method) != command:
        raise UsageError(
            f"{method.name} is not for this: `sidelight {command_for(method)} DATA -m "
            f"{method.name}`."
        )
    _check_output(request)


def _check_output(request: Request) -> None:
    if request.output is not None:
        check_table_path(request.output)
        check_output(request.output, ("",))
    check_output(request.report, (".html", ".htm"))
    check_output(request.save, (".skops",))


def _fit(request: Request, screen: Screen) -> Made:
    method = catalog.get(str(request.method))
    data, known = read_rows(request, screen)
    estimator = make_estimator(method, k=request.k, seed=request.seed, settings=request.settings)
    say_what_is_ignored(known, method, screen)
    scaler, X = scale(data.X) if request.standardize else (None, data.X)
    start = time.perf_counter()
    with screen.progress():
        features = estimator.fit(X, constraints=known).transform(X)
    seconds = time.perf_counter() - start
    names = _names(estimator, data.feature_names)
    return Made(estimator, method.name, scaler, X, data, known, seconds, features, names)


def _outputs(made: Made, request: Request) -> dict[Path, Callable[[Path], None]]:
    outputs: dict[Path, Callable[[Path], None]] = {}
    if request.output is not None:
        outputs[request.output] = lambda path: _write(made, path)
    if request.save is not None:
        outputs[request.save] = lambda path: save_run(made, path)
    if request.report is not None:
        outputs[request.report] = lambda path: report_run(made, request, path)
    return outputs


def _names(estimator: Any, feature_names: Any) -> list[str]:
    return [
        str(name) for name in estimator.get_feature_names_out(np.asarray(feature_names, object))
    ]


def _write(made: Made, path: Path) -> None:
    others = {
        name: values
        for name, values in (
            (made.data.label_column, made.data.labels),
            (made.data.truth_column, made.data.truth),
        )
        if name is not None and values is not None
    }
    write_table(path, made.features, made.names, ids=made.data.row_ids, others=others)


def _say(made: Made, request: Request, screen: Screen, command: str, **more: Any) -> None:
    n_before, n_after = len(made.data.feature_names), len(made.names)
    screen.show(
        f"[bold]{type(made.estimator).__name__}[/] on {plain_text(request.data)}: "
        f"{counted(made.data.n_rows, 'row')}, {counted(n_before, 'feature')} in, {n_after} out, "
        f"in {made.seconds:.2f} s",
    )
    outputs = {"features": request.output, "report": request.report, "model": request.save}
    written = {kind: str(path) for kind, path in outputs.items() if path is not None}
    if written:
        screen.show(f"Written: {', '.join(plain_text(path) for path in written.values())}")
    else:
        screen.show("Nothing was written; -o features.csv keeps the features, --report a report.")
    facts = {
        "command": command,
        "data": str(request.data),
        "method": made.method,
        "parameters": made.estimator.get_params(),
        "n_rows": made.data.n_rows,
        "features_in": list(made.data.feature_names),
        "features_out": made.names,
        "knowledge": knowledge_facts(made.known),
        "seconds": made.seconds,
        "outputs": written,
        **more,
    }
    if request.output is None and command == "transform":
        rows = made.features
        facts |= {
            "ids": made.data.row_ids,
            "rows": rows.toarray() if hasattr(rows, "toarray") else rows,
        }
    screen.result(facts)


def _support(made: Made) -> Any:
    return made.estimator.get_support()


def _scores(made: Made) -> dict[str, Any]:
    estimator, names = made.estimator, made.data.feature_names
    return {
        "scores": dict(zip(names, np.asarray(estimator.scores_).tolist(), strict=True)),
        "ranking": dict(zip(names, np.asarray(estimator.ranking_).tolist(), strict=True)),
    }


def _ranking(made: Made) -> Any:
    estimator, names = made.estimator, made.data.feature_names
    order = np.argsort(estimator.ranking_, kind="stable")
    kept = _support(made)
    rows = [
        (
            names[j],
            estimator.ranking_[j],
            number(float(estimator.scores_[j])),
            "✓" if kept[j] else "",
        )
        for j in order[:SHOWN_FEATURES]
    ]
    if len(order) > SHOWN_FEATURES:
        rows.append((f"and {len(order) - SHOWN_FEATURES} more", "", "", ""))
    return table("Feature", "Rank", "Score", "Kept", rows=rows)
