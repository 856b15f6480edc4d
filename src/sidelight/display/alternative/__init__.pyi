from ._contingency import ContingencyDisplay as ContingencyDisplay
from ._splits import SplitsDisplay as SplitsDisplay
