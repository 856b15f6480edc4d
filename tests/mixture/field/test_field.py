"""The constraint field against sums over all labellings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from tests.strategies import fields

from sidelight.exceptions import ConstraintWarning, InfeasibleConstraints, SidelightError
from sidelight.mixture.field._field import ConstraintField

HARD = -np.inf


class Enumeration:
    """All labellings of a small field with their probabilities."""

    def __init__(self, edges: Any, coupling: Any, logphi: np.ndarray) -> None:
        n, k = logphi.shape
        self.labelings = np.array(list(itertools.product(range(k), repeat=n)))
        self.weight = logphi[np.arange(n), self.labelings].sum(axis=1)
        for (a, b), rho in zip(edges, coupling, strict=True):
            same = self.labelings[:, a] == self.labelings[:, b]
            self.weight = np.where(same, self.weight + rho, self.weight)
        top = self.weight.max()
        self.feasible = np.isfinite(top)
        if self.feasible:
            total = np.exp(self.weight - top).sum()
            self.log_z = top + np.log(total)
            self.p = np.exp(self.weight - self.log_z)
            is_label = self.labelings[:, :, None] == np.arange(k)
            self.q = np.einsum("y,yil->il", self.p, is_label)
            self.agree = np.array(
                [self.p[self.labelings[:, a] == self.labelings[:, b]].sum() for a, b in edges]
            )


def weight_of(labels: np.ndarray, edges: Any, coupling: Any, logphi: np.ndarray) -> float:
    total = logphi[np.arange(len(labels)), labels].sum()
    return float(
        total + sum(r for (a, b), r in zip(edges, coupling, strict=True) if labels[a] == labels[b])
    )


@settings(max_examples=60, deadline=None)
@given(fields())
def test_exact_inference_is_enumeration(field: Any) -> None:
    edges, coupling, logphi = field
    truth = Enumeration(edges, coupling, logphi)
    engine = ConstraintField(edges, coupling, len(logphi), inference="exact")
    if not truth.feasible:
        with pytest.raises(InfeasibleConstraints):
            engine.marginals(logphi)
        return
    q, log_z = engine.marginals(logphi)
    np.testing.assert_allclose(q, truth.q, atol=1e-9)
    assert log_z == pytest.approx(truth.log_z, rel=1e-11, abs=1e-9)
    np.testing.assert_allclose(engine.pair_marginals(logphi), truth.agree, atol=1e-9)
    best = weight_of(engine.map(logphi), edges, coupling, logphi)
    assert best == pytest.approx(truth.weight.max(), rel=1e-11, abs=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_a_ladder_of_tables(k: int) -> None:
    """A graph with a core of least degree three, which the small random ones seldom have."""
    rng = np.random.RandomState(k)
    n = 12 if k == 2 else 8
    ring = [(i, (i + step) % n) for i in range(n) for step in (1, 2)]
    coupling = rng.randn(len(ring)) * 2
    logphi = rng.randn(n, k)
    truth = Enumeration(ring, coupling, logphi)
    engine = ConstraintField(ring, coupling, n)
    q, log_z = engine.marginals(logphi)
    assert engine.methods(k) == {"tables": n}
    assert engine.n_dropped(k) == 0
    np.testing.assert_allclose(q, truth.q, atol=1e-12)
    assert log_z == pytest.approx(truth.log_z)
    np.testing.assert_allclose(engine.pair_marginals(logphi), truth.agree, atol=1e-12)


def test_trees_need_no_tables() -> None:
    rng = np.random.RandomState(0)
    parent = [rng.randint(i) for i in range(1, 300)]
    tree = rng.permutation(300)[np.column_stack([np.arange(1, 300), parent])]
    engine = ConstraintField(tree, rng.randn(299), 301)
    log_z = engine.marginals(rng.randn(301, 200))[1]  # a table of three would be too large
    assert engine.methods(200) == {"forest": 301}
    assert np.isfinite(log_z)
    cycle = np.column_stack([np.arange(5000), np.roll(np.arange(5000), 1)])
    ring = ConstraintField(cycle, np.full(5000, HARD), 5000, inference="exact")
    assert ring.marginals(np.zeros((5000, 3)))[1] == pytest.approx(5000 * np.log(2))
    assert ring.methods(3) == {"tables": 5000}


def test_two_labels_with_hard_edges_need_no_tables() -> None:
    rng = np.random.RandomState(0)
    left, right = np.arange(40), np.arange(40, 80)
    edges = np.array([(a, b) for a in left for b in right])  # complete: far too wide for tables
    logphi = rng.randn(80, 2)
    engine = ConstraintField(edges, np.full(len(edges), HARD), 80, inference="exact")
    q, log_z = engine.marginals(logphi)
    assert engine.methods(2) == {"two labelings": 80}
    gap = logphi[left, 0].sum() + logphi[right, 1].sum()
    other = logphi[left, 1].sum() + logphi[right, 0].sum()
    assert log_z == pytest.approx(np.logaddexp(gap, other))
    np.testing.assert_allclose(q[left, 0], np.exp(gap - log_z))
    np.testing.assert_allclose(q[right, 0], np.exp(other - log_z))


@settings(max_examples=15, deadline=None)
@given(fields(largest=5), st.integers(0, 2**31 - 1))
def test_samples_of_exact_inference(field: Any, seed: int) -> None:
    edges, coupling, logphi = field
    logphi = np.clip(logphi, -3, 3)  # so that no probability is too small to be seen
    coupling = np.where(np.isfinite(coupling), np.clip(coupling, -2, 2), coupling)
    truth = Enumeration(edges, coupling, logphi)
    if not truth.feasible:
        return
    # Many copies of the field, drawn together.
    n, copies = len(logphi), 4000
    many = (np.asarray(edges).reshape(1, -1, 2) + n * np.arange(copies)[:, None, None]).reshape(
        -1, 2
    )
    engine = ConstraintField(many, np.tile(coupling, copies), n * copies)
    labels = engine.sample(np.tile(logphi, (copies, 1)), seed).reshape(copies, n)
    shares = np.stack([(labels == label).mean(axis=0) for label in range(logphi.shape[1])], axis=1)
    np.testing.assert_allclose(shares, truth.q, atol=5 * 0.5 / np.sqrt(copies))
    together = [(labels[:, a] == labels[:, b]).mean() for a, b in edges]
    np.testing.assert_allclose(together, truth.agree, atol=5 * 0.5 / np.sqrt(copies))


def test_clique_of_as_many_as_there_are_labels() -> None:
    rng = np.random.RandomState(0)
    clique = list(itertools.combinations(range(4), 2))
    q, _ = ConstraintField(clique, [HARD] * 6, 4).marginals(rng.randn(4, 4) * 3)
    np.testing.assert_allclose(q.sum(axis=0), 1.0)  # every label is used exactly once


def test_large_cliques_by_sets_of_labels() -> None:
    rng = np.random.RandomState(0)
    clique = list(itertools.combinations(range(5), 2))
    logphi = rng.randn(5, 6) * 2
    logphi[0, 3] = -np.inf
    truth = Enumeration(clique, [HARD] * 10, logphi)
    engine = ConstraintField(clique, [HARD] * 10, 5, inference="exact")
    q, log_z = engine.marginals(logphi)
    assert engine.methods(6) == {"cliques": 5}
    np.testing.assert_allclose(q, truth.q, atol=1e-12)
    assert log_z == pytest.approx(truth.log_z)
    best = weight_of(engine.map(logphi), clique, [HARD] * 10, logphi)
    assert best == pytest.approx(truth.weight.max())
    copies = 3000
    many = (np.array(clique)[None] + 5 * np.arange(copies)[:, None, None]).reshape(-1, 2)
    engine = ConstraintField(many, np.full(len(many), HARD), 5 * copies)
    labels = engine.sample(np.tile(logphi, (copies, 1)), 0).reshape(copies, 5)
    shares = np.stack([(labels == label).mean(axis=0) for label in range(6)], axis=1)
    np.testing.assert_allclose(shares, truth.q, atol=2.5 / np.sqrt(copies))
    # Ten of ten labels: a table would need 10^10 entries, there are 2^10 sets.
    clique = list(itertools.combinations(range(10), 2))
    q, _ = ConstraintField(clique, [HARD] * 45, 10).marginals(rng.randn(10, 10) * 50)
    np.testing.assert_allclose(q.sum(axis=0), 1.0)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)


def test_pair_in_closed_form() -> None:
    rng = np.random.RandomState(1)
    a, b = rng.dirichlet(np.ones(3), size=2)
    for rho in (0.7, -1.9, 1000.0, HARD):
        q, log_z = ConstraintField([(0, 1)], [rho], 2).marginals(np.log([a, b]))
        if rho == 1000.0:
            expected, z = a * b / (a @ b), rho + np.log(a @ b)
        else:
            kappa = np.expm1(rho)
            expected, z = a * (1 + kappa * b) / (1 + kappa * (a @ b)), np.log1p(kappa * (a @ b))
        np.testing.assert_allclose(q[0], expected)
        assert log_z == pytest.approx(z)


def test_no_cancellation_where_one_label_dominates() -> None:
    # Both ends prefer label 0 by far; the cannot-link asks which of the two gives way.
    logphi = np.array([[0.0, -800.0, -900.0], [0.0, -799.0, -1000.0]])
    q, log_z = ConstraintField([(0, 1)], [HARD], 2).marginals(logphi)
    odds = np.exp(-1.0)
    np.testing.assert_allclose(q[:, 0], [1 / (1 + odds), odds / (1 + odds)])
    assert log_z == pytest.approx(-799 + np.log1p(odds))


def test_repeated_edges_add_up_and_loops_are_constant() -> None:
    logphi = np.random.RandomState(0).randn(3, 3)
    edges, coupling = [(0, 1), (1, 0), (2, 2)], [0.5, 0.25, 1.5]
    engine = ConstraintField(edges, coupling, 3)
    once = ConstraintField([(0, 1)], [0.75], 3)
    q, log_z = engine.marginals(logphi)
    np.testing.assert_allclose(q, once.marginals(logphi)[0])
    assert log_z == pytest.approx(once.marginals(logphi)[1] + 1.5)
    together = once.pair_marginals(logphi)[0]
    np.testing.assert_allclose(engine.pair_marginals(logphi), [together, together, 1.0])


@settings(max_examples=40, deadline=None)
@given(fields(largest=5), st.sampled_from(["exact", "forest"]))
def test_prior_counts_are_the_slope_of_the_normaliser(field: Any, inference: str) -> None:
    edges, coupling, logphi = field
    n, k = logphi.shape
    rng = np.random.RandomState(0)
    size = rng.randint(1, 4, n)
    coupling = np.clip(coupling, -20, 20)
    if inference == "exact":
        engine = ConstraintField(edges, coupling, n, size=size)
    else:
        engine = ConstraintField(edges, coupling, n, size=size, inference="forest")
    eta = np.log(rng.dirichlet(np.ones(k)))
    counts, _ = engine.prior_counts(eta)
    if inference == "exact":
        truth = Enumeration(edges, coupling, size[:, None] * eta)
        np.testing.assert_allclose(counts, size @ truth.q, atol=1e-9)
    for label in range(k):
        step = 1e-5 * np.eye(k)[label]
        slope = engine.prior_counts(eta + step)[1] - engine.prior_counts(eta - step)[1]
        assert slope / 2e-5 == pytest.approx(counts[label], abs=1e-5)


def test_alike_parts_of_the_prior_are_counted() -> None:
    """Pairs and singles are kept once with their number: the same as all of them."""
    rng = np.random.RandomState(0)
    pairs = [*np.arange(12).reshape(-1, 2), (16, 17), (17, 18)]
    coupling = np.array([1.0, 1.0, -2.0, HARD, HARD, 1.0, 0.5, HARD])
    size = rng.randint(1, 3, 20)
    weight = rng.rand(20)
    eta = np.log(rng.dirichlet(np.ones(3)))
    engine = ConstraintField(pairs, coupling, 20, size=size, weight=weight)
    q, log_z = engine.marginals(size[:, None] * eta)
    counts, log_z_prior = engine.prior_counts(eta)
    np.testing.assert_allclose(counts, (size * engine.weight) @ q)
    assert engine.weight[0] == engine.weight[1] == np.average(weight[:2], weights=size[:2])
    assert log_z_prior == pytest.approx(log_z)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from([0.0, 7.0]))
def test_matched_moments(seed: int, free: float) -> None:
    rng = np.random.RandomState(seed)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    edges = pairs[rng.rand(len(pairs)) < 0.4]
    engine = ConstraintField(edges, rng.randn(len(edges)) * 2, 6, size=rng.randint(1, 4, 6))
    truth = rng.dirichlet(np.full(3, 3.0))
    totals = engine.prior_counts(np.log(truth))[0] + free * truth
    found = engine.mixing_weights(totals, np.log(rng.dirichlet(np.full(3, 3.0))), free=free)
    assert np.exp(found).sum() == pytest.approx(1.0)
    again = engine.prior_counts(found)[0] + free * np.exp(found)
    np.testing.assert_allclose(again, totals, atol=1e-6 * totals.sum())


def test_mixing_weights_in_closed_form() -> None:
    totals = np.array([5.0, 3.0, 2.0])
    start = np.full(3, -np.log(3))
    alone = ConstraintField(np.empty((0, 2)), [], 10)
    np.testing.assert_allclose(np.exp(alone.mixing_weights(totals, start)), totals / 10)
    chunklets = ConstraintField(np.empty((0, 2)), [], 5, size=np.full(5, 2))
    root = np.sqrt(totals / 10)
    np.testing.assert_allclose(np.exp(chunklets.mixing_weights(totals, start)), root / root.sum())
    # A component without responsibility gets no weight, and a finite logarithm.
    empty = ConstraintField([(0, 1)], [-1.0], 4).mixing_weights([4.0, 0.0], np.log([0.5, 0.5]))
    assert np.isfinite(empty).all()
    assert np.exp(empty[1]) < 1e-6


def test_gibbs_is_right_within_its_error() -> None:
    rng = np.random.RandomState(0)
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
    coupling = [1.0, -0.8, 0.5, HARD, 0.7]
    logphi = rng.randn(5, 3)
    truth = Enumeration(edges, coupling, logphi)
    engine = ConstraintField(
        edges, coupling, 5, inference="gibbs", budget=1, n_sweeps=4000, random_state=0
    )
    assert engine.methods(3) == {"gibbs": 5}
    q, log_z = engine.marginals(logphi)
    # 16,000 draws that remember each other for a few sweeps.
    np.testing.assert_allclose(q, truth.q, atol=0.02)
    np.testing.assert_allclose(engine.pair_marginals(logphi), truth.agree, atol=0.02)
    assert log_z > truth.log_z - 0.02  # the entropy of independent labels is larger


@pytest.mark.parametrize("rho", [8.0, -8.0, 30.0])
@pytest.mark.parametrize("k", [2, 3])
def test_chains_move_through_strong_couplings(rho: float, k: int) -> None:
    """A ring of rows that agree (or take turns) has labelings that no single row leads between."""
    rng = np.random.RandomState(0)
    ring = [(i, (i + 1) % 6) for i in range(6)]
    logphi = 0.5 * rng.randn(6, k)
    truth = Enumeration(ring, [rho] * 6, logphi)
    engine = ConstraintField(ring, [rho] * 6, 6, inference="gibbs", budget=1, random_state=1)
    draws = np.array([engine.marginals(logphi)[0] for _ in range(20)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - truth.q) < 4 * error + 1e-3)
    assert np.abs(draws - truth.q).max() < 0.2  # each alone, too


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from([1.0, 8.0, 30.0]))
def test_narrow_parts_are_one_block_of_gibbs(seed: int, scale: float) -> None:
    rng = np.random.RandomState(seed)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    edges = pairs[rng.rand(len(pairs)) < 0.6]
    coupling = scale * rng.randn(len(edges))
    logphi = 3 * rng.randn(6, 3)
    truth = Enumeration(edges, coupling, logphi)
    engine = ConstraintField(edges, coupling, 6, inference="gibbs", random_state=0)
    q, log_z = engine.marginals(logphi)
    np.testing.assert_allclose(q, truth.q, atol=1e-9)
    assert log_z == pytest.approx(truth.log_z)


def test_gibbs_is_chance_from_the_seed() -> None:
    rng = np.random.RandomState(0)
    edges = rng.randint(0, 50, (80, 2))
    logphi = rng.randn(50, 3)
    runs = []
    for seed in (0, 0, 1):
        engine = ConstraintField(
            edges, np.ones(80), 50, inference="gibbs", budget=1, n_sweeps=10, random_state=seed
        )
        runs.append(engine.marginals(logphi)[0])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.abs(runs[0] - runs[2]).max() > 1e-3


def mean_field(edges: Any, coupling: Any, n: int) -> ConstraintField:
    return ConstraintField(edges, coupling, n, inference="mean-field", random_state=0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from([0.3, 2.0, 20.0]))
def test_mean_field_is_a_stationary_bound(seed: int, scale: float) -> None:
    rng = np.random.RandomState(seed)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    edges = pairs[rng.rand(len(pairs)) < 0.5]
    coupling = rng.randn(len(edges)) * scale
    logphi = rng.randn(6, 3)
    truth = Enumeration(edges, coupling, logphi)
    engine = mean_field(edges, coupling, 6)
    q, bound = engine.marginals(logphi)
    assert bound <= truth.log_z + 1e-9
    pull = logphi.copy()
    for (a, b), rho in zip(edges, coupling, strict=True):
        pull[a] += rho * q[b]
        pull[b] += rho * q[a]
    expected = np.exp(pull - pull.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(q, expected, atol=1e-3)
    # The next call begins here as well, and ends no worse.
    assert engine.marginals(logphi)[1] >= bound - 1e-9


def test_mean_field_is_exact_for_weak_couplings() -> None:
    rng = np.random.RandomState(0)
    edges, logphi = [(0, 1), (1, 2), (0, 2)], rng.randn(3, 3)
    errors = []
    for rho in (1e-2, 1e-3):
        truth = Enumeration(edges, [rho] * 3, logphi)
        errors.append(np.abs(mean_field(edges, [rho] * 3, 3).marginals(logphi)[0] - truth.q).max())
    assert errors[0] < 1e-4
    assert errors[1] < errors[0] / 50  # quadratic in the coupling


def test_mean_field_is_overconfident_about_a_pair() -> None:
    logphi = np.array([[0.3, 0.0], [0.0, 0.0]])
    exact = ConstraintField([(0, 1)], [3.0], 2).marginals(logphi)[0]
    assert mean_field([(0, 1)], [3.0], 2).marginals(logphi)[0][0, 0] > exact[0, 0] + 0.1


def test_forest_is_exact_without_cycles_and_keeps_the_shortest_edges() -> None:
    rng = np.random.RandomState(0)
    logphi = rng.randn(4, 3)
    tree, rho = [(0, 1), (1, 2), (1, 3)], [1.0, -2.0, HARD]
    truth = Enumeration(tree, rho, logphi)
    engine = ConstraintField(tree, rho, 4, inference="forest")
    np.testing.assert_allclose(engine.marginals(logphi)[0], truth.q)
    # With one edge more the weakest goes, or the longest where lengths are given.
    strongest = ConstraintField([*tree, (0, 2)], [*rho, 0.1], 4, inference="forest")
    assert strongest.n_dropped(3) == 1
    np.testing.assert_allclose(strongest.marginals(logphi)[0], truth.q)
    shortest = ConstraintField(
        [*tree, (0, 2)], [*rho, 9.0], 4, inference="forest", length=[1, 1, 1, 2]
    )
    np.testing.assert_allclose(shortest.marginals(logphi)[0], truth.q)


def wide(n: int, degree: int, seed: int = 0) -> np.ndarray:
    pairs = np.random.RandomState(seed).randint(0, n, (n * degree // 2, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


@pytest.mark.parametrize("rho", [1.5, -1.5, HARD])
def test_too_wide_for_tables(rho: float) -> None:
    edges = wide(150, 6)
    logphi = np.random.RandomState(1).randn(150, 5)
    coupling = np.full(len(edges), rho)
    with pytest.raises(SidelightError, match=r"cannot be summed over exactly.*mean-field"):
        ConstraintField(edges, coupling, 150, inference="exact").marginals(logphi)
    engine = ConstraintField(edges, coupling, 150, random_state=0)
    with pytest.warns(ConstraintWarning, match="approximated"):
        q, log_z = engine.marginals(logphi)
    assert engine.n_dropped(5) > 0
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    assert np.isfinite(log_z)
    if rho == HARD:
        for labels in (engine.map(logphi), engine.sample(logphi, 0)):
            assert np.all(labels[edges[:, 0]] != labels[edges[:, 1]])


@pytest.mark.parametrize("inference", ["gibbs", "mean-field", "forest"])
def test_labels_of_approximations_are_good(inference: str) -> None:
    """No single node can be improved, and hard edges hold."""
    edges = wide(60, 4)
    rng = np.random.RandomState(2)
    logphi = rng.randn(60, 3)
    coupling = rng.randn(len(edges))
    engine = ConstraintField(edges, coupling, 60, inference=inference, random_state=0)
    labels = engine.map(logphi)
    score = weight_of(labels, edges, coupling, logphi)
    for i in range(60):
        for label in range(3):
            other = labels.copy()
            other[i] = label
            assert weight_of(other, edges, coupling, logphi) <= score + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from([0.5, 3.0, 20.0]), st.booleans())
def test_prior_of_mean_field_is_never_too_small(seed: int, scale: float, hard: bool) -> None:
    """Summed over where tables are small, bounded by pairs elsewhere; its slope are the counts."""
    rng = np.random.RandomState(seed)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    edges = pairs[rng.rand(len(pairs)) < 0.6]
    coupling = scale * rng.randn(len(edges))
    if hard and len(edges):
        coupling[0] = HARD
    size = rng.choice([1.0, 2.0], 6)
    eta = np.log(rng.dirichlet(np.ones(3)))
    truth = Enumeration(edges, coupling, size[:, None] * eta).log_z
    options = {"size": size, "inference": "mean-field", "random_state": 0}
    small = ConstraintField(edges, coupling, 6, **options)
    assert small.prior_counts(eta)[1] == pytest.approx(truth)
    wide = ConstraintField(edges, coupling, 6, budget=1, **options)
    counts, bound = wide.prior_counts(eta)
    assert bound >= truth - 1e-9
    step = 1e-6 * np.eye(3)
    slope = [(wide.prior_counts(eta + d)[1] - wide.prior_counts(eta - d)[1]) / 2e-6 for d in step]
    np.testing.assert_allclose(counts, slope, rtol=1e-4, atol=1e-4)
    uncoupled = ConstraintField(edges, coupling, 6, coupled_prior=False, **options)
    assert uncoupled.prior_counts(eta)[1] == pytest.approx(
        np.log(np.exp(np.outer(size, eta)).sum(axis=1)).sum()
    )


def test_infeasible_and_bad_input() -> None:
    triangle = [(0, 1), (1, 2), (2, 0)]
    with pytest.raises(InfeasibleConstraints):
        ConstraintField(triangle, [HARD] * 3, 3).marginals(np.zeros((3, 2)))
    clamped = np.array([[0.0, -np.inf, -np.inf], [0.0, -np.inf, -np.inf]])
    with pytest.raises(InfeasibleConstraints, match="allowed"):
        ConstraintField([(0, 1)], [HARD], 2).marginals(clamped)
    with pytest.raises(SidelightError, match="contract"):
        ConstraintField([(0, 1)], [np.inf], 2)
    with pytest.raises(SidelightError, match="apart from itself"):
        ConstraintField([(1, 1)], [HARD], 2)
    with pytest.raises(SidelightError, match="as many couplings"):
        ConstraintField([(0, 1)], [1.0, 2.0], 2)
    with pytest.raises(SidelightError, match="nodes 0 to 1"):
        ConstraintField([(0, 2)], [1.0], 2)
    with pytest.raises(SidelightError, match=r"shape \(2, number"):
        ConstraintField([(0, 1)], [1.0], 2).marginals(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="inference must be one of"):
        ConstraintField([(0, 1)], [1.0], 2, inference="magic")


def test_many_parts_of_every_kind() -> None:
    """Parts are solved together but do not touch: the same as one by one."""
    rng = np.random.RandomState(0)
    edges, coupling, logphis, start = [], [], [], 0
    expected_q, expected_z = [], 0.0
    for _ in range(60):
        n = rng.randint(1, 6)
        pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=int).reshape(-1, 2)
        own = pairs[rng.rand(len(pairs)) < 0.7]
        rho = rng.randn(len(own))
        logphi = rng.randn(n, 3)
        truth = Enumeration(own, rho, logphi)
        expected_q.append(truth.q)
        expected_z += truth.log_z
        edges.append(own + start)
        coupling.append(rho)
        logphis.append(logphi)
        start += n
    shuffle = rng.permutation(start)
    place = np.argsort(shuffle)
    engine = ConstraintField(place[np.concatenate(edges)], np.concatenate(coupling), start)
    q, log_z = engine.marginals(np.concatenate(logphis)[shuffle])
    np.testing.assert_allclose(q, np.concatenate(expected_q)[shuffle], atol=1e-10)
    assert log_z == pytest.approx(expected_z)


@pytest.mark.parametrize("strength", [0.5, 6.0, 25.0, 200.0, np.inf])
@pytest.mark.parametrize("gap", [1.0, 60.0, 900.0])
def test_products_and_logarithms_give_the_same_sums(strength: float, gap: float) -> None:
    # Where numbers would become too small the products give way to logarithms; where not, both
    # are right: checked against the sum over all labelings.
    rng = np.random.default_rng(0)
    edges = np.array([(0, 3), (1, 3), (2, 3), (3, 4), (4, 5), (5, 6)])
    coupling = strength * rng.choice([-1.0, 1.0], len(edges))
    coupling[np.isposinf(coupling)] = 3.0
    field = ConstraintField(edges, coupling, 8)
    logphi = gap * rng.normal(size=(8, 3))
    labelings = np.array(list(itertools.product(range(3), repeat=8)))
    weight = logphi[np.arange(8), labelings].sum(axis=1)
    for (i, j), rho in zip(edges, coupling, strict=True):
        weight += np.where(labelings[:, i] == labelings[:, j], rho, 0.0)
    log_z = logsumexp(weight)
    p = np.exp(weight - log_z)
    q, found = field.marginals(logphi)
    assert found == pytest.approx(log_z, rel=1e-12)
    for label in range(3):
        np.testing.assert_allclose(q[:, label], p @ (labelings == label), atol=1e-12)
    together = [p @ (labelings[:, i] == labelings[:, j]) for i, j in edges]
    np.testing.assert_allclose(field.pair_marginals(logphi), together, atol=1e-12)


def test_a_label_that_children_bring_back_is_not_lost() -> None:
    # The middle alone is out of range for the label that many neighbors want.
    n = 400
    edges = np.column_stack([np.zeros(n, int), np.arange(1, n + 1)])
    logphi = np.zeros((n + 1, 2))
    logphi[0] = [0.0, -1000.0]
    logphi[1:] = [-40.0, 0.0]
    q, log_z = ConstraintField(edges, np.full(n, 5.0), n + 1).marginals(logphi)
    ends = np.array([[5.0, 0.0], [0.0, 5.0]]) + logphi[1]
    by_label = logphi[0] + n * logsumexp(ends, axis=1)
    assert log_z == pytest.approx(logsumexp(by_label), rel=1e-12)
    np.testing.assert_allclose(q[0], np.exp(by_label - logsumexp(by_label)), atol=1e-12)
