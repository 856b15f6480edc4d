"""How good a partition is, and which parameters the known pairs speak for."""

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
        "_constraints": ["constraint_satisfaction"],
        "_evaluate": ["evaluate"],
        "_search": ["ConstraintSearchCV"],
    },
)
