from ._assemble import AssembleClassifier as AssembleClassifier
from ._semiboost import SemiBoostClassifier as SemiBoostClassifier
