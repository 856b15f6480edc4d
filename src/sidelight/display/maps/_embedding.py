"""The map of an embedding: rows in color, their neighborhood graph, neighbors lost and found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Points
from sidelight.pictures.inner import embedding_points, final_step


class EmbeddingDisplay(Display, kind=Points):
    """Map of an embedding: rows at their coordinates, colored by a column or by groups.

    Make it by :meth:`from_estimator` or :meth:`from_coordinates`. Two coordinates are drawn; a
    single one becomes a strip with random heights. Of many rows 4,000 are drawn; the title says so,
    and how many rows have no place on the map. Lines are called ``"graph"``, ``"lost"`` and
    ``"found"``.

    Examples
    --------
    >>> from sidelight.datasets import make_s_surface
    >>> from sidelight.display import EmbeddingDisplay
    >>> from sidelight.manifold import SammonMapping
    >>> surface = make_s_surface(100, random_state=0)
    >>> model = SammonMapping().fit(surface.data)
    >>> display = EmbeddingDisplay.from_estimator(
    ...     model, surface.data, color=surface.coordinates[:, 0], n_neighbors=5
    ... )
    >>> display.ax_.get_xlabel()
    '1st coordinate'
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        color: Any = None,
        graph: Any = None,
        n_neighbors: int | None = None,
        ids: Sequence[Any] | None = None,
        coordinates: Sequence[int] = (0, 1),
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the map of a fitted embedding.

        Parameters
        ----------
        estimator : fitted embedding
            Anything with ``embedding_``, or a pipeline or search that ends with it.
        X : array or data frame of shape (n_samples, n_features), default=None
            The rows of the fit; needed for ``n_neighbors``, and for ``color`` by a column.
        graph : sparse matrix of shape (n_samples, n_samples) or True, default=None
            Neighborhood graph to draw; True takes that of the estimator.
        """
        final, _ = final_step(estimator)
        if not hasattr(final, "embedding_"):
            raise InvalidRequest(
                f"{type(final).__name__} places no rows on a map (it has no embedding_); "
                "EmbeddingDisplay.from_coordinates draws any coordinates."
            )
        picture = embedding_points(
            final.embedding_,
            X,
            color=color,
            graph=_own_graph(final) if graph is True else graph,
            n_neighbors=n_neighbors,
            ids=ids,
            coordinates=coordinates,
            title=type(final).__name__,
        )
        return cls(picture).plot(ax, **options)

    @classmethod
    def from_coordinates(
        cls,
        Z: Any,
        X: Any = None,
        *,
        color: Any = None,
        graph: Any = None,
        n_neighbors: int | None = None,
        ids: Sequence[Any] | None = None,
        coordinates: Sequence[int] = (0, 1),
        title: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw rows at coordinates from anywhere.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)
            Coordinates; rows of NaN have no place and are not drawn.
        X : array or data frame of shape (n_samples, n_features), default=None
            The rows; needed for ``n_neighbors``, and for ``color`` by a column.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            Neighborhood graph to draw.
        """
        picture = embedding_points(
            Z,
            X,
            color=color,
            graph=graph,
            n_neighbors=n_neighbors,
            ids=ids,
            coordinates=coordinates,
            title=title,
        )
        return cls(picture).plot(ax, **options)


def _own_graph(estimator: Any) -> Any:
    """Neighborhood graph of a map: an attribute, or a method of maps whose graph changes."""
    if hasattr(estimator, "graph_"):
        return estimator.graph_
    if callable(getattr(estimator, "graph", None)):
        return estimator.graph()
    raise InvalidRequest(f"{type(estimator).__name__} keeps no neighborhood graph; pass one.")
