"""Base of all maps: stages of the fit, places of rows, reconstruction, and the errors of a map.

Joint densities, best nodes, distances and tempered posteriors of rows on a fitted map.

Posteriors of a given entropy are for pictures only (Verbeek 2004, section 4.4).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from scipy.special import softmax, xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.alternation import Evaluation, State
from sidelight._fit.checks import check_coordinates
from sidelight._fit.parameters import Count, Interval, estimator
from sidelight._fit.restarts import fit_progress
from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import Embedding
from sidelight.engine import RowSource, as_rows
from sidelight.mixture.som._grid import Grid, Topology, make_grid
from sidelight.mixture.som._parts import FamilyColumns
from sidelight.mixture.som._steps import cache_tiles

Parameters = TypeVar("Parameters")
Stage = TypeVar("Stage")


@dataclass(frozen=True)
class Annealed(Generic[State]):
    """Final state of the stages.

    Attributes
    ----------
    last : Evaluation
        Evaluation of the parameters that are kept.
    ends : list of Evaluation
        Where every stage ended.
    history : ndarray of float64
        Objective at every iteration of all stages.
    n_iters : ndarray of int
        Number of iterations of every stage that were kept, as many as in ``history``.
    converged : bool
        Whether the last stage converged.
    interrupted : bool
        Whether Ctrl-C ended the loop (inside ``sidelight.progress(keep_best=True)``).
    """

    last: State
    ends: list[State]
    history: Array
    n_iters: Array
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """Objective of the parameters that are kept."""
        return self.last.objective


def anneal(
    stages: Sequence[Stage],
    parameters: Parameters,
    evaluate: Callable[[Stage, Parameters, State | None], State],
    update: Callable[[State], Parameters],
    *,
    settled: Callable[[State, State], bool],
    tol: float | None,
    max_iter: int,
    description: str,
    verbose: int,
) -> Annealed[State]:
    """Alternate evaluation and update at every stage, each from the end of the one before.

    Parameters
    ----------
    stages : sequence
        Widths of neighborhoods, temperatures: whatever an evaluation depends on.
    parameters : object
        Where the first stage starts.
    evaluate : callable
        ``evaluate(stage, parameters, before)`` is the e-step; ``before`` is the previous
        evaluation, perhaps of another stage, or None.
    update : callable
        ``update(evaluation)`` is the m-step: it returns new parameters.
    settled : callable
        ``settled(before, now)`` tells from two consecutive evaluations of a stage that no further
        step changes anything.
    tol : float or None
        A stage ends when an iteration gains no more than this; an update that loses is not taken.
        None where there is no objective: then only ``settled`` ends a stage.
    max_iter : int
        Largest number of iterations of a stage.
    description : str
        Name of the fit in the progress bar.
    verbose : int
        Whether to show the progress bar.
    """
    history: list[float] = []
    ends: list[State] = []
    n_iters: list[int] = []
    last: State | None = None
    converged = lost = False
    with fit_progress(description, None, verbose=verbose) as progress:
        # Annealing (Verbeek 2004, 4.2.1): each stage starts from the end of a wider one.
        for stage in stages:
            before: State | None = None
            converged = lost = False
            n_iter = 0
            while n_iter < max_iter and not converged:
                # E-step. The bound is monotone within a stage only, so losses are judged there.
                now = evaluate(stage, parameters, last)
                lost = before is not None and tol is not None and _has_lost(before, now)
                if lost:
                    converged = not math.isnan(now.objective)
                    break
                n_iter += 1
                history.append(now.objective)
                last = now
                progress.step(now.objective)
                if before is not None:
                    gain = before.objective - now.objective
                    converged = settled(before, now) or (tol is not None and gain <= tol)
                before = now
                if not converged:
                    parameters = update(now)
            assert last is not None
            if lost or converged:
                parameters = last.parameters
            ends.append(last)
            n_iters.append(n_iter)
    assert last is not None  # an interruption before the first evaluation is raised
    if progress.interrupted and (not ends or ends[-1] is not last):
        ends.append(last)
        n_iters.append(len(history) - sum(n_iters))
    return Annealed(
        last=last,
        ends=ends,
        history=np.array(history),
        n_iters=np.array(n_iters),
        converged=converged and not progress.interrupted,
        interrupted=progress.interrupted,
    )


def _has_lost(before: Evaluation, now: Evaluation) -> bool:
    """Whether a step raised the objective, as regularized covariances and rounding can."""
    return not now.objective <= before.objective


#: Halvings of the range of the exponents.
HALVINGS = 50


def map_joint(parts: Sequence[Any], log_weights: Array, readers: Sequence[Any], finish: Any) -> Any:
    """Map ``finish(tile, log_joint)`` over rows; ``readers`` are pairs of a part and its table.

    Components are those that measure the rows of the tile, which may miss values.
    """
    tables = [table for _, table in readers]
    families = [reader for reader, _ in readers]  # the tables come block by block
    width = sum(part.n_statistics for part in parts) + len(log_weights)

    def work(block: Any, *others: Any) -> tuple[tuple[()], tuple[Array, ...]]:
        own = (block, *others)
        pieces = []
        for tile in cache_tiles(width, block, range(block.shape[0])):
            joint = log_weights
            for part, reader, table in zip(parts, families, own, strict=True):
                aware = reader.for_rows(part, table[tile])
                joint = joint + aware.log_density(aware.features(table[tile]))
            pieces.append(finish([table[tile] for table in own], joint))
        return (), (np.concatenate(pieces),)

    return as_rows(tables[0]).map_reduce(work, aligned=tables[1:])[1][0]


def two_best(
    readers: list[tuple[FamilyColumns, Any]], components: list[Any], log_weights: Array
) -> tuple[Array, Array]:
    """The two nodes of largest joint density of every row."""
    if len(log_weights) == 1:
        zeros = np.zeros(readers[0][1].shape[0], dtype=np.int64)
        return zeros, zeros

    def finish(tables: list[Any], joint: Array) -> Array:
        two = np.argpartition(joint, -2, axis=1)[:, -2:]
        swap = np.take_along_axis(joint, two, axis=1)
        return np.where((swap[:, :1] > swap[:, 1:]), two, two[:, ::-1])

    two = map_joint(components, log_weights, readers, finish)
    return two[:, 0], two[:, 1]


def distances_to_nodes(
    readers: list[tuple[FamilyColumns, Any]], components: list[Any], nodes: Array
) -> Array:
    """Distance of every row to a node of its own, over the values that it has."""
    squares = np.zeros(len(nodes))
    for (part, table), own in zip(readers, components, strict=True):
        points = part.points(own)
        for rows in tiles(len(nodes)):
            offsets = part.coordinates(table[rows]) - points[nodes[rows]]
            squares[rows] += np.nansum(offsets**2, axis=1)
    return np.sqrt(squares)


def temper(log_joint: Array, bits: float) -> Array:
    """Return ``p^a / Σ p^a`` of every row, with an exponent ``a`` at which the entropy is ``bits``.

    The exponent is in [0, 1]: 1 where the entropy is larger already. Of all distributions of this
    entropy it is the one closest to the posterior by Kullback-Leibler divergence.
    """
    target = min(bits * math.log(2.0), math.log(log_joint.shape[1]))
    low = np.zeros(len(log_joint))
    high = np.ones(len(log_joint))
    centered = log_joint - log_joint.max(axis=1, keepdims=True)
    wide = _entropy(softmax(centered, axis=1)) >= target
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_wide = _entropy(softmax(centered * middle[:, None], axis=1)) >= target
        low = np.where(is_wide, middle, low)
        high = np.where(is_wide, high, middle)
    exponents = np.where(wide, 1.0, low)
    return np.asarray(softmax(centered * exponents[:, None], axis=1))


def _entropy(shares: Array) -> Array:
    return np.asarray(-xlogy(shares, shares).sum(axis=1))


#: Factor by which rates grow from stage to stage.
Growth: TypeAlias = Annotated[float, Interval(1, open_low=True, open_high=True)]
#: Share of a neighborhood at its own node.
Mass: TypeAlias = Annotated[float, Interval(0, 1, open_low=True)]

MAP_PARAMETERS = {
    "grid": "Numbers of nodes along one, two or three axes.",
    "topology": "Arrangement of the nodes: in rows and columns, or in rows that are shifted by "
    "half a node, so that every node has six neighbors.",
    "periodic": "Whether the ends of every axis are joined: a ring, a torus.",
    "winner_mass": "Share that a node has of its own neighborhood at the end (the median over the "
    "nodes); 1 for hard winners, without neighbors.",
    "cooling": "Factor by which the rate of the neighborhoods grows from stage to stage.",
    "init": "Start: nodes on the plane of the first principal components, or at random rows. Of "
    "several restarts only the first starts from the plane.",
    "tol": "A stage ends when an iteration improves the objective, which is per row, by no more "
    "than this.",
    "max_iter": "Largest number of iterations of a stage.",
}

MAP_ATTRIBUTES = {
    "embedding_ : ndarray of shape (n_samples, n_axes)": "Coordinates of the rows, in their "
    "element type.",
    "node_positions_ : ndarray of shape (n_nodes, n_axes)": "Places of the nodes on the map, with "
    "mean 0; the mean variance of the axes is 1.",
    "edges_ : ndarray of int, shape (n_edges, 2)": "Pairs of nodes next to each other on the "
    "grid, also around the ends of a periodic one.",
    "means_ : ndarray of shape (n_nodes, n_features)": "Means of the nodes.",
    "winners_ : ndarray of int32, shape (n_samples,)": "Winning node of every row.",
    "quantization_error_ : float": "Mean distance of the rows to the mean of their nearest node.",
    "topographic_error_ : float": "Share of the rows whose two best nodes are not neighbors.",
    "n_iter_ : int": "Number of iterations of all stages.",
    "converged_ : bool": "Whether the last stage converged before ``max_iter``.",
}


class MapSearchResult(Protocol):
    """Final state of a search."""

    @property
    def converged(self) -> bool:
        """Whether nothing was to be gained any more."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""


