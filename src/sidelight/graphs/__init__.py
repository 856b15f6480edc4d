"""Similarity graphs between rows: builders, Laplacians, cuts."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_build": [
            "Similarity",
            "full_graph",
            "neighbor_graph",
            "percentile_distance",
            "similarity_graph",
        ],
        "_cuts": ["Cuts", "cut_values"],
        "_eigenvectors": ["smallest_eigenvectors", "smooth_eigenvectors"],
        "_laplacian": [
            "check_graph",
            "degrees",
            "inverse_root",
            "laplacian",
            "normalized_graph",
        ],
    },
)

if TYPE_CHECKING:
    from sidelight.graphs._build import Similarity as Similarity
    from sidelight.graphs._build import full_graph as full_graph
    from sidelight.graphs._build import neighbor_graph as neighbor_graph
    from sidelight.graphs._build import percentile_distance as percentile_distance
    from sidelight.graphs._build import similarity_graph as similarity_graph
    from sidelight.graphs._cuts import Cuts as Cuts
    from sidelight.graphs._cuts import cut_values as cut_values
    from sidelight.graphs._eigenvectors import smallest_eigenvectors as smallest_eigenvectors
    from sidelight.graphs._eigenvectors import smooth_eigenvectors as smooth_eigenvectors
    from sidelight.graphs._laplacian import check_graph as check_graph
    from sidelight.graphs._laplacian import degrees as degrees
    from sidelight.graphs._laplacian import inverse_root as inverse_root
    from sidelight.graphs._laplacian import laplacian as laplacian
    from sidelight.graphs._laplacian import normalized_graph as normalized_graph
