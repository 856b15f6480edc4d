from ._hmrf import HMRFKMeans as HMRFKMeans
from ._mpck import MPCKMeans as MPCKMeans
