from ._filters import ConstraintScore as ConstraintScore
from ._filters import FisherScore as FisherScore
from ._filters import GiniScore as GiniScore
from ._filters import LaplacianScore as LaplacianScore
from ._filters import VarianceScore as VarianceScore
from ._forward import ForwardConstraintSelector as ForwardConstraintSelector
from ._online import OnlineConstraintSelector as OnlineConstraintSelector
