"""Smoothest functions on a graph: eigenvectors of its normalized Laplacian (Hamad, part 1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg
from sklearn.exceptions import ConvergenceWarning

from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.engine.inner import one_thread_blas
from sidelight.graphs._laplacian import degrees, laplacian

#: Up to this many rows a dense solver is faster and exact.
DENSE_ROWS = 600

#: Restarts of Lanczos before another solver takes over. Graphs of rows with many dimensions, whose
#: Laplacian would fill up when factorized, need about five; uniform ones of three dimensions 25.
RESTARTS = 25

#: Restarts before algebraic multigrid, which is as fast as 15 of them.
RESTARTS_BEFORE_MULTIGRID = 6

#: Raises the eigenvalues of a matrix that has to be regular.
SHIFT = 1e-5

#: Most rows of the coarse level whose vectors LOBPCG begins with.
COARSE_ROWS = 10_000

#: Vectors that LOBPCG carries beyond those asked for: the last of a block converges slowly.
GUARD_VECTORS = 2

#: Up to this many rows a factorization of the Laplacian comes next, above it algebraic multigrid.
FACTOR_ROWS = 20_000

#: Up to this many rows a factorization stands in for algebraic multigrid where that is missing.
MAX_FACTOR_ROWS = 400_000


def smooth_eigenvectors(
    W: Any,
    k: int,
    *,
    random_state: np.random.RandomState,
    tol: float = 1e-6,
    normalized: bool = True,
) -> tuple[Array, Array]:
    """``k`` smallest eigenvalues of the Laplacian of a graph, and their eigenvectors.

    Every connected part of the graph has an eigenvalue 0, whose eigenvector is known; only what is
    left is searched for, by Lanczos iterations on the sparse matrix. Where there are more parts
    than ``k``, the largest have a vector. Rows without an edge have no place: they are zero in all
    vectors, and count for eigenvalues of 1 (``D^{-1/2}`` is zero there).

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric similarities.
    k : int
        Number of eigenvalues.
    random_state : RandomState
        Start of the iterations.
    tol : float, default=1e-6
        Accuracy of the eigenvalues.
    normalized : bool, default=True
        Take ``I - D^{-1/2} W D^{-1/2}`` (normalized cut) instead of ``D - W`` (ratio cut).

    Returns
    -------
    eigenvalues : ndarray of shape (k,)
        Ascending, not negative; at most 2 if normalized.
    vectors : ndarray of shape (n, k)
        Orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.graphs import smooth_eigenvectors
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> values, _ = smooth_eigenvectors(W, 2, random_state=np.random.RandomState(0))
    >>> values.round(6)
    array([0., 1.])
    """
    graph = sparse.csr_array(W, dtype=np.float64)
    degree = degrees(graph)
    k = min(k, graph.shape[0])
    scale = 1.0 if normalized else max(float(degree.max(initial=0.0)), 1e-300)
    known = _component_vectors(graph, np.sqrt(degree) if normalized else np.ones(len(degree)), k)
    alone = sparse.diags_array((degree <= 0).astype(np.float64))
    matrix = laplacian(graph, "symmetric" if normalized else "unnormalized") / scale + alone
    values, vectors = _smallest(matrix, known, k - known.shape[1], random_state, tol)
    vectors[degree <= 0] = 0.0  # but for rounding they are
    return (
        np.concatenate([np.zeros(known.shape[1]), np.clip(values, 0.0, 2.0) * scale]),
        np.hstack([known, vectors]),
    )


def _component_vectors(graph: sparse.csr_array, flat: Array, most: int) -> Array:
    """Eigenvectors of the eigenvalue 0: one per connected part, the largest parts first."""
    n_parts, part = connected_components(graph, directed=False)
    volumes = np.bincount(part, weights=degrees(graph), minlength=n_parts)
    kept = np.argsort(-volumes, kind="stable")[:most]
    kept = kept[volumes[kept] > 0]
    vectors = np.zeros((graph.shape[0], len(kept)))
    for column, which in enumerate(kept):
        inside = part == which
        vectors[inside, column] = flat[inside]
        vectors[:, column] /= np.linalg.norm(vectors[:, column])
    return vectors


def _smallest(
    matrix: sparse.csr_array,
    known: Array,
    k: int,
    random_state: np.random.RandomState,
    tol: float,
    flat: Array | None = None,
) -> tuple[Array, Array]:
    """``k`` smallest eigenvalues, in [0, 2], orthogonal to known vectors, with their vectors."""
    n = matrix.shape[0]
    if k <= 0:
        return np.zeros(0), np.zeros((n, 0))
    # Lanczos multiplies tall thin matrices, on which threads of BLAS wait for each other: six times
    # as slow on a busy machine. And one order of the sums is one result for any number of threads.
    with one_thread_blas:
        if n <= max(DENSE_ROWS, 2 * (k + known.shape[1]) + 2):
            # The known vectors are lifted above all others.
            values, vectors = np.linalg.eigh(matrix.toarray() + 3.0 * known @ known.T)
            return values[:k], vectors[:, :k]
        similar = sparse.csr_array(sparse.eye_array(n) - matrix)
        if similar.nnz < np.iinfo(np.int32).max:  # half the memory to read in every product
            similar.indices = similar.indices.astype(np.int32)
            similar.indptr = similar.indptr.astype(np.int32)
        with stage_progress("Eigenvectors") as progress:
            values, vectors = _lanczos(similar, known, k, random_state, tol, flat, progress.step)
    return 1.0 - values, vectors


def _lanczos(
    similar: sparse.csr_array,
    known: Array,
    k: int,
    random_state: np.random.RandomState,
    tol: float,
    flat: Array | None,
    step: Callable[[], None],
) -> tuple[Array, Array]:
    """Largest eigenvalues of the normalized graph orthogonal to known vectors, descending."""
    n = similar.shape[0]

    def apply(x: Array) -> Array:
        # All eigenvalues are raised by 1, so that the known vectors sink to the bottom.
        step()
        x = x.reshape(n, -1)
        raised = similar @ x
        raised += x
        if known.shape[1]:
            raised -= known @ (2.0 * (known.T @ x))
        return raised

    operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
    start = random_state.standard_normal(n)
    start -= known @ (known.T @ start)
    try:
        values, vectors = eigsh(
            operator,
            k,
            which="LA",
            v0=start,
            ncv=min(n - 1, max(4 * k + 1, 30)),
            maxiter=_patience(n),
            tol=tol,
        )
    except ArpackNoConvergence:
        values, vectors = _where_lanczos_is_slow(
            similar, known, k, start, tol, random_state, flat, step
        )
    order = np.argsort(-values, kind="stable")
    return values[order] - 1.0, vectors[:, order]


def _patience(n: int) -> int:
    """Largest number of restarts of Lanczos."""
    multigrid = n > FACTOR_ROWS and find_spec("pyamg") is not None
    return min(RESTARTS, RESTARTS_BEFORE_MULTIGRID) if multigrid else RESTARTS


def _where_lanczos_is_slow(
    similar: sparse.csr_array,
    known: Array,
    k: int,
    start: Array,
    tol: float,
    random_state: np.random.RandomState,
    flat: Array | None,
    step: Callable[[], None],
) -> tuple[Array, Array]:
    """Eigenvalues that lie close together, raised by 1, as in graphs of rows of two dimensions."""
    n = similar.shape[0]
    matrix = sparse.csr_array(sparse.eye_array(n) - similar)
    multigrid = None if n <= FACTOR_ROWS else _multigrid(matrix, known, k + GUARD_VECTORS, flat)
    if multigrid is None and n <= MAX_FACTOR_ROWS:
        wanted = k + known.shape[1]
        values, vectors = eigsh(
            sparse.csc_array(matrix), wanted, sigma=-1e-4, which="LM", v0=start, tol=tol
        )
        # What the known vectors span comes out again with eigenvalue 0.
        order = np.argsort(values, kind="stable")[known.shape[1] :]
        return 2.0 - values[order], vectors[:, order]
    guess = random_state.standard_normal((n, k + GUARD_VECTORS))
    preconditioner = None
    if multigrid is not None:
        preconditioner, coarse = multigrid
        guess[:, : coarse.shape[1]] = coarse

    def apply(x: Array) -> Array:
        step()
        return np.asarray(matrix @ x)

    operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
    constraints = known if known.shape[1] else None  # SciPy before 1.14 stumbles over no columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the residual is looked at below
        values, vectors = lobpcg(
            operator, guess, M=preconditioner, Y=constraints, largest=False, tol=1e-5, maxiter=200
        )
    order = np.argsort(values, kind="stable")[:k]
    values, vectors = values[order], vectors[:, order]
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max()
    if residual > 1e-3:
        warn(
            f"The eigenvectors of the graph were found to {residual:.0e} only; the clusters may "
            "be rough. A graph with more neighbors is easier, and so it is with pyamg installed.",
            ConvergenceWarning,
        )
    return 2.0 - np.asarray(values), np.asarray(vectors)


def _multigrid(
    matrix: sparse.csr_array, known: Array, k: int, flat: Array | None
) -> tuple[LinearOperator, Array] | None:
    """Preconditioner by algebraic multigrid, and up to ``k`` vectors to begin with.

    The vectors are the smoothest ones of the coarse matrix ``P'AP`` in the norm ``P'P``, brought
    back to all rows; they halve the number of iterations. None where pyamg, which is optional, is
    missing.
    """
    try:
        from pyamg import smoothed_aggregation_solver
    except ImportError:
        return None
    n = matrix.shape[0]
    # Known vectors have no energy at all: the coarse levels have to represent their sum well.
    if known.shape[1] or flat is None:
        flat = known.sum(axis=1) if known.shape[1] else np.ones(n)
    regular = sparse.csr_matrix(matrix + SHIFT * sparse.eye_array(n))
    regular.indices = regular.indices.astype(np.int32)
    regular.indptr = regular.indptr.astype(np.int32)
    levels = smoothed_aggregation_solver(regular, B=flat[:, None], symmetry="symmetric")
    return levels.aspreconditioner(), _coarse_vectors(levels.levels, known, k)


def _coarse_vectors(levels: Any, known: Array, k: int) -> Array:
    """Smoothest vectors that a coarse level can represent, orthogonal to the known ones."""
    up, depth = None, 0
    while depth + 1 < len(levels) and levels[depth].A.shape[0] > COARSE_ROWS:
        step = levels[depth].P
        up, depth = step if up is None else up @ step, depth + 1
    wanted = k + known.shape[1]
    if up is None or up.shape[1] < 2 * wanted + 2:
        return np.zeros((len(known), 0))
    coarse, norm = sparse.csc_matrix(levels[depth].A), sparse.csc_matrix(up.T @ up)
    start = np.random.RandomState(0).standard_normal(up.shape[1])
    values, vectors = eigsh(coarse, wanted, M=norm, sigma=-SHIFT, which="LM", v0=start, tol=1e-3)
    fine = np.asarray(up @ vectors[:, np.argsort(values, kind="stable")])
    fine -= known @ (known.T @ fine)
    # What is left of those that the known vectors span is rounding.
    turned, lengths, _ = np.linalg.svd(fine, full_matrices=False)
    return turned[:, : np.count_nonzero(lengths > 1e-3 * lengths[0])][:, :k]


def smallest_eigenvectors(
    A: Any,
    k: int,
    *,
    random_state: np.random.RandomState,
    tol: float = 1e-6,
    flat: Array | None = None,
) -> tuple[Array, Array]:
    """``k`` smallest eigenvalues of a symmetric matrix with eigenvalues in [0, 2], and vectors.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Such as a sum of Laplacians.
    k : int
        Number of eigenvalues.
    random_state : RandomState
        Start of the iterations.
    tol : float, default=1e-6
        Accuracy of the eigenvalues.
    flat : ndarray of shape (n,), default=None
        What smooth vectors look like from near, such as ``D^{1/2} 1``, which makes large problems
        easier; constant by default.

    Returns
    -------
    eigenvalues : ndarray of shape (k,)
        Ascending.
    vectors : ndarray of shape (n, k)
        Orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.graphs import smallest_eigenvectors
    >>> A = np.diag([0.5, 2.0, 0.1])
    >>> smallest_eigenvectors(A, 2, random_state=np.random.RandomState(0))[0]
    array([0.1, 0.5])
    """
    matrix = sparse.csr_array(A, dtype=np.float64)
    n = matrix.shape[0]
    return _smallest(matrix, np.zeros((n, 0)), min(k, n), random_state, tol, flat)
