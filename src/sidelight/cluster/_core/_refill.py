"""Lloyd's loop for rows that are held: empty clusters get what the constraints let them have."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

from sidelight._typing import Array
from sidelight.cluster._core._lloyd import HeldRows, LloydResult, lloyd
from sidelight.engine import RowSource


class Refillable(HeldRows, Protocol):
    """Held rows that can say where an empty cluster would do most good."""

    def costliest(self, centers: Array, n: int) -> Array:
        """Return at most ``n`` points that are far from the centres of their clusters."""


def lloyd_with_refills(
    source: RowSource,
    centers: Array,
    held: Refillable,
    *,
    max_iter: int,
    tol: float,
    description: str,
    verbose: int,
) -> LloydResult:
    """Run Lloyd's algorithm, and again as long as giving an empty cluster a centre pays.

    The loop itself fills empty clusters from the rows that are free; here they are all held. An
    empty cluster conflicts with nothing, so that whatever is held may move there.
    """
    result: LloydResult | None = None
    while True:
        done = 0 if result is None else result.n_iter
        again = lloyd(
            source,
            centers,
            held=held,
            max_iter=max_iter - done,
            tol=tol,
            description=description,
            verbose=verbose,
        )
        if result is not None and again.objective >= result.objective:
            return result
        result = again if result is None else _joined(result, again)
        empty = np.flatnonzero(np.bincount(result.labels, minlength=len(centers)) == 0)
        points = held.costliest(result.centers, len(empty))
        if len(points) == 0 or result.interrupted or result.n_iter >= max_iter:
            return result
        centers = result.centers.copy()
        centers[empty[: len(points)]] = points


def _joined(first: LloydResult, second: LloydResult) -> LloydResult:
    return dataclasses.replace(
        second,
        history=np.concatenate([first.history, second.history]),
        n_iter=first.n_iter + second.n_iter,
    )
