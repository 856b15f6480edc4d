"""What several classifiers share: kernels far from the origin, wrapped learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from sidelight.exceptions import SidelightError
from sidelight.semi_supervised import (
    TSVM,
    AssembleClassifier,
    LapSVM,
    LowDensitySeparation,
    PairwiseLogisticRegression,
    PairwiseSVC,
    SemiBoostClassifier,
)
from sidelight.semi_supervised._core._kernel import make_kernel
from sidelight.semi_supervised.boosting._one_vs_one import class_pairs, two_class_rows

RNG = np.random.default_rng(0)


X = RNG.normal(size=(40, 2))


Y = (X[:, 0] > 0).astype(int)


KNOWN = np.where(np.arange(40) % 4 == 0, Y, -1)


@pytest.mark.parametrize(
    "model",
    [
        TSVM(kernel="rbf"),
        LapSVM(),
        PairwiseLogisticRegression(),
        PairwiseSVC(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_far_from_the_origin_are_classified_alike(model: Any) -> None:
    """Timestamps are such rows; squared lengths of them hide all distances."""
    near = model.fit(X, KNOWN).decision_function(X)
    far = model.fit(X + 1e6, KNOWN).decision_function(X + 1e6)
    np.testing.assert_allclose(far, near, atol=1e-3 * np.abs(near).max())


@pytest.mark.parametrize("wrapper", [SemiBoostClassifier, AssembleClassifier, LowDensitySeparation])
def test_a_learner_that_takes_no_sparse_rows_is_named(wrapper: Any) -> None:
    rows = sparse.csr_array(np.abs(X))
    with pytest.raises(SidelightError, match="GaussianNB takes dense rows only"):
        wrapper("naive-bayes").fit(rows, KNOWN)
    assert wrapper("tree", random_state=0).fit(rows, KNOWN).score(rows, Y) > 0.5


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scikit-learn's own, of these variances
def test_learners_without_probabilities_for_a_row_still_decide() -> None:
    """Naive Bayes divides by variances, which constant columns do not have."""
    model = LowDensitySeparation("naive-bayes").fit(np.zeros((6, 3)), [0, 1, -1, -1, 0, 1])
    assert np.isfinite(model.decision_function(np.zeros((2, 3)))).all()


# --- what it is made of ---


@pytest.mark.parametrize("gamma", ["scale", 0.7])
def test_gaussian_kernel_does_not_depend_on_an_offset(gamma: Any) -> None:
    near = make_kernel("rbf", gamma, X)
    far = make_kernel("rbf", gamma, X + 1e6)
    assert far.gamma == pytest.approx(near.gamma, rel=1e-6)
    matrix = far(X[:7] + 1e6, X + 1e6)
    np.testing.assert_allclose(matrix, rbf_kernel(X[:7], X, gamma=near.gamma), atol=1e-8)


def test_rows_of_a_pair_of_classes() -> None:
    assert class_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    rows, signs = two_class_rows(np.array([0, 2, -1, 1, 2]), (0, 2))
    assert rows.tolist() == [0, 1, 2, 4]
    assert signs.tolist() == [-1, 1, 0, 1]
