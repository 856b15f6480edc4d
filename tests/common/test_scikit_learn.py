"""scikit-learn's own checks of estimators, for every method of the catalog."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from tests.common.models import takes

from sidelight import catalog
from sidelight.exceptions import ConstraintWarning, EmbeddingWarning
from sidelight.semi_supervised import HarmonicClassifier

ZERO_ROWS = "the data of this check has rows of zeros, which have no direction: a clear error"
NEGATIVE = "the data of this check has negative values although the tags ask for positive ones"
CONTINUOUS = "the data of this check is continuous: every number would be a category of its own"
UNWEIGHTED = "a category that only rows of weight 0 have is still a category"
NO_CLASSIFIER = "the check takes whatever has predict_proba for a classifier of its four classes"
OTHER_START = (
    "it starts from random rows, which are others when rows are repeated, and with twice as many "
    "features as rows every start ends elsewhere"
)
SPECTRAL_START = (
    "its spectral start takes repeated rows for neighbors of each other, and knows no weights"
)
NO_SCORES = "the data of this check are rows, not scores between rows"
MINUS_ONE = "the check calls a class -1, which means unlabeled, as in scikit-learn's own"
NO_LABELS = "the check fits without labels, of which categories are made, and with negative counts"
SPARSE = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
ON_ZERO_ROWS = ("check_estimators_dtypes", "check_estimator_sparse_tag")
EXPECTED_TO_FAIL = {
    "InformationCoclustering": {"check_clustering": NEGATIVE},
    "SphericalKMeans": dict.fromkeys(ON_ZERO_ROWS, ZERO_ROWS),
    "FrequencySensitiveKMeans": dict.fromkeys(ON_ZERO_ROWS, ZERO_ROWS),
    "FeedbackClustering": {
        **dict.fromkeys((*ON_ZERO_ROWS, *SPARSE, "check_fit2d_1feature"), ZERO_ROWS),
        "check_clustering": NEGATIVE,
    },
    "InformationBottleneck": {
        **dict.fromkeys((*ON_ZERO_ROWS, *SPARSE, "check_fit2d_1feature"), ZERO_ROWS),
        "check_clustering": NEGATIVE,
    },
    "BernoulliMixture": dict.fromkeys(SPARSE, NO_CLASSIFIER),
    "MultinomialMixture": {"check_clustering": NEGATIVE, **dict.fromkeys(SPARSE, NO_CLASSIFIER)},
    "CategoricalMixture": {
        "check_clustering": CONTINUOUS,
        "check_sample_weight_equivalence_on_dense_data": UNWEIGHTED,
    },
    "DiscriminativeMixture": {"check_sample_weight_equivalence_on_dense_data": OTHER_START},
    "ProjectedDiscriminativeMixture": {
        "check_sample_weight_equivalence_on_dense_data": OTHER_START
    },
    "NonparametricMixture": dict.fromkeys(SPARSE, NO_CLASSIFIER),
    "CoordinatedFactorAnalysis": {"check_sample_weight_equivalence_on_dense_data": SPECTRAL_START},
    "CoordinatedViews": {"check_sample_weight_equivalence_on_dense_data": SPECTRAL_START},
    "VonMisesFisherMixture": dict.fromkeys((*ON_ZERO_ROWS, *SPARSE), ZERO_ROWS),
}

EXPECTED_OF_KIND = {
    "graph-clusterer": {"check_clustering": NO_SCORES},
    "consensus": {"check_clustering": CONTINUOUS},
    "categorizer": {"check_clustering": NO_LABELS},
}


def expected_to_fail(estimator: Any) -> dict[str, str]:
    """Checks that do not suit the estimator, with the reason."""
    if is_classifier(estimator):
        return {"check_classifiers_classes": MINUS_ONE}
    if estimator.__sidelight_tags__().kind in EXPECTED_OF_KIND:
        return EXPECTED_OF_KIND[estimator.__sidelight_tags__().kind]
    return EXPECTED_TO_FAIL.get(type(estimator).__name__, {})


def cheap(method: catalog.Method) -> Any:
    """The estimator with one restart and a small grid; one component of a mixture parts nothing.

    Methods for tables of zeros and ones make one of the continuous data of the checks.
    """
    wanted: dict[str, Any] = {"n_init": 1, "n_mixtures": 1, "grid": (3, 3)}
    if method.tags.kind == "coclusterer":
        wanted["binarize"] = "mean"
    if method.name == "auto":  # a forest in every fold takes half a minute
        wanted["candidates"] = {
            "of-all-rows": HarmonicClassifier(),
            "of-labels": DecisionTreeClassifier(),
        }
    if method.kind.clusters:
        wanted["n_components"] = 3
    return method.cls(**{name: value for name, value in wanted.items() if takes(method, name)})


@pytest.mark.parametrize("method", catalog.methods(), ids=lambda method: method.name)
def test_scikit_learn_estimator_checks(method: catalog.Method) -> None:
    """All checks at once: five thousand tests of their own cost more than what they check."""
    estimator = cheap(method)
    with warnings.catch_warnings():
        # The checks hand fractions to y, or nothing at all; we say what we make of it.
        warnings.simplefilter("ignore", ConstraintWarning)
        # Their blobs are far from each other, and some have fewer columns than a map.
        warnings.simplefilter("ignore", EmbeddingWarning)
        expected = expected_to_fail(estimator)
        done = check_estimator(
            estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    by_status = {
        status: {one["check_name"]: one["exception"] for one in done if one["status"] == status}
        for status in ("passed", "failed", "xfail")
    }
    assert by_status["failed"] == {}
    assert len(by_status["passed"]) > 30
    assert set(by_status["xfail"]) <= set(expected)
