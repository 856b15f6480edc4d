from ._bottleneck import InformationBottleneck as InformationBottleneck
from ._cond_ens import CondEns as CondEns
from ._conditional import ConditionalInformationBottleneck as ConditionalInformationBottleneck
from ._find import find_alternatives as find_alternatives
