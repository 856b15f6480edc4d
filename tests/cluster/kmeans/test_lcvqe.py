"""LCVQE by mathematics: its objective, its centre step, its limits."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from tests.cluster.kmeans.test_pck import random_knowledge
from tests.strategies import SEEDS

from sidelight import Constraints, engine
from sidelight.cluster import LCVQE, KMeans
from sidelight.cluster.kmeans._lcvqe import LCVQEProblem
from sidelight.cluster.pairs._penalties import alternate_labels
from sidelight.exceptions import ConstraintWarning


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(150, n_features=3, centers=3, cluster_std=2.5, random_state=1)
    return X, y


@pytest.mark.parametrize("n_pairs", [0, 60])
def test_nothing_known_or_no_weight_is_k_means(blobs: Any, n_pairs: int) -> None:
    X, y = blobs
    known = Constraints.sample(y, n_pairs, random_state=0) if n_pairs else None
    plain = KMeans(3, init=X[:3].copy(), tol=0).fit(X)
    model = LCVQE(3, penalty=0, init=X[:3].copy(), tol=0).fit(X, constraints=known)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_)
    assert model.inertia_ == pytest.approx(plain.objective_)
    assert model.objective_ == pytest.approx(plain.objective_ / 2)


@given(SEEDS)
@settings(max_examples=30)
def test_an_isolated_cannot_link_is_always_repaired(seed: int) -> None:
    """Keeping it costs ½ D_rj + ½ D_rc, sending the row away only the latter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    pairs = rng.permutation(20).reshape(10, 2)
    model = LCVQE(3, init=X[:3].copy()).fit(X, constraints=Constraints(None, pairs, n_samples=20))
    assert model.n_violations_ == 0


def test_must_link_of_equal_rows_is_never_violated() -> None:
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    known = Constraints(must_link=[(1, 2)], n_samples=4)
    for seed in range(5):
        model = LCVQE(2, init="random", n_init=1, random_state=seed).fit(X, constraints=known)
        assert model.labels_[1] == model.labels_[2]


def test_violated_must_links_pull_the_centres() -> None:
    """The centre of either row is at the mean with half of the other row."""
    X = np.array([[0.0], [10.0]])
    known = Constraints(must_link=[(0, 1)], must_link_weight=0.2, n_samples=2)
    model = LCVQE(2, init=X.copy()).fit(X, constraints=known)
    assert model.n_violations_ == 1
    # x_0 + ½ w x_1 over 1 + ½ w
    np.testing.assert_allclose(model.cluster_centers_.ravel(), [1 / 1.1, 10 / 1.1])


def test_sparse_rows_equal_dense_rows(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0)
    dense = LCVQE(3, random_state=0).fit(X, constraints=known)
    thin = LCVQE(3, random_state=0).fit(sparse.csr_array(X), constraints=known)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, thin.cluster_centers_)


def test_units_do_not_matter(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0)
    first = LCVQE(3, random_state=0).fit(X, constraints=known)
    second = LCVQE(3, random_state=0).fit(1024 * X, constraints=known)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert second.objective_ == pytest.approx(1024**2 * first.objective_)


def test_one_cluster_and_contradictions() -> None:
    X = np.array([[0.0], [1.0], [2.0]])
    apart = Constraints(cannot_link=[(0, 1)], n_samples=3)
    model = LCVQE(1).fit(X, constraints=apart)
    assert model.n_violations_ == 1
    np.testing.assert_allclose(model.cluster_centers_, [[1.0]])
    both = Constraints([(0, 1)], [(0, 1)], n_samples=3)
    with pytest.warns(ConstraintWarning, match="row 0 and row 1"):
        LCVQE(2, random_state=0).fit(X, constraints=both)


def test_empty_clusters_are_filled(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 100, random_state=0)
    start = np.vstack([X[:2], [[1e6] * 3]])
    model = LCVQE(3, init=start).fit(X, constraints=known)
    assert len(set(model.labels_)) == 3
    assert np.all(np.diff(model.history_) <= 1e-12 * model.history_[:-1])


@pytest.mark.parametrize("params", [{"penalty": -1.0}, {"penalty": "none"}, {"init": "middle"}])
def test_wrong_parameters_are_named(params: dict[str, Any], blobs: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(params))):
        LCVQE(3, **params).fit(blobs[0])


# --- what it is made of ---


