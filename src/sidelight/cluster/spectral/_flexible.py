"""Normalized cuts of which a level of satisfied constraints is asked (CSP; Wang, Davidson 2010)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from sidelight._fit.parameters import Interval, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.cluster.spectral._base import SpectralCoordinates, nearest
from sidelight.cluster.spectral._constrained import _ConstrainedSpectral, plain_embedding
from sidelight.cluster.spectral._constraint_graph import constraint_graph
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.constraints import Constraints, known_pairs
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import degrees, laplacian
from sidelight.graphs.inner import inverse_root
from sidelight.tags import MethodTags

#: Up to this many rows a dense solver is faster and exact.
DENSE_ROWS = 600

#: Most rows whose Laplacian is factorized.
FACTOR_ROWS = 20_000

#: Keeps the Laplacian of a graph with several parts regular.
RIDGE = 1e-8

#: Share of the largest level that vectors can reach at all which may be asked of them.
BELOW = 0.9

#: Share of a vector on constrained rows above which it says little about the others. Vectors with
#: half of their length there still helped: labels of a fifth of vehicle took .09 to .36.
NARROW = 0.8

#: Centers of two clusters separated by the sign of one vector.
SIGNS = np.array([[-1.0], [1.0]])


@estimator
class FlexibleSpectralClustering(_ConstrainedSpectral):
    """Spectral clustering that satisfies the constraints to a level.

    The cheapest vectors of the normalized cut with ``v'Q̄v > β v'v``, ``Q̄ = D^{-1/2} Q D^{-1/2}``
    (flexible constrained spectral clustering, Wang, Davidson 2010); for at most 20,000 rows.
    Read more in the :doc:`user guide </cluster/spectral>`.

    Parameters
    ----------
    level : float in (0, 1), default=0.75
        Level ``β`` of satisfied constraints, as a share of that which a partition reaches that
        satisfies all of them.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters - 1)
        Vectors, the cheapest first.
    """

    _: KW_ONLY
    level: Annotated[float, Interval(0, 1, open_low=True, open_high=True)] = 0.75

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="spectral clustering that satisfies the constraints to a level",
            source="Wang, Davidson 2010",
            complexity="O(n log n d) for the graph, a sparse factorization of its Laplacian",
        )

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        Q = constraint_graph(known_pairs(known), W.shape[0])
        satisfied = satisfaction_matrix(W, Q)
        most = 0.0
        if satisfied.nnz and W.shape[0] > 3 and k > 1:
            most = min(complete_level(W, Q, k), BELOW * reachable_level(satisfied, k))
        if most <= 1e-12:
            if Q.nnz:
                warn(
                    "There are too few constraints to ask for a level of them; the normalized cut "
                    "alone was used. ContractedSpectralClustering uses any number.",
                    ConstraintWarning,
                )
            return plain_embedding(W, k, rng)
        level = self.level * most
        values, vectors = flexible_vectors(W, satisfied, k, level)
        _warn_of_narrow_vectors(vectors, Q)
        costs = np.einsum("ij,ij->j", vectors, np.asarray(laplacian(W) @ vectors))
        scaled = np.sqrt(degrees(W).sum()) * vectors * (1.0 - costs)
        # At a row without constraints: v_i - Σ_j s_ij v_j = -λ level v_i.
        basis = Extension.normalized(scaled, 1.0 + values * level, degrees(W)).basis
        places = np.asarray(inverse_root(degrees(W))[:, None] * scaled)
        return SpectralCoordinates(values, places, Extension(basis, walk=True), unit=False)

    def _label_constrained(
        self, found: SpectralCoordinates, k: int, known: Constraints, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Labels and centers; the one vector of two clusters also by its sign."""
        if found.unit:
            return super()._label_constrained(found, k, known, rng)
        labels, centers = self._label(found, min(k, len(np.unique(found.vectors, axis=0))), rng)
        if found.vectors.shape[1] == 1 and k == 2:
            by_sign = nearest(found.vectors, SIGNS)
            both = by_sign.min() < by_sign.max()
            if both and known.violations(by_sign).weight < known.violations(labels).weight:
                return by_sign, SIGNS
        return labels, centers


def _warn_of_narrow_vectors(vectors: Array, Q: sparse.csr_array) -> None:
    """Warn of vectors that are about the constrained rows only."""
    inside = np.sum(vectors[np.diff(Q.indptr) > 0] ** 2, axis=0)
    if np.any(inside > NARROW) and np.count_nonzero(np.diff(Q.indptr)) < 0.5 * Q.shape[0]:
        warn(
            f"{np.count_nonzero(inside > NARROW)} of {len(inside)} vectors have more than "
            f"{NARROW:.0%} of their length on constrained rows and say little about the others; "
            "ask for a lower level.",
            ConstraintWarning,
        )


def satisfaction_matrix(W: sparse.csr_array, Q: sparse.csr_array) -> sparse.csr_array:
    """``Q̄ = D^{-1/2} Q D^{-1/2}``; ``v'Q̄v`` is how much ``D^{-1/2}v`` satisfies the constraints."""
    scale = sparse.diags_array(inverse_root(degrees(W)))
    return sparse.csr_array(scale @ Q @ scale)


