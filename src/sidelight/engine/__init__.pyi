from ._reductions import Maximum as Maximum
from ._reductions import Minimum as Minimum
from ._reductions import Top as Top
from ._source import RowSource as RowSource
from ._source import as_rows as as_rows
from ._source import open_rows as open_rows
from ._threads import get_threads as get_threads
from ._threads import threads as threads