def objective(
    X: np.ndarray, labels: np.ndarray, centers: np.ndarray, known: Constraints, penalty: float = 1.0
) -> float:
    """J from its definition, pair by pair."""
    D = ((X[:, None] - centers) ** 2).sum(axis=2)
    total = 0.5 * D[np.arange(len(X)), labels].sum()
    for (i, j), w in zip(known.must_link, known.must_link_weight, strict=True):
        if labels[i] != labels[j]:
            total += 0.25 * penalty * w * (D[j, labels[i]] + D[i, labels[j]])
    for (i, j), w in zip(known.cannot_link, known.cannot_link_weight, strict=True):
        if labels[i] == labels[j]:
            others = [c for c in range(len(centers)) if c != labels[i]]
            total += 0.5 * penalty * w * min(D[r, c] for r in (i, j) for c in others)
    stated = known.violations(labels)
    unit = penalty * X.var(axis=0).sum()
    return total + unit * (len(stated.labels) + len(stated.groups))


def run(X: np.ndarray, known: Constraints, centers: np.ndarray, penalty: float = 1.0) -> Any:
    problem = LCVQEProblem(engine.as_rows(X), known, penalty)
    random_state = np.random.RandomState(0)
    loop: Any = {"max_iter": 60, "tol": 0.0, "description": "test", "verbose": 0}
    result = alternate_labels(problem, centers, random_state, **loop)
    return partial(problem.evaluate, random_state), problem.update, result


@given(SEEDS)
@settings(max_examples=50)
def test_objective_never_rises_and_is_what_it_says(seed: int) -> None:
    """Also for rows in many pairs, contradictory pairs, classes and groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2)) * rng.uniform(0.1, 10)
    known = random_knowledge(rng, 14)
    penalty = float(rng.choice([0.1, 1.0, 5.0]))
    *_, result = run(X, known, X[rng.choice(14, 3, replace=False)], penalty)
    assert np.all(np.diff(result.history) <= 1e-10 * result.history[:-1])
    expected = objective(X, result.labels, result.centers, known, penalty)
    assert result.objective == pytest.approx(expected)


@given(SEEDS)
@settings(max_examples=40)
def test_no_single_row_and_no_component_can_improve_at_the_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    known = random_knowledge(rng, 8, named=False)
    *_, result = run(X, known, X[:3])
    component = known.closure(on_contradiction="keep").component
    blocks = [[i] for i in range(8)] + [np.flatnonzero(component == c) for c in set(component)]
    for block, cluster in itertools.product(blocks, range(3)):
        moved = result.labels.copy()
        moved[block] = cluster
        assert objective(X, moved, result.centers, known) >= result.objective - 1e-9


@given(SEEDS)
@settings(max_examples=40)
def test_centre_step_is_stationary(seed: int) -> None:
    """Finite differences of the objective with the sent rows frozen are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    known = random_knowledge(rng, 12, named=False)
    evaluate, update, _ = run(X, known, X[:3])
    visit = evaluate(X[:3].copy(), None)
    pulls, rows = visit.statistics.pulls.toarray(), known.mentioned
    moved = update(visit)

    def frozen(centers: np.ndarray) -> float:
        D = ((X[:, None] - centers) ** 2).sum(axis=2)
        return 0.5 * D[np.arange(12), visit.labels].sum() + 0.5 * (pulls * D[rows].T).sum()

    assert frozen(X[:3]) == pytest.approx(visit.objective)
    used = (np.bincount(visit.labels, minlength=3) + pulls.sum(axis=1)) > 0
    for h, d in itertools.product(np.flatnonzero(used), range(2)):
        step = np.zeros((3, 2))
        step[h, d] = 1e-5
        slope = (frozen(moved + step) - frozen(moved - step)) / 2e-5
        assert abs(slope) < 1e-6
    assert frozen(moved) <= frozen(X[:3]) + 1e-12


def test_one_cannot_link_and_two_clusters_by_brute_force() -> None:
    X = np.array([[0.0], [0.4], [1.0], [1.1], [3.0]])
    centers = np.array([[0.5], [3.0]])
    known = Constraints(cannot_link=[(0, 3)], n_samples=5)
    evaluate, *_ = run(X, known, centers)
    visit = evaluate(centers, None)
    best = min(
        objective(X, np.array(labels), centers, known)
        for labels in itertools.product(range(2), repeat=5)
    )
    assert visit.objective == pytest.approx(best)


def test_noisy_overlapping_pairs_on_iris() -> None:
    """What the published rules can raise: k = 5, 60 pairs that share rows."""
    X, y = load_iris(return_X_y=True)
    for seed in range(10):
        known = Constraints.sample(y, 60, random_state=seed).flip(0.2, random_state=seed)
        rng = np.random.default_rng(seed)
        *_, result = run(X, known, X[rng.choice(150, 5, replace=False)])
        assert np.all(np.diff(result.history) <= 1e-10 * result.history[:-1])