def complete_level(W: sparse.csr_array, Q: sparse.csr_array, k: int) -> float:
    """``v'Q̄v / v'v`` of a partition into ``k`` clusters that satisfies all constraints, on average.

    With clusters at the corners of a simplex ``k - 1`` vectors have ``x_i·x_j = 1`` within a
    cluster and ``-1/(k - 1)`` between two, and ``v = D^{1/2} x``. The largest level of all vectors,
    which grows with the pairs of single rows, says nothing about partitions.
    """
    degree = degrees(W)
    usable = sparse.diags_array((degree > 0).astype(np.float64))
    pairs = (usable @ Q @ usable).tocoo().data
    together, apart = pairs[pairs > 0].sum(), -pairs[pairs < 0].sum()
    return float((together + apart / (k - 1)) / degree.sum())


def reachable_level(satisfied: sparse.csr_array, k: int) -> float:
    """The ``k - 1``-th largest eigenvalue of ``Q̄``: ``k - 1`` vectors reach any smaller level."""
    n, count = satisfied.shape[0], max(k - 1, 1)
    if n <= max(DENSE_ROWS, count + 1):
        return float(np.linalg.eigvalsh(satisfied.toarray())[-count])
    start = np.random.RandomState(0).standard_normal(n)
    values = eigsh(satisfied, count, which="LA", v0=start, return_eigenvectors=False)
    return float(values.min())


def flexible_vectors(
    W: sparse.csr_array, satisfied: sparse.csr_array, k: int, level: float
) -> tuple[Array, Array]:
    """The ``k - 1`` cheapest vectors with ``v'Q̄v > level v'v``: ``λ > 0`` and unit vectors ``v``.

    They solve ``L v = λ (Q̄ - level I) v``, ``L = I - D^{-1/2} W D^{-1/2}``, where ``v'Lv =
    λ (v'Q̄v - level v'v)`` shows that ``λ > 0`` is the condition. The trivial solution
    ``v₀ = D^{1/2} 1`` has ``λ = 0``; every other one is orthogonal to ``(Q̄ - level I) v₀``, so
    that its part along ``v₀`` follows from the rest, which is searched for.
    """
    n = W.shape[0]
    degree = degrees(W)
    flat = np.sqrt(degree / degree.sum())
    pulled = satisfied @ flat - level * flat
    along = float(flat @ pulled)
    across = pulled - along * flat
    wanted = min(2 * k + 10, n - 2)

    def condition(x: Array) -> Array:
        x = x.reshape(n, -1)
        x = x - np.outer(flat, flat @ x)
        moved = satisfied @ x - level * x
        moved = moved - np.outer(across, across @ x) / along
        return np.asarray(moved - np.outer(flat, flat @ moved))

    isolated = sparse.diags_array((degree <= 0).astype(np.float64))
    regular = laplacian(W) + isolated + RIDGE * sparse.eye_array(n)
    with one_thread_blas:
        if n <= max(DENSE_ROWS, wanted + 2):
            matrix = condition(np.eye(n))
            inverses, rest = eigh((matrix + matrix.T) / 2, regular.toarray() + np.outer(flat, flat))
        else:
            inverses, rest = _by_factorization(condition, regular, flat, wanted)
    # ``flat`` comes out at 0, up to rounding.
    turned = np.abs(flat @ rest) > 0.5 * np.linalg.norm(rest, axis=0)
    possible = np.flatnonzero((inverses > 1e-9 * np.abs(inverses).max()) & ~turned)
    inverses, rest = inverses[possible], rest[:, possible]
    vectors = rest - np.outer(flat, across @ rest) / along
    vectors /= np.linalg.norm(vectors, axis=0)
    costs = np.einsum("ij,ij->j", vectors, np.asarray(laplacian(W) @ vectors))
    cheapest = np.argsort(costs, kind="stable")[: max(k - 1, 1)]
    return 1.0 / inverses[cheapest], vectors[:, cheapest]


def _by_factorization(
    condition: Any, regular: sparse.csr_array, flat: Array, wanted: int
) -> tuple[Array, Array]:
    """Largest ``1/λ`` with the Laplacian as inner product, which has to be solved with."""
    n = len(flat)
    if n > FACTOR_ROWS:
        raise SidelightError(
            f"FlexibleSpectralClustering factorizes the Laplacian, for at most {FACTOR_ROWS:,} "
            f"rows; there are {n:,}. Take ContractedSpectralClustering, or fit some rows and "
            "predict the others."
        )
    factors = splu(sparse.csc_matrix(regular))

    def product(x: Array) -> Array:
        x = x.reshape(-1)
        return np.asarray(regular @ x + flat * (flat @ x))

    def solve(x: Array) -> Array:
        # ``flat`` is an eigenvector of the Laplacian, so that the two parts do not mix.
        x = x.reshape(-1)
        share = flat @ x
        return np.asarray(factors.solve(x - share * flat) + share / (1 + RIDGE) * flat)

    start = condition(np.random.RandomState(0).standard_normal(n))[:, 0]
    shape = (n, n)
    values, vectors = eigsh(
        LinearOperator(shape, matvec=condition, dtype=np.float64),
        wanted,
        M=LinearOperator(shape, matvec=product, dtype=np.float64),
        Minv=LinearOperator(shape, matvec=solve, dtype=np.float64),
        which="LA",
        v0=start,
        tol=1e-6,
    )
    return np.asarray(values), np.asarray(vectors)
