from ._chunklet_lda import ChunkletLDA as ChunkletLDA
from ._constrained_lpp import ConstrainedLPP as ConstrainedLPP
from ._constrained_pca import ConstrainedPCA as ConstrainedPCA
