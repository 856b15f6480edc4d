"""Rows as directions: of unit length wherever they are read, and what the methods on them share."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.cluster._core._base import _KMeansBase, check_centers
from sidelight.cluster._core._distances import squared_center_distances
from sidelight.cluster._core._lloyd import LloydResult, Project
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import ConstraintWarning, SidelightError

NameRows = Callable[[Any], Sequence[str]]

GEOMETRIES = ("euclidean", "cosine")

#: Size of the random steps from the mean direction that give the start of the chapter.
PERTURBATION = 0.1


class UnitRows(RowSource):
    """The rows of another source, divided by their lengths as they are read.

    Only the lengths are kept; blocks stay dense or CSR.

    Parameters
    ----------
    source : RowSource
        The rows as they are.
    name_rows : callable, default=None
        Turns positions into the names that a message uses.
    """

    def __init__(self, source: RowSource, name_rows: NameRows | None = None) -> None:
        self.n_rows, self.n_features = source.shape
        self.dtype, self.is_sparse = source.dtype, source.is_sparse
        self.max_parallel = source.max_parallel
        self._source = source
        self._lengths = source.map_reduce(lambda block: ((), (row_lengths(block),)))[1][0]
        zero = np.flatnonzero(self._lengths == 0)
        if len(zero):
            name = f"row {zero[0]}" if name_rows is None else name_rows(zero[:1])[0]
            of = " of the sparse matrix" if self.is_sparse else ""
            more = f" (and so are {len(zero) - 1} more)" if len(zero) > 1 else ""
            raise SidelightError(
                f"{name[0].upper()}{name[1:]}{of} is all zeros{more}, and zeros have no direction: "
                "drop such rows, or use a method of squared distances."
            )

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are worked on together."""
        return self._source.blocks

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the directions of the rows at these positions."""
        positions = np.asarray(rows, dtype=np.intp)
        return _divided(self._source.take(positions), self._lengths[positions])

    def tasks(self) -> list[tuple[int, ...]]:
        return self._source.tasks()

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        for number, block in zip(task, self._source.read(task), strict=True):
            start, stop = self.blocks[number]
            yield _divided(block, self._lengths[start:stop])


def row_lengths(block: Any) -> Array:
    """Return the lengths of the rows, in their own precision; 0 for zero rows only."""
    lengths = np.empty(block.shape[0])
    for tile in tiles(len(lengths)):
        lengths[tile] = _lengths(block[tile])
    extreme = np.flatnonzero((lengths == 0) | ~np.isfinite(lengths))
    if len(extreme):  # squares that left the range of floats: measured in units of the largest
        rows = block[extreme]
        peak = abs(rows).max(axis=1)
        peak = np.asarray(peak.toarray() if sparse.issparse(peak) else peak).ravel()
        unit = np.where(peak > 0, peak, 1).astype(np.float64)
        lengths[extreme] = unit * _lengths(_divided(rows.astype(np.float64), unit))
    return lengths.astype(block.dtype)


def _lengths(rows: Any) -> Array:
    if sparse.issparse(rows):
        rows = rows.astype(np.float64)
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def _divided(rows: Any, lengths: Array) -> Any:
    if not sparse.issparse(rows):
        return rows / lengths[:, None]
    data = rows.data / np.repeat(lengths, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def onto_sphere(means: Array, before: Array) -> Array:
    """Scale means to unit length; one without a direction stays where it was.

    A length of 1 up to rounding is left alone, so that a centre that has arrived stands still.
    """
    lengths = np.linalg.norm(means, axis=1)
    eps = np.finfo(means.dtype).eps
    lengths = np.where(np.abs(lengths - 1) <= 8 * eps, 1, lengths)
    nowhere = lengths <= 8 * eps
    return np.where(nowhere[:, None], before, means / np.where(nowhere, 1, lengths)[:, None])


def perturbed_mean(
    source: RowSource, n_clusters: int, random_state: np.random.RandomState
) -> Array:
    """Choose centres around the mean direction: small random steps from it (section 8.3.2)."""
    total = source.map_reduce(lambda block: ((np.asarray(block.sum(axis=0)).ravel(),), ()))[0][0]
    length = np.linalg.norm(total)
    mean = total / length if length > 0 else np.zeros_like(total)
    steps = random_state.standard_normal((n_clusters, source.n_features))
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    return onto_sphere(mean + PERTURBATION * steps, steps).astype(source.dtype)


class _DirectionsBase(_KMeansBase):
    """k-means whose rows are points or directions: ``geometry`` is "euclidean" or "cosine".

    The cost of a row at a centre is the squared distance, or 1 minus the cosine: half the squared
    distance of unit vectors. Methods on directions only have no such parameter.
    """

    geometry: str = "cosine"

    @property
    def _cosine(self) -> bool:
        return self.geometry == "cosine"

    @property
    def _project(self) -> Project | None:
        return onto_sphere if self._cosine else None

    def _check_geometry(self) -> None:
        if self.geometry not in GEOMETRIES:
            raise ValueError(f"geometry must be one of {GEOMETRIES}, got {self.geometry!r}.")

    def _check_source_rows(self, X: Any, *, reset: bool) -> RowSource:
        source = super()._check_source_rows(X, reset=reset)
        return UnitRows(source) if self._cosine else source

    def _check_fit(self, X: Any, constraints: Constraints | None) -> tuple[RowSource, Constraints]:
        """Check the rows, by the names that the constraints have for them, and the constraints."""
        source = as_rows(self._check_rows(X, reset=True))
        known = self._check_constraints(constraints, None, source.n_rows)
        return UnitRows(source, known.name_rows) if self._cosine else source, known

    def _warn_of_unused(self, known: Constraints, instead: str) -> None:
        """Tell that statements about rows are counted only, and who would use them."""
        if not known.is_empty:
            warnings.warn(
                f"{type(self).__name__} does not use must-links, cannot-links, labels or groups; "
                f"n_violations_ counts what the result violates. {instead}",
                ConstraintWarning,
                stacklevel=3,
            )

    def _start(
        self,
        source: RowSource,
        init: Any,
        random_state: np.random.RandomState,
        sample_weight: Array | None,
    ) -> Array:
        if isinstance(init, str):
            if init == "perturb" and self._cosine:
                return perturbed_mean(source, self.n_clusters, random_state)
            return super()._start(source, init, random_state, sample_weight)
        centers = check_centers(init, self.n_clusters, source)
        if self._cosine:
            lengths = row_lengths(centers)
            if np.any(lengths == 0):
                h = int(np.flatnonzero(lengths == 0)[0])
                raise SidelightError(f"Centre {h} of init is all zeros and has no direction.")
            centers = _divided(centers, lengths)
        return centers

    def _costs(self, source: RowSource, centers: Array) -> Array:
        """Cost of every row at every centre, ``(n, k)`` in the type of the rows."""
        half = 0.5 if self._cosine else 1.0

        def measure(block: Any) -> tuple[tuple[()], tuple[Array]]:
            costs = np.empty((block.shape[0], len(centers)), dtype=source.dtype)
            for tile in tiles(len(costs)):
                costs[tile] = half * squared_center_distances(block[tile], centers)
            return (), (costs,)

        return source.map_reduce(measure)[1][0]

    def _in_units(self, result: LloydResult) -> LloydResult:
        """Turn squared distances of unit vectors into ``1 - cosine``."""
        if not self._cosine:
            return result
        return dataclasses.replace(
            result,
            inertia=result.inertia / 2,
            penalty=result.penalty / 2,
            history=result.history / 2,
        )

    def transform(self, X: Any) -> Array:
        """Return the distance of every row to every centre.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances in the element type of the rows; for directions 1 minus the cosine.
        """
        if not self._cosine:
            return super().transform(X)
        check_is_fitted(self)
        return self._costs(self._validate_rows(X, reset=False), self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the costs of the rows at their nearest centres.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger (the closer to 0) the better.
        """
        squared = super().score(X, y, sample_weight)
        return squared / 2 if self._cosine else squared
