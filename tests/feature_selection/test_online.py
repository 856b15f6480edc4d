"""Online selection: the potential, its golden numbers, streams, groups."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax

from sidelight import Constraints
from sidelight._kernels.feature_selection.online import (
    refresh_groups,
    softmax_in_place,
    update_as_published,
    update_by_pairs,
)
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.feature_selection import OnlineConstraintSelector
from sidelight.feature_selection._online import _evenly_mixed

GROUPS = np.array([0, 0, 1, 1])


def weights(dual, group, mu=1.0):
    """``∇Φ*``, by its definition."""
    norms = np.bincount(group, weights=dual**2)
    return softmax(norms / (2 * mu))[group] * dual


def printed_step(w, delta, sign, group, *, mu=1.0, step=0.5):
    """Equations 5.19-5.22, clipped before the softmax, all features at once."""

    def norms(v):
        return np.sqrt(np.bincount(group, weights=v**2))

    def unit(v):
        lengths = norms(v)[group]
        return np.divide(v, lengths, out=np.zeros_like(v), where=lengths > 0)

    theta = np.maximum(0, norms(w).sum() * unit(w) - step * sign * delta)
    return softmax(norms(theta) ** 2 / (2 * mu))[group] * unit(theta)


def test_clipping_the_dual_vector_is_the_bregman_projection():
    # D(v, w') = Φ(v) - Φ(w') - θ'·(v - w'), so that Φ(v) - θ'·v is to be smallest over v >= 0.
    rng = np.random.default_rng(5)
    mu = 0.8

    def potential(v):
        squares = np.bincount(GROUPS, weights=v**2)
        value = minimize_scalar(
            lambda p: (
                squares[0] / (2 * p)
                + squares[1] / (2 * (1 - p))
                + mu * (p * np.log(p) + (1 - p) * np.log(1 - p))
            ),
            bounds=(1e-9, 1 - 1e-9),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return value.fun

    for _ in range(5):
        theta = rng.normal(size=4)
        projected = weights(np.maximum(theta, 0), GROUPS, mu)
        smallest = potential(projected) - theta @ projected
        others = np.vstack(
            [rng.uniform(0, 2, size=(40, 4)), projected * rng.uniform(0.5, 1.5, size=(40, 4))]
        )
        assert all(potential(v) - theta @ v >= smallest - 1e-7 for v in others)


def test_smoothness_between_all_groups_and_one():
    theta = np.array([0.3, 0.4, 0.9, 0.1])
    np.testing.assert_allclose(weights(theta, GROUPS, 1e9), theta / 2, rtol=1e-6)
    np.testing.assert_allclose(weights(theta, GROUPS, 1e-4), [0, 0, 0.9, 0.1], atol=1e-12)


def test_weights_are_the_gradient_of_the_dual_potential():
    rng = np.random.default_rng(0)
    theta, mu = rng.uniform(size=4), 0.7

    def potential(t):
        return mu * logsumexp(np.bincount(GROUPS, weights=t**2) / (2 * mu))

    h = 1e-6
    slopes = [(potential(theta + h * e) - potential(theta - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(weights(theta, GROUPS, mu), slopes, rtol=1e-7)
    # Fenchel: Φ(w) + Φ*(θ) = w·θ at w = ∇Φ*(θ), with Φ(w) = min_p Σ ‖w^g‖²/2p_g - μ H(p).
    w = weights(theta, GROUPS, mu)
    squares = np.bincount(GROUPS, weights=w**2)

    def primal(a):
        p = softmax(np.array([a[0], 0.0]))
        return float(np.sum(squares / (2 * p)) + mu * np.sum(p * np.log(p)))

    smallest = minimize(primal, [0.0]).fun
    assert smallest + potential(theta) == pytest.approx(w @ theta, rel=1e-6)


@pytest.fixture(scope="module")
def counts():
    """300 rows of counts, 50 groups of 10 words, of which 5 depend on the class."""
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 2, 300), np.repeat(np.arange(50), 10)
    rate = np.ones((2, 500))
    for g in range(5):
        rate[g % 2, groups == g], rate[1 - g % 2, groups == g] = 2.0, 0.3
    return rng.poisson(rate[y]).astype(float), y, groups


@pytest.mark.parametrize("norm", ["group", "l1"])
def test_relevant_words_are_found(counts, norm):
    X, y, groups = counts
    known = Constraints.sample(y, 300, random_state=0)
    model = OnlineConstraintSelector(50, norm=norm, groups=groups, random_state=0)
    model.fit(X, constraints=known)
    assert np.mean(groups[model.get_support()] < 5) > 0.8


@pytest.mark.parametrize("norm", ["l1", "l2", "group"])
def test_must_links_take_away_what_differs_anyway(norm):
    """The largest differences say nothing about the class: only must-links can tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = 0.3 * rng.normal(size=(300, 1000))
    X[:, :20] = 4 * rng.normal(size=(300, 20))
    X[:, 20:40] = 3 * y[:, None] + rng.normal(size=(300, 20))
    known = Constraints.sample(y, 300, random_state=0)
    gaps = (X[known.cannot_link[:, 0]] - X[known.cannot_link[:, 1]]) ** 2
    assert set(np.argsort(-gaps.sum(axis=0))[:20]) == set(range(20))
    model = OnlineConstraintSelector(
        20, norm=norm, groups=np.arange(1000) // 10, random_state=0
    ).fit(X, constraints=known)
    chosen = model.get_support(indices=True)
    assert np.mean((chosen >= 20) & (chosen < 40)) >= 0.9


