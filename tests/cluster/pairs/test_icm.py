"""Iterated conditional modes against the energy written out in full."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import SEEDS

from sidelight._kernels.cluster.icm import (
    block_sweep,
    conditional_costs,
    costs_and_nearest,
    icm_sweep,
)


def random_problem(seed: int, n: int = 7, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Costs and a dense symmetric matrix of couplings of both signs, about half of them zero."""
    rng = np.random.default_rng(seed)
    dense = np.triu(rng.normal(size=(n, n)) * rng.integers(0, 2, size=(n, n)), 1)
    return rng.normal(size=(n, k)), dense + dense.T


def as_csr(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(len(dense) + 1))
    return starts, columns, dense[rows, columns]


def energy(cost: np.ndarray, dense: np.ndarray, labels: np.ndarray) -> float:
    same = labels[:, None] == labels[None, :]
    return cost[np.arange(len(labels)), labels].sum() + 0.5 * (dense * same).sum()


@given(SEEDS)
def test_one_visit_is_the_single_site_optimum(seed: int) -> None:
    cost, dense = random_problem(seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=7)
    node = int(rng.integers(7))
    tried = []
    for label in range(3):
        candidate = labels.copy()
        candidate[node] = label
        tried.append(energy(cost, dense, candidate))
    icm_sweep(cost, cost.argmin(axis=1), *as_csr(dense), labels, np.array([node]))
    assert energy(cost, dense, labels) == pytest.approx(min(tried), abs=1e-12)


@given(SEEDS)
def test_sweeps_end_in_a_local_optimum_and_never_climb(seed: int) -> None:
    cost, dense = random_problem(seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=7)
    before = energy(cost, dense, labels)
    while icm_sweep(cost, cost.argmin(axis=1), *as_csr(dense), labels, rng.permutation(7)):
        after = energy(cost, dense, labels)
        assert after < before
        before = after
    for node, label in itertools.product(range(7), range(3)):
        candidate = labels.copy()
        candidate[node] = label
        assert energy(cost, dense, candidate) >= before - 1e-12


@given(SEEDS)
def test_a_block_move_is_the_best_joint_label_or_nothing(seed: int) -> None:
    cost, dense = random_problem(seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=7)
    block = np.array([0, 1, 0, 2, 0, 1, 2])
    members = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[members], np.arange(4))
    chosen = int(rng.integers(3))
    tried = [energy(cost, dense, labels)]
    for label in range(3):
        candidate = labels.copy()
        candidate[block == chosen] = label
        tried.append(energy(cost, dense, candidate))
    moves = block_sweep(
        cost,
        cost.argmin(axis=1),
        *as_csr(dense),
        labels,
        block,
        members,
        starts,
        np.array([chosen]),
    )
    assert energy(cost, dense, labels) == pytest.approx(min(tried), abs=1e-12)
    assert moves == (min(tried) < tried[0] - 1e-12)


@given(SEEDS)
def test_conditional_costs_differ_from_the_energy_by_a_constant(seed: int) -> None:
    cost, dense = random_problem(seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=7)
    nodes = rng.permutation(7)[:4]
    conditional = conditional_costs(cost, *as_csr(dense), labels, nodes)
    for row, node in enumerate(nodes):
        full = []
        for label in range(3):
            candidate = labels.copy()
            candidate[node] = label
            full.append(energy(cost, dense, candidate))
        np.testing.assert_allclose(conditional[row] - conditional[row, 0], np.array(full) - full[0])


def test_an_infinite_coupling_is_a_hard_cannot_link() -> None:
    cost = np.array([[0.0, 5.0], [0.0, 1.0]])
    dense = np.array([[0.0, np.inf], [np.inf, 0.0]])
    labels = np.array([1, 0])  # feasible, but node 0 would like cluster 0, where node 1 is
    assert icm_sweep(cost, cost.argmin(axis=1), *as_csr(dense), labels, np.array([0, 1])) == 0
    np.testing.assert_array_equal(labels, [1, 0])


def test_nodes_outside_every_cluster_and_fixed_nodes() -> None:
    cost = np.array([[0.0, 1.0]])
    starts, neighbors = np.array([0, 2]), np.array([1, 2])
    coupling = np.array([-9.0, -3.0])
    labels = np.array([0, -1, 1])  # node 1 is in no cluster, node 2 pulls to cluster 1
    assert (
        icm_sweep(cost, cost.argmin(axis=1), starts, neighbors, coupling, labels, np.array([0]))
        == 1
    )
    np.testing.assert_array_equal(labels, [1, -1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_costs_and_nearest(dtype: type) -> None:
    rng = np.random.default_rng(0)
    points, centers = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    weights = rng.uniform(1, 5, size=9)
    nearest = np.empty(9, dtype=np.int64)
    cost = (points @ centers.T).astype(dtype)
    costs_and_nearest(cost, (points**2).sum(axis=1), (centers**2).sum(axis=1), weights, nearest)
    expected = weights[:, None] * ((points[:, None] - centers) ** 2).sum(axis=2)
    assert cost.dtype == dtype
    np.testing.assert_allclose(cost, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(nearest, expected.argmin(axis=1))
