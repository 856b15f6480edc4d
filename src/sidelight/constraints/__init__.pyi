from ._constraints import Constraints as Constraints
from ._correspondences import Correspondences as Correspondences
from ._cross_links import CrossLinks as CrossLinks
from ._ordering import Ordering as Ordering
from ._pairs import Pairs as Pairs
from ._pairs import known_pairs as known_pairs
from ._pairs import without_weights as without_weights
from ._quality import Quality as Quality
from ._sizes import SizeBounds as SizeBounds
from .algebra import *
from .conditions import *
from .exchange import *
from .relations import *
from .splits import *
