"""Ascent in a model of the dual of the metric from cannot-links, for many sparse features.

The matrix of the dual, ``Q_pq = (d_p'd_q)² = ⟨d_p d_p', d_q d_q'⟩``, is that of the features
``d_p d_p'``, one for each pair of words. Most are in hardly any two differences. Pairs share
single words, ``(d_pk)²``, and rows: two pairs of row ``i`` have ``d_p'd_q ≈ ‖x_i‖²``,
along ``x_i``. With these two kinds of features alone,

    ``Q ≈ FF' + diag(rest)``, ``F_p = ((d_pk)²)_k, ((x_i'd_p)² / ‖x_i‖²)_i`` for its two rows ``i``,

``rest`` such that the diagonal is right, a round over the pairs costs ``O(k)`` per pair for ``k``
words in a difference. A few of them find where to go, one exact product with ``Q`` how far: three
or four such steps come to a gap of 1e-3, where coordinate ascent in ``Q`` needs dozens of rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.metric.pair_model import (
    all_differences,
    feature_products,
    model_sweep,
    shared_features,
)
from sidelight._typing import Array
from sidelight.metric.cannot_link._solver import CoordinateAscent, DualSolution
from sidelight.metric.cannot_link._sweeps import PairGraph, Sweeps, unsigned

Words = tuple[Array, Array, Array, Array, Array, Array]

#: Rounds in the model between two exact products, and the share of the violation to come to.
MODEL_ROUNDS, MODEL_SHARE = 10, 0.05

#: A step that leaves more than this share of the gap shows that the model is wrong here.
POOR = 0.7


class PairModel:
    """Differences of sparse rows, and the model of the dual made of their words and rows."""

    def __init__(self, rows: Any, graph: PairGraph) -> None:
        d = rows.shape[1]
        n_pairs = len(graph.first)
        ends, places, values = all_differences(
            rows.indptr, rows.indices, rows.data, graph.first, graph.second
        )
        self.differences = sparse.csr_array((values, places, ends), (n_pairs, d))
        norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        *features, own, whole = shared_features(
            ends, places, values, graph.first, graph.second, norms, d
        )
        self._indptr, self._places, self._values = features
        self._rest = np.maximum(whole - own, 0.0)
        self._curvature = own + self._rest
        self._n_features = d + rows.shape[0]
        self._by_word: Words | None = None

    def direction(
        self, alpha: Array, margins: Array, upper: Array, rng: np.random.RandomState
    ) -> Array:
        """Where the model gains most, within the bounds of the weights."""
        change, sums = np.zeros(len(alpha)), np.zeros(self._n_features)
        first = 0.0
        for turn in range(MODEL_ROUNDS):
            worst = model_sweep(
                self._indptr,
                self._places,
                self._values,
                self._rest,
                self._curvature,
                1.0 - margins,
                -alpha,
                upper - alpha,
                rng.permutation(len(alpha)),
                change,
                sums,
            )
            first = max(first, worst) if turn == 0 else first
            if worst <= MODEL_SHARE * first:
                break
        return change

    def products(self, weight: Array) -> Array:
        """``Q w``, exactly, by rows of ``A``."""
        if self._by_word is None:
            self._by_word = by_word(self.differences)
        return feature_products(*self._by_word, weight)


def by_word(differences: sparse.csr_array) -> Words:
    """Differences with frequent words last, and where the entries of each word are.

    Rows of ``A``, from the diagonal to the right, then stay in the cache.
    """
    d = differences.shape[1]
    rank = np.empty(d, np.int32)
    rank[np.argsort(np.bincount(differences.indices, minlength=d), kind="stable")] = np.arange(d)
    ranked = sparse.csr_array(
        (differences.data, rank[differences.indices], differences.indptr), differences.shape
    )
    ranked.sort_indices()
    where = sparse.csr_array(
        (np.arange(ranked.nnz, dtype=np.uint32), ranked.indices, ranked.indptr), ranked.shape
    ).tocsc()
    return (
        unsigned(ranked.indptr),
        unsigned(ranked.indices),
        ranked.data,
        unsigned(where.indptr),
        unsigned(where.data),
        unsigned(where.indices),
    )


class ModelAscent:
    """Steps to where the model gains most, as far as is best for the dual itself.

    Where the model is poor, coordinate ascent goes on from there.
    """

    def __init__(
        self,
        model: PairModel,
        products: Callable[[Array], Array],
        sweeps: Callable[[], Sweeps],
    ) -> None:
        self._model = model
        self._products = products
        self._sweeps = sweeps
        self._instead: CoordinateAscent | None = None
        self._duality_gap = np.inf

    def begin(self, found: DualSolution, upper: Array, rng: np.random.RandomState) -> None:
        """First weights and their margins."""
        self._step(found, upper, rng)

    def improve(
        self, found: DualSolution, upper: Array, tol: float, rng: np.random.RandomState
    ) -> None:
        """Better weights, and their margins."""
        if self._instead is None and found.duality_gap > POOR * self._duality_gap:
            self._instead = CoordinateAscent(self._sweeps())
        self._duality_gap = found.duality_gap
        if self._instead is None:
            self._step(found, upper, rng)
        else:
            self._instead.improve(found, upper, tol, rng)

    def rescale(self, factor: float) -> None:
        """Nothing but the weights depends on them."""

    def _step(self, found: DualSolution, upper: Array, rng: np.random.RandomState) -> None:
        change = self._model.direction(found.alpha, found.margins, upper, rng)
        image = self._products(change)
        gain, curvature = float((1.0 - found.margins) @ change), float(change @ image)
        if not (gain > 0 and curvature > 0):
            return
        room = np.where(change > 0, upper - found.alpha, found.alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            most = float(np.min(room / np.abs(change), initial=np.inf, where=change != 0))
        step = min(gain / curvature, max(most, 1.0))
        found.alpha = np.clip(found.alpha + step * change, 0.0, upper)
        found.margins = found.margins + step * image
