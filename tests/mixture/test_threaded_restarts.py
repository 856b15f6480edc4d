"""Restarts of mixtures share nothing that changes: any number of threads gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sidelight import Constraints, mixture
from sidelight._fit import restarts
from sidelight.engine import threads

X, Y = make_blobs(240, n_features=3, centers=4, cluster_std=2.5, random_state=5)


X = X - X.min(axis=0)  # counts are not negative


PAIRS = Constraints.sample(Y, 25, random_state=0)


@pytest.mark.parametrize("kernel", ["rbf", "knn"])
def test_restarts_side_by_side_give_the_same_bits(kernel: str) -> None:
    model = mixture.NonparametricMixture(4, kernel=kernel, n_neighbors=10, n_init=4)
    assert_same_bits(model, PAIRS)


def assert_same_bits(estimator: Any, known: Constraints | None) -> None:
    results = []
    for n_threads in (1, 3):
        with threads(n_threads):
            model = estimator.set_params(random_state=1).fit(X, constraints=known)
        results.append([model.labels_, model.weights_, model.history_, model.predict_proba(X)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


# --- what it is made of ---


ESTIMATORS = [
    (mixture.GreedyMixture(5, n_init=3, max_iter=25), None),
    (mixture.GreedyMixture(6, selection="bic", n_init=3, max_iter=25), None),
    (mixture.AcceleratedMixture(4, n_init=3, init_cells=20), None),
    (mixture.AcceleratedMixture(4, n_init=3, init_cells=40, init_params="greedy"), None),
    (mixture.MMLMixture(10, n_init=3, max_iter=25), None),
    (mixture.MMLMixture(10, covariance_type="tied", n_init=3, max_iter=25), None),
    (mixture.FeatureSaliencyMixture(10, n_init=3, max_iter=25), None),
    (mixture.DiscriminativeMixture(4, n_init=3, max_iter=25), PAIRS),
    (mixture.DiscriminativeMixture(2, n_init=3, penalty="validate", max_iter=20), PAIRS),
    (mixture.ProjectedDiscriminativeMixture(4, n_init=3, max_iter=25), PAIRS),
    (mixture.GaussianMixture(4, init_params="random", n_init=3, max_iter=30), PAIRS),
    (mixture.GaussianMixture(4, covariance_type="factor", n_init=3, max_iter=30), None),
    (mixture.MultinomialMixture(4, init_params="random", n_init=3), None),
    (mixture.BernoulliMixture(4, binarize=5.0, init_params="random", n_init=3), None),
    (mixture.CategoricalMixture(4, init_params="random", n_init=3), None),
    (mixture.VonMisesFisherMixture(4, init_params="random", n_init=3), None),
    (mixture.ChunkletMixture(4, n_init=3, max_iter=30), PAIRS),
    (mixture.ChunkletMixture(4, inference="forest", variant="published", n_init=3), PAIRS),
    (mixture.MeanFieldMixture(4, n_init=3, max_iter=30), PAIRS),
    (mixture.PenalizedMixture(4, init_params="random", n_init=3, max_iter=30), PAIRS),
    (mixture.PenalizedMixture(4, inference="gibbs", n_sweeps=5, n_init=3, max_iter=15), PAIRS),
    (mixture.PenalizedMixture(4, inference="mean-field", penalty=0.7, n_init=3), PAIRS),
]


@pytest.mark.parametrize(
    ("estimator", "known"), ESTIMATORS, ids=[repr(estimator) for estimator, _ in ESTIMATORS]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threads_give_the_same_bits(
    estimator: Any, known: Constraints | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, fits = restarts._at_once, []

    def watched(*args: Any) -> Any:
        fits.append(len(args[1]))
        return at_once(*args)

    monkeypatch.setattr(restarts, "FEW_NUMBERS", 0)
    monkeypatch.setattr(restarts, "_at_once", watched)
    assert_same_bits(estimator, known)
    assert fits  # not with one thread
    assert min(fits) >= 3
