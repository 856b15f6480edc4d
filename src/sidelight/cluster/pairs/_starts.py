"""Where the methods with priced pairs start, and what their parameters share."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._lloyd import lloyd
from sidelight.cluster._core._seeding import kmeans_plusplus
from sidelight.cluster.pairs._contraction import contract
from sidelight.cluster.pairs._neighborhoods import neighbourhood_centers, plan_starts
from sidelight.constraints import Constraints
from sidelight.engine import RowSource

#: Iterations of k-means for a start: a labelling that makes sense, not the best of k-means.
START_ITERATIONS = 20


class Starts:
    """The starts of a fit.

    Parameters
    ----------
    source : RowSource
        The rows.
    constraints : Constraints
        What is known about them.
    init : {"auto", "neighbourhoods", "k-means", "k-means++", "random"} or array
        How to start; ``"auto"`` is one start from the neighbourhoods, where anything is known, and
        otherwise the end of k-means: metrics that are learned from seeds alone mislead.
    n_init : int
        How often.
    polish : callable, default=None
        Turns seeds into what ``"k-means"`` means; Lloyd's algorithm unless told.
    """

    def __init__(
        self,
        source: RowSource,
        constraints: Constraints,
        init: Any,
        n_init: Any,
        polish: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None = None,
    ) -> None:
        ways = plan_starts(init, n_init, constraints)
        if isinstance(init, str) and init == "auto":
            ways = ["k-means" if way == "k-means++" else way for way in ways]
        self.n_starts = len(ways)
        self._ways = ways
        self._source = source
        self._given = init
        self._polish = polish or (
            lambda seeds: lloyd(source, seeds, max_iter=START_ITERATIONS).centers
        )
        if "neighbourhoods" in ways:
            self._contraction = contract(source, constraints.closure(on_contradiction="keep"))

    def centers(
        self, number: int, clusterer: _KMeansBase, random_state: np.random.RandomState
    ) -> npt.NDArray[Any]:
        """Return the centres of a start."""
        way = self._ways[number]
        if way == "neighbourhoods":
            return neighbourhood_centers(
                self._source, self._contraction, clusterer.n_clusters, random_state
            )
        if way == "k-means":
            seeds = kmeans_plusplus(self._source, clusterer.n_clusters, random_state)
            return self._polish(seeds)
        init = self._given if way == "given" else way
        return clusterer._start(self._source, init, random_state, None)


def check_penalty(penalty: Any) -> float:
    """Check a factor on the weights of pairs."""
    if isinstance(penalty, (str, bool)) or not isinstance(penalty, Real):
        raise ValueError(f"penalty must be a number, got {penalty!r}.")
    if not 0 <= float(penalty) < np.inf:
        raise ValueError(f"penalty must be finite and not negative, got {penalty!r}.")
    return float(penalty)
