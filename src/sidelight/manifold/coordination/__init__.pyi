from ._charting import Charting as Charting
from ._global import GlobalCoordination as GlobalCoordination
from ._llc import LocallyLinearCoordination as LocallyLinearCoordination
