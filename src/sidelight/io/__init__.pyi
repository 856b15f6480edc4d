from ._labels import read_labels as read_labels
from ._labels import write_labels as write_labels
from ._pairs import read_pairs as read_pairs
from ._table import Table as Table
from ._table import read_table as read_table
from ._write_table import write_table as write_table
