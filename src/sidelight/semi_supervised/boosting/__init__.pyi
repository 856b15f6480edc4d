from ._assemble import AssembleClassifier as AssembleClassifier
from ._self_training import SelfTrainingClassifier as SelfTrainingClassifier
from ._semiboost import SemiBoostClassifier as SemiBoostClassifier
