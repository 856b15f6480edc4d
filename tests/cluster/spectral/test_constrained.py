"""Constraints in spectral clustering: grouping, forms of the penalty, constraints that spread."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from tests.cluster.spectral.methods import METHODS

from sidelight import Constraints
from sidelight.cluster import (
    FlexibleSpectralClustering,
    GroupedSpectralClustering,
    SignedSpectralClustering,
    SpectralClustering,
)
from sidelight.cluster.spectral._base import SpectralCoordinates
from sidelight.cluster.spectral._constraint_graph import constraint_graph, signed_laplacian
from sidelight.cluster.spectral._contracted import contract
from sidelight.cluster.spectral._flexible import (
    _warn_of_narrow_vectors,
    complete_level,
    flexible_vectors,
    reachable_level,
    satisfaction_matrix,
)
from sidelight.cluster.spectral._grouping import MustLinkEquations, spanning_links
from sidelight.cluster.spectral._learning import entailed_pairs
from sidelight.cluster.spectral._propagation import propagate, spread_columns
from sidelight.cluster.spectral._signed import merged_graph, penalized_laplacian
from sidelight.constraints import known_pairs
from sidelight.exceptions import ConstraintWarning
from sidelight.graphs import (
    degrees,
    laplacian,
    neighbor_graph,
    normalized_graph,
    smooth_eigenvectors,
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return X, y, Constraints.sample(y, 60, random_state=1)


# --- grouping ------------------------------------------------------------------------------------


def test_grouping_without_links_is_the_normalised_cut(wine):
    X, _, known = wine
    plain = SpectralClustering(3, random_state=0).fit(X)
    for smooth in (False, True):
        model = GroupedSpectralClustering(3, smooth=smooth, random_state=0)
        model.fit(X)
        np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, atol=1e-9)
        assert adjusted_rand_score(model.labels_, plain.labels_) == 1
    with pytest.warns(ConstraintWarning, match="cannot-links"):
        model.fit(X, constraints=known)


# --- forms of the penalty ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["separate", "merged", "difference"])
def test_constraints_turn_the_cut_of_a_rectangle(form):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2)) * [1.6, 1.0]  # unconstrained, the cut is vertical
    y = (X[:, 1] > 0.5).astype(int)
    known = Constraints.sample(y, 150, random_state=0)
    scores = []
    for penalty in (0.0, 0.5):
        model = SignedSpectralClustering(2, penalty=penalty, form=form, random_state=0)
        model.fit(X, constraints=known)
        scores.append((adjusted_rand_score(y, model.labels_), model.n_violations_))
    assert scores[0][0] < 0.1
    assert scores[1][0] > 0.6
    assert scores[1][1] < scores[0][1]


# --- a level of satisfied constraints ------------------------------------------------------------


@pytest.mark.parametrize("method", [name for name in METHODS if name != "learning, additive"])
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.ConstraintWarning")
def test_more_pairs_do_not_harm_rows_that_none_of_them_mentions(method):
    scores = {0: [], 30: [], 120: [], 480: []}
    for seed in range(4):
        X, y = make_moons(240, noise=0.2, random_state=seed)
        told = np.random.default_rng(seed).permutation(240)[:120]
        for n_pairs, found in scores.items():
            pairs = Constraints.sample(y[told], max(n_pairs, 2), random_state=seed)
            known = Constraints(told[pairs.must_link], told[pairs.cannot_link], n_samples=240)
            known = known if n_pairs else Constraints(n_samples=240)
            labels = METHODS[method](2, random_state=0).fit(X, constraints=known).labels_
            held = np.setdiff1d(np.arange(240), told)
            found.append(adjusted_rand_score(y[held], labels[held]))
    plain, *means = (np.mean(found) for found in scores.values())
    assert min(means) >= plain - 0.02
    assert means[2] >= max(means) - 0.05


# --- constraints that spread, edited graphs ------------------------------------------------------


@pytest.mark.parametrize("method", ["propagated", "learning", "learning, additive"])
def test_changed_graphs_follow_complete_knowledge(wine, method):
    X, y, _ = wine
    known = Constraints.from_labels(y)
    W = neighbor_graph(X, 10, weights="local")
    model = METHODS[method](3, graph="precomputed", random_state=0).fit(
        sparse.csr_array(W), constraints=known
    )
    assert adjusted_rand_score(y, model.labels_) > 0.95  # the graph alone: 0.90


# --- what it is made of ---


def chance(seed: int = 0) -> np.random.RandomState:
    return np.random.RandomState(seed)


# --- grouping ------------------------------------------------------------------------------------


def test_links_span_components():
    component = np.array([0, 1, 0, 2, 1, 0, 3])
    usable = np.array([True, True, True, True, True, False, True])
    np.testing.assert_array_equal(spanning_links(component, usable), [[0, 2], [1, 4]])


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("copies", [1, 5])
def test_grouping_is_the_projected_problem(wine, smooth, copies):
    """Dense formulas of Yu and Shi; with more rows than the dense solver takes."""
    X, _, known = wine
    X = np.vstack([X + 0.01 * c for c in range(copies)])
    links = np.vstack([known.must_link + 178 * c for c in range(copies)])
    W = neighbor_graph(X, 10, weights="local")
    component = Constraints(links, n_samples=len(X)).components()
    grouping = MustLinkEquations(W, component, smooth=smooth)
    values, z = grouping.embed(4, chance())
    degree = degrees(W)
    V = np.zeros((len(X), len(grouping.links)))
    V[grouping.links[:, 0], np.arange(V.shape[1])] = 1
    V[grouping.links[:, 1], np.arange(V.shape[1])] = -1
    if smooth:
        V = (W @ (V / degree[:, None])).copy()
    scaled = V / np.sqrt(degree)[:, None]
    projector = np.eye(len(X)) - scaled @ np.linalg.pinv(scaled)
    exact = np.linalg.eigvalsh(projector @ normalized_graph(W).toarray() @ projector)
    np.testing.assert_allclose(1 - values, exact[::-1][:4], atol=1e-6)
    x = z / np.sqrt(degree)[:, None]
    np.testing.assert_allclose(V.T @ x, 0.0, atol=1e-10)
    np.testing.assert_allclose(z.T @ z, np.eye(4), atol=1e-6)
    free, _ = smooth_eigenvectors(W, 4, random_state=chance())
    assert np.all(values >= free - 1e-7)  # equations only raise eigenvalues
    if not smooth:
        small, _ = contract(W, component)
        np.testing.assert_allclose(
            values, smooth_eigenvectors(small, 4, random_state=chance())[0], atol=1e-6
        )


def test_grouped_rows_share_their_cluster_and_smoothing_takes_neighbours_along(wine):
    X, y, known = wine
    links = Constraints(known.must_link, n_samples=178)
    exact = GroupedSpectralClustering(3, smooth=False, random_state=0)
    assert exact.fit(X, constraints=links).n_violations_ == 0
    # A link across the gap of two moons: averages near its ends are brought together.
    X, y = make_moons(200, noise=0.05, random_state=0)
    ends = np.array([[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]])
    W = neighbor_graph(X, 10, weights="local")
    gaps = {}
    for smooth in (False, True):
        _, z = MustLinkEquations(
            W, Constraints(ends, n_samples=200).components(), smooth=smooth
        ).embed(2, chance())
        x = z / np.sqrt(degrees(W))[:, None]
        around = W @ x / degrees(W)[:, None]
        gaps[smooth] = np.abs(around[ends[0, 0]] - around[ends[0, 1]]).max()
    assert gaps[True] < 1e-9 < gaps[False]


# --- forms of the penalty ------------------------------------------------------------------------


def test_penalties_by_their_definitions(wine):
    X, _, known = wine
    W = neighbor_graph(X, 10, weights="local")
    Q = constraint_graph(known_pairs(known), 178)
    everyone = np.ones(178, dtype=bool)
    separate = penalized_laplacian(W, Q, 0.4, "separate", everyone)
    np.testing.assert_allclose(
        separate.toarray(), 0.6 * laplacian(W).toarray() + 0.4 * signed_laplacian(Q).toarray()
    )
    merged = penalized_laplacian(W, Q, 0.4, "merged", everyone).toarray()
    graph = merged_graph(W, Q, 0.4).toarray()
    signed = np.abs(graph).sum(axis=1)
    u = np.random.default_rng(0).normal(size=178)
    v = u / np.sqrt(signed)
    i, j = np.nonzero(np.triu(graph))
    energy = np.sum(np.abs(graph[i, j]) * (v[i] - np.sign(graph[i, j]) * v[j]) ** 2)
    assert u @ merged @ u == pytest.approx(energy)
    spectrum = np.linalg.eigvalsh(merged)
    assert -1e-9 <= spectrum[0] <= spectrum[-1] <= 2 + 1e-9
    difference = penalized_laplacian(W, Q, 0.4, "difference", everyone).toarray()
    rest = difference - 0.6 * laplacian(W).toarray()
    assert np.abs(np.linalg.eigvalsh(rest)).max() == pytest.approx(0.4, rel=1e-6)
    gap = [
        sum((u[a] - u[b]) ** 2 for a, b in pairs) for pairs in (known.must_link, known.cannot_link)
    ]
    scale = np.abs(np.linalg.eigvalsh(laplacian(Q, "unnormalized").toarray())).max()
    assert u @ rest @ u == pytest.approx(0.4 * (gap[0] - gap[1]) / scale)


def test_a_balanced_constraint_graph_has_its_signs_for_a_null_vector():
    Q = constraint_graph(known_pairs(Constraints([(0, 1), (2, 3)], [(1, 2)], n_samples=4)), 4)
    L = np.diag(np.abs(Q.toarray()).sum(axis=1)) - Q.toarray()
    values, vectors = np.linalg.eigh(L)
    assert values[0] == pytest.approx(0.0, abs=1e-12)
    assert values[1] > 0.1
    np.testing.assert_allclose(np.sign(vectors[:, 0]) * np.sign(vectors[0, 0]), [1, 1, -1, -1])


# --- a level of satisfied constraints ------------------------------------------------------------


@pytest.mark.parametrize("n", [150, 900])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_flexible_vectors_reach_their_level(n, share):
    X, y = make_moons(n, noise=0.15, random_state=0)
    W = neighbor_graph(X, 10)
    Q = constraint_graph(known_pairs(Constraints.sample(y, n // 3, random_state=0)), n)
    satisfied = satisfaction_matrix(W, Q)
    level = share * reachable_level(satisfied, 3)
    values, vectors = flexible_vectors(W, satisfied, 3, level)
    assert vectors.shape[1] == 2
    L = laplacian(W)
    for value, v in zip(values, vectors.T, strict=True):
        assert value > 0
        assert v @ satisfied @ v > level
        assert v @ v == pytest.approx(1.0)
        assert v @ (L @ v) == pytest.approx(value * (v @ satisfied @ v - level), rel=1e-3)
        residual = L @ v - value * (satisfied @ v - level * v)
        assert np.linalg.norm(residual) < 1e-3 * np.linalg.norm(L @ v)
    doubled, _ = flexible_vectors(W, 2 * satisfied, 3, 2 * level)
    np.testing.assert_allclose(doubled, values / 2, rtol=1e-3)


def test_as_many_levels_are_reachable_as_eigenvalues_lie_above(wine):
    X, _, known = wine
    W = neighbor_graph(X, 10)
    satisfied = satisfaction_matrix(W, constraint_graph(known_pairs(known), 178))
    spectrum = np.linalg.eigvalsh(satisfied.toarray())
    for k in (2, 4):
        assert reachable_level(satisfied, k) == pytest.approx(spectrum[1 - k])
    level = 0.9 * spectrum[-1]
    # One of them may be the trivial vector.
    assert flexible_vectors(W, satisfied, 100, level)[1].shape[1] in (
        np.sum(spectrum > level) - 1,
        np.sum(spectrum > level),
    )


@pytest.mark.parametrize("k", [2, 3])
def test_a_partition_that_satisfies_all_reaches_the_complete_level(k):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(60) % k)
    W = neighbor_graph(rng.normal(size=(60, 3)), 8)
    Q = constraint_graph(known_pairs(Constraints.sample(y, 80, random_state=0)), 60)
    corners = np.linalg.svd(np.eye(k) - 1 / k)[0][:, : k - 1] * np.sqrt(k / (k - 1))
    vectors = np.sqrt(degrees(W))[:, None] * corners[y]
    reached = np.sum(vectors * (satisfaction_matrix(W, Q) @ vectors)) / np.sum(vectors**2)
    assert complete_level(W, Q, k) == pytest.approx(reached)


def test_two_clusters_stay_two_whatever_the_sign_of_the_vector():
    known = Constraints([(0, 3), (1, 2)], n_samples=4)
    vectors = np.array([[1.0], [1.1], [5.0], [5.1]])
    found = SpectralCoordinates(np.ones(1), vectors, None, unit=False)
    model = FlexibleSpectralClustering(2, random_state=0)
    labels, _ = model._label_constrained(found, 2, known, np.random.RandomState(0))
    assert len(np.unique(labels)) == 2


def test_flexible_clusters():
    X, y = make_moons(300, noise=0.15, random_state=3)
    known = Constraints.sample(y, 60, random_state=0)
    plain = SpectralClustering(2, random_state=0).fit(X)
    model = FlexibleSpectralClustering(2, random_state=0)
    before = adjusted_rand_score(y, plain.labels_)
    assert adjusted_rand_score(y, model.fit(X, constraints=known).labels_) > before + 0.1
    assert adjusted_rand_score(model.fit(X).labels_, plain.labels_) == 1
    # Vectors near the largest level of all live on the constrained rows.
    W = neighbor_graph(X, 10)
    Q = constraint_graph(known_pairs(known), 300)
    satisfied = satisfaction_matrix(W, Q)
    vectors = flexible_vectors(W, satisfied, 3, 0.9 * reachable_level(satisfied, 3))[1]
    with pytest.warns(ConstraintWarning, match="of their length on constrained rows"):
        _warn_of_narrow_vectors(vectors, Q)


# --- constraints that spread, edited graphs ------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, 0.8, 0.95])
def test_spread_columns_are_those_of_the_inverse(wine, alpha):
    similar = normalized_graph(neighbor_graph(wine[0], 10, weights="local"))
    rows = np.array([3, 50, 170])
    inverse = np.linalg.inv(np.eye(178) - alpha * similar.toarray())
    columns = spread_columns(similar, rows, alpha).toarray()
    np.testing.assert_allclose(columns, inverse[:, rows], atol=3e-7)


def test_constraints_that_hardly_spread_stay_what_they_are(wine):
    X, _, known = wine
    W = neighbor_graph(X, 10, weights="local")
    pairs = known_pairs(known)
    changed = propagate(W, pairs, 1e-6, rescale=False)
    np.testing.assert_allclose(changed[known.must_link[:, 0], known.must_link[:, 1]], 1, atol=1e-4)
    np.testing.assert_allclose(
        changed[known.cannot_link[:, 0], known.cannot_link[:, 1]], 0, atol=1e-4
    )
    mild = abs(propagate(W, pairs, 0.8, rescale=False) - W).sum()
    assert 0 < mild < 0.2 * abs(propagate(W, pairs, 0.8) - W).sum()


def test_entailed_pairs_are_written_out():
    known = Constraints([(0, 1), (1, 2)], [(2, 3)], n_samples=5)
    pairs = entailed_pairs(known)
    np.testing.assert_array_equal(pairs.together, [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(pairs.apart, [[0, 3], [1, 3], [2, 3]])
