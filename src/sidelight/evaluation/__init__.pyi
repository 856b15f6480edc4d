from ._coclustering import cocluster_information as cocluster_information
from ._coclustering import cocluster_information_loss as cocluster_information_loss
from ._coclustering import goodman_kruskal_tau as goodman_kruskal_tau
from ._coclustering import jump_number as jump_number
from ._constraints import constraint_satisfaction as constraint_satisfaction
from ._dendrogram import DendrogramScores as DendrogramScores
from ._dendrogram import dendrogram_scores as dendrogram_scores
from ._information import adjusted_mutual_information as adjusted_mutual_information
from ._information import conditional_mutual_information as conditional_mutual_information
from ._information import mutual_information as mutual_information
from ._information import normalized_mutual_information as normalized_mutual_information
from ._information import variation_of_information as variation_of_information
from ._known_splits import SplitSimilarity as SplitSimilarity
from ._known_splits import similarity_to_splits as similarity_to_splits
from ._matching import class_weighted_f as class_weighted_f
from ._matching import clustering_accuracy as clustering_accuracy
from ._matching import matched_macro_f1 as matched_macro_f1
from ._matching import purity as purity
from ._pairs import adjusted_rand_index as adjusted_rand_index
from ._pairs import pairwise_f1 as pairwise_f1
from ._pairs import pairwise_precision_recall_f1 as pairwise_precision_recall_f1
from ._pairs import rand_index as rand_index
from ._partition_scores import constrained_scores as constrained_scores
from ._partition_scores import partition_scores as partition_scores
from ._search import ConstraintSearchCV as ConstraintSearchCV
from .classes import *
from .comparison import *
from .maps import *
