"""Coordinates from geodesics, improved step by step while these change."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from sidelight._typing import Array
from sidelight.engine.inner import one_thread_blas
from sidelight.graphs import DynamicPathTrees, DynamicShortestPaths
from sidelight.manifold.spectral._frame import squared_distance_frame, start_vector

#: Up to this many rows the eigenvectors are recomputed every time: it takes no longer.
FEW_ROWS = 60

#: The least eigenvalue is reestimated when the number of rows has grown by this factor.
GROWN = 1.25

#: Weights of the least and the last leading eigenvalue in the shift (Law 2006, section 3.4.3).
SHIFT = 0.7, 0.3

#: Eigenvalues below this share of the largest are rounding.
NO_VARIANCE = 1e-10


class Coordinates:
    """Leading eigenvectors of ``B = -½ H G2 H``, by subspace iteration with Rayleigh-Ritz.

    Law 2006, section 3.2.1.4. ``B`` is never formed: a product with it is one pass over the
    geodesics. The coordinates of row ``i`` are ``vectors[i] @ stretch``.

    Attributes
    ----------
    vectors : ndarray of shape (n, d)
        Orthonormal vectors, by slot.
    values : ndarray of shape (d,)
        Eigenvalues, descending; 0 where there are no more above 0.
    means : ndarray of shape (n,)
        Mean squared geodesics of the rows.
    residual : float
        ``max_c |B v_c - λ_c v_c| / λ_1`` when it was last known.
    complete : bool
        Whether all rows have vectors; not while some are in another part of the graph. Those that
        lie on the map later are no small change, which a step would follow: all are recomputed.
    """

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components
        self.vectors = np.zeros((0, n_components))
        self.values = np.zeros(n_components)
        self.means = np.zeros(0)
        self.residual = 0.0
        self.complete = True
        self.least = 0.0
        self.n_at_least = 0

    @property
    def stretch(self) -> Array:
        """Factors that turn eigenvectors into coordinates."""
        return np.diag(np.sqrt(self.values))

    def place(self, lengths: Array) -> Array:
        """Vectors of new rows from their geodesics to all rows: ``V' (means - g²) / 2λ``."""
        inverse = np.zeros_like(self.values)
        np.divide(0.5, self.values, where=self.values > 0, out=inverse)
        with one_thread_blas:
            return np.asarray((self.means - lengths**2) @ self.vectors * inverse)

    def add(self, lengths: Array) -> None:
        """Add a row, from its geodesics to all others."""
        self._add_vector(lengths)
        mean = np.sum(lengths**2) / max(len(lengths), 1) if self.complete else 0.0
        self.means = np.append(self.means, mean)

    def _add_vector(self, lengths: Array) -> None:
        """Add the vector of a row; it is 0 where the row, or another, is in another part."""
        self.complete = self.complete and bool(np.isfinite(lengths).all())
        vector = self.place(lengths) if self.complete else np.zeros(self.n_components)
        self.vectors = np.vstack([self.vectors, vector])

    def drop(self, slot: int) -> None:
        """Remove the row of a slot; the last row gets the slot."""
        self.vectors[slot], self.means[slot] = self.vectors[-1], self.means[-1]
        self.vectors, self.means = self.vectors[:-1].copy(), self.means[:-1].copy()

    def solve(self, paths: Any, inside: Array | None = None) -> None:
        """Recompute the eigenvectors to full accuracy, of the rows ``inside`` only if given."""
        lengths = paths.distances
        n = len(lengths)
        if inside is not None:
            lengths = lengths[np.ix_(inside, inside)]
        frame = squared_distance_frame(lengths, self.n_components)
        self.values = frame.values
        if inside is None:
            self.vectors, self.means = frame.vectors, -2.0 * frame.means
        else:
            self.vectors, self.means = np.zeros((n, self.n_components)), np.zeros(n)
            self.vectors[inside], self.means[inside] = frame.vectors, -2.0 * frame.means
        self.residual = 0.0
        self.complete = inside is None

    def improve(self, paths: Any, steps: int) -> None:
        """Make the vectors follow the geodesics by some steps."""
        if not self.complete or len(self.vectors) <= max(FEW_ROWS, 4 * self.n_components):
            self.solve(paths)
            return
        shift = self._shift(paths)
        basis = self._basis()
        product = _centered(paths, basis)[0]
        for _ in range(steps):
            with one_thread_blas:
                basis = np.linalg.qr((product + shift * basis).T)[0].T
            product, self.means = _centered(paths, basis)
        with one_thread_blas:
            small = product @ basis.T
            values, turn = np.linalg.eigh((small + small.T) / 2)
            turn = turn[:, ::-1]
            off = turn.T @ product - values[::-1, None] * (turn.T @ basis)
            self.vectors = np.ascontiguousarray((turn.T @ basis).T)
        largest = max(float(values[-1]), 1e-300)
        self.values = np.where(values[::-1] > NO_VARIANCE * largest, values[::-1], 0.0)
        self.residual = float(np.linalg.norm(off, axis=1).max()) / largest

    def _basis(self) -> Array:
        """Orthonormal vectors to begin with, also where some of those that there are vanish."""
        vectors = self.vectors.T.copy()
        empty = np.linalg.norm(vectors, axis=1) < 1e-8
        if empty.any():
            noise = start_vector(vectors.shape[1] * int(empty.sum()))
            vectors[empty] = noise.reshape(-1, vectors.shape[1])
        with one_thread_blas:
            return np.asarray(np.linalg.qr(vectors.T)[0].T)

    def _shift(self, paths: DynamicShortestPaths) -> float:
        """Shift that keeps large negative eigenvalues from being taken for leading ones."""
        n = len(self.vectors)
        if self.n_at_least == 0 or not 1 / GROWN < n / self.n_at_least < GROWN:
            self.least, self.n_at_least = _least_eigenvalue(paths), n
        least = self.least * n / self.n_at_least  # eigenvalues grow with the number of rows
        return max(-SHIFT[0] * least - SHIFT[1] * float(self.values[-1]), 0.0)


