"""Data to try things on: generators of the published synthetic sets, loaders, one example."""

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
        "_waveform": ["make_waveform"],
        "_documents": ["make_two_factor_documents"],
        "_images": ["make_mondrian", "make_texture_mosaic"],
        "_expression": ["make_cyclic_expression", "make_expression_curves"],
        "_uci": ["list_uci", "load_uci"],
        "_example": ["example_paths", "load_example"],
    },
)
