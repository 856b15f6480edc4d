"""Block functions as a cluster engine runs them: shipped by pickle, on copies, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import numpy as np
import pytest

from sidelight.engine import RowSource
from sidelight.engine._source import BlockResults


def remote_map_reduce(
    source: RowSource, function: Any, *, aligned: Sequence[Any] = ()
) -> tuple[Any, Any]:
    """``RowSource.map_reduce`` that loses whatever a block function changes outside.

    The function is sent away twice. One copy gets the tasks in order, the other backwards; both
    see copies of the rows and of what is aligned with them, and have to agree.
    """
    shipped = cloudpickle.dumps(function)
    first = dict(_run(source, source.tasks(), cloudpickle.loads(shipped), aligned))
    second = dict(_run(source, source.tasks()[::-1], cloudpickle.loads(shipped), aligned))
    results = BlockResults(source.n_rows)
    for (start, stop), (totals, rows) in sorted(first.items()):
        again_totals, again_rows = second[start, stop]
        for one, other in zip((*totals, *rows), (*again_totals, *again_rows), strict=True):
            _assert_same(one, other, function)
        results.add(start, stop, totals, rows)
    return results.finish()


def ship_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the block functions of all row sources like this."""
    monkeypatch.setattr(RowSource, "map_reduce", remote_map_reduce)


def _run(source: RowSource, tasks: Any, function: Any, aligned: Sequence[Any]) -> Iterator[Any]:
    for task in tasks:
        for number, block in zip(task, source.read(task), strict=True):
            start, stop = source.blocks[number]
            slices = [_copied(thing[start:stop]) for thing in aligned]
            yield (start, stop), function(_copied(block), *slices)


def _copied(thing: Any) -> Any:
    return thing.copy() if hasattr(thing, "copy") else thing


def _assert_same(one: Any, other: Any, function: Any) -> None:
    if hasattr(one, "result"):
        one, other = one.result(), other.result()
    if isinstance(one, tuple):
        for mine, theirs in zip(one, other, strict=True):
            _assert_same(mine, theirs, function)
    else:
        np.testing.assert_array_equal(one, other, err_msg=f"{function} depends on other blocks")
