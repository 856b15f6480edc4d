from ._chunklet import ChunkletMixture as ChunkletMixture
from ._mean_field import MeanFieldMixture as MeanFieldMixture
from ._penalized import PenalizedMixture as PenalizedMixture