class FittedMap(Embedding):
    """The results of a map, and what can be asked of it."""

    node_positions_: Array
    edges_: Array
    means_: Array
    winners_: Array
    quantization_error_: float
    topographic_error_: float
    max_iter: int
    _nodes: Grid

    def _set_map(self, nodes: Grid, dtype: np.dtype[Any]) -> None:
        """Set the grid of the fit."""
        self._nodes = nodes
        self.node_positions_ = nodes.positions.astype(dtype)
        self.edges_ = nodes.edges

    def _warn_unless_converged(self, found: MapSearchResult) -> None:
        """Warn that the last stage did not converge."""
        if not found.converged and not found.interrupted:
            warn(
                f"{type(self).__name__} did not converge in "
                f"{setting('max_iter', self.max_iter)} iterations; allow more, or a larger tol.",
                ConvergenceWarning,
            )

    def _set_errors(self, source: RowSource, best: Array, second: Array, distances: Array) -> None:
        """Set the errors from the two best nodes and the distance to the nearest of every row."""
        (length, n_apart), _ = source.map_reduce(
            _MapErrors(self._nodes.are_adjacent), aligned=(best, second, distances)
        )
        self.quantization_error_ = float(length) / source.n_rows
        self.topographic_error_ = int(n_apart) / source.n_rows if self._nodes.n_nodes > 1 else 0.0

    def predict(self, X: Any) -> Array:
        """Return the node of every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, independent of each other.

        Returns
        -------
        nodes : ndarray of int32, shape (n_samples,)
            Numbers of the nodes that win the rows, the last axis of the grid fastest.
        """
        check_is_fitted(self)
        return self._nodes_of(self._check_rows(X, reset=False))

    @abstractmethod
    def _nodes_of(self, rows: Any) -> Array:
        """Nodes that win checked rows."""

    def inverse_transform(self, Z: Any) -> Array:
        """Return the mean of the node that is nearest to every place of the map.

        Parameters
        ----------
        Z : array of shape (n_places, n_axes)
            Places on the map, as :meth:`transform` gives them.

        Returns
        -------
        X : ndarray of shape (n_places, n_features)
            Rows.
        """
        return self.means_[self._nodes.nearest(self._check_places(Z))]

    def _check_places(self, Z: Any) -> Array:
        """Places as float64, as many coordinates as the grid has axes."""
        check_is_fitted(self)
        return check_coordinates(Z, len(self._nodes.shape)).astype(np.float64, copy=False)