def test_a_stream_in_parts_is_the_stream_and_sparse_is_dense(counts):
    X, y, _ = counts
    first = Constraints.sample(y, 50, random_state=0)
    second = Constraints.sample(y, 50, random_state=1)
    parts = OnlineConstraintSelector().partial_fit(X, constraints=first)
    parts.partial_fit(X, constraints=second)
    again = OnlineConstraintSelector().partial_fit(sparse.csr_array(X), constraints=first)
    again.partial_fit(sparse.csr_matrix(X), constraints=second)
    np.testing.assert_allclose(again.scores_, parts.scores_, rtol=1e-9, atol=1e-15)
    assert again.n_mistakes_ == parts.n_mistakes_
    gaps = (X[[3]] - X[[8]]) ** 2
    mapped = parts.weighted(X)
    assert np.sum((mapped[3] - mapped[8]) ** 2) == pytest.approx(
        (gaps @ parts.scores_ / parts.scale_)[0]
    )


def test_features_that_never_differ_or_only_within_get_no_weight(counts):
    X, y, _ = counts
    X = X[:, :40].copy()
    X[:, 7] = 1.0
    known = Constraints.sample(y, 200, random_state=0)
    X[:, 9] = 0.0
    apart = np.unique(known.cannot_link)
    within = np.setdiff1d(np.unique(known.must_link), apart)
    X[within, 9] = np.arange(len(within)) % 2
    model = OnlineConstraintSelector(random_state=0).fit(X, constraints=known)
    assert model.scores_[7] == 0
    assert model.scores_[9] == 0
    assert not model.get_support()[[7, 9]].any()


@pytest.mark.parametrize("variant", ["default", "published"])
@pytest.mark.parametrize("norm", ["l1", "l2", "group"])
def test_places_that_differ_are_all_a_pair_costs(variant, norm):
    """Steps that touch only what differs, against steps on whole vectors; sparse, 60 features."""
    rng = np.random.default_rng(7)
    X = sparse.csr_array(rng.random((40, 60)) * (rng.random((40, 60)) < 0.1))
    y = rng.integers(0, 2, 40)
    known = Constraints.sample(y, 300, random_state=0)
    groups = rng.integers(0, 7, 60)
    model = OnlineConstraintSelector(
        norm=norm, groups=groups, variant=variant, step=0.7, threshold=0.05
    )
    model.partial_fit(X, constraints=known)
    rows = X.toarray()
    pairs = np.concatenate([known.must_link, known.cannot_link])
    signs = np.repeat([1.0, -1.0], [len(known.must_link), len(known.cannot_link)])
    deltas = (rows[pairs[:, 0]] - rows[pairs[:, 1]]) ** 2
    deltas /= np.linalg.norm(deltas, axis=1).max()
    mixed = np.argsort(
        np.concatenate(
            [(np.arange(np.sum(signs == s)) + 0.5) / np.sum(signs == s) for s in (1, -1)]
        ),
        kind="stable",
    )
    group = model.groups_
    state, w, mistakes = np.zeros(60), np.zeros(60), 0
    for n in mixed:
        if signs[n] * (0.05 - w @ deltas[n]) > 0:
            continue
        mistakes += 1
        if variant == "default":
            state = np.maximum(0, state - 0.7 * signs[n] * deltas[n])
            w = weights(state, group)
        else:
            w = printed_step(w, deltas[n], signs[n], group, step=0.7)
    assert model.n_mistakes_ == mistakes > 10
    np.testing.assert_array_equal(model.n_mistakes_history_, [mistakes])
    np.testing.assert_allclose(model.scores_, w, rtol=1e-9, atol=1e-13)