class LandmarkCoordinates(Coordinates):
    """Leading singular vectors of ``B = -½ H_m G2 H_n``, geodesics from landmarks only.

    Law 2006, section 3.2.2.1, repaired. ``B = U S V'`` gives ``X = V S^½``, which is a linear image
    of the configuration; ``X A`` with ``A A' = X_L⁺ U S^½`` is the configuration itself where
    geodesics are Euclidean distances, ``X_L`` the centered coordinates of the landmarks.

    Attributes
    ----------
    left : ndarray of shape (m, d)
        ``U``.
    means : ndarray of shape (m,)
        Mean squared geodesics from the landmarks.
    """

    def __init__(self, n_components: int) -> None:
        super().__init__(n_components)
        self.left = np.zeros((0, n_components))
        self._stretch = np.zeros((n_components, n_components))

    @property
    def stretch(self) -> Array:
        """Linear map that turns singular vectors into isometric coordinates."""
        return self._stretch

    def begin(self, n_rows: int) -> None:
        """Make room for the vectors of rows, which the next step finds."""
        self.vectors, self.complete = np.zeros((n_rows, self.n_components)), False

    def place(self, lengths: Array) -> Array:
        """Vectors of new rows from their geodesics to the landmarks: ``U' (means - g²) / 2S``."""
        inverse = np.zeros_like(self.values)
        np.divide(0.5, self.values, where=self.values > 0, out=inverse)
        with one_thread_blas:
            return np.asarray((self.means - lengths**2) @ self.left * inverse)

    def add(self, lengths: Array) -> None:
        """Add a row, from its geodesics to the landmarks."""
        self._add_vector(lengths)

    def drop(self, slot: int) -> None:
        """Remove the row of a slot; the last row gets the slot."""
        self.vectors[slot] = self.vectors[-1]
        self.vectors = self.vectors[:-1].copy()

    def solve(self, paths: Any, inside: Array | None = None) -> None:
        """Recompute the singular vectors from ``B B'``, and refine them."""
        gram = _landmark_gram(paths, inside)
        m = len(gram)
        asked = min(self.n_components, m)
        values, left = linalg.eigh(gram, subset_by_index=(m - asked, m - 1))
        self.left = np.pad(left[:, ::-1], ((0, 0), (0, self.n_components - asked)))
        self.values = np.sqrt(np.maximum(values[::-1], 0.0))
        self._step(paths, inside, self.left.T)
        for _ in range(2):
            self._improve_once(paths, inside)
        self.complete = inside is None

    def improve(self, paths: Any, steps: int) -> None:
        """Make the vectors follow the geodesics by some Ritz steps."""
        if not self.complete:
            self.solve(paths)
            return
        for _ in range(steps):
            self._improve_once(paths, None)

    def _improve_once(self, paths: DynamicPathTrees, inside: Array | None) -> None:
        n = len(self.vectors)
        weights = np.ones(n) if inside is None else inside.astype(np.float64)
        vectors = _without_mean(self.vectors.T, weights)
        product = paths.squares_times(np.vstack([vectors, weights]))
        self.means = product[-1] / weights.sum()
        left = -0.5 * product[:-1]
        left -= left.mean(axis=1, keepdims=True)
        with one_thread_blas:
            self._step(paths, inside, np.linalg.svd(left, full_matrices=False)[2])

    def _step(self, paths: DynamicPathTrees, inside: Array | None, left: Array) -> None:
        """Second half of a Ritz step, from the left singular vectors (in rows)."""
        n = paths.n_vertices
        weights = np.ones(n) if inside is None else inside.astype(np.float64)
        right = _without_mean(-0.5 * paths.times_squares(left), weights)
        if len(self.means) != len(paths.sources):
            self.means = paths.squares_times(weights[None])[0] / weights.sum()
        with one_thread_blas:
            turn, values, vectors = np.linalg.svd(right, full_matrices=False)
            self.vectors = np.ascontiguousarray(vectors.T)
            self.left = left.T @ turn
        self.values = np.where(values > NO_VARIANCE * max(values[0], 1e-300), values, 0.0)
        self._stretch = self._isometric(paths)

    def _isometric(self, paths: DynamicPathTrees) -> Array:
        """Singular vectors to coordinates: stretched to isometry, then turned to principal axes."""
        roots = np.sqrt(self.values)
        plain = self.vectors * roots
        landmarks = plain[paths.sources] - plain[paths.sources].mean(axis=0)
        square = np.linalg.lstsq(landmarks, self.left * roots, rcond=1e-8)[0]
        values, turn = np.linalg.eigh((square + square.T) / 2)
        stretch = roots[:, None] * (turn * np.sqrt(np.maximum(values, 0.0))) @ turn.T
        axes = np.linalg.svd(self.vectors @ stretch, full_matrices=False)[2]
        return np.asarray(stretch @ axes.T)


