from ._coclustering import information as information
from .comparison._compare import seconds_of as seconds_of
from .comparison._comparison import COLUMNS as COLUMNS
from .comparison._comparison import HEADINGS as HEADINGS
from .comparison._comparison import pair as pair
from .comparison._stability import agreement as agreement
from .comparison._stability import codes as codes
from .comparison._verdict import ask_in_general as ask_in_general
