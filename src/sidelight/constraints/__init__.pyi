from ._constraints import Constraints as Constraints
from ._pairs import Pairs as Pairs
from ._pairs import known_pairs as known_pairs
from ._quality import Quality as Quality
from ._scatter import chunklet_scatter as chunklet_scatter
from ._scatter import pair_scatter as pair_scatter
from ._scatter import total_covariance as total_covariance
from ._sizes import SizeBounds as SizeBounds
from .algebra import *
from .exchange import *
