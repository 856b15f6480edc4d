"""Smoothest functions on a graph: eigenvectors of its normalised Laplacian (Hamad, part 1)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg
from sklearn.exceptions import ConvergenceWarning

from sidelight.graphs._laplacian import degrees, normalized_graph

Array = npt.NDArray[Any]

#: Up to this many rows a dense solver is faster and exact.
DENSE_ROWS = 600

#: Restarts of Lanczos before a factorisation (or LOBPCG) takes over.
RESTARTS = 60

#: Up to this many rows a factorisation of the Laplacian is tried.
FACTOR_ROWS = 60_000


def smooth_eigenvectors(
    W: Any, k: int, *, random_state: np.random.RandomState, tol: float = 1e-6
) -> tuple[Array, Array]:
    """``k`` smallest eigenvalues of ``I - D^{-1/2} W D^{-1/2}`` and their eigenvectors.

    Every connected part of the graph has an eigenvalue 0, whose eigenvector is known; only what is
    left is searched for, by Lanczos iterations on the sparse matrix.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric similarities.
    k : int
        How many.
    random_state : RandomState
        Start of the iterations.
    tol : float, default=1e-6
        Accuracy of the eigenvalues.

    Returns
    -------
    eigenvalues : ndarray of shape (k,)
        Ascending, between 0 and 2.
    vectors : ndarray of shape (n, k)
        Orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.graphs import smooth_eigenvectors
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> values, _ = smooth_eigenvectors(W, 2, random_state=np.random.RandomState(0))
    >>> values.round(6)
    array([0., 0.])
    """
    graph = sparse.csr_array(W, dtype=np.float64)
    n = graph.shape[0]
    k = min(k, n)
    similar = normalized_graph(graph)
    if n <= max(DENSE_ROWS, 2 * k + 2):
        inside = np.diag((degrees(graph) > 0).astype(np.float64))
        values, vectors = np.linalg.eigh(inside - similar.toarray())
        return np.clip(values[:k], 0.0, 2.0), vectors[:, :k]
    known = _component_vectors(graph, k)
    if known.shape[1] >= k:
        return np.zeros(k), known[:, :k]
    values, vectors = _lanczos(similar, known, k - known.shape[1], random_state, tol)
    return (
        np.concatenate([np.zeros(known.shape[1]), np.clip(1.0 - values, 0.0, 2.0)]),
        np.hstack([known, vectors]),
    )


def _component_vectors(graph: sparse.csr_array, most: int) -> Array:
    """Eigenvectors of the eigenvalue 0: one per connected part, the largest parts first."""
    n_parts, part = connected_components(graph, directed=False)
    degree = degrees(graph)
    volumes = np.bincount(part, weights=degree, minlength=n_parts)
    kept = np.argsort(-volumes, kind="stable")[:most]
    vectors = np.zeros((graph.shape[0], len(kept)))
    for column, which in enumerate(kept):
        inside = part == which
        vectors[inside, column] = np.sqrt(degree[inside]) if volumes[which] > 0 else 1.0
        vectors[:, column] /= np.linalg.norm(vectors[:, column])
    return vectors


def _lanczos(
    similar: sparse.csr_array,
    known: Array,
    k: int,
    random_state: np.random.RandomState,
    tol: float,
) -> tuple[Array, Array]:
    """Largest eigenvalues of the normalised graph beside the known vectors, descending."""
    n = similar.shape[0]

    def apply(x: Array) -> Array:
        # All eigenvalues are raised by 1, so that the known vectors sink to the bottom.
        x = x.reshape(n, -1)
        raised = similar @ x + x
        return raised - 2.0 * known @ (known.T @ x)

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
            maxiter=RESTARTS,
            tol=tol,
        )
    except ArpackNoConvergence:
        values, vectors = _by_factorisation(similar, known, k, start, tol, apply, random_state)
    order = np.argsort(-values, kind="stable")
    return values[order] - 1.0, vectors[:, order]


def _by_factorisation(
    similar: sparse.csr_array,
    known: Array,
    k: int,
    start: Array,
    tol: float,
    apply: Any,
    random_state: np.random.RandomState,
) -> tuple[Array, Array]:
    """Eigenvalues that lie close together: shift and invert, or LOBPCG where that is too large."""
    n = similar.shape[0]
    if n <= FACTOR_ROWS:
        laplacian = sparse.csc_array(sparse.eye_array(n) - similar)
        wanted = k + known.shape[1]
        values, vectors = eigsh(laplacian, wanted, sigma=-1e-4, which="LM", v0=start, tol=tol)
        # What the known vectors span comes out again with eigenvalue 0.
        order = np.argsort(values, kind="stable")[known.shape[1] :]
        return 2.0 - values[order], vectors[:, order]
    guess = random_state.standard_normal((n, k))
    operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, vectors = lobpcg(operator, guess, Y=known, largest=True, tol=1e-4, maxiter=200)
    residual = np.linalg.norm(apply(vectors) - vectors * values, axis=0).max()
    if residual > 1e-2:
        warnings.warn(
            f"The eigenvectors of the graph were found to {residual:.0e} only; the clusters may "
            "be rough. A graph with more neighbours is easier.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return np.asarray(values), np.asarray(vectors)


def smallest_eigenvectors(
    A: Any, k: int, *, random_state: np.random.RandomState, tol: float = 1e-6
) -> tuple[Array, Array]:
    """``k`` smallest eigenvalues of a symmetric matrix with eigenvalues in [0, 2], and vectors.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        Such as a sum of Laplacians.
    k : int
        How many.
    random_state : RandomState
        Start of the iterations.
    tol : float, default=1e-6
        Accuracy of the eigenvalues.

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
    k = min(k, n)
    if n <= max(DENSE_ROWS, 2 * k + 2):
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[:k], vectors[:, :k]
    nothing = np.zeros((n, 0))
    similar = sparse.csr_array(sparse.eye_array(n) - matrix)
    values, vectors = _lanczos(similar, nothing, k, random_state, tol)
    return 1.0 - values, vectors
