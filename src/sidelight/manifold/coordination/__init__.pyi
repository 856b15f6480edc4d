from ._charting import Charting as Charting
from ._llc import LocallyLinearCoordination as LocallyLinearCoordination