class _MapErrors:
    """Block function: sum of distances, and number of rows whose two best nodes are apart."""

    def __init__(self, adjacent: Array) -> None:
        self._adjacent = adjacent

    def __call__(
        self, block: Any, best: Array, second: Array, distances: Array
    ) -> tuple[tuple[float, int], tuple[()]]:
        apart = ~self._adjacent[best, second]
        return (float(np.sum(distances)), int(np.count_nonzero(apart))), ()


class PlacesUnder:
    """Mean places of rows under the posteriors of the nodes, in the element type of the rows."""

    def __init__(self, nodes: Grid, dtype: np.dtype[Any]) -> None:
        self._nodes, self._dtype = nodes, dtype

    def __call__(self, joint: Array) -> Array:
        return self._nodes.place(softmax(joint, axis=1)).astype(self._dtype)


class PlacesOf:
    """Block function: the places of the winners of the rows."""

    def __init__(self, positions: Array) -> None:
        self._positions = positions

    def __call__(self, block: Any, winners: Array) -> tuple[tuple[()], tuple[Array]]:
        return (), (self._positions[winners],)


@estimator
class MapBase(FittedMap):
    """A map of rows on a grid of nodes."""

    _common_parameters: ClassVar[Mapping[str, str]] = MAP_PARAMETERS
    _common_attributes: ClassVar[Mapping[str, str]] = MAP_ATTRIBUTES

    grid: Sequence[Count] = (7, 7)
    _: KW_ONLY
    topology: Topology = "rectangular"
    periodic: bool = False

    def _make_grid(self) -> Grid:
        """The grid of the parameters; ``_nodes`` is that of the fit."""
        return make_grid(self.grid, self.topology, self.periodic)
