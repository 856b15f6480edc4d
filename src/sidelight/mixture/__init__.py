"""Mixture models that listen to side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gaussian._mixture": ["GaussianMixture"],
        "families._multinomial": ["MultinomialMixture"],
        "families._bernoulli": ["BernoulliMixture"],
        "families._categorical": ["CategoricalMixture"],
        "families._von_mises_fisher": ["VonMisesFisherMixture"],
        "growing._greedy": ["GreedyMixture"],
        "growing._accelerated": ["AcceleratedMixture"],
        "constrained._chunklet": ["ChunkletMixture"],
        "constrained._mean_field": ["MeanFieldMixture"],
        "constrained._penalized": ["PenalizedMixture"],
        "discriminative._discriminative": ["DiscriminativeMixture"],
        "discriminative._projected": ["ProjectedDiscriminativeMixture"],
        "message_length._mml": ["MMLMixture"],
        "message_length._feature_saliency": ["FeatureSaliencyMixture"],
        "kernel._nonparametric": ["NonparametricMixture"],
    },
)
