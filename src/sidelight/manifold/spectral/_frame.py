"""The shared frame of spectral embeddings: a matrix, its eigenvectors, and its extension.

Kernel PCA, classical scaling and Isomap take the leading eigenvectors of a centered matrix of
similarities; locally linear embedding and Laplacian eigenmaps the trailing ones of a sparse matrix
beside a vector that is known (Law 2006, chapter 2). Signs and starts are always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from sidelight._fit.scatter import fix_signs
from sidelight._kernels.manifold.squares import squared_product
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs.inner import run_blocks
from sidelight.manifold._rows import Anchors

#: Up to this many rows all eigenvectors by a dense solver are fast and exact.
DENSE_ROWS = 400

#: Eigenvalues below this share of the largest are rounding.
NO_VARIANCE = 1e-10

#: Rows of a method that keeps a number for every two of them: 8 n² bytes.
MAX_ROWS = 15_000

#: Mean profile of a matrix, as a share of its size, above which factors fill up: graphs of rows of
#: two dimensions have 0.02 to 0.05, of five and more above 0.14.
FILLED = 0.1

#: Restarts of Lanczos iterations before a factorization takes over.
RESTARTS = 60

#: Rows of a block of a product; fixed, so that results do not depend on the number of threads.
BLOCK_ROWS = 512


def check_pairs_fit(n: int, method: str, instead: str) -> None:
    """Raise if a matrix of all pairs of rows would not fit into memory."""
    if n > MAX_ROWS:
        raise SidelightError(
            f"{method} keeps a number for every two of {n:,} rows, {8e-9 * n * n:,.1f} GB; at most "
            f"{MAX_ROWS:,} rows are taken. {instead}"
        )


@dataclass(frozen=True)
class CenteredFrame:
    """Leading eigenvectors of a centered matrix of similarities, and how new rows join them.

    Attributes
    ----------
    values : ndarray of shape (d,)
        Eigenvalues ``λ`` of ``B = H A H``, descending; those that are rounding are 0.
    vectors : ndarray of shape (n, d)
        Orthonormal eigenvectors ``v``; zeros where the eigenvalue is 0.
    means : ndarray of shape (n,)
        Means of the rows of ``A``.
    """

    values: Array
    vectors: Array
    means: Array

    @property
    def coordinates(self) -> Array:
        """Coordinates of the rows: ``v √λ``."""
        return np.asarray(self.vectors * np.sqrt(self.values))

    def extend(self, similarities: Array) -> Array:
        """Coordinates of new rows from their rows of ``A``: ``vᵀ(a - means) / √λ`` (Nyström).

        The mean of ``a`` itself does not count: the eigenvectors are centered.
        """
        inverse = np.zeros_like(self.values)
        np.divide(1.0, np.sqrt(self.values), where=self.values > 0, out=inverse)
        with one_thread_blas:
            return np.asarray((similarities - self.means) @ (self.vectors * inverse))


def centered_frame(matrix: Array, n_components: int) -> CenteredFrame:
    """Frame of a dense symmetric matrix ``A``; it is not changed, and centered on the fly."""
    n = len(matrix)
    means = np.empty(n)

    def average(first: int) -> None:
        part = slice(first, first + BLOCK_ROWS)
        means[part] = matrix[part].mean(axis=1)

    def product(vector: Array) -> Array:
        out = np.empty(n)

        def run(first: int) -> None:
            part = slice(first, first + BLOCK_ROWS)
            out[part] = matrix[part] @ vector

        _in_blocks(run, n)
        return out

    with one_thread_blas:
        _in_blocks(average, n)
        return _centered(lambda: np.array(matrix), product, means, n_components)


def squared_distance_frame(distances: Array, n_components: int) -> CenteredFrame:
    """Frame of ``A = -D²/2``, of which only ``D`` is kept: classical scaling.

    ``similarities`` of new rows are :func:`half_squares` of their distances.
    """
    n = len(distances)
    scale = 1.0 / power_of_two(float(distances.max(initial=0.0)))

    def product(vector: Array) -> Array:
        out = np.empty(n)

        def run(first: int) -> None:
            part = slice(first, first + BLOCK_ROWS)
            squared_product(distances[part], scale, vector, out[part])

        _in_blocks(run, n)
        return -0.5 * out

    with one_thread_blas:
        means = product(np.full(n, 1.0 / n))
        frame = _centered(lambda: -0.5 * (scale * distances) ** 2, product, means, n_components)
    return CenteredFrame(frame.values / scale**2, frame.vectors, frame.means / scale**2)


def half_squares(distances: Array) -> Array:
    """``-d²/2``, the matrix that classical scaling centers."""
    return np.asarray(-0.5 * distances**2)


def power_of_two(largest: float) -> float:
    """A power of two near a number: products of what is divided by it stay in range."""
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]))) if largest > 0 else 1.0


def _in_blocks(run: Callable[[int], None], n: int) -> None:
    """Run blocks of rows, on threads where there are several."""
    if n <= BLOCK_ROWS:
        run(0)
        return
    run_blocks(run, range(0, n, BLOCK_ROWS))


def _centered(
    dense: Callable[[], Array],
    product: Callable[[Array], Array],
    means: Array,
    n_components: int,
) -> CenteredFrame:
    """Leading eigenvectors of ``H A H``, from all of ``A`` or from products with it."""
    n = len(means)
    asked = min(n_components, n)
    if n <= max(DENSE_ROWS, 4 * asked):
        matrix = dense()
        matrix -= means
        matrix -= matrix.mean(axis=1)[:, None]
        matrix = (matrix + matrix.T) / 2
        values, vectors = linalg.eigh(matrix, subset_by_index=(n - asked, n - 1))
    else:
        values, vectors = _lanczos(
            lambda vector: _without_mean(product(_without_mean(vector))), n, asked
        )
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], fix_signs(vectors[:, order].T).T
    # Rounding of a matrix without any variance would pass for eigenvalues of it.
    least = NO_VARIANCE * max(values[0], float(np.abs(means).max()) * NO_VARIANCE, 1e-300)
    positive = values > least
    values, vectors = np.where(positive, values, 0.0), vectors * positive
    missing = n_components - asked
    return CenteredFrame(
        np.pad(values, (0, missing)), np.pad(vectors, ((0, 0), (0, missing))), means
    )


def _without_mean(vector: Array) -> Array:
    return np.asarray(vector - vector.mean())


def _lanczos(product: Callable[[Array], Array], n: int, k: int) -> tuple[Array, Array]:
    """``k`` largest eigenvalues of a symmetric operator, to the last digits, and vectors."""
    with stage_progress("Eigenvectors") as progress:

        def apply(vector: Array) -> Array:
            progress.step()
            return product(np.ravel(vector))

        operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
        try:
            return eigsh(operator, k, which="LA", v0=start_vector(n), maxiter=50 * n)
        except ArpackNoConvergence as error:
            raise SidelightError(
                f"The eigenvalues lie so close together that {counted(k, 'eigenvector')} cannot be "
                f"told from the next; another {setting('n_components')} may do."
            ) from error


def start_vector(n: int) -> Array:
    """A vector to begin with, always the same, with a part in every direction."""
    return np.random.RandomState(0).standard_normal(n)


def warn_of_missing_dimensions(values: Array, n_components: int) -> None:
    """Warn where the matrix has fewer positive eigenvalues than dimensions requested."""
    shown = int(np.count_nonzero(values > 0))
    if shown < n_components:
        warn(
            f"The rows spread in {counted(shown, 'dimension')} only, as far as their similarities "
            f"tell: of {setting('n_components', n_components)} coordinates the last "
            f"{n_components - shown} are 0.",
            EmbeddingWarning,
        )


def trailing(
    matrix: sparse.csr_array,
    null: Array,
    k: int,
    *,
    largest: float | None = None,
    lift: float = 0.0,
) -> tuple[Array, Array]:
    """``k`` smallest eigenvalues of a positive semidefinite matrix, without a known null vector.

    The inverse beside the null vector ``u`` is that of the matrix without a row and a column ``p``:
    for ``b ⟂ u`` the solution that is 0 at ``p``, less its part along ``u``. That matrix is regular
    and is factorized once; eigenvalues that lie close together at 0 lie far apart in the inverse.
    Graphs of rows of many dimensions would fill up when factorized, but their eigenvalues lie apart
    already: with ``largest`` these are found from products alone.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric, with the null vector ``null``, the only one where there is no ``lift``.
    null : ndarray of shape (n,)
        Null vector, without zeros.
    k : int
        Number of eigenvalues.
    largest : float, default=None
        No eigenvalue is above it; None for matrices whose smallest eigenvalues only the inverse
        tells apart.
    lift : float, default=0.0
        Above 0 for matrices that may have other null vectors: what is added to the diagonal before
        the whole of it is factorized, some digits above rounding.

    Returns
    -------
    values : ndarray of shape (k,)
        Ascending.
    vectors : ndarray of shape (n, k)
        Orthonormal, orthogonal to ``null``.
    """
    n = matrix.shape[0]
    flat = null / np.linalg.norm(null)
    found: tuple[Array, Array] | None = None
    with one_thread_blas:
        if largest is not None and n > max(DENSE_ROWS, 4 * k) and _would_fill(matrix):
            found = _from_products(matrix, flat, k, largest)
        if found is not None:
            values, vectors = found
        elif n <= max(DENSE_ROWS, 4 * k):
            dense = matrix.toarray()
            lifted = dense + (np.trace(dense) + 1.0) * np.outer(flat, flat)
            values, vectors = linalg.eigh(lifted, subset_by_index=(0, k - 1))
        else:
            if lift:
                solve = factorized(matrix + lift * sparse.eye_array(n))
            else:
                solve = grounded_solver(matrix, int(np.argmax(np.abs(flat))))

            def inverse(vector: Array) -> Array:
                solution = solve(vector - flat * (flat @ vector))
                return np.asarray(solution - flat * (flat @ solution))

            inverted, vectors = _lanczos(inverse, n, k)
            order = np.argsort(-inverted, kind="stable")
            values, vectors = 1.0 / inverted[order] - lift, vectors[:, order]
    return np.maximum(values, 0.0), fix_signs(vectors.T).T


def _would_fill(matrix: sparse.csr_array) -> bool:
    """Whether a factor would fill up much, estimated by the profile after Cuthill-McKee."""
    order = reverse_cuthill_mckee(sparse.csr_matrix(matrix), symmetric_mode=True)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ends = np.repeat(rank, np.diff(matrix.indptr))
    width = np.maximum.reduceat(ends - rank[matrix.indices], matrix.indptr[:-1])
    return bool(width.mean() > FILLED * len(order))


def _from_products(
    matrix: sparse.csr_array, flat: Array, k: int, largest: float
) -> tuple[Array, Array] | None:
    """Smallest eigenvalues, without a null vector, by Lanczos; None where it takes long."""
    n = matrix.shape[0]

    def apply(vector: Array) -> Array:
        vector = np.ravel(vector)
        # All are turned around, and the null vector, which would be the first, sinks to the bottom.
        return np.asarray(largest * (vector - flat * (flat @ vector)) - matrix @ vector)

    operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    try:
        turned, vectors = eigsh(
            operator, k, which="LA", v0=start_vector(n), ncv=max(4 * k, 40), maxiter=RESTARTS
        )
    except ArpackNoConvergence:
        return None
    order = np.argsort(-turned, kind="stable")
    return largest - turned[order], vectors[:, order]


def grounded_solver(matrix: sparse.csr_array, ground: int) -> Callable[[Array], Array]:
    """Solve with a matrix without one row and column; the solution is 0 there."""
    others = np.delete(np.arange(matrix.shape[0]), ground)
    factor = factorized(sparse.csr_array(matrix[others][:, others]))

    def solve(right: Array) -> Array:
        solution = np.zeros(len(right))
        solution[others] = factor(right[others])
        return solution

    return solve


def factorized(matrix: Any) -> Callable[[Array], Array]:
    """Solve with a positive definite sparse matrix, factorized with little fill."""
    factor = splu(
        sparse.csc_matrix(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    solve: Callable[[Array], Array] = factor.solve
    return solve


def smallest(
    matrix: sparse.csr_array,
    null: Array,
    n_components: int,
    *,
    largest: float | None = None,
    lift: float = 0.0,
) -> tuple[Array, Array]:
    """Trailing eigenvectors, without a known one; zeros where there are not enough of them."""
    n = matrix.shape[0]
    k = min(n_components, n - 1)
    if k < n_components:
        warn(
            f"A map of {counted(n, 'row')} has {counted(k, 'coordinate')}: of "
            f"{setting('n_components', n_components)} the last {n_components - k} are 0.",
            EmbeddingWarning,
        )
    values, vectors = trailing(matrix, null, k, largest=largest, lift=lift)
    missing = n_components - k
    return np.pad(values, (0, missing)), np.pad(vectors, ((0, 0), (0, missing)))


def held_in_place(matrix: sparse.csr_array, anchors: Anchors) -> Array:
    """Minimize ``tr(ZᵀMZ)`` with some rows of ``Z`` held: ``M_uu Z_u = -M_ua Z_a``."""
    n = matrix.shape[0]
    places = np.empty((n, anchors.places.shape[1]))
    places[anchors.rows] = anchors.places
    free = np.delete(np.arange(n), anchors.rows)
    if len(free):
        beside = sparse.csr_array(matrix[free])
        solve = factorized(beside[:, free])
        places[free] = solve(-np.asarray(beside[:, anchors.rows] @ anchors.places))
    return places
