"""Iterated conditional modes with prices by cluster, against the energy written out in full."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import SEEDS

from sidelight._kernels.cluster import icm
from sidelight._kernels.cluster.icm import block_sweep, conditional_costs, icm_sweep

N, K = 7, 3

Graph = tuple[np.ndarray, np.ndarray, np.ndarray]


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, Graph, np.random.Generator]:
    """Costs, a dense symmetric array (n, n, k) of couplings, the same as CSR."""
    rng = np.random.default_rng(seed)
    there = np.triu(rng.integers(0, 2, size=(N, N)), 1)
    dense = rng.normal(size=(N, N, K)) * there[:, :, None]
    dense = dense + dense.swapaxes(0, 1)
    rows, columns = np.nonzero(there + there.T)
    graph = np.searchsorted(rows, np.arange(N + 1)), columns, dense[rows, columns]
    return rng.normal(size=(N, K)), dense, graph, rng


def energy(cost: np.ndarray, dense: np.ndarray, labels: np.ndarray) -> float:
    total = cost[np.arange(N), labels].sum()
    for i, j in itertools.combinations(range(N), 2):
        if labels[i] == labels[j] >= 0:
            total += dense[i, j, labels[i]]
    return float(total)


@given(SEEDS)
def test_sweeps_end_in_a_local_optimum_and_never_climb(seed: int) -> None:
    cost, dense, graph, rng = random_problem(seed)
    labels = rng.integers(0, K, size=N)
    before = energy(cost, dense, labels)
    while icm_sweep(cost, cost.argmin(axis=1), *graph, labels, rng.permutation(N)):
        after = energy(cost, dense, labels)
        assert after < before
        before = after
    for node, label in itertools.product(range(N), range(K)):
        candidate = labels.copy()
        candidate[node] = label
        assert energy(cost, dense, candidate) >= before - 1e-12


@given(SEEDS)
def test_a_block_move_is_the_best_joint_label_or_nothing(seed: int) -> None:
    cost, dense, graph, rng = random_problem(seed)
    labels = rng.integers(0, K, size=N)
    block = np.array([0, 1, 0, 2, 0, 1, 2])
    members = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[members], np.arange(4))
    chosen = int(rng.integers(3))
    tried = [energy(cost, dense, labels)]
    for label in range(K):
        candidate = labels.copy()
        candidate[block == chosen] = label
        tried.append(energy(cost, dense, candidate))
    nearest = cost.argmin(axis=1)
    block_sweep(cost, nearest, *graph, labels, block, members, starts, np.array([chosen]))
    assert energy(cost, dense, labels) == pytest.approx(min(tried), abs=1e-12)


@given(SEEDS)
def test_conditional_costs_are_differences_of_energy(seed: int) -> None:
    cost, dense, graph, rng = random_problem(seed)
    labels = rng.integers(0, K, size=N)
    found = conditional_costs(cost, *graph, labels, np.array([2, 5]))
    for row, node in enumerate((2, 5)):
        energies = []
        for label in range(K):
            candidate = labels.copy()
            candidate[node] = label
            energies.append(energy(cost, dense, candidate))
        np.testing.assert_allclose(found[row] - found[row, 0], np.array(energies) - energies[0])


@given(SEEDS)
def test_equal_prices_are_the_plain_couplings(seed: int) -> None:
    cost, _, (starts, neighbors, table), rng = random_problem(seed)
    labels = rng.integers(0, K, size=N)
    plain, order, nearest = labels.copy(), rng.permutation(N), cost.argmin(axis=1)
    flat = np.ascontiguousarray(table[:, 0])
    icm_sweep(cost, nearest, starts, neighbors, np.repeat(flat[:, None], K, 1), labels, order)
    icm.icm_sweep(cost, nearest, starts, neighbors, flat, plain, order)
    np.testing.assert_array_equal(labels, plain)
