"""What pairs are for: fewer errors on rows that nothing was said about."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from sidelight import Constraints
from sidelight.semi_supervised import PairwiseLogisticRegression, PairwiseSVC

MODELS = {
    "convex": PairwiseLogisticRegression(),
    "nonconvex": PairwiseLogisticRegression("nonconvex"),
    "svm": PairwiseSVC(),
}


def spirals(n, rng):
    """Two arms of one and a half turns."""
    y = rng.integers(2, size=n)
    t = np.sqrt(rng.uniform(0.02, 1, n))
    angle = 3 * np.pi * t + np.pi * y
    return np.column_stack([np.cos(angle), np.sin(angle)]) * t[:, None] + 0.05 * rng.normal(
        size=(n, 2)
    ), y


@pytest.mark.parametrize("name", MODELS)
def test_pairs_of_doubtful_rows_halve_the_errors_on_spirals(name):
    errors = np.zeros(2)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = spirals(400, rng)
        new, truth = spirals(1000, rng)
        labels = np.where(np.arange(400) < 20, y, -1)
        model = MODELS[name].set_params(gamma=20.0, penalty=1.0)
        doubt = np.abs(model.fit(X, labels).decision_function(X))
        errors[0] += 1 - model.score(new, truth)
        free = np.flatnonzero(labels < 0)
        asked = free[np.argsort(doubt[free])][:20]
        partners = [rng.choice(np.flatnonzero(labels == y[row])) for row in asked]
        known = Constraints(np.column_stack([asked, partners]), n_samples=400)
        errors[1] += 1 - model.fit(X, labels, constraints=known).score(new, truth)
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_random_pairs_help_by_default(name, load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        silent = rng.uniform(size=len(y)) < 0.3
        labels = np.full(len(y), -1)
        for code in np.unique(y):
            labels[rng.choice(np.flatnonzero((y == code) & ~silent), 3, replace=False)] = code
        known = Constraints.sample(np.where(silent, -1, y), 100, random_state=seed)
        model = MODELS[name].set_params(gamma="scale", penalty="auto")
        scores = [
            model.fit(X, labels, constraints=pairs).score(X[silent], y[silent])
            for pairs in (None, known)
        ]
        gains.append(scores[1] - scores[0])
    assert np.mean(gains) > 0