def test_names_of_groups_and_order_of_features_do_not_matter(counts):
    X, y, groups = counts
    known = Constraints.sample(y, 200, random_state=0)
    model = OnlineConstraintSelector(norm="group", groups=groups, random_state=0)
    scores = model.fit(X, constraints=known).scores_
    renamed = np.array([f"g{(7 * g) % 50}" for g in groups])
    other = OnlineConstraintSelector(norm="group", groups=renamed, random_state=0)
    np.testing.assert_allclose(other.fit(X, constraints=known).scores_, scores)
    order = np.random.default_rng(0).permutation(500)
    moved = OnlineConstraintSelector(norm="group", groups=groups[order], random_state=0)
    np.testing.assert_allclose(
        moved.fit(X[:, order], constraints=known).scores_, scores[order], rtol=1e-8, atol=1e-15
    )


def test_sparse_rows_in_any_form_stay_as_they_are(counts):
    X, y, _ = counts
    known = Constraints.sample(y, 100, random_state=0)
    expected = OnlineConstraintSelector(random_state=0).fit(X, constraints=known).scores_
    messy = sparse.csr_array(X)
    for i in range(len(X)):  # places in falling order, and every entry as two halves
        here = slice(messy.indptr[i], messy.indptr[i + 1])
        messy.indices[here] = messy.indices[here][::-1].copy()
        messy.data[here] = messy.data[here][::-1].copy()
    halves = sparse.csr_array(
        (np.repeat(messy.data / 2, 2), np.repeat(messy.indices, 2), messy.indptr * 2),
        shape=X.shape,
    )
    before = halves.indices.copy()
    model = OnlineConstraintSelector(random_state=0).fit(halves, constraints=known)
    np.testing.assert_allclose(model.scores_, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(halves.indices, before)


def test_features_that_go_along_are_grouped():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    base = rng.normal(size=(200, 5))
    base[:, 0] += 4 * y
    truth = np.repeat(np.arange(5), 20)
    X = base[:, truth] + 0.3 * rng.normal(size=(200, 100))
    known = Constraints.sample(y, 200, random_state=0)
    for rows in (X, sparse.csr_array(X)):
        model = OnlineConstraintSelector(10, norm="group", groups="hierarchical", random_state=0)
        model.fit(rows, constraints=known)
        assert adjusted_rand_index(truth, model.groups_) == 1.0
        assert np.all(truth[model.get_support()] == 0)
    few = OnlineConstraintSelector(norm="group", groups="hierarchical").fit(X[:, :9], y)
    np.testing.assert_array_equal(few.groups_, 0)
    with pytest.raises(SidelightError, match="20000 are too many"):
        OnlineConstraintSelector(norm="group", groups="hierarchical").fit(
            sparse.csr_array((200, 20_000)), y
        )


def test_bad_input(counts):
    X, y, _ = counts
    with pytest.raises(ValueError, match="needs groups"):
        OnlineConstraintSelector(norm="group").fit(X, y)
    with pytest.warns(ConstraintWarning, match="no two rows are known to be apart"):
        model = OnlineConstraintSelector().fit(X, constraints=Constraints([(0, 1)], n_samples=300))
    assert model.get_support().all()
    known = Constraints.sample(y, 50, random_state=0)
    bad = {"mu": 0.0, "step": -1.0, "threshold": 0.0, "margin": -1.0, "norm": "l3", "variant": "x"}
    for name, value in bad.items():
        with pytest.raises(ValueError, match=name):
            OnlineConstraintSelector(**{name: value}).fit(X, constraints=known)
    with pytest.raises(ValueError, match=r"below 1.*no cannot-link could be satisfied"):
        OnlineConstraintSelector(variant="published", threshold=1.5).fit(X, constraints=known)
    together = np.column_stack([np.arange(0, 100, 2), np.arange(1, 101, 2)])
    uneven = Constraints(together, [(0, 200)], n_samples=300)
    with pytest.warns(ConstraintWarning, match=r"50 must-links for 1 cannot-links"):
        OnlineConstraintSelector().fit(X, constraints=uneven)


# --- what it is made of ---


def stream(deltas, signs, dual, group, *, mu=1.0, step=0.5, threshold=1.0):
    """Show pairs with these squared differences; returns the number of mistakes."""
    rows = sparse.csr_array(np.vstack([np.zeros(len(dual)), np.sqrt(deltas)]))
    pairs = np.column_stack([np.arange(1, len(deltas) + 1), np.zeros(len(deltas), int)])
    k = int(group.max()) + 1
    return update_by_pairs(
        rows.data, rows.indices, rows.indptr, pairs, np.asarray(signs, float),
        np.ones(len(deltas)), np.arange(len(deltas)), 1.0, group, dual, np.zeros(k),
        np.zeros(k + 1), mu, step, threshold, 0.0,
    )  # fmt: skip


def test_golden_numbers_of_the_specification():
    dual = np.zeros(4)
    shown = [
        ([2, 1, 0, 1], -1, [0.622459, 0.311230, 0, 0.188770]),
        ([2, 0, 0, 2.5], 1, [0, 0.265605, 0, 0]),
        ([0, 1, 1, 2], -1, [0, 0.468791, 0.265605, 0.531209]),
    ]
    for delta, sign, expected in shown:
        assert stream(np.array([delta], float), [sign], dual, GROUPS) == 1
        np.testing.assert_allclose(weights(dual, GROUPS), expected, atol=1e-6)


def printed_stream(deltas, signs, direction, share, group, *, mu=1.0, step=0.5, threshold=1.0):
    rows = sparse.csr_array(np.vstack([np.zeros(len(group)), np.sqrt(deltas)]))
    pairs = np.column_stack([np.arange(1, len(deltas) + 1), np.zeros(len(deltas), int)])
    members = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
    return update_as_published(
        rows.data, rows.indices, rows.indptr, pairs, np.asarray(signs, float),
        np.ones(len(deltas)), np.arange(len(deltas)), 1.0, group, members, starts, direction,
        share, mu, step, threshold, 0.0,
    )  # fmt: skip


def test_golden_numbers_of_the_printed_variant():
    direction, share = np.zeros(4), np.zeros(2)
    shown = [
        ([2, 1, 0, 1], -1, [0.556745, 0.278372, 0, 0.377541]),
        ([2, 0, 0, 2.5], 1, [0, 0.524979, 0, 0]),
        ([0, 1, 1, 2], -1, [0, 0.475093, 0.234745, 0.469491]),
    ]
    for delta, sign, expected in shown:
        assert printed_stream(np.array([delta], float), [sign], direction, share, GROUPS) == 1
        np.testing.assert_allclose(share[GROUPS] * direction, expected, atol=1e-6)


@pytest.mark.parametrize("group", [np.zeros(6, int), np.arange(6), np.array([0, 1, 1, 2, 0, 2])])
def test_the_printed_variant_equals_its_equations(group):
    rng = np.random.default_rng(4)
    deltas = 3 * rng.uniform(size=(300, 6)) * (rng.uniform(size=(300, 6)) < 0.5)
    signs = rng.choice([-1.0, 1.0], 300)
    direction, share, plain, mistakes = np.zeros(6), np.zeros(group.max() + 1), np.zeros(6), 0
    found = printed_stream(deltas, signs, direction, share, group, threshold=0.7)
    for delta, sign in zip(deltas, signs, strict=True):
        if sign * (0.7 - plain @ delta) <= 0:
            plain = printed_step(plain, delta, sign, group)
            mistakes += 1
    assert found == mistakes > 20
    np.testing.assert_allclose(share[group] * direction, plain, atol=1e-12)
    assert np.sqrt(np.bincount(group, weights=plain**2)).sum() <= 1 + 1e-12


def test_softmax():
    values = np.array([3.0, -1.0, 900.0, 899.0])
    expected = softmax(values)
    softmax_in_place(values)
    np.testing.assert_allclose(values, expected)


def test_mistakes_stay_below_the_bound():
    # M <= (κ X² (‖u‖²₁₂ + 2μ ln s) / 2ε + Σ loss(u)) / (1 - ε) with the step ε / (κ X²), as long as
    # ‖θ‖ <= R; here u tells all pairs apart by the first feature.
    rng = np.random.default_rng(6)
    mu, radius, eps, group = 1.0, 1.5, 0.5, np.repeat(np.arange(5), 2)
    kappa = 1 + radius**2 / mu
    for _ in range(10):
        deltas = 0.05 * rng.uniform(size=(400, 10))
        signs = rng.choice([-1.0, 1.0], 400)
        deltas[:, 0] = np.where(signs > 0, 0.0, 0.9)
        largest = np.linalg.norm(deltas, axis=1).max()
        dual, found, longest = np.zeros(10), 0, 0.0
        step = eps / (kappa * largest**2)
        for delta, sign in zip(deltas, signs, strict=True):
            found += stream(delta[None], [sign], dual, group, mu=mu, step=step, threshold=0.3)
            longest = max(longest, float(np.linalg.norm(dual)))
        assert longest <= radius
        best = np.zeros(10)
        best[0] = 1.3 / 0.9
        losses = np.maximum(0, 1 - signs * (0.3 - deltas @ best)).sum()
        bound = kappa * largest**2 * (best[0] ** 2 + 2 * mu * np.log(5)) / (2 * eps) + losses
        assert 0 < found <= bound / (1 - eps)


def test_one_group_is_projected_gradient_descent():
    rng = np.random.default_rng(1)
    deltas, signs = rng.uniform(size=(30, 4)), rng.choice([-1.0, 1.0], 30)
    group = np.zeros(4, dtype=np.int64)
    dual, w = np.zeros(4), np.zeros(4)
    stream(deltas, signs, dual, group, step=0.3, threshold=0.8)
    for delta, sign in zip(deltas, signs, strict=True):
        if sign * (0.8 - w @ delta) <= 0:
            w = np.maximum(0, w - 0.3 * sign * delta)
    np.testing.assert_allclose(weights(dual, group), w)


@pytest.mark.parametrize("group", [np.arange(6), np.array([0, 1, 1, 2, 0, 2])])
def test_incremental_sums_equal_a_plain_loop(group):
    rng = np.random.default_rng(2)
    deltas, signs = 3 * rng.uniform(size=(400, 6)), rng.choice([-1.0, 1.0], 400)
    dual, plain, mistakes = np.zeros(6), np.zeros(6), 0
    found = stream(deltas, signs, dual, group, step=0.4, threshold=1.0)
    for delta, sign in zip(deltas, signs, strict=True):
        if sign * (1.0 - weights(plain, group) @ delta) <= 0:
            plain = np.maximum(0, plain - 0.4 * sign * delta)
            mistakes += 1
    assert found == mistakes
    np.testing.assert_allclose(dual, plain, atol=1e-9)


def test_huge_exponents_stay_numbers():
    rng = np.random.default_rng(3)
    deltas = 100 * rng.uniform(size=(200, 4))
    dual = np.zeros(4)
    stream(deltas, rng.choice([-1.0, 1.0], 200), dual, GROUPS, mu=0.01, step=5.0)
    norms, powers = np.zeros(2), np.zeros(3)
    total = refresh_groups(dual, GROUPS, 0.01, norms, powers)
    assert np.isfinite(total)
    assert total >= 1
    np.testing.assert_allclose(powers[:2] / total, softmax(norms / 0.02))


def test_a_weight_is_a_factor_of_the_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    pairs = np.arange(30).reshape(15, 2)
    weight = rng.uniform(0.5, 2.0, 15)
    for variant in ("default", "published"):
        settings = {"variant": variant, "threshold": 0.5, "mu": 2.0, "step": 0.3}
        known = Constraints(
            pairs[:5],
            pairs[5:],
            must_link_weight=weight[:5],
            cannot_link_weight=weight[5:],
            n_samples=30,
        )
        whole = OnlineConstraintSelector(**settings).partial_fit(X, constraints=known)
        # The same pairs one by one in the same order, each with a step of its own.
        parts = OnlineConstraintSelector(**settings)
        parts._reset(*parts._pairs(X, None, known, reset=True))
        for place in _evenly_mixed(5, 10):
            kind = "must_link" if place < 5 else "cannot_link"
            parts.step_ = 0.3 * weight[place]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintWarning)  # no feature has a weight yet
                parts.partial_fit(
                    X, constraints=Constraints(**{kind: pairs[[place]]}, n_samples=30)
                )
        np.testing.assert_allclose(parts.scores_, whole.scores_, rtol=1e-9)
        plain = OnlineConstraintSelector(**settings)
        plain.partial_fit(X, constraints=Constraints(pairs[:5], pairs[5:], n_samples=30))
        assert not np.allclose(plain.scores_, whole.scores_)
