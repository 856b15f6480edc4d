"""Similarity graphs, their Laplacians and cuts: the identities of the lecture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

from sidelight.exceptions import SidelightError
from sidelight.graphs import (
    _build,
    cut_values,
    degrees,
    full_graph,
    laplacian,
    neighbor_graph,
    normalized_graph,
    similarity_graph,
)
from sidelight.graphs.inner import check_graph

SIX = {
    (0, 1): 0.8, (0, 2): 0.6, (0, 4): 0.1, (1, 2): 0.8,
    (2, 3): 0.2, (3, 4): 0.8, (3, 5): 0.7, (4, 5): 0.8,
}  # fmt: skip


@pytest.fixture(scope="module")
def six() -> np.ndarray:
    W = np.zeros((6, 6))
    for (i, j), weight in SIX.items():
        W[i, j] = W[j, i] = weight
    return W


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return make_blobs(80, centers=3, n_features=3, random_state=0)[0]


def random_graph(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.7), 1)
    return W + W.T


def test_six_points_of_the_lecture(six):
    cuts = cut_values(six, [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(degrees(six), [1.5, 1.6, 1.6, 1.7, 1.7, 1.5])
    assert cuts.cut == pytest.approx(0.3)
    assert cuts.normalized_cut == pytest.approx(0.125054, abs=1e-6)
    assert cuts.ratio_cut == pytest.approx(0.2)
    assert cuts.min_max_cut == pytest.approx(0.133399, abs=1e-6)
    plain = np.linalg.eigvalsh(laplacian(six, "unnormalized").toarray())
    np.testing.assert_allclose(plain, [0, 0.1882, 2.0840, 2.2853, 2.4690, 2.5735], atol=5e-5)
    symmetric = np.linalg.eigvalsh(laplacian(six).toarray())
    np.testing.assert_allclose(symmetric, [0, 0.1181, 1.3179, 1.4621, 1.5378, 1.5640], atol=5e-5)
    values = []
    for code in range(1, 32):  # all partitions in two
        labels = [(code >> bit) & 1 for bit in range(6)]
        values.append((cut_values(six, labels).normalized_cut, labels))
    values.sort()
    assert values[0][1] in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    assert values[1][0] == pytest.approx(0.7146, abs=5e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 12), st.integers(2, 3))
def test_cuts_are_quadratic_forms_and_above_their_relaxations(seed, n, k):
    W = random_graph(seed, n)
    labels = np.arange(n) % k
    cuts = cut_values(W, labels)
    L = laplacian(W, "unnormalized").toarray()
    degree = degrees(W)
    ratio, norm, pairs = 0.0, 0.0, 0.0
    for g in range(k):
        inside = (labels == g).astype(float)
        ratio += inside @ L @ inside / inside.sum()
        volume = degree @ inside
        norm += inside @ L @ inside / volume if volume > 0 else 0.0
        pairs += inside @ L @ inside
    assert cuts.ratio_cut == pytest.approx(ratio, abs=1e-10)
    assert cuts.normalized_cut == pytest.approx(norm, abs=1e-10)
    assert cuts.cut == pytest.approx(pairs / 2, abs=1e-10)
    signs = np.where(labels == 0, 1.0, -1.0)
    two = cut_values(W, labels == 0)
    assert two.cut == pytest.approx(signs @ L @ signs / 4, abs=1e-10)
    assert cuts.ratio_cut >= np.linalg.eigvalsh(L)[:k].sum() - 1e-9
    if np.all(degree > 0):
        lowest = np.linalg.eigvalsh(laplacian(W).toarray())[:k].sum()
        assert cuts.normalized_cut >= lowest - 1e-9
        shares = [cut_values(W, labels == g) for g in range(k)]
        assert len(shares) == k
        r = [
            (inside @ L @ inside) / (degree @ inside)
            for inside in ((labels == g).astype(float) for g in range(k))
        ]
        if max(r) < 1 - 1e-9:
            assert cuts.min_max_cut == pytest.approx(sum(x / (1 - x) for x in r))


def test_normalised_cut_of_two_parts_is_a_rayleigh_quotient(six):
    degree = degrees(six)
    inside = np.array([1, 1, 1, 0, 0, 0])
    y = np.where(inside, 1.0, -(degree @ inside) / (degree @ (1 - inside)))
    L = laplacian(six, "unnormalized").toarray()
    assert y @ degree == pytest.approx(0.0)
    ratio = y @ L @ y / (y @ (degree * y))
    assert ratio == pytest.approx(cut_values(six, inside).normalized_cut)


def test_laplacians_share_their_eigenvalues_and_count_components():
    blocks = sparse.block_diag([random_graph(1, 6), random_graph(2, 5), np.zeros((1, 1))])
    symmetric = np.linalg.eigvalsh(laplacian(blocks).toarray())
    walk = np.sort(np.linalg.eigvals(laplacian(blocks, "random-walk").toarray()).real)
    np.testing.assert_allclose(symmetric, walk, atol=1e-8)
    assert np.count_nonzero(np.abs(symmetric) < 1e-9) == 3
    assert symmetric.max() <= 2 + 1e-12
    assert normalized_graph(blocks).toarray()[-1].sum() == 0


@pytest.mark.parametrize("weights", ["gaussian", "local", "cosine", "fuzzy", "connectivity"])
@pytest.mark.parametrize("mutual", [False, True])
def test_neighbour_graphs_are_symmetric_similarities(rows, weights, mutual):
    W = neighbor_graph(rows, 6, weights=weights, mutual=mutual)
    assert (W != W.T).nnz == 0
    assert W.diagonal().sum() == 0
    assert W.data.min() >= 0
    assert W.data.max() <= 1
    per_row = np.diff(W.indptr)
    assert per_row.max() <= 6 if mutual else per_row.min() >= 6


def test_neighbours_are_the_nearest(rows):
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :4]
    adjacency = np.zeros((80, 80), dtype=bool)
    adjacency[np.arange(80)[:, None], near] = True
    either = neighbor_graph(rows, 4, weights="connectivity").toarray() > 0
    both = neighbor_graph(rows, 4, weights="connectivity", mutual=True).toarray() > 0
    np.testing.assert_array_equal(either, adjacency | adjacency.T)
    np.testing.assert_array_equal(both, adjacency & adjacency.T)


@pytest.mark.parametrize("weights", ["gaussian", "local", "cosine"])
def test_all_neighbours_kept_are_the_full_graph(rows, weights):
    sigma = 2.0 if weights == "gaussian" else None
    sparse_one = neighbor_graph(rows, 79, weights=weights, sigma=sigma).toarray()
    np.testing.assert_allclose(
        sparse_one, full_graph(rows, weights=weights, sigma=sigma), atol=1e-7
    )


def test_local_scales_do_not_see_the_units(rows):
    np.testing.assert_allclose(
        neighbor_graph(rows, 8, weights="local").toarray(),
        neighbor_graph(rows * 100, 8, weights="local").toarray(),
        atol=1e-6,
    )
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(
        full_graph(rows, sigma=1.5), full_graph(rows @ turn + 3.0, sigma=1.5), atol=1e-9
    )


def test_duplicates_do_not_divide_by_zero():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 12, axis=0)
    for weights in ("gaussian", "local", "fuzzy"):
        W = neighbor_graph(X, 5, weights=weights)
        assert np.isfinite(W.data).all()


def test_bad_graphs_are_described():
    with pytest.raises(SidelightError, match=r"rows 0 and 1|rows 1 and 0"):
        check_graph([[0.0, 1.0], [0.5, 0.0]])
    with pytest.raises(SidelightError, match="row 1, column 0 holds -1"):
        check_graph([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(SidelightError, match="square"):
        check_graph(np.zeros((2, 3)))
    with pytest.raises(SidelightError, match="GB"):
        full_graph(sparse.csr_array((40_000, 2)))


def test_a_singleton_makes_the_min_max_cut_infinite(six):
    assert cut_values(six, [0, 1, 1, 1, 1, 1]).min_max_cut == np.inf


def test_a_tree_along_principal_axes_finds_the_same_neighbors(monkeypatch):
    """Columns that follow a few directions, and rows that vary along all of them."""
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 18)) + 0.01 * rng.normal(size=(400, 18))
    for rows, is_flat in ((flat, True), (rng.normal(size=(400, 18)), False)):
        plain, similarity = similarity_graph(rows, 6, weights="gaussian")
        new = similarity.to(rows[:5] + 0.1)
        with monkeypatch.context() as patched:
            patched.setattr(_build, "ROWS_FOR_AXES", 100)
            assert (_build._few_axes(rows) is not None) == is_flat
            turned, similarity = similarity_graph(rows, 6, weights="gaussian")
            assert abs(turned - plain).max() < 1e-9
            assert abs(similarity.to(rows[:5] + 0.1) - new).max() < 1e-9
