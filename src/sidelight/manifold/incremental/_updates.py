"""Records of how a map grew."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class MapUpdate:
    """Facts about one call that changed a map.

    Attributes
    ----------
    n_rows : int
        Rows of the map after the call.
    n_added, n_removed, n_contracted : int
        Rows that came, that were forgotten or removed, that were contracted.
    edges_added, edges_deleted, edges_changed : int
        Edges of the neighborhood graph that are new, that are gone, that have another length.
    pairs_invalidated : int
        Pairs of rows (of landmarks and rows) whose geodesic used an edge that grew longer or
        vanished: ``|F|``.
    pairs_shortened : int
        Pairs of earlier rows whose geodesic grew shorter: ``|H|``.
    share_shortened : float
        Largest share of all geodesics that lost more than a tenth of their length by one row; a
        short-cut across a gap of the manifold shows in it. Not known for landmarks (NaN).
    n_parts : int
        Parts that the neighborhood graph falls into, bridges not counted.
    neighbor_seconds, geodesic_seconds, coordinate_seconds : float
        Time for the neighborhood graph, for the geodesics, for the coordinates.
    """

    n_rows: int = 0
    n_added: int = 0
    n_removed: int = 0
    n_contracted: int = 0
    edges_added: int = 0
    edges_deleted: int = 0
    edges_changed: int = 0
    pairs_invalidated: int = 0
    pairs_shortened: int = 0
    share_shortened: float = 0.0
    n_parts: int = 1
    neighbor_seconds: float = field(default=0.0, compare=False)
    geodesic_seconds: float = field(default=0.0, compare=False)
    coordinate_seconds: float = field(default=0.0, compare=False)

    @property
    def seconds(self) -> float:
        """Time of the call."""
        return self.neighbor_seconds + self.geodesic_seconds + self.coordinate_seconds
