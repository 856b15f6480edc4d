"""Projections and embeddings that listen to side information."""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_constrained_pca": ["ConstrainedPCA"],
        "_constrained_lpp": ["ConstrainedLPP"],
        "_chunklet_lda": ["ChunkletLDA"],
    },
)
