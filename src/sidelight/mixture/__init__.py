"""Mixture models that listen to side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_gaussian_mixture": ["GaussianMixture"],
        "_greedy": ["GreedyMixture"],
        "_discriminative": ["DiscriminativeMixture"],
        "_projected_discriminative": ["ProjectedDiscriminativeMixture"],
    },
)
