from ._dca import DCA as DCA
from ._itml import ITML as ITML
from ._mmc import MMC as MMC
from ._pair_classifier import PairClassifier as PairClassifier
from ._pola import POLA as POLA
from ._rca import RCA as RCA
from .cannot_link import *
