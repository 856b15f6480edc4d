from ._lapsvm import LapSVM as LapSVM
from ._lds import LowDensitySeparation as LowDensitySeparation
from ._tsvm import TSVM as TSVM
