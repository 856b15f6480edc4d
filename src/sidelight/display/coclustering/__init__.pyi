from ._reordered import CoclusterDisplay as CoclusterDisplay
from ._timeline import TimelineDisplay as TimelineDisplay
