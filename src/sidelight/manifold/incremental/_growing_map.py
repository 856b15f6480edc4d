"""A map that rows are added to and taken from: graph, geodesics, coordinates."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.constraints import Pairs
from sidelight.exceptions import SidelightError
from sidelight.graphs import DynamicPathTrees
from sidelight.manifold.incremental._coordinates import Coordinates, LandmarkCoordinates
from sidelight.manifold.incremental._map_graph import MapGraph
from sidelight.manifold.incremental._updates import MapUpdate
from sidelight.manifold.spectral._frame import check_pairs_fit

#: A stream chooses its landmarks when there are this many times as many rows.
ROWS_PER_LANDMARK = 2


@dataclass(frozen=True)
class Limits:
    """How many rows a map keeps, and which it gives up.

    Attributes
    ----------
    n_landmarks : int or None
        Rows whose geodesics are kept; all by default.
    window : int or None
        Number of newest rows that are kept.
    max_points : int or None
        Number of rows beyond which some are contracted.
    contraction : {"crowded", "new"}
        Which: the row whose nearest is the nearest, or the new one.
    """

    n_landmarks: int | None
    window: int | None
    max_points: int | None
    contraction: Literal["crowded", "new"]


@dataclass
class GrowingMap:
    """Rows of a stream with their places; slots are those of the :class:`MapGraph`.

    Attributes
    ----------
    graph : MapGraph
        Rows, edges and geodesics.
    coordinates : Coordinates
        Eigenvectors, or singular vectors of landmarks.
    limits : Limits
        Which rows are kept.
    rng : RandomState
        Draws landmarks.
    shown : ndarray of shape (n, n_components)
        Places by slot, turned so that they move as little as possible; NaN without a place.
    turn : ndarray of shape (n_components, n_components)
        The turn.
    n_seen : int
        Rows that have come so far.
    """

    graph: MapGraph
    coordinates: Coordinates
    limits: Limits
    rng: np.random.RandomState
    shown: Array = field(init=False)
    turn: Array = field(init=False)
    n_seen: int = 0

    def __post_init__(self) -> None:
        d = self.coordinates.n_components
        self.shown = np.zeros((0, d))
        self.turn = np.eye(d)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.graph.n

    @property
    def landmarks(self) -> Array | None:
        """Slots of the landmarks, if there are any."""
        paths = self.graph.paths
        return paths.sources if isinstance(paths, DynamicPathTrees) else None

    @property
    def order(self) -> Array:
        """Slots in the order in which their rows came."""
        return self.graph.near.order

    def start(self, rows: Array, first: int, pairs: Pairs, update: MapUpdate) -> None:
        """Begin with rows, all at once; ``first`` is the serial number of the first."""
        n, m = len(rows), self.limits.n_landmarks
        chosen = None
        if m is not None and n > m:
            chosen = np.sort(self.rng.permutation(n)[:m])
        else:
            self._check_size(n)
        self.graph.start(rows, first, pairs, chosen, update)
        self.n_seen = first + n
        self.shown = np.full((n, self.coordinates.n_components), np.nan)
        if chosen is not None:
            self.coordinates = LandmarkCoordinates(self.coordinates.n_components)
        self.solve(update)

    def add(self, row: Array, update: MapUpdate) -> None:
        """Add a row, and remove or contract another where there is no room."""
        if self.landmarks is None:
            self._check_size(self.n + 1)
        self.graph.add(row, self.n_seen, update)
        self.n_seen += 1
        self.coordinates.add(self._lengths_of_last())
        self.shown = np.vstack([self.shown, np.full((1, self.shown.shape[1]), np.nan)])
        limits = self.limits
        if limits.window is not None and self.n > limits.window:
            self.remove(int(np.argmin(self.graph.serials)), update)
        if limits.max_points is not None and self.n > limits.max_points:
            self._contract(update)
        if limits.n_landmarks is not None and self.landmarks is None:
            self._choose_landmarks(limits.n_landmarks)

    def remove(self, slot: int, update: MapUpdate) -> None:
        """Remove the row of a slot; the last row gets the slot."""
        paths = self.graph.paths
        if isinstance(paths, DynamicPathTrees) and slot in paths.sources:
            others = np.setdiff1d(np.arange(self.n), paths.sources)
            if len(others) == 0:
                raise SidelightError(
                    f"Row {int(self.graph.serials[slot])} is one of {len(paths.sources)} landmarks "
                    f"and no row is left to take its place; use fewer {setting('n_landmarks')}."
                )
            position = int(np.flatnonzero(paths.sources == slot)[0])
            paths.move_source(position, int(self.rng.choice(others)))
        self.graph.remove(slot, update)
        self._drop(slot)

    def _contract(self, update: MapUpdate) -> None:
        slot = self.n - 1
        if self.limits.contraction == "crowded":
            crowding = self.graph.near.crowding().copy()
            if self.landmarks is not None:
                crowding[self.landmarks] = np.inf
            slot = int(np.argmin(crowding))
        self.graph.contract(slot, update)
        self._drop(slot)

    def _drop(self, slot: int) -> None:
        self.coordinates.drop(slot)
        self.shown[slot] = self.shown[-1]
        self.shown = self.shown[:-1].copy()

    def _choose_landmarks(self, number: int) -> None:
        """Keep the geodesics of some rows only, once there are enough rows."""
        room = self.limits.max_points or self.limits.window or np.inf
        if self.n < min(ROWS_PER_LANDMARK * number, room):
            return
        chosen = np.sort(self.rng.permutation(self.n)[:number])
        self.graph.with_landmarks(chosen)
        self.coordinates = LandmarkCoordinates(self.coordinates.n_components)
        self.coordinates.begin(self.n)

    def _lengths_of_last(self) -> Array:
        """Geodesics of the last row, to all others or to the landmarks."""
        last = self.n - 1
        distances = self.graph.paths.distances
        return distances[last, :last] if self.landmarks is None else distances[:, last]

    def _check_size(self, n: int) -> None:
        check_pairs_fit(
            n,
            "IncrementalIsomap",
            f"{setting('n_landmarks')} keeps the geodesics of some rows only, {setting('window')} "
            f"the newest rows, {setting('max_points')} the rows that count most.",
        )

    # --- coordinates ----------------------------------------------------------------------------

    def improve(self, steps: int, update: MapUpdate) -> None:
        """Update the coordinates to the geodesics, and rotate them towards those shown before."""
        started = time.perf_counter()
        if self.n:
            inside = self._inside()
            if inside is not None:
                self.coordinates.solve(self.graph.paths, inside)
            else:
                self.coordinates.improve(self.graph.paths, steps)
            self._show(inside)
        update.n_rows = self.n
        update.coordinate_seconds += time.perf_counter() - started

    def solve(self, update: MapUpdate) -> None:
        """Find the coordinates of the geodesics to the last digits."""
        started = time.perf_counter()
        inside = self._inside()
        self.coordinates.solve(self.graph.paths, inside)
        self._show(inside)
        update.n_rows = self.n
        update.coordinate_seconds += time.perf_counter() - started

    def _inside(self) -> Array | None:
        """Which rows are in the largest part, if there are several and no bridges."""
        inside = self.graph.rules.inside
        if inside is None:
            return None
        paths = self.graph.paths
        if isinstance(paths, DynamicPathTrees):
            outside = np.flatnonzero(~inside[paths.sources])
            free = np.setdiff1d(np.flatnonzero(inside), paths.sources)
            if len(free) < len(outside):
                raise SidelightError(
                    f"The largest part of the neighborhood graph has {int(inside.sum())} rows, too "
                    f"few for {len(paths.sources)} landmarks; use fewer {setting('n_landmarks')}, "
                    f"or {setting('disconnected', 'bridge')}."
                )
            for position, slot in zip(
                outside.tolist(), self.rng.permutation(free).tolist(), strict=False
            ):
                paths.move_source(position, slot)
        return inside

    def _show(self, inside: Array | None) -> None:
        """Turn the coordinates so that rows move as little as possible from where they were."""
        places = self.coordinates.vectors @ self.coordinates.stretch
        there = np.isfinite(self.shown).all(axis=1)
        if inside is not None:
            there &= inside
        if there.any():
            old, new = self.shown[there], places[there]
            left, _, right = np.linalg.svd((new - new.mean(axis=0)).T @ (old - old.mean(axis=0)))
            self.turn = left @ right
        else:
            signed = fix_signs(places.T).T
            self.turn = np.diag(np.where(np.sum(signed * places, axis=0) < 0, -1.0, 1.0))
        self.shown = places @ self.turn
        if inside is not None:
            self.shown[~inside] = np.nan

    def places_of(self, vectors: Array) -> Array:
        """Places of rows from their vectors."""
        return np.asarray(vectors @ self.coordinates.stretch @ self.turn)
