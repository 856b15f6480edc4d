"""Sammon's mapping."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from sidelight import graphs
from sidelight._fit.parameters import (
    ArrayLike,
    Count,
    FiniteNonNegative,
    FinitePositive,
    Verbosity,
    estimator,
)
from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array, FloatArray
from sidelight._warn import warn
from sidelight._words import setting, worded
from sidelight.base import Embedding
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.manifold.linear._base import Centered
from sidelight.manifold.stress._descent import (
    SammonStress,
    TargetDistances,
    descend,
    over_tiles,
    place_rows,
)
from sidelight.tags import own_tags

#: Displacement of rows that differ but start in one place, as a share of the extent of the map.
JITTER = 1e-3

#: Up to this many rows all eigenvectors are computed at once.
FEW_ROWS = 500


@estimator
class SammonMapping(Embedding):
    r"""Map that keeps distances, small ones above all: Sammon's mapping.

    Minimizes Sammon's stress (Law 2006, section 2.3)

    .. math:: S = \frac{1}{\sum_{i<j} \delta_{ij}}
              \sum_{i<j} \frac{(d_{ij} - \delta_{ij})^2}{\delta_{ij}}

    over the places of the rows, with the distances ``δ`` between rows and ``d`` between places.
    Each step is a diagonal Newton step ``S'_ik / |S''_ik|`` times a factor that is halved until the
    stress does not rise. It keeps straight distances: a curved surface is flattened, not unrolled.
    Read more in the :doc:`user guide </manifold/stress>`.

    Parameters
    ----------
    n_components : int >= 1, default=2
        Number of coordinates.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows, or distances: between all rows in ``fit``, from new rows to those
        of the fit in ``transform``.
    init : "pca" or array, default="pca"
        First map: principal components, which are classical scaling for distances, or an array of
        shape (n_samples, n_components).
    magic_factor : float > 0, finite, default=0.35
        Part of a Newton step that the first step is; Sammon's magic factor. It grows up to 1 while
        steps pay.
    max_iter : int >= 1, default=1000
        Largest number of steps.
    tol : float >= 0, finite, default=1e-06
        The fit has converged when two steps in a row lower the stress by less than this share.

    Attributes
    ----------
    objective_ : float
        Stress of the map.
    history_ : ndarray
        Stress at the start and after every step; it never rises.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the fit converged before ``max_iter``.
    n_equal_pairs_ : int
        Number of pairs of equal rows. The stress divides by their distance, so that it leaves them
        out; from the same start they keep one place.

    Examples
    --------
    >>> from sidelight.datasets import make_strip
    >>> from sidelight.manifold import SammonMapping
    >>> strip = make_strip(60, ambient=5, random_state=0)
    >>> model = SammonMapping().fit(strip.data)
    >>> round(model.objective_, 6)
    0.0
    >>> model.transform(strip.data[:3]).shape
    (3, 2)
    """

    n_components: Count = 2
    _: KW_ONLY
    metric: Literal["euclidean", "precomputed"] = "euclidean"
    init: Literal["pca"] | ArrayLike = "pca"
    magic_factor: FinitePositive = 0.35
    max_iter: Count = 1000
    tol: FiniteNonNegative = 1e-6
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="map that keeps distances, small ones above all",
        source="Law 2006, section 2.3; Sammon 1969",
        complexity="O(n² (d + q)) per step; memory O(n d) above 4,000 rows, O(n²) below",
        monotone=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _learn(self, rows: Array, known: Constraints) -> None:
        precomputed = self.metric == "precomputed"
        if len(rows) < 2:
            raise SidelightError(
                f"A map needs at least two rows that differ ({worded('n_samples=', '')}1)."
            )
        values = np.array(graphs.check_distances(rows) if precomputed else rows, dtype=np.float64)
        self._rows = None if precomputed else values
        self._unit = _unit(values, precomputed)
        scaled = values / self._unit
        if precomputed:
            np.fill_diagonal(scaled, 0.0)
        stress = SammonStress(TargetDistances(scaled, precomputed))
        end = descend(
            stress,
            _apart(self._start(scaled), scaled, precomputed),
            factor=self.magic_factor,
            tol=self.tol,
            max_iter=self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        self.embedding_ = (end.last.places * self._unit).astype(rows.dtype)
        self.history_ = np.array(end.history)
        self.objective_ = end.last.stress
        self.n_iter_ = end.n_iter
        self.converged_ = end.converged
        self.n_equal_pairs_ = stress.n_equal
        if not end.converged and end.n_iter == self.max_iter:
            warn(
                f"SammonMapping did not converge within {setting('max_iter', self.max_iter)} "
                f"steps; the stress is {self.objective_:.4g}. Raise {setting('max_iter')} or "
                f"{setting('tol')}.",
                ConvergenceWarning,
            )

    def _start(self, scaled: FloatArray) -> FloatArray:
        """First map, in units of the extent of the rows."""
        if isinstance(self.init, str):
            principal = _classical_scaling if self.metric == "precomputed" else _components
            return principal(scaled, self.n_components)
        start = np.asarray(self.init, dtype=np.float64)
        shape = (len(scaled), self.n_components)
        if start.shape != shape:
            raise SidelightError(
                f"{setting('init')} has shape {start.shape}; a map of {shape[0]:,} rows in "
                f"{shape[1]} coordinates has shape {shape}."
            )
        if not np.isfinite(start).all():
            raise SidelightError(f"{setting('init')} places rows at infinity.")
        return start / self._unit

    def _transform(self, rows: Array) -> Array:
        places = self.embedding_.astype(np.float64) / self._unit
        n_map = len(places)
        found = np.empty((len(rows), places.shape[1]))

        def place_tile(part: slice) -> None:
            values = rows[part].astype(np.float64)
            wanted = values if self._rows is None else cdist(values, self._rows)
            found[part] = place_rows(wanted / self._unit, places)

        if self._rows is None and np.min(rows, initial=0.0) < 0:
            row, column = np.argwhere(rows < 0)[0]
            raise SidelightError(
                f"The distance from new row {row} to row {column} of the fit is negative."
            )
        over_tiles(len(rows), n_map, place_tile)
        return (found * self._unit).astype(rows.dtype)


def _unit(values: FloatArray, precomputed: bool) -> float:
    """A power of two near the largest distance: scaling by it is exact."""
    extent = float(values.max() if precomputed else np.ptp(values, axis=0).max())
    if extent == 0:
        raise SidelightError(
            f"All rows are the same ({worded('n_samples=', '')}{len(values)}), so no distance can "
            "be kept; give rows that differ."
        )
    return float(2.0 ** np.frexp(extent)[1])


def _components(rows: FloatArray, n_components: int) -> FloatArray:
    """Principal components, 0 where the rows vary in fewer directions."""
    centered = Centered(rows)
    signs = np.sum(fix_signs(centered.basis) * centered.basis, axis=1)
    return _padded(centered.coordinates * np.sign(signs), n_components)


def _classical_scaling(distances: FloatArray, n_components: int) -> FloatArray:
    """Classical scaling of distances: ``V √λ`` of the leading eigenvectors of ``-½ H D² H``."""
    products = -0.5 * distances**2
    products -= products.mean(axis=0)
    products -= products.mean(axis=1, keepdims=True)
    n = len(products)
    wanted = min(n_components, n)
    if n <= FEW_ROWS or wanted >= n - 1:
        values, vectors = linalg.eigh(products, subset_by_index=[n - wanted, n - 1])
    else:
        start = np.random.RandomState(0).uniform(-1, 1, n)
        values, vectors = eigsh(products, k=wanted, which="LA", v0=start)
    order = np.argsort(-values)
    scores = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    return _padded(fix_signs(scores.T).T, n_components)


def _padded(scores: FloatArray, n_components: int) -> FloatArray:
    kept = scores[:, :n_components]
    return np.pad(kept, ((0, 0), (0, n_components - kept.shape[1])))


def _apart(start: FloatArray, values: FloatArray, precomputed: bool) -> FloatArray:
    """A map on which rows that differ do not coincide: points in one place never part by steps."""
    place = np.unique(start, axis=0, return_inverse=True)[1].ravel()
    if place.max() == len(start) - 1:
        return start
    row = (
        np.argmax(values == 0, axis=1)
        if precomputed
        else np.unique(values, axis=0, return_inverse=True)[1].ravel()
    )
    n_rows_in_place = np.bincount(np.unique(np.column_stack([place, row]), axis=0)[:, 0])
    crowded = n_rows_in_place[place] > 1
    extent = float(np.ptp(start, axis=0).max()) or 1.0
    # One displacement for all rows that are equal, which stay together.
    moves = np.random.RandomState(0).standard_normal((len(start), start.shape[1]))[row]
    return start + np.where(crowded[:, None], JITTER * extent * moves, 0.0)
