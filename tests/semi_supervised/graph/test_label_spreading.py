"""Label spreading: the closed form, scikit-learn's iteration, and labels that are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.semi_supervised import LabelSpreading
from tests.semi_supervised.graph.graphs import blobs, random_graph, some_labels

from sidelight.semi_supervised import HarmonicClassifier, LabelSpreadingClassifier


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.95])
def test_it_is_the_published_formula(alpha: float) -> None:
    W, labels = random_graph(12, 0), some_labels(12, 3, 5, 0)
    W /= W.max()
    root = 1 / np.sqrt(W.sum(axis=1))
    S = root[:, None] * W * root
    Y = np.zeros((12, 3))
    Y[labels >= 0, labels[labels >= 0]] = 1
    F = (1 - alpha) * np.linalg.solve(np.eye(12) - alpha * S, Y)
    model = LabelSpreadingClassifier(graph="precomputed", neighbor_share=alpha, class_shares="free")
    model.fit(W, labels)
    np.testing.assert_allclose(
        model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-10
    )
    energy = np.trace(F.T @ (np.eye(12) - S) @ F) + (1 / alpha - 1) * np.sum((F - Y) ** 2)
    assert model.objective_ == pytest.approx(energy)


def test_iterations_end_where_those_of_scikit_learn_do() -> None:
    X, _, known = blobs(900)
    model = LabelSpreadingClassifier(graph=lambda A, B: near(A, B), class_shares="free")
    model.fit(X, known)
    assert 1 < model.n_iter_ == len(model.history_) < 200
    assert np.all(np.diff(model.history_) <= 0)
    assert model.converged_
    theirs = LabelSpreading(kernel=near, alpha=0.9, max_iter=5000, tol=1e-10).fit(X, known)
    np.testing.assert_allclose(model.label_distributions_, theirs.label_distributions_, atol=1e-6)


def near(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A wide kernel, so that no row is out of reach."""
    return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / 50)


def test_a_wrong_label_is_outvoted_where_a_harmonic_function_keeps_it() -> None:
    X, y, _ = blobs(300)
    known = np.where(np.arange(300) % 3 == 0, y, -1)
    wrong = int(np.flatnonzero(known == 0)[3])
    known[wrong] = 1
    spread = LabelSpreadingClassifier().fit(X, known)
    fixed = HarmonicClassifier().fit(X, known)
    assert spread.label_distributions_[wrong].argmax() == 0
    assert fixed.label_distributions_[wrong].argmax() == 1
    assert spread.transduction_[wrong] == 1  # what was stated stays


def test_probabilities_have_the_shares() -> None:
    X, _, known = blobs(300)
    model = LabelSpreadingClassifier(class_shares=[0.2, 0.5, 0.3]).fit(X, known)
    np.testing.assert_allclose(
        model.label_distributions_[known < 0].mean(axis=0), [0.2, 0.5, 0.3], atol=1e-6
    )
