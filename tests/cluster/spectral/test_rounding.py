"""Roundings of eigenvectors and the exchange of single rows, against brute force and a peer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import SpectralClustering as Peer
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.preprocessing import StandardScaler

from sidelight.cluster import SpectralClustering
from sidelight.cluster.spectral._bipartition import CRITERIA
from sidelight.cluster.spectral._rounding import refine_cut
from sidelight.graphs import cut_values, full_graph, neighbor_graph


def data_sets():
    scaled = StandardScaler().fit_transform
    yield "iris", scaled(load_iris().data), 3
    yield "wine", scaled(load_wine().data), 3
    yield "breast cancer", scaled(load_breast_cancer().data), 2
    yield "digits", load_digits().data[:600], 10
    yield "moons", make_moons(400, noise=0.12, random_state=0)[0], 2
    yield "rings", make_circles(400, factor=0.5, noise=0.1, random_state=0)[0], 4
    yield "blobs", make_blobs(500, centers=6, cluster_std=2.0, random_state=0)[0], 6
    yield "square", np.random.default_rng(0).uniform(size=(400, 2)), 5


DATA = {name: (X, k) for name, X, k in data_sets()}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("graph", ["neighbors", "full"])
def test_the_normalised_cut_is_not_above_that_of_a_peer(name, graph):
    X, k = DATA[name]
    W = (
        neighbor_graph(X, 10, weights="connectivity")
        if graph == "neighbors"
        else sparse.csr_array(full_graph(X, weights="local"))
    )
    ours = SpectralClustering(k, graph="precomputed", random_state=0).fit(W)
    for assign in ("kmeans", "discretize", "cluster_qr"):
        peer = Peer(k, affinity="precomputed", assign_labels=assign, random_state=0)
        labels = peer.fit(W.toarray()).labels_
        if len(np.unique(labels)) == k:
            assert ours.objective_ <= 1.01 * cut_values(W, labels).normalized_cut


# --- what it is made of ---


REFINED = [objective for objective in CRITERIA if objective != "cut"]


def random_graph(seed: int, n: int, *, loops: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.6)
    return np.triu(W, 0 if loops else 1) + np.triu(W, 1).T


def cost(W: np.ndarray, labels: np.ndarray, objective: str) -> float:
    return getattr(cut_values(W, labels), CRITERIA[objective])


@pytest.mark.parametrize("objective", REFINED)
@pytest.mark.parametrize("loops", [False, True])
def test_no_single_move_along_an_edge_lowers_a_refined_cut(objective, loops):
    for seed in range(8):
        W = random_graph(seed, 14, loops=loops)
        start = np.random.default_rng(seed).permutation(np.arange(14) % 3)
        found = refine_cut(sparse.csr_array(W), start, objective)
        value = cost(W, found, objective)
        assert value <= cost(W, start, objective) + 1e-12
        np.testing.assert_array_equal(np.unique(found), [0, 1, 2])
        for row, part in itertools.product(range(14), range(3)):
            moved = found.copy()
            moved[row] = part
            linked = W[row] @ ((found == part) & (np.arange(14) != row)) > 0
            if linked and len(np.unique(moved)) == 3:
                assert cost(W, moved, objective) >= value - 1e-9


@pytest.mark.parametrize("objective", REFINED)
def test_a_cluster_is_never_emptied(objective):
    W = np.ones((6, 6)) - np.eye(6)
    labels = np.array([0, 0, 0, 0, 1, 2])
    assert set(refine_cut(sparse.csr_array(W), labels, objective)) == {0, 1, 2}
    # The only row of its part that has an edge stays, too.
    W[1:3], W[:, 1:3] = 0.0, 0.0
    labels = np.array([0, 0, 0, 1, 1, 1])
    refined = refine_cut(sparse.csr_array(W), labels, objective)
    assert set(refined[[0, 3, 4, 5]]) == {0, 1}


def lowest_cost(W: np.ndarray, k: int, objective: str) -> float:
    """Least cost of all partitions in ``k`` parts."""
    codes = np.array(list(itertools.product(range(k), repeat=len(W) - 1)))
    member = np.eye(k)[np.hstack([np.zeros((len(codes), 1), int), codes])]
    member = member[np.all(member.sum(axis=1) > 0, axis=1)]
    inside = np.einsum("pik,ij,pjk->pk", member, W, member, optimize=True)
    volume = np.einsum("pik,i->pk", member, W.sum(axis=1))
    mass = {"normalized-cut": volume, "ratio-cut": member.sum(axis=1), "min-max-cut": inside}
    with np.errstate(divide="ignore"):
        return float(np.min(np.sum((volume - inside) / mass[objective], axis=1)))


@pytest.mark.parametrize("objective", REFINED)
def test_brute_force_over_all_partitions(objective):
    reached = 0
    for seed in range(6):
        W = random_graph(seed, 9) + 0.01 * (np.ones((9, 9)) - np.eye(9))
        W[:4, 4:] *= 0.3
        W[4:, :4] *= 0.3
        lowest = lowest_cost(W, 3, objective)
        model = SpectralClustering(3, graph="precomputed", objective=objective, random_state=0)
        model.fit(W)
        assert model.objective_ >= lowest - 1e-9
        assert len(np.unique(model.labels_)) == 3
        reached += model.objective_ <= lowest * 1.05
    assert reached >= 4


@pytest.mark.parametrize("objective", CRITERIA)
def test_the_better_rounding_is_kept(objective):
    X, k = DATA["blobs"]
    W = neighbor_graph(X, 10)
    for refine in (False, True):
        parameters = {"graph": "precomputed", "objective": objective, "refine": refine}
        best, unit = (
            SpectralClustering(k, rounding=rounding, random_state=0, **parameters).fit(W)
            for rounding in ("best", "unit")
        )
        assert best.objective_ <= unit.objective_ + 1e-9
