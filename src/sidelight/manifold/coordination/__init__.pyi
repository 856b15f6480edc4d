from ._charting import Charting as Charting
from ._correspondence_charting import CorrespondenceCharting as CorrespondenceCharting
from ._correspondence_lle import CorrespondenceLLE as CorrespondenceLLE
from ._global import GlobalCoordination as GlobalCoordination
from ._llc import LocallyLinearCoordination as LocallyLinearCoordination
