"""Distances learned from side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_rca": ["RCA"],
        "_dca": ["DCA"],
        "_mmc": ["MMC"],
        "_itml": ["ITML"],
        "_pola": ["POLA"],
        "cannot_link._metric": ["CannotLinkMetric"],
    },
)
