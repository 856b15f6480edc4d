"""Graphs that are given: distances, directed neighbor graphs, functions; and weights too small."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from tests.semi_supervised.graph.graphs import blobs

from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised import (
    HarmonicClassifier,
    MinCutClassifier,
    SpectralGraphTransducer,
)

METHODS = (HarmonicClassifier, MinCutClassifier, SpectralGraphTransducer)


def moons() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, truth = make_moons(150, noise=0.1, random_state=0)
    return X, truth, np.where(np.arange(150) % 15 == 0, truth, -1)


def seeded(cls: Any, **params: Any) -> Any:
    seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    return cls(**params, **seed)


@pytest.mark.parametrize("sigma", ["auto", 1.0, 0.1, 1e-3])
def test_a_row_in_the_middle_is_of_both_classes_however_small_its_weights(sigma: Any) -> None:
    """Weights below 1e-6, and those that underflow, count relative to each other."""
    X = np.array([[0.0], [0.1], [0.2], [5.1], [10.0], [10.1], [10.2]])
    model = HarmonicClassifier(graph="full", sigma=sigma, class_shares="free")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        model.fit(X, [0, -1, 0, -1, 1, -1, 1])
    np.testing.assert_allclose(model.label_distributions_[3], 0.5, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_[[1, 5]], [0, 1])
    np.testing.assert_allclose(model.predict_proba([[5.1]]), 0.5, atol=1e-6)
    assert model.predict([[-1e3], [1e3]]).tolist() == [0, 1]


def test_lost_weights_leave_the_limit_of_small_widths() -> None:
    """A far row takes the class of the nearer side, and the advice is about the width."""
    X = np.array([[0.0], [0.1], [0.2], [4.0], [10.0], [10.1], [10.2]])
    model = HarmonicClassifier(graph="full", sigma=0.05, class_shares="free")
    with pytest.warns(ConstraintWarning, match="lost in rounding.*larger sigma") as told:
        model.fit(X, [0, -1, 0, -1, 1, -1, 1])
    assert "n_neighbors" not in str(told[0].message)
    np.testing.assert_allclose(model.label_distributions_[3], [1, 0], atol=1e-6)


@pytest.mark.parametrize("weights", ["gaussian", "local", "fuzzy", "connectivity"])
def test_distances_give_the_graph_of_the_rows(weights: str) -> None:
    X, _, y = moons()
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    rows = HarmonicClassifier(8, weights=weights).fit(X, y)
    dense = HarmonicClassifier(8, weights=weights, graph="distances").fit(D, y)
    if weights in ("gaussian", "connectivity"):
        np.testing.assert_allclose(dense.label_distributions_, rows.label_distributions_, atol=1e-6)
        np.testing.assert_allclose(dense.predict_proba(D[:9]), rows.predict_proba(X[:9]), atol=1e-6)
    assert np.mean(dense.transduction_ == rows.transduction_) > 0.98


@pytest.mark.parametrize("cls", METHODS)
def test_a_sparse_neighbor_graph_of_a_pipeline_is_the_graph_of_the_rows(cls: Any) -> None:
    """Absent distances are no edges, and not distances of 0; directed lists are joined."""
    X, _, y = moons()
    new = X[:20] + 0.05
    rows = seeded(cls, n_neighbors=8).fit(X, y)
    neighbors = KNeighborsTransformer(n_neighbors=8)
    pipeline = make_pipeline(neighbors, seeded(cls, n_neighbors=8, graph="distances")).fit(X, y)
    np.testing.assert_array_equal(pipeline[-1].transduction_, rows.transduction_)
    np.testing.assert_array_equal(pipeline.predict(new), rows.predict(new))
    with pytest.raises(SidelightError, match="stores the distances of 8 other rows only"):
        make_pipeline(neighbors, seeded(cls, n_neighbors=9, graph="distances")).fit(X, y)


@pytest.mark.parametrize("cls", METHODS)
def test_a_directed_graph_of_similarities_counts_both_ways(cls: Any) -> None:
    X, _, y = moons()
    # A row is the first of its own neighbors here.
    graph = KNeighborsTransformer(mode="connectivity", n_neighbors=9).fit_transform(X)
    given = seeded(cls, graph="precomputed").fit(graph, y)
    rows = seeded(cls, n_neighbors=8, weights="connectivity").fit(X, y)
    np.testing.assert_array_equal(given.transduction_, rows.transduction_)


@pytest.mark.parametrize("cls", METHODS)
def test_a_function_gives_the_graph(cls: Any) -> None:
    X, truth, y = moons()

    def similarity(A: Any, B: Any) -> Any:
        return rbf_kernel(A, B, gamma=30.0)

    by_function = seeded(cls, graph=similarity).fit(X, y)
    by_matrix = seeded(cls, graph="precomputed").fit(similarity(X, X), y)
    np.testing.assert_array_equal(by_function.transduction_, by_matrix.transduction_)
    new = X[:9] + 0.01
    np.testing.assert_allclose(
        by_function.decision_function(new), by_matrix.decision_function(similarity(new, X))
    )
    assert by_function.score(X, truth) > 0.9
    with pytest.raises(SidelightError, match=r"must return similarities of shape \(150, 150\)"):
        seeded(cls, graph=lambda A, B: np.ones(3)).fit(X, y)


@pytest.mark.parametrize("graph", ["neighbors", "full"])
def test_rows_that_change_after_the_fit_change_nothing(graph: str) -> None:
    X, _, known = blobs(60)
    new = X[:5] + 0.2
    model = HarmonicClassifier(graph=graph).fit(X, known)
    before = model.predict_proba(new)
    X *= 3.0
    np.testing.assert_array_equal(model.predict_proba(new), before)
