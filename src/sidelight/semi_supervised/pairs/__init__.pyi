from ._logistic import PairwiseLogisticRegression as PairwiseLogisticRegression
from ._svc import PairwiseSVC as PairwiseSVC
