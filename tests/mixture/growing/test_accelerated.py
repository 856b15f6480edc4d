"""EM on cells: their statistics, the bound, and the limit of single rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from sidelight._kernels.mixture.cells import dividing_directions, widest_directions
from sidelight.datasets import make_separated_gaussians
from sidelight.engine import as_rows, threads
from sidelight.mixture import AcceleratedMixture, GaussianMixture
from sidelight.mixture._core import (
    components_of_clusters,
    data_moments,
    em,
    log_joint_blocks,
    rough_clusters,
)
from sidelight.mixture.gaussian._components import (
    COVARIANCE_TYPES,
    GaussianComponents,
    one_gaussian,
)
from sidelight.mixture.growing._cell_em import em_on_cells, measure_slack
from sidelight.mixture.growing._cells import EQUAL, CellGaussians, CellTree


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    data: np.ndarray = make_separated_gaussians(
        600, n_components=4, n_features=3, separation=1.0, random_state=0
    ).data
    return data


# ------------------------------------------------------------------ the estimator


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    data: np.ndarray = make_separated_gaussians(
        30_000, n_components=6, separation=1.0, random_state=2
    ).data
    return data


def test_accuracy_closes_the_gap(many: np.ndarray) -> None:
    bounds, cells = [], []
    for accuracy in (0.1, 0.01, 0.001):
        model = AcceleratedMixture(6, accuracy=accuracy, random_state=0).fit(many)
        assert model.score(many) + model.objective_ <= 1.5 * accuracy
        bounds.append(-model.objective_)
        cells.append(model.n_cells_)
    assert bounds == sorted(bounds)
    assert cells == sorted(cells)


def test_weights_count_rows() -> None:
    X = make_separated_gaussians(400, n_components=3, random_state=0).data
    times = np.random.default_rng(0).integers(0, 3, size=400)
    start = {
        "means_init": X[:3],
        "precisions_init": np.repeat(10 * np.eye(2)[None], 3, axis=0),
        "weights_init": np.full(3, 1 / 3),
        "accuracy": 0.0,
        "max_iter": 1000,
        "tol": 1e-9,
    }
    weighted = AcceleratedMixture(3, **start).fit(X, sample_weight=times)
    copied = AcceleratedMixture(3, **start).fit(np.repeat(X, times, axis=0))
    assert weighted.objective_ == pytest.approx(copied.objective_, abs=1e-6)
    np.testing.assert_allclose(weighted.means_, copied.means_, atol=1e-3)


def test_greedy_start(many: np.ndarray) -> None:
    model = AcceleratedMixture(6, init_params="greedy", random_state=0).fit(many)
    truth = make_separated_gaussians(30_000, n_components=6, separation=1.0, random_state=2)
    assert len(model.weights_) == 6
    assert model.score(many) == pytest.approx(truth.extras["log_density"].mean(), abs=0.01)


def test_threads_do_not_matter(many: np.ndarray) -> None:
    results = []
    for n in (1, 3):
        with threads(n):
            results.append(AcceleratedMixture(6, random_state=0).fit(many))
    np.testing.assert_array_equal(results[0].means_, results[1].means_)
    np.testing.assert_array_equal(results[0].history_, results[1].history_)


def test_warm_start_goes_on(many: np.ndarray) -> None:
    model = AcceleratedMixture(6, warm_start=True, random_state=0).fit(many)
    before = model.objective_
    model.set_params(accuracy=0.001).fit(many)
    assert model.objective_ < before


def test_the_best_of_several_starts_is_kept(many: np.ndarray) -> None:
    one = AcceleratedMixture(6, init_params="random_from_data", random_state=3).fit(many)
    best = AcceleratedMixture(6, init_params="random_from_data", n_init=3, random_state=3)
    assert best.fit(many).objective_ <= one.objective_
    assert np.all(np.diff(best.history_) <= 1e-12)
    assert best.search_["n_cells"][-1] == best.n_cells_
    assert best.search_["approximation_error"][-1] == best.approximation_error_


def test_tiny_components_far_from_each_other() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [1e6, 0.0], [0.0, 1e6]])
    X = np.vstack([rng.normal(c, 1e-2, (500, 2)) for c in centres])
    model = AcceleratedMixture(3, reg_covar=0.0, random_state=0).fit(X)
    order = np.lexsort(model.means_.T.round(-3)[::-1])
    for s, rows in zip(order, (X[:500], X[1000:], X[500:1000]), strict=True):
        np.testing.assert_allclose(model.covariances_[s], np.cov(rows.T, bias=True), rtol=1e-4)


# ------------------------------------------------------------------ bad input


def test_components_that_become_the_same_are_reported(many: np.ndarray) -> None:
    twice = {
        "means_init": many[[0, 1, 0]],
        "precisions_init": np.repeat(np.eye(2)[None], 3, axis=0),
    }
    with pytest.warns(ConvergenceWarning, match=r"Components 0 and 2 are the same"):
        AcceleratedMixture(3, **twice).fit(many)
    with (
        pytest.warns(ConvergenceWarning, match="only 1 cells"),
        pytest.warns(ConvergenceWarning, match="distinct clusters"),
    ):
        AcceleratedMixture(6, init_cells=1, accuracy=np.inf, random_state=0).fit(many)


def test_fewer_different_rows_than_components() -> None:
    X = np.repeat([[1.0, 5.0], [2.0, 5.0]], 20, axis=0)
    with (
        pytest.warns(ConvergenceWarning, match="only 2 cells"),
        pytest.warns(ConvergenceWarning, match="distinct clusters"),
    ):
        model = AcceleratedMixture(3, random_state=0).fit(X)
    assert np.isfinite(model.means_).all()
    assert np.isfinite(model.covariances_).all()
    assert len(np.unique(model.labels_[:20])) == len(np.unique(model.labels_[20:])) == 1


def test_a_bound_on_the_cells_is_kept_and_reported(many: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning, match="allow more than max_cells=60"):
        model = AcceleratedMixture(6, max_cells=60, random_state=0).fit(many)
    assert 60 <= model.n_cells_ <= 120
    assert model.approximation_error_ > 0.005


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"accuracy": -1.0}, "accuracy"),
        ({"init_cells": 0}, "init_cells"),
        ({"max_cells": 2.5}, "max_cells"),
        ({"init_params": "luck"}, "init_params"),
        ({"init_params": "greedy", "covariance_type": "tied"}, "covariance of its own"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        AcceleratedMixture(3, **params).fit(X)


# --- what it is made of ---


def start_of(X: np.ndarray, k: int, kind: str = "full") -> tuple[GaussianComponents, np.ndarray]:
    """A rough mixture."""
    source = as_rows(X)
    mean, covariance, largest = data_moments(source)
    whole = one_gaussian(mean, covariance, k, kind, reg_covar=1e-6, largest_square=largest)
    clusters = rough_clusters(source, k, "k-means++", np.random.RandomState(0))
    components: Any
    components, log_weights = components_of_clusters(source, whole, clusters)
    return components, log_weights


def tree_of(X: np.ndarray, kind: str = "full", weights: np.ndarray | None = None) -> CellTree:
    full = kind in ("full", "tied")
    return CellTree(X, np.ones(len(X)) if weights is None else weights, full=full)


def cell_bounds(
    tree: CellTree, nodes: np.ndarray, components: CellGaussians, log_weights: np.ndarray
) -> np.ndarray:
    """``F_A = |A| log Σ_s π_s exp <log p(x | s)>_A`` of every node: with its best ``q_A``."""
    cells = as_rows(tree.cells(nodes))
    values = log_joint_blocks(
        cells, components, log_weights, lambda joint: logsumexp(joint, axis=1)
    )
    return np.asarray(tree.weights[nodes] * values)


def rows_of(tree: CellTree, node: int) -> tuple[np.ndarray, np.ndarray]:
    inside = slice(tree._starts[node], tree._stops[node])
    return tree._rows[inside], tree._row_weights[inside]


def log_likelihood(X: np.ndarray, components: Any, log_weights: np.ndarray) -> float:
    return -float(em(as_rows(X), components, log_weights, max_iter=1, tol=np.inf).history[0])


# ------------------------------------------------------------------ cells


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_of_every_node(X: np.ndarray, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, size=len(X))
    tree = tree_of(X.astype(dtype), weights=weights)
    leaves = tree.partition(50)
    assert len(leaves) >= 50
    assert tree.sizes[leaves].sum() == len(X)
    np.testing.assert_array_equal(tree.partition(50), leaves)  # nothing is cut twice
    upper = np.triu_indices(3)
    for node in range(len(tree.parts)):
        rows, w = rows_of(tree, node)
        mean = np.average(rows.astype(np.float64), weights=w, axis=0)
        covariance = np.cov(rows.astype(np.float64).T, aweights=w, bias=True)
        assert tree.weights[node] == pytest.approx(w.sum())
        np.testing.assert_allclose(tree.means[node], mean, rtol=1e-10)
        np.testing.assert_allclose(tree.spreads[node], covariance[upper], rtol=1e-9, atol=1e-14)
    order = np.lexsort(X.astype(dtype).T)
    again = np.lexsort(tree._rows.T)  # no row is lost, each keeps its weight
    np.testing.assert_array_equal(tree._rows[again], X.astype(dtype)[order])
    np.testing.assert_array_equal(tree._row_weights[again], weights[order])


def test_parts_merge_to_their_node(X: np.ndarray) -> None:
    tree = tree_of(X)
    tree.partition(64)
    upper = np.triu_indices(3)
    for node in np.flatnonzero(tree.parts >= 0):
        one, other = tree.parts[node], tree.parts[node] + 1
        n1, n2 = tree.weights[one], tree.weights[other]
        gap = tree.means[one] - tree.means[other]
        merged = n1 * tree.spreads[one] + n2 * tree.spreads[other]
        merged += n1 * n2 / (n1 + n2) * np.outer(gap, gap)[upper]
        assert tree.weights[node] == pytest.approx(n1 + n2)
        np.testing.assert_allclose(tree.spreads[node], merged / (n1 + n2), rtol=1e-9, atol=1e-14)


def test_statistics_of_tiny_cells_far_away_do_not_cancel() -> None:
    rng = np.random.default_rng(0)
    X = 1e8 + rng.normal(size=(100, 2))
    X[0] = 0.0
    tree = tree_of(X)
    leaves = tree.partition(8)
    far = leaves[np.argmax(tree.sizes[leaves])]
    rows, _ = rows_of(tree, far)
    np.testing.assert_allclose(
        tree.spreads[far], np.cov((rows - 1e8).T, bias=True)[np.triu_indices(2)], rtol=1e-6
    )


def test_equal_rows_stay_together() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(7, 2)), 5, axis=0)
    tree = tree_of(X)
    leaves = tree.partition(1000)
    assert len(leaves) == 7
    assert np.all(tree.parts[leaves] == EQUAL)
    np.testing.assert_allclose(tree.spreads[leaves], 0.0, atol=1e-25)


def test_widest_direction_is_roughly_principal() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 4)) * [3.0, 1.0, 0.5, 0.1]
    covariance = A @ A.T
    directions = np.empty((1, 4))
    widest_directions(covariance[np.triu_indices(4)][None], directions)
    principal = np.linalg.eigh(covariance)[1][:, -1]
    cosine = abs(directions[0] @ principal) / np.linalg.norm(directions[0])
    assert cosine > 0.99
    widest_directions(np.array([[0.1, 2.0, 0.3, 0.1]]), directions)  # variances alone
    assert np.argmax(np.abs(directions[0])) == 1
    assert np.count_nonzero(directions[0]) == 1


def test_cells_are_cut_across_what_divides_them() -> None:
    # Wide along x, but two components differ along y only.
    means = np.array([[0.0, -1.0], [0.0, 1.0]])
    precisions = np.repeat(np.eye(2)[None], 2, axis=0)
    directions = np.array([[1.0, 1e-3]])
    spread = np.array([[100.0, 0.0, 1.0]])
    half = np.full((1, 2), 0.5)
    dividing_directions(half, np.zeros((1, 2)), spread, means, precisions, directions)
    assert abs(directions[0, 0]) < 1e-9 * abs(directions[0, 1])
    kept = np.array([[1.0, 2.0]])  # one component alone: nothing divides the cell
    dividing_directions(np.eye(2)[:1], np.zeros((1, 2)), spread, means, precisions, kept)
    np.testing.assert_array_equal(kept, [[1.0, 2.0]])


# ------------------------------------------------------------------ the bound


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("local", [False, True])
def test_average_log_density_and_statistics(X: np.ndarray, kind: str, local: bool) -> None:
    components, log_weights = start_of(X, 4, kind)
    if local:
        components = GaussianComponents(**{**components.__dict__, "largest_square": 1e30})
    tree = tree_of(X, kind)
    leaves = tree.partition(40)
    cells = CellGaussians.of(components)
    assert cells.is_local == local
    features = cells.features(tree.cells(leaves))
    averages = np.array(
        [
            components.log_density(components.features(rows_of(tree, leaf)[0])).mean(axis=0)
            for leaf in leaves
        ]
    )
    np.testing.assert_allclose(cells.log_density(features), averages, rtol=1e-9)

    q = softmax(averages + log_weights, axis=1)
    of_cells = cells.statistics(features, q * tree.weights[leaves, None])
    rows = np.concatenate([rows_of(tree, leaf)[0] for leaf in leaves])
    resp = np.repeat(q, tree.sizes[leaves], axis=0)
    of_rows = components.statistics(components.features(rows), resp)
    for one, other in zip(of_cells, of_rows, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    moved, exact = cells.m_step(of_cells), components.m_step(of_rows)
    np.testing.assert_allclose(moved.covariances, exact.covariances, rtol=1e-8)


def bound(q: np.ndarray, log_joint: np.ndarray, n: np.ndarray) -> float:
    """``F`` for any shared responsibilities."""
    return float(n @ np.sum(q * (log_joint - np.log(np.maximum(q, 1e-300))), axis=1))


def test_best_responsibilities_beat_all_others(X: np.ndarray) -> None:
    components, log_weights = start_of(X, 4)
    tree = tree_of(X)
    leaves = tree.partition(30)
    n = tree.weights[leaves]
    cells = CellGaussians.of(components)
    joint = cells.log_density(cells.features(tree.cells(leaves))) + log_weights
    best = cell_bounds(tree, leaves, cells, log_weights).sum()
    assert bound(softmax(joint, axis=1), joint, n) == pytest.approx(best)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert bound(rng.dirichlet(np.ones(4), size=len(n)), joint, n) < best
    at_means = components.log_density(components.features(tree.means[leaves])) + log_weights
    assert bound(softmax(at_means, axis=1), joint, n) < best

    def loss(z: np.ndarray) -> float:
        return -bound(softmax(z.reshape(joint.shape), axis=1), joint, n)

    def no_slope(z: np.ndarray) -> np.ndarray:
        return np.zeros_like(z)

    assert check_grad(loss, no_slope, joint.ravel()) < 1e-3


def test_means_suffice_when_the_covariance_is_shared(X: np.ndarray) -> None:
    components, log_weights = start_of(X, 4, "tied")
    tree = tree_of(X)
    leaves = tree.partition(30)
    cells = CellGaussians.of(components)
    shared = log_softmax(
        cells.log_density(cells.features(tree.cells(leaves))) + log_weights, axis=1
    )
    at_means = log_softmax(
        components.log_density(components.features(tree.means[leaves])) + log_weights, axis=1
    )
    np.testing.assert_allclose(shared, at_means, atol=1e-9)


def test_cells_of_equal_rows_have_the_exact_posterior() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 3, axis=0)
    components, log_weights = start_of(X, 3)
    tree = tree_of(X)
    leaves = tree.partition(1000)
    total = cell_bounds(tree, leaves, CellGaussians.of(components), log_weights).sum()
    assert total / len(X) == pytest.approx(log_likelihood(X, components, log_weights), rel=1e-10)


def test_cutting_never_lowers_the_bound(X: np.ndarray) -> None:
    components, log_weights = start_of(X, 4)
    cells = CellGaussians.of(components)
    tree = tree_of(X)
    tree.partition(len(X))
    divided = np.flatnonzero(tree.parts >= 0)
    whole, one, other = (
        cell_bounds(tree, nodes, cells, log_weights)
        for nodes in (divided, tree.parts[divided], tree.parts[divided] + 1)
    )
    assert np.all(one + other - whole >= -1e-9 * np.abs(whole))
    assert whole[0] <= len(X) * log_likelihood(X, components, log_weights)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_single_rows_are_plain_em(X: np.ndarray, kind: str) -> None:
    components, log_weights = start_of(X, 4, kind)
    tree = tree_of(X, kind)
    leaves = tree.partition(len(X))
    assert len(leaves) == len(X)
    options: dict[str, Any] = {"max_iter": 12, "tol": 0.0}
    plain = em(as_rows(X), components, log_weights, **options)
    cells = em_on_cells(
        tree, leaves, CellGaussians.of(components), log_weights, accuracy=0.0, **options
    )
    assert all(n_cells == len(X) for n_cells, _, _ in cells.partitions)
    assert cells.gap == 0.0
    np.testing.assert_allclose(cells.history[-1], plain.history[-1], rtol=1e-10)
    np.testing.assert_allclose(cells.components.means, plain.components.means, rtol=1e-8)
    np.testing.assert_allclose(
        cells.components.covariances, plain.components.covariances, rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(cells.log_weights, plain.log_weights, rtol=1e-8)


def test_one_cell_makes_every_component_the_whole(X: np.ndarray) -> None:
    components, log_weights = start_of(X, 3)
    tree = tree_of(X)
    result = em_on_cells(
        tree,
        np.array([0]),
        CellGaussians.of(components),
        log_weights,
        accuracy=np.inf,
        max_iter=2,
    )
    for s in range(3):
        np.testing.assert_allclose(result.components.means[s], X.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(
            result.components.covariances[s], np.cov(X.T, bias=True), atol=1e-5
        )


def test_slack_is_the_distance_to_the_likelihood(X: np.ndarray) -> None:
    components, log_weights = start_of(X, 4)
    cells = CellGaussians.of(components)
    for n_cells in (1, 20, 100):
        tree = tree_of(X)
        leaves = tree.partition(n_cells)
        slack = measure_slack(tree, leaves, cells, log_weights)  # of few rows all are looked at
        missing = len(X) * log_likelihood(X, components, log_weights)
        missing -= cell_bounds(tree, leaves, cells, log_weights).sum()
        assert slack.losses.sum() == pytest.approx(missing, rel=1e-9)


def test_samples_cover_every_cell_and_change(X: np.ndarray) -> None:
    tree = tree_of(X, weights=np.arange(1.0, len(X) + 1))
    leaves = tree.partition(20)
    first, second = (tree.sample(leaves, 5, 4, phase) for phase in (0.1, 0.7))
    for samples in (first, second):
        np.testing.assert_allclose(np.bincount(samples.owner, samples.shares), 1.0)
        counts = np.bincount(samples.owner, minlength=len(leaves))
        np.testing.assert_array_equal(
            counts, np.minimum(np.maximum(tree.sizes[leaves] // 5, 4), tree.sizes[leaves])
        )
        for cell, leaf in enumerate(leaves):
            seen = samples.rows[samples.owner == cell]
            rows, _ = rows_of(tree, leaf)
            assert {tuple(row) for row in seen} <= {tuple(row) for row in rows}
    assert not np.array_equal(first.rows, second.rows)


# ------------------------------------------------------------------ the estimator


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_close_to_plain_em_with_few_cells(many: np.ndarray, kind: str) -> None:
    components, _ = start_of(many, 6, kind)
    start = {
        "covariance_type": kind,
        "weights_init": np.full(6, 1 / 6),
        "means_init": components.means,
        "precisions_init": components.precisions,
    }
    model = AcceleratedMixture(6, **start).fit(many)
    exact = GaussianMixture(6, **start).fit(many)
    assert model.n_cells_ < 2000
    assert np.all(np.diff(model.history_) <= 1e-12)
    assert np.all(np.diff(model.search_["n_cells"]) >= 0)
    likelihood = model.score(many)
    assert -model.objective_ <= likelihood
    assert likelihood + model.objective_ == pytest.approx(model.approximation_error_, rel=0.5)
    assert model.approximation_error_ <= 0.005
    assert likelihood == pytest.approx(exact.score(many), rel=1e-3)
    assert np.mean(model.labels_ == exact.labels_) > 0.98


# ------------------------------------------------------------------ bad input


def test_average_log_density_written_out() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 3))
    covariance = np.cov(rng.normal(size=(3, 10)))
    cells = CellGaussians(np.zeros((1, 3)) + 0.5, covariance[None], "full", np.ones(3))
    tree = tree_of(rows)
    value = cells.log_density(cells.features(tree.cells(np.array([0]))))[0, 0]
    expected = multivariate_normal(np.full(3, 0.5), covariance).logpdf(rows).mean()
    assert value == pytest.approx(expected)
