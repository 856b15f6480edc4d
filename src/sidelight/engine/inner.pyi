from ._extent import DIRECTIONS as DIRECTIONS
from ._extent import PAIR_WEIGHTS as PAIR_WEIGHTS
from ._extent import SQUARED as SQUARED
from ._extent import WEIGHTS as WEIGHTS
from ._extent import largest_by_column as largest_by_column
from ._extent import too_large as too_large
from ._extent import too_small as too_small
from ._threads import one_thread_blas as one_thread_blas
