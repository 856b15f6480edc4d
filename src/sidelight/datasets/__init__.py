"""Data to try things on: generators of the published synthetic sets, loaders, one example."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_dataset": ["Dataset"],
        "_clouds": [
            "make_corner_gaussians",
            "make_crossing_gaussians",
            "make_elongated_gaussians",
            "make_four_gaussians",
            "make_gap_clouds",
            "make_rings",
            "make_wide_gaussians",
        ],
        "_separated": ["make_separated_gaussians"],
        "_waveform": ["make_waveform"],
        "_documents": ["make_two_factor_documents"],
        "_images": ["make_mondrian", "make_texture_mosaic"],
        "_expression": ["make_cyclic_expression", "make_expression_curves"],
        "_uci": ["list_uci", "load_uci"],
        "_example": ["example_paths", "load_example"],
    },
)

if TYPE_CHECKING:
    from sidelight.datasets._clouds import make_corner_gaussians as make_corner_gaussians
    from sidelight.datasets._clouds import make_crossing_gaussians as make_crossing_gaussians
    from sidelight.datasets._clouds import make_elongated_gaussians as make_elongated_gaussians
    from sidelight.datasets._clouds import make_four_gaussians as make_four_gaussians
    from sidelight.datasets._clouds import make_gap_clouds as make_gap_clouds
    from sidelight.datasets._clouds import make_rings as make_rings
    from sidelight.datasets._clouds import make_wide_gaussians as make_wide_gaussians
    from sidelight.datasets._dataset import Dataset as Dataset
    from sidelight.datasets._documents import make_two_factor_documents as make_two_factor_documents
    from sidelight.datasets._example import example_paths as example_paths
    from sidelight.datasets._example import load_example as load_example
    from sidelight.datasets._expression import make_cyclic_expression as make_cyclic_expression
    from sidelight.datasets._expression import make_expression_curves as make_expression_curves
    from sidelight.datasets._images import make_mondrian as make_mondrian
    from sidelight.datasets._images import make_texture_mosaic as make_texture_mosaic
    from sidelight.datasets._separated import make_separated_gaussians as make_separated_gaussians
    from sidelight.datasets._uci import list_uci as list_uci
    from sidelight.datasets._uci import load_uci as load_uci
    from sidelight.datasets._waveform import make_waveform as make_waveform
