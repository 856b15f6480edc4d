from ._compare import compare as compare
from ._comparison import Candidate as Candidate
from ._comparison import Comparison as Comparison
