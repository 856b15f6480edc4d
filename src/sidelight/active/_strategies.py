"""Shared parts of the strategies: the interface, the rows, and the names of the strategies."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state

from sidelight._fit.checks import check_extent
from sidelight._fit.parameters import check_parameters
from sidelight._in_memory import check_in_memory
from sidelight._typing import Array, FloatArray
from sidelight.active._answers import Answers
from sidelight.constraints.inner import align
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError

BoolArray = npt.NDArray[np.bool_]

NAMES = {
    "random": ("_random_pairs", "RandomPairs"),
    "explore-consolidate": ("_explore", "ExploreConsolidate"),
    "min-max": ("_explore", "MinMax"),
    "npu": ("_npu", "NPU"),
    "cobras": ("_cobras", "COBRAS"),
    "ambiguous-min": ("_ambiguity", "AmbiguousPairs"),
    "ambiguous-max": ("_ambiguity", "AmbiguousPairs"),
    "ambiguous-com": ("_ambiguity", "AmbiguousPairs"),
}

#: Parameters that a name stands for.
SETTINGS = {f"ambiguous-{pairing}": {"pairing": pairing} for pairing in ("min", "max", "com")}

# Of very much prior knowledge, this many rows stand for the others when distances are measured.
MAX_COVERED = 1000


class Strategy(BaseEstimator, ABC):
    """Chooses the pair to ask about, given all that was answered.

    Ask and tell: :meth:`next_pair` says which pair to ask; the answer goes into the
    :class:`Answers` that the strategy was started with, by ``add`` or ``skip``. Answers may also
    be added or undone in between; the strategy follows. A pair whose answer follows from the
    others, or that was skipped, is never asked, and a pair is asked until it is answered.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import Answers, MinMax
    >>> X = np.array([[0.0], [0.2], [5.0], [5.1]])
    >>> answers = Answers(len(X))
    >>> strategy = MinMax().start(X, answers, k=2, random_state=0)
    >>> while (pair := strategy.next_pair()) is not None:
    ...     i, j = pair
    ...     answers.add(i, j, same=abs(X[i, 0] - X[j, 0]) < 1)
    >>> answers.constraints.components(), len(answers)
    (array([0, 0, 1, 1]), 3)
    """

    _answers: Answers
    _k: int | None

    @property
    def has_clusters(self) -> bool:
        """Whether the answers so far make clusters by themselves: ``labels_`` and ``predict``."""
        return False

    def start(
        self, X: Any, answers: Answers, k: int | None = None, random_state: Any = None
    ) -> Self:
        """Begin to ask.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        answers : Answers
            Where the answers are going to be; what is there already is used.
        k : int, optional
            Number of clusters, if it is known.
        random_state : int, RandomState or None, default=None
            Seed or generator for the random choices.

        Returns
        -------
        self : Strategy
            Ready to be asked for pairs.
        """
        check_parameters(self)
        rows = check_rows(X)
        if rows.n_rows != answers.n_samples:
            raise SidelightError(
                f"The answers are about {answers.n_samples} rows but X has {rows.n_rows}."
            )
        if align(answers.known, X) is not answers.known:
            raise SidelightError(
                "The answers name the rows of X in another order than its index; make them for "
                "these rows: Answers(ids=X.index)."
            )
        self._answers, self._k = answers, k
        self._begin(X, rows, check_random_state(random_state))
        return self

    @abstractmethod
    def _begin(self, X: Any, rows: RowSource, random_state: np.random.RandomState) -> None:
        """Set the state of a new dialogue."""

    @abstractmethod
    def next_pair(self) -> tuple[int, int] | None:
        """Positions of the two rows to ask about, or None if nothing is left to ask."""


def make_strategy(name: str | Strategy, estimator: Any = None) -> Strategy:
    """Make a strategy that has not begun.

    Parameters
    ----------
    name : str or Strategy
        ``"random"``, ``"explore-consolidate"``, ``"min-max"``, ``"npu"``, ``"cobras"``,
        ``"ambiguous-min"``, ``"ambiguous-max"``, ``"ambiguous-com"``, or a strategy, of which a
        copy with the same parameters is made.
    estimator : estimator, optional
        The clusterer, or the classifier, for a strategy that needs one and has none.

    Examples
    --------
    >>> from sidelight.active import make_strategy
    >>> make_strategy("min-max")
    MinMax()
    """
    if isinstance(name, Strategy):
        strategy: Strategy = clone(name)
    elif isinstance(name, str) and name in NAMES:
        module, public = NAMES[name]
        made = getattr(importlib.import_module(f"sidelight.active.{module}"), public)
        strategy = made(**SETTINGS.get(name, {}))
    else:
        raise SidelightError(f"There is no strategy {name!r}; there are {', '.join(NAMES)}.")
    if estimator is not None and strategy.get_params(deep=False).get("estimator", 0) is None:
        strategy.set_params(estimator=clone(estimator))
    return strategy


def check_rows(X: Any) -> RowSource:
    """Return the rows of an array, a CSR matrix or a source, checked."""
    rows = X
    if not isinstance(X, RowSource):
        check_in_memory(X)
        rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_extent(X, rows, fit=True)
    return as_rows(rows)


def dense_rows(rows: RowSource, positions: Any) -> FloatArray:
    """Some rows as a dense matrix."""
    taken = rows.take(np.asarray(positions, np.int64))
    return np.asarray(taken.toarray() if rows.is_sparse else taken, dtype=np.float64)


def mean_row(rows: RowSource, positions: Any) -> FloatArray:
    """Mean of some rows as a dense vector."""
    taken = rows.take(np.asarray(positions, np.int64))
    return np.asarray(taken.mean(axis=0), dtype=np.float64).reshape(-1)


def squared_distances(rows: RowSource, points: FloatArray) -> FloatArray:
    """Squared distance of every row to the nearest of some points; O(n d) each, O(n) memory."""

    def nearest(block: Any) -> tuple[tuple[()], tuple[Array]]:
        return (), (block_distances(block, points).min(axis=0),)

    _, (squared,) = rows.map_reduce(nearest)
    return squared


def block_distances(block: Any, points: FloatArray) -> FloatArray:
    """Squared distances, shape (n_points, n_rows), of some points to the rows of a block."""
    if hasattr(block, "tocsr"):
        lengths = np.asarray(block.multiply(block).sum(axis=1), np.float64).reshape(-1)
        squared = lengths - 2 * (block @ points.T).T + (points**2).sum(axis=1)[:, None]
        return np.maximum(squared, 0)
    # Differences first: rows that are equal must be at distance 0 exactly.
    return np.stack([((block - point) ** 2).sum(axis=1, dtype=np.float64) for point in points])


class FarthestFirst:
    """Distance of every row to the rows covered so far, kept up to date in O(n d) per row.

    The row farthest from all covered rows is ``argmin_x max_{y covered} K(x, y)`` for every kernel
    that falls with the distance, whatever its width.
    """

    def __init__(self, rows: RowSource) -> None:
        self._rows = rows
        self._covered = np.zeros(rows.n_rows, bool)
        self._squared = np.full(rows.n_rows, np.inf)

    def cover(self, wanted: BoolArray) -> None:
        """Cover exactly these rows."""
        if np.any(self._covered & ~wanted):  # something was undone
            self._covered[:] = False
            self._squared[:] = np.inf
        new = np.flatnonzero(wanted & ~self._covered)
        self._covered |= wanted
        if len(new) > MAX_COVERED:
            new = new[np.linspace(0, len(new) - 1, MAX_COVERED).astype(np.int64)]
        for start in range(0, len(new), 64):
            points = dense_rows(self._rows, new[start : start + 64])
            np.minimum(self._squared, squared_distances(self._rows, points), out=self._squared)

    def farthest(self, among: BoolArray) -> int:
        """The row among these that is farthest from all covered rows; the first of equals."""
        candidates = np.flatnonzero(among)
        return int(candidates[np.argmax(self._squared[candidates])])
