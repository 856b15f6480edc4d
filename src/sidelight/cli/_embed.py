"""``sidelight embed``: a map of a table, of new rows by a saved map, or of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.cli._options import STANDARD_INPUT
from sidelight.cli._run import claim
from sidelight.cli._screen import Screen, plain_text, table
from sidelight.exceptions import InvalidRequest
from sidelight.jobs import Request, Run, run_views


def run(
    request: Request,
    screen: Screen,
    *,
    stream: bool,
    start: int | None,
    final: Path | None,
    model_path: Path | None,
    force: bool,
    spreadsheet_safe: bool,
    predictions: Path | None,
    **outputs: Path | None,
) -> None:
    """Do what the options ask for."""
    if request.views:
        if stream or model_path is not None:
            raise InvalidRequest("--view makes a new map: --stream and --model have no use.")
        _map_views(
            request,
            screen,
            force=force,
            spreadsheet_safe=spreadsheet_safe,
            **outputs,
            predictions=predictions,
        )
        return
    if predictions is not None or request.correspondences is not None:
        name = "--correspondences" if predictions is None else "--predict-view"
        raise InvalidRequest(f"{name} is for several tables: --view names the others.")
    if stream:
        from sidelight.cli._stream import run_stream

        if model_path is not None:
            raise InvalidRequest("--stream begins a map of its own: --model has no use.")
        run_stream(
            request,
            screen,
            start=start,
            final=final,
            force=force,
            spreadsheet_safe=spreadsheet_safe,
            **outputs,
        )
        return
    if start is not None or final is not None:
        name = "--final" if start is None else "--start"
        raise InvalidRequest(f"{name} is for rows that come one after the other: --stream.")
    if request.data == STANDARD_INPUT:
        raise InvalidRequest("rows that come through a pipe are read with --stream.")
    if model_path is None:
        from sidelight.cli import _run

        _run.run(request, screen, force=force, spreadsheet_safe=spreadsheet_safe, **outputs)
        return
    _place_new_rows(
        request, screen, model_path, force=force, spreadsheet_safe=spreadsheet_safe, **outputs
    )


def _map_views(
    request: Request, screen: Screen, *, force: bool, spreadsheet_safe: bool, **outputs: Path | None
) -> None:
    """Make one map of several tables."""
    if outputs.pop("model") is not None:
        raise InvalidRequest("a map of several views cannot be saved; in Python, pickle it.")
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress():
        found = run_views(request)
    screen.note(*found.notes)
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    facts = {"command": "embed", **found.facts()}
    rows = [
        (name, f"{view.n_rows:,}", len(view.feature_names))
        for name, view in zip(found.names, found.views, strict=True)
    ]
    screen.show(
        f"[bold]{type(found.estimator).__name__}[/]: {counted(facts['n_objects'], 'object')}, "
        f"{facts['n_in_all_views']:,} of them in all views, in {found.seconds:.2f} s",
        table("View", "Rows", "Columns", rows=rows),
    )
    facts["outputs"] = screen.written(
        paths, "Nothing was written; -o coordinates.csv keeps the coordinates."
    )
    if "coordinates" not in paths:
        facts["rows"] = [places.tolist() for places in found.estimator.embeddings_]
        facts["ids"] = [view.row_ids.tolist() for view in found.views]
    screen.result(facts)


def _place_new_rows(request: Request, screen: Screen, model_path: Path, **options: Any) -> None:
    """Place the rows of a table on a map that was saved."""
    from sidelight.cli._apply import run_transform

    useless = {"--anchors": request.anchors, "--ignore": request.ignore, "--color": request.color}
    for name, value in useless.items():
        if value:
            raise InvalidRequest(f"with --model nothing is learned: {name} has no use.")
    run_transform(
        model_path, request.data, screen, id_column=request.id_column, command="embed", **options
    )


def map_parts(found: Run) -> list[Any]:
    """What a person is told about a map: its size, and how far it can be trusted."""
    from sidelight.jobs.embed._maps import MEASURES

    n_rows, n_features = (
        counted(found.data.n_rows, "row"),
        counted(len(found.features_in), "feature"),
    )
    n_out = counted(len(found.feature_names), "coordinate")
    line = (
        f"[bold]{type(found.estimator).__name__}[/] on {plain_text(found.data.path)}: {n_rows}, "
        f"{n_features} in, {n_out} out, in {found.seconds:.2f} s"
    )
    outside = int((~np.isfinite(found.features).all(axis=1)).sum())
    parts: list[Any] = [line]
    if outside:
        parts.append(f"{counted(outside, 'row has', 'rows have')} no place on the map.")
    if found.quality:
        rows = [(MEASURES[name], f"{value:.3f}") for name, value in found.quality.items()]
        parts.append(table("How far the map can be trusted", "", rows=rows))
    return parts
