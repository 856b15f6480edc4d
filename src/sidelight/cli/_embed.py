"""``sidelight embed``: a map of a table, of new rows by a saved map, or of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.cli._options import STANDARD_INPUT
from sidelight.cli._screen import Screen, plain_text, table
from sidelight.exceptions import InvalidRequest
from sidelight.runs import Request, Run


def run(
    request: Request,
    screen: Screen,
    *,
    stream: bool,
    start: int | None,
    final: Path | None,
    model_path: Path | None,
    force: bool,
    safe_ids: bool,
    **outputs: Path | None,
) -> None:
    """Do what the options ask for."""
    if stream:
        from sidelight.cli._stream import run_stream

        if model_path is not None:
            raise InvalidRequest("--stream begins a map of its own: --model has no use.")
        run_stream(
            request, screen, start=start, final=final, force=force, safe_ids=safe_ids, **outputs
        )
        return
    if start is not None or final is not None:
        name = "--final" if start is None else "--start"
        raise InvalidRequest(f"{name} is for rows that come one after the other: --stream.")
    if request.data == STANDARD_INPUT:
        raise InvalidRequest("rows that come through a pipe are read with --stream.")
    if model_path is None:
        from sidelight.cli import _run

        _run.run(request, screen, force=force, safe_ids=safe_ids, **outputs)
        return
    _place_new_rows(request, screen, model_path, force=force, safe_ids=safe_ids, **outputs)


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
    from sidelight.runs._maps import MEASURES, NEIGHBORS

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
        parts.append(table(f"By the {NEIGHBORS} nearest rows", "", rows=rows))
    return parts
