"""Isomap of a stream of rows (Law 2006, chapter 3)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Count,
    FinitePositive,
    Seed,
    Verbosity,
    check_parameters,
    estimator,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.base import Embedding
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.engine.inner import opened
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold._rows import KeptColumns, all_the_same, check_several, keep_columns
from sidelight.manifold.incremental._coordinates import Coordinates
from sidelight.manifold.incremental._edges import NO_PAIRS, EdgeRules
from sidelight.manifold.incremental._growing_map import GrowingMap, Limits
from sidelight.manifold.incremental._map_graph import MapGraph
from sidelight.manifold.incremental._neighborhood import Neighborhood
from sidelight.manifold.incremental._placing import place_rows
from sidelight.manifold.incremental._undo import undone_on_error
from sidelight.manifold.incremental._updates import MapUpdate
from sidelight.manifold.spectral._base import PARAMETERS
from sidelight.manifold.spectral._frame import check_pairs_fit, warn_of_missing_dimensions
from sidelight.tags import SOFT_TAGS, own_tags

#: A call that brings more than this share of the rows recomputes the coordinates.
MANY_ROWS = 0.1

#: A short-cut is suspected if a row shortens many geodesics by more than a tenth: the share
#: of all geodesics, and the number of rows from which on a warning is given.
SUSPECTED_SHARE = 0.15
SUSPECTED_ROWS = 200


@estimator
class IncrementalIsomap(Embedding):
    r"""Isomap that grows with the data: rows come and go, geodesics stay exact.

    .. math:: \min_Z \lVert B - Z Z^T \rVert_F, \quad B = -\tfrac12 H G^{(2)} H

    with ``g_ij`` the length of the shortest path from row ``i`` to row ``j`` over the neighborhood
    graph (Law 2006, chapter 3). When a row comes or goes, the graph, the geodesics that the change
    concerns and the coordinates are brought up to date, which is much faster than another fit: the
    geodesics are those of a fresh computation, the coordinates follow by ``n_ritz`` steps of
    subspace iteration, and are those of :class:`Isomap` up to a rotation after :meth:`refine`.
    Between calls the map turns as little as possible. Read more in the
    :doc:`user guide </manifold/incremental>`.

    Pairs that are known count as in :class:`Isomap`: must-linked rows are joined by an edge of a
    tenth of their distance, cannot-links cut the edges between the neighborhoods of their rows.

    Parameters
    ----------
    n_neighbors : int >= 1, default=10
        Number of neighbors of a row in the graph, all others while there are no more; two rows are
        joined if one is a neighbor of the other.
    n_landmarks : int >= 1 or None, default=None
        Keep the geodesics from this many rows, drawn at random, to all others, ``O(m n)`` numbers
        instead of ``O(n²)``. A stream draws them when it has twice as many rows.
    conformal : bool, default=False
        Divide the distance of two joined rows by ``√(M_i M_j)``, with ``M_i`` the mean distance of
        row ``i`` to its neighbors.
    window : int >= 1 or None, default=None
        Number of rows that the map keeps: the oldest is forgotten for every one that is too many.
    max_points : int >= 1 or None, default=None
        Number of rows that the map keeps: for every one that is too many a row is contracted, and
        the geodesics over it are kept by short-cuts between its neighbors.
    contraction : {"crowded", "new"}, default="crowded"
        Which row is contracted: the one whose nearest row is the nearest, or the new one.
    n_ritz : int >= 1, default=1
        Steps of subspace iteration of a call; more follow large changes better.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components)
        Coordinates of the rows of the map, in the order in which they came.
    last_embedding_ : ndarray of shape (n_last, n_components)
        Coordinates of the rows of the last ``fit`` or ``partial_fit``, also of those that are not
        in the map any more.
    row_ids_ : ndarray of int, shape (n_rows,)
        Numbers of the rows of the map: 0 for the first row that ever came, and so on.
    landmarks_ : ndarray of int or None
        Numbers of the rows that are landmarks, if there are any.
    eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues of ``B``; with landmarks its singular values.
    residual_ : float
        How far the coordinates are from those of the geodesics, ``max |B v - λ v| / λ_1``; 0 after
        a fit and after ``refine``, NaN for landmarks.
    n_samples_seen_ : int
        Number of rows that have come.
    updates_ : list of MapUpdate
        What every call did: edges added and deleted, geodesics invalidated and shortened, parts of
        the graph, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import IncrementalIsomap
    >>> t = np.linspace(0, 1.5 * np.pi, 60)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> order = np.random.RandomState(0).permutation(60)
    >>> model = IncrementalIsomap(1, n_neighbors=5).fit(X[order[:40]])
    >>> for row in X[order[40:]]:
    ...     model = model.partial_fit([row])
    >>> float(abs(np.corrcoef(model.embedding_[:, 0], t[order])[0, 1]).round(4))
    1.0
    >>> model.updates_[-1].edges_added
    6
    """

    _common_parameters: ClassVar[dict[str, str]] = PARAMETERS
    _family_tags = Embedding._family_tags | SOFT_TAGS
    _own_tags = own_tags(
        summary="Isomap that grows with the data, row by row",
        source="Law 2006, chapter 3",
        complexity="O(n²) time per row at most and O(n²) memory, O(m n) with m landmarks",
    )

    n_components: Count = 2
    _: KW_ONLY
    n_neighbors: Count = 10
    radius: FinitePositive | None = None
    n_landmarks: Count | None = None
    conformal: bool = False
    window: Count | None = None
    max_points: Count | None = None
    contraction: Literal["crowded", "new"] = "crowded"
    n_ritz: Count = 1
    disconnected: Literal["bridge", "largest", "raise"] = "bridge"
    ignore: Sequence[int] | Sequence[str] | None = None
    random_state: Seed = None
    verbose: Verbosity = 0

    # --- calls ----------------------------------------------------------------------------------

    @undone_on_error
    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Start a new map: Isomap of all rows at once.

        With ``window`` these are the last rows of ``X``; with ``max_points`` the first, and the
        others follow one by one.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Side information about the rows: pairs, labels, groups.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        check_several(len(rows))
        self._begin(rows)
        values = self._values(rows)
        if np.all(values == values[0]):
            raise all_the_same(len(rows))
        if self.radius is None and self.n_neighbors >= len(rows):
            warn(
                f"{setting('n_neighbors', self.n_neighbors)} are more than the other "
                f"{counted(len(rows) - 1, 'row')}: every row is joined with all others.",
                EmbeddingWarning,
            )
        self._grow(values, known_pairs(known))
        warn_of_missing_dimensions(self._map.coordinates.values, self.n_components)
        return self

    @undone_on_error
    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Add rows to the map, or start it.

        The geodesics change with every row, the coordinates once for all rows of the call. A map
        may begin with any number of rows, also with one.

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            The rows.
        y : array of shape (n_new,), default=None
            Known classes of these rows, -1 where unknown.
        constraints : Constraints, default=None
            Side information about these rows; or about all rows that have come so far and these,
            by their positions in the stream.

        Returns
        -------
        self : object
            The estimator.
        """
        begins = not hasattr(self, "_map")
        check_parameters(self)
        X = opened(X)
        rows: Any = self._check_rows(X, reset=begins)
        first = 0 if begins else self._map.n_seen
        total = first + len(rows)
        if first and isinstance(constraints, Constraints) and constraints.n_samples == total:
            if y is not None:
                raise SidelightError(
                    f"The constraints are about all {total:,} rows of the stream, y about the "
                    f"{counted(len(rows), 'new row')}; put the labels into the constraints, or "
                    "give constraints about the new rows only."
                )
            first = 0
            known = self._validate_knowledge(constraints, None, total, np.empty((total, 0)))
        else:
            known = self._validate_knowledge(constraints, y, len(rows), X)
        if begins:
            self._begin(rows)
        self._grow(self._values(rows), known_pairs(known), first)
        return self

    @undone_on_error
    def remove(self, positions: Any = None, *, ids: Any = None) -> Self:
        """Remove rows from the map.

        Parameters
        ----------
        positions : int or array of int, default=None
            Positions of the rows in ``embedding_``.
        ids : int or array of int, default=None
            Their numbers instead, as in ``row_ids_``.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        if (positions is None) == (ids is None):
            raise SidelightError("Give the positions of the rows to remove, or their ids.")
        serials = self._serials(positions) if ids is None else np.unique(np.atleast_1d(ids))
        missing = np.setdiff1d(serials, self.row_ids_)
        if len(missing):
            raise SidelightError(f"The map has no row with the number {missing[0]}.")
        if len(serials) == len(self.row_ids_):
            raise SidelightError("A map keeps at least one row; fit begins another.")
        update = MapUpdate()
        for serial in serials.tolist():
            self._map.remove(int(self._map.graph.near.slots_of(np.array([serial]))[0]), update)
        self._map.improve(self.n_ritz, update)
        self._check_connected("The rows were not removed.")
        self._warn_of_graph(update)
        self._publish(update)
        return self

    @undone_on_error
    def refine(self) -> Self:
        """Find the coordinates of the geodesics to the last digits: those of a batch map.

        The map is only turned: the embedding is that of :class:`Isomap` of the rows of the map up
        to a rotation, to about 1e-8 of its extent.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        update = MapUpdate(n_parts=self._map.graph.rules.n_parts)
        self._map.solve(update)
        self._publish(update)
        return self

    def geodesics(self) -> Array:
        """Return the geodesics between the rows of the map, in their order.

        Returns
        -------
        lengths : ndarray of shape (n_rows, n_rows) or (n_landmarks, n_rows)
            With landmarks those from them, in the order of ``landmarks_``.
        """
        check_is_fitted(self)
        order = self._map.order
        lengths = self._map.graph.paths.distances
        found = lengths[:, order] if self._map.landmarks is not None else lengths[order][:, order]
        return np.asarray(found if self.conformal else np.ldexp(found, self._exponent))

    def graph(self) -> sparse.csr_array:
        """Return the lengths of the edges between the rows of the map, in their order."""
        check_is_fitted(self)
        order = self._map.order
        graph = sparse.csr_array(self._map.graph.paths.graph[order][:, order])
        if not self.conformal:
            graph.data = np.ldexp(graph.data, self._exponent)
        return graph

    # --- inside ---------------------------------------------------------------------------------

    def _begin(self, rows: Array) -> None:
        """Make an empty map for rows like these."""
        self._check_limits()
        names = getattr(self, "feature_names_in_", None)
        if self.ignore is not None and len(rows) < len(self.ignore) + 2:
            raise SidelightError(
                f"The effect of {counted(len(self.ignore), 'column')} to {setting('ignore')} "
                f"cannot be learned from {counted(len(rows), 'row')}; begin the map with more rows "
                "at once."
            )
        self._columns: KeptColumns | None = keep_columns(rows, self.ignore, names)
        self._dtype = rows.dtype
        # Rows in units of a power of two near their extent: squares stay in range.
        self._exponent = int(np.frexp(float(np.abs(rows).max(initial=0.0)))[1])
        width = rows.shape[1] if self._columns is None else len(self._columns.kept)
        radius = None if self.radius is None else float(np.ldexp(self.radius, -self._exponent))
        near = Neighborhood(width, self.n_neighbors, radius)
        limits = Limits(self.n_landmarks, self.window, self.max_points, self.contraction)
        rng = copy.deepcopy(check_random_state(self.random_state))
        graph = MapGraph(near, EdgeRules(self.conformal, self.disconnected))
        self._map = GrowingMap(graph, Coordinates(self.n_components), limits, rng)
        self.updates_: list[MapUpdate] = []

    def _check_limits(self) -> None:
        if self.window is not None and self.max_points is not None:
            raise SidelightError(
                f"Rows are forgotten ({setting('window')}) or contracted "
                f"({setting('max_points')}), not both; set one of them."
            )
        for name in ("window", "max_points"):
            size = getattr(self, name)
            least = max(self.n_neighbors if self.radius is None else 1, self.n_landmarks or 0)
            if size is not None and size <= least:
                raise SidelightError(
                    f"{setting(name, size)} leaves no room: the map has to keep more than {least} "
                    f"rows, for {setting('n_neighbors')} and {setting('n_landmarks')}."
                )

    def _check_size(self, n: int) -> None:
        """Raise before rows are added if there is no memory for their geodesics."""
        if self.n_landmarks is None:
            check_pairs_fit(
                min(n, self.window or n, self.max_points or n),
                "IncrementalIsomap",
                f"{setting('n_landmarks')} keeps geodesics from some rows only; "
                f"{setting('window')} and {setting('max_points')} keep fewer rows.",
            )

    def _values(self, rows: Array) -> Array:
        """The columns that count, in units near 1."""
        values = rows if self._columns is None else self._columns.of(rows)
        return np.ldexp(values.astype(np.float64), -self._exponent)

    def _grow(self, values: Array, pairs: Pairs, first: int = 0) -> None:
        """Add rows, and pairs of the rows from ``first`` on."""
        self._check_size(self._map.n + len(values))
        update = MapUpdate()
        came = self._map.n_seen
        begin = 0
        if self._map.n == 0:
            begin = self._start(values, pairs, update)
            if begin == len(values):
                pairs = NO_PAIRS
        with stage_progress("Rows", len(values) - begin, verbose=self.verbose) as progress:
            for row in values[begin:]:
                self._map.add(row, update)
                progress.step()
        if pairs.n_together or pairs.n_apart:
            self._add_pairs(pairs, first, update)
            self._map.solve(update)
        elif len(values) - begin > MANY_ROWS * self._map.n:
            self._map.solve(update)
        elif len(values) > begin:
            self._map.improve(self.n_ritz, update)
        self._check_connected("The new rows were not taken." if came else "")
        self._warn_of_graph(update)
        self._publish(update)
        self._show_last(came, values)

    def _start(self, values: Array, pairs: Pairs, update: MapUpdate) -> int:
        """Begin with as many rows as there is room for; how many that uses up."""
        n = len(values)
        if self.window is not None and n > self.window:
            kept = n - self.window
            inside = _pairs_within(pairs, np.arange(n) >= kept, -kept)
            self._map.start(values[kept:], kept, inside, update)
            return n
        if self.max_points is not None and n > self.max_points:
            self._map.start(values[: self.max_points], 0, NO_PAIRS, update)
            return self.max_points
        self._map.start(values, 0, pairs, update)
        return n

    def _add_pairs(self, pairs: Pairs, first: int, update: MapUpdate) -> None:
        """Add pairs of rows that are in the map, given by positions from ``first`` on."""
        there = np.zeros(self._map.n_seen, dtype=bool)
        there[self._map.graph.serials] = True
        kept = _pairs_within(pairs, there[first:], 0)
        self._map.graph.add_pairs(kept, np.arange(first, self._map.n_seen), update)

    def _check_connected(self, undone: str) -> None:
        """With ``disconnected="raise"``, refuse a change that leaves the graph in parts."""
        rules = self._map.graph.rules
        if self.disconnected != "raise" or rules.n_parts == 1 or rules.part is None:
            return
        sizes = np.sort(np.bincount(rules.part))[::-1]
        message = (
            f"The neighborhood graph falls into {counted(len(sizes), 'part')} of "
            f"{', '.join(str(size) for size in sizes[:5])}{' ...' if len(sizes) > 5 else ''} rows; "
            f"a larger {setting('n_neighbors')} or {setting('radius')} may join them, or "
            f"{setting('disconnected', 'bridge')} and {setting('disconnected', 'largest')}, which "
            "go on without that."
        )
        raise SidelightError(f"{message} {undone}".rstrip())

    def _warn_of_graph(self, update: MapUpdate) -> None:
        """Warn about parts of the graph and about suspected short-cuts."""
        rules = self._map.graph.rules
        if rules.n_parts > rules.n_warned:
            warn(rules.message, EmbeddingWarning)
        rules.n_warned = rules.n_parts
        if update.share_shortened > SUSPECTED_SHARE and self._map.n >= SUSPECTED_ROWS:
            warn(
                f"A short-cut is suspected: one row made {update.share_shortened:.0%} of all "
                "geodesics more than a tenth shorter. Fewer "
                f"{setting('n_neighbors')} or a smaller {setting('radius')} join fewer rows across "
                "gaps of the manifold; cannot-links cut such edges.",
                EmbeddingWarning,
            )

    def _publish(self, update: MapUpdate) -> None:
        """Set what users read."""
        order = self._map.order
        self.row_ids_ = self._map.graph.serials[order]
        self.embedding_ = self._units(self._map.shown[order])
        landmarks = self._map.landmarks
        self.landmarks_ = None if landmarks is None else self._map.graph.serials[landmarks]
        coordinates = self._map.coordinates
        power = 0 if self.conformal else 2 * self._exponent
        self.eigenvalues_ = np.ldexp(coordinates.values, power)
        self.residual_ = float("nan") if landmarks is not None else coordinates.residual
        self.n_samples_seen_ = self._map.n_seen
        self.updates_.append(update)

    def _show_last(self, came: int, values: Array) -> None:
        """Set the coordinates of the rows of this call; those given up are placed as new rows."""
        here = self.row_ids_ >= came
        given_up = np.ones(len(values), dtype=bool)
        given_up[self.row_ids_[here] - came] = False
        self.last_embedding_ = np.empty((len(values), self.n_components), dtype=self._dtype)
        self.last_embedding_[~given_up] = self.embedding_[here]
        if given_up.any():
            self.last_embedding_[given_up] = self._units(place_rows(self._map, values[given_up]))

    def _units(self, places: Array) -> Array:
        """Places in the units and the element type of the rows."""
        scaled = places if self.conformal else np.ldexp(places, self._exponent)
        return np.asarray(scaled.astype(self._dtype))

    def _serials(self, positions: Any) -> Array:
        places = np.unique(np.atleast_1d(np.asarray(positions, dtype=np.int64)))
        n = len(self.row_ids_)
        if len(places) and (places[0] < -n or places[-1] >= n):
            wrong = places[0] if places[0] < -n else places[-1]
            raise SidelightError(f"Positions of rows are 0 to {n - 1}, got {wrong}.")
        return np.unique(self.row_ids_[places])

    def _transform(self, rows: Any) -> Array:
        return self._units(place_rows(self._map, self._values(rows))).astype(rows.dtype, copy=False)


def _pairs_within(pairs: Pairs, there: Array, shift: int) -> Pairs:
    """Pairs of which both rows are there, at shifted positions."""
    kept = there[pairs.together].all(axis=1), there[pairs.apart].all(axis=1)
    return Pairs(
        pairs.together[kept[0]] + shift,
        pairs.together_weight[kept[0]],
        pairs.apart[kept[1]] + shift,
        pairs.apart_weight[kept[1]],
    )