def _centered(paths: DynamicShortestPaths, basis: Array) -> tuple[Array, Array]:
    """``B v`` for vectors in rows, and the mean squared geodesics of the rows."""
    n = basis.shape[1]
    centered = basis - basis.mean(axis=1, keepdims=True)
    product = paths.squares_times(np.vstack([centered, np.full(n, 1.0 / n)]))
    found = -0.5 * product[:-1]
    return found - found.mean(axis=1, keepdims=True), product[-1]


def _without_mean(vectors: Array, weights: Array) -> Array:
    """Vectors in rows, centered over the entries with weight 1 and 0 elsewhere."""
    means = (vectors * weights).sum(axis=1, keepdims=True) / weights.sum()
    return np.asarray((vectors - means) * weights)


def _least_eigenvalue(paths: DynamicShortestPaths) -> float:
    """Estimate of the least eigenvalue of ``B``, to a percent or so."""
    n = paths.n_vertices

    def apply(vector: Array) -> Array:
        return _centered(paths, np.ravel(vector)[None])[0][0]

    operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
    try:
        values = eigsh(
            operator,
            1,
            which="SA",
            v0=start_vector(n),
            tol=1e-2,
            return_eigenvectors=False,
        )
    except ArpackNoConvergence as error:
        values = error.eigenvalues if len(error.eigenvalues) else np.zeros(1)
    return float(values[0])


def _landmark_gram(paths: DynamicPathTrees, inside: Array | None) -> Array:
    """``B B'`` over the landmarks, from blocks of columns."""
    lengths = paths.distances
    m, n = lengths.shape
    columns = np.arange(n) if inside is None else np.flatnonzero(inside)
    size = max(1, 4_000_000 // m)
    blocks = [columns[first : first + size] for first in range(0, len(columns), size)]
    means = sum(np.sum(lengths[:, block] ** 2, axis=1) for block in blocks) / len(columns)
    gram = np.zeros((m, m))
    with one_thread_blas:
        for block in blocks:
            part = -0.5 * (lengths[:, block] ** 2 - means[:, None])
            part -= part.mean(axis=0)
            gram += part @ part.T
    return gram
