from ._absorption import AbsorptionDisplay as AbsorptionDisplay
from ._clusters import ClusterDisplay as ClusterDisplay
from ._comparison import ComparisonDisplay as ComparisonDisplay
from ._connected import ConnectedClustersDisplay as ConnectedClustersDisplay
from ._constraints import ConstraintsDisplay as ConstraintsDisplay
from ._convergence import ConvergenceDisplay as ConvergenceDisplay
from ._decision import DecisionDisplay as DecisionDisplay
from ._dendrogram import DendrogramDisplay as DendrogramDisplay
from ._density import DensityDisplay as DensityDisplay
from ._learning_curve import LearningCurveDisplay as LearningCurveDisplay
from ._pair_distances import PairDistancesDisplay as PairDistancesDisplay
from ._resolution_curve import ResolutionCurveDisplay as ResolutionCurveDisplay
from ._search import SearchDisplay as SearchDisplay
from ._sign_matrix import SignMatrixDisplay as SignMatrixDisplay
from ._sizes import SizesDisplay as SizesDisplay
from ._stages import StagesDisplay as StagesDisplay
from .maps import *
