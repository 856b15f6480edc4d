from ._cop import COPKMeans as COPKMeans
from ._kmeans import KMeans as KMeans
from ._lcvqe import LCVQE as LCVQE
from ._pck import PCKMeans as PCKMeans
from ._seeded import ConstrainedKMeans as ConstrainedKMeans
from ._seeded import SeededKMeans as SeededKMeans
