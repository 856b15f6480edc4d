"""Normalised cuts of which a level of satisfied constraints is asked (CSP; Wang, Davidson 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from sidelight._typing import Array
from sidelight.engine._threads import one_thread_blas
from sidelight.exceptions import SidelightError
from sidelight.graphs import degrees, inverse_root, laplacian

#: Up to this many rows a dense solver is faster and exact.
DENSE_ROWS = 600

#: Most rows whose Laplacian is factorised.
FACTOR_ROWS = 20_000

#: Keeps the Laplacian of a graph with several parts regular.
RIDGE = 1e-8


def satisfaction_matrix(W: sparse.csr_array, Q: sparse.csr_array) -> sparse.csr_array:
    """``Q̄ = D^{-1/2} Q D^{-1/2}``; ``v'Q̄v`` is how much ``D^{-1/2}v`` satisfies the constraints."""
    scale = sparse.diags_array(inverse_root(degrees(W)))
    return sparse.csr_array(scale @ Q @ scale)


def reachable_level(satisfied: sparse.csr_array, k: int) -> float:
    """The ``k - 1``-th largest eigenvalue of ``Q̄``: so many vectors can reach less than it."""
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

    lonely = sparse.diags_array((degree <= 0).astype(np.float64))
    regular = laplacian(W) + lonely + RIDGE * sparse.eye_array(n)
    with one_thread_blas:
        if n <= max(DENSE_ROWS, wanted + 2):
            matrix = condition(np.eye(n))
            inverses, rest = eigh((matrix + matrix.T) / 2, regular.toarray() + np.outer(flat, flat))
        else:
            inverses, rest = _by_factorisation(condition, regular, flat, wanted)
    # ``flat`` comes out at 0, up to rounding.
    turned = np.abs(flat @ rest) > 0.5 * np.linalg.norm(rest, axis=0)
    possible = np.flatnonzero((inverses > 1e-9 * np.abs(inverses).max()) & ~turned)
    inverses, rest = inverses[possible], rest[:, possible]
    vectors = rest - np.outer(flat, across @ rest) / along
    vectors /= np.linalg.norm(vectors, axis=0)
    costs = np.einsum("ij,ij->j", vectors, np.asarray(laplacian(W) @ vectors))
    cheapest = np.argsort(costs, kind="stable")[: max(k - 1, 1)]
    return 1.0 / inverses[cheapest], vectors[:, cheapest]


def _by_factorisation(
    condition: Any, regular: sparse.csr_array, flat: Array, wanted: int
) -> tuple[Array, Array]:
    """Largest ``1/λ`` with the Laplacian as inner product, which has to be solved with."""
    n = len(flat)
    if n > FACTOR_ROWS:
        raise SidelightError(
            f"method='flexible' factorises the Laplacian, for at most {FACTOR_ROWS:,} rows; there "
            f"are {n:,}. Take method='signed', or fit some rows and predict the others."
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
