"""Clusterers that listen to side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "kmeans._kmeans": ["KMeans"],
        "global_kmeans._global": ["GlobalKMeans"],
        "kmeans._seeded": ["ConstrainedKMeans", "SeededKMeans"],
        "kmeans._cop": ["COPKMeans"],
        "kmeans._pck": ["PCKMeans"],
        "metric_kmeans._mpck": ["MPCKMeans"],
        "kmeans._lcvqe": ["LCVQE"],
        "metric_kmeans._hmrf": ["HMRFKMeans"],
        "directional._spherical": ["SphericalKMeans"],
        "balanced._balanced": ["BalancedKMeans"],
        "balanced._sample_size": ["sample_size"],
        "balanced._frequency_sensitive": ["FrequencySensitiveKMeans"],
        "balanced._soft_balanced": ["SoftBalancedKMeans"],
        "sized._size_constrained": ["SizeConstrainedKMeans", "SizeConstrainedKMedians"],
        "hierarchical._agglomerative": ["ConstrainedAgglomeration"],
        "feedback._feedback": ["FeedbackClustering"],
        "spectral._spectral": ["SpectralClustering"],
        "spectral._constrained": ["ConstrainedSpectralClustering"],
    },
)
