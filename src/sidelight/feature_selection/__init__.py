"""Features chosen by side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_filters": [
            "ConstraintScore",
            "FisherScore",
            "GiniScore",
            "LaplacianScore",
            "VarianceScore",
        ],
        "_forward": ["ForwardConstraintSelector"],
        "_online": ["OnlineConstraintSelector"],
    },
)
