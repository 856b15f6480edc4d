"""Base of all maps: the grid, places of rows, reconstruction, and the errors of a map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from sidelight._fit.parameters import Count, Interval, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import Embedding
from sidelight.exceptions import SidelightError
from sidelight.mixture.som._grid import Grid, Topology, make_grid

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


class Finished(Protocol):
    """Where a search ended."""

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

    def _warn_unless_converged(self, found: Finished) -> None:
        """Tell that the last stage was cut off."""
        if not found.converged and not found.interrupted:
            warn(
                f"{type(self).__name__} did not converge in "
                f"{setting('max_iter', self.max_iter)} iterations; allow more, or a larger tol.",
                ConvergenceWarning,
            )

    def _set_errors(self, best: Array, second: Array, distances: Array) -> None:
        """Set the errors from the two best nodes and the distance to the nearest of every row."""
        self.quantization_error_ = float(np.mean(distances))
        adjacent = self._nodes.are_adjacent[best, second]
        self.topographic_error_ = float(np.mean(~adjacent)) if self._nodes.n_nodes > 1 else 0.0

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
        places: Array = check_array(Z, dtype=np.float64, input_name="Z")
        n_axes = len(self._nodes.shape)
        if places.shape[1] != n_axes:
            raise SidelightError(
                f"Z has {places.shape[1]} columns, but the map has {n_axes} axes; give the "
                "coordinates that transform returns."
            )
        return places


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
