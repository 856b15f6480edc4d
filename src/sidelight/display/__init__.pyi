from ._clusters import ClusterDisplay as ClusterDisplay
from ._comparison import ComparisonDisplay as ComparisonDisplay
from ._constraints import ConstraintsDisplay as ConstraintsDisplay
from ._convergence import ConvergenceDisplay as ConvergenceDisplay
from ._decision import DecisionDisplay as DecisionDisplay
from ._dendrogram import DendrogramDisplay as DendrogramDisplay
from ._density import DensityDisplay as DensityDisplay
from ._learning_curve import LearningCurveDisplay as LearningCurveDisplay
from ._pair_distances import PairDistancesDisplay as PairDistancesDisplay
from ._search import SearchDisplay as SearchDisplay
from ._sizes import SizesDisplay as SizesDisplay
from ._stages import StagesDisplay as StagesDisplay
from .alternative import *
from .categories import *
from .coclustering import *
from .maps import *
from .privacy import *
from .relational import *
