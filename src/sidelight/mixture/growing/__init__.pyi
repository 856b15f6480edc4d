from ._accelerated import AcceleratedMixture as AcceleratedMixture
from ._greedy import GreedyMixture as GreedyMixture
