from ._binary import BinaryPreparer as BinaryPreparer
from ._discretize import discretize as discretize
from ._documents import TextPreparer as TextPreparer
from ._plan import ColumnPlan as ColumnPlan
from ._preparer import TablePreparer as TablePreparer
from ._typed import TypedColumn as TypedColumn
from .streams._rows import prepared_rows as prepared_rows
