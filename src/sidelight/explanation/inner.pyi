from ._format import percent as percent
from ._format import plural as plural
from ._rows import probabilities_of as probabilities_of
from ._table import COLUMNS as COLUMNS
from ._table import NUMBERS as NUMBERS
from ._table import TEXTS as TEXTS
from ._traits import shown as shown
