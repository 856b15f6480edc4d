"""How good a partition is, and which parameters the known pairs speak for."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_pairs": [
            "adjusted_rand_index",
            "pairwise_f1",
            "pairwise_precision_recall_f1",
            "rand_index",
        ],
        "_information": [
            "mutual_information",
            "normalized_mutual_information",
            "variation_of_information",
        ],
        "_matching": [
            "class_weighted_f",
            "clustering_accuracy",
            "matched_macro_f1",
            "purity",
        ],
        "_merges": ["MergeScores", "merge_scores"],
        "_constraints": ["constraint_satisfaction"],
        "_evaluate": ["evaluate"],
        "_search": ["ConstraintSearchCV"],
    },
)

if TYPE_CHECKING:
    from sidelight.evaluation._constraints import constraint_satisfaction as constraint_satisfaction
    from sidelight.evaluation._evaluate import evaluate as evaluate
    from sidelight.evaluation._information import mutual_information as mutual_information
    from sidelight.evaluation._information import (
        normalized_mutual_information as normalized_mutual_information,
    )
    from sidelight.evaluation._information import (
        variation_of_information as variation_of_information,
    )
    from sidelight.evaluation._matching import class_weighted_f as class_weighted_f
    from sidelight.evaluation._matching import clustering_accuracy as clustering_accuracy
    from sidelight.evaluation._matching import matched_macro_f1 as matched_macro_f1
    from sidelight.evaluation._matching import purity as purity
    from sidelight.evaluation._merges import MergeScores as MergeScores
    from sidelight.evaluation._merges import merge_scores as merge_scores
    from sidelight.evaluation._pairs import adjusted_rand_index as adjusted_rand_index
    from sidelight.evaluation._pairs import pairwise_f1 as pairwise_f1
    from sidelight.evaluation._pairs import (
        pairwise_precision_recall_f1 as pairwise_precision_recall_f1,
    )
    from sidelight.evaluation._pairs import rand_index as rand_index
    from sidelight.evaluation._search import ConstraintSearchCV as ConstraintSearchCV
