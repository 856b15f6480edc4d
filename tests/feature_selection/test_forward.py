"""Forward search: its merit by definition, the best of all subsets, what the search may skip."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from sidelight import Constraints
from sidelight.constraints import known_pairs
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.feature_selection import ConstraintScore, ForwardConstraintSelector, _forward
from sidelight.feature_selection._forward import PairMoments


def differences(X, known):
    """Squared differences, kinds (1 = apart) and weights, pair by pair."""
    pairs = known_pairs(known)
    gaps, kinds, weights = [], [], []
    for kind, places, weight in (
        (0.0, pairs.together, pairs.together_weight),
        (1.0, pairs.apart, pairs.apart_weight),
    ):
        for (i, j), w in zip(places, weight, strict=True):
            gaps.append((X[i] - X[j]) ** 2)
            kinds.append(kind)
            weights.append(w)
    return np.array(gaps), np.array(kinds), np.array(weights)


def correlation(a, b, weights):
    (aa, ab), (_, bb) = np.cov(a, b, aweights=weights, ddof=0)
    return ab / np.sqrt(aa * bb)


def merit(X, known, subset):
    gaps, kinds, weights = differences(X[:, subset], known)
    relevance = sum(correlation(gap, kinds, weights) for gap in gaps.T)
    overlap = sum(abs(correlation(one, other, weights)) for one in gaps.T for other in gaps.T)
    return relevance / np.sqrt(overlap)


def every_subset(X, known):
    d = X.shape[1]
    return {
        subset: merit(X, known, list(subset))
        for size in range(1, d + 1)
        for subset in combinations(range(d), size)
    }


def example(seed, n=40, d=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d)
    X[:, 0] += 12 * y
    X[:, 2] = 3 * y + rng.normal(size=n)
    X[:, 4] = X[:, 2] + 0.1 * rng.normal(size=n)  # says the same again
    sampled = Constraints.sample(y, 50, random_state=seed)
    known = Constraints(
        sampled.must_link,
        sampled.cannot_link,
        must_link_weight=rng.uniform(0.5, 2, len(sampled.must_link)),
        n_samples=n,
    )
    return X, known


@pytest.mark.parametrize("seed", range(4))
def test_patient_search_finds_the_best_of_all_subsets(seed):
    X, known = example(seed)
    merits = every_subset(X, known)
    best = max(merits, key=merits.get)
    model = ForwardConstraintSelector(patience=10_000).fit(X, constraints=known)
    assert tuple(model.get_support(indices=True)) == best
    assert model.merit_ == pytest.approx(merits[best])
    assert model.n_subsets_ <= 2**6
    gaps, kinds, weights = differences(X[:, list(best)], known)
    center = np.average(gaps, axis=0, weights=weights)
    spread = np.sqrt(np.average((gaps - center) ** 2, axis=0, weights=weights))
    assert model.merit_ <= correlation(np.sum(gaps / spread, axis=1), kinds, weights) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_plain_search_takes_the_best_step_each_time(seed):
    X, known = example(seed)
    chosen, value = [], -np.inf
    gains = []
    while len(chosen) < 6:
        steps = {j: merit(X, known, [*chosen, j]) for j in range(6) if j not in chosen}
        step = max(steps, key=steps.get)
        if steps[step] <= value:
            break
        gains.append(steps[step] - max(value, 0.0))
        chosen, value = [*chosen, step], steps[step]
    model = ForwardConstraintSelector(patience=0).fit(X, constraints=known)
    assert list(np.argsort(model.ranking_)[: len(chosen)]) == chosen
    assert model.support_.sum() == len(chosen)
    np.testing.assert_allclose(model.scores_[chosen], gains)
    for j in np.flatnonzero(~model.support_):
        assert model.scores_[j] == pytest.approx(merit(X, known, [*chosen, j]) - value)


def test_never_worse_than_plain_and_never_more_than_asked_for():
    X, y = load_wine(return_X_y=True)
    known = Constraints.sample(y, 100, random_state=0)
    patient = ForwardConstraintSelector().fit(X, constraints=known)
    plain = ForwardConstraintSelector(patience=0).fit(X, constraints=known)
    assert patient.merit_ >= plain.merit_ - 1e-12
    few = ForwardConstraintSelector(2).fit(X, constraints=known)
    assert few.support_.sum() == 2
    share = ForwardConstraintSelector(0.2).fit(X, constraints=known)
    assert share.support_.sum() <= 3
    assert sorted(few.ranking_) == list(range(1, 14))


def two_features_and_noise():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 10))
    X[:, [1, 5]] += 3 * y[:, None]
    return X, Constraints.sample(y, 200, random_state=0)


def test_copies_are_not_taken_twice():
    X, known = two_features_and_noise()
    X[:, 7] = X[:, 5]  # the better of the two
    model = ForwardConstraintSelector(2).fit(X, constraints=known)
    assert set(model.get_support(indices=True)) in ({1, 5}, {1, 7})
    single = ConstraintScore(2).fit(X, constraints=known)  # which sees each feature on its own
    assert set(single.get_support(indices=True)) == {5, 7}


def test_units_and_noise_do_not_matter():
    X, known = two_features_and_noise()
    model = ForwardConstraintSelector(2).fit(X, constraints=known)
    noise = np.random.default_rng(1).normal(size=(120, 400))
    wide = ForwardConstraintSelector(20).fit(np.hstack([X, noise]), constraints=known)
    assert list(np.argsort(wide.ranking_)[:2]) == list(np.argsort(model.ranking_)[:2])
    other = ForwardConstraintSelector(2).fit(X * np.logspace(-6, 6, 10) + 3, constraints=known)
    np.testing.assert_array_equal(other.ranking_, model.ranking_)
    assert other.merit_ == pytest.approx(model.merit_)


def test_bad_input():
    X, known = example(0)
    with pytest.raises(SidelightError, match="known to be apart"):
        ForwardConstraintSelector().fit(X, constraints=Constraints([(0, 1)], n_samples=40))
    with pytest.raises(SidelightError, match="known to belong together"):
        ForwardConstraintSelector().fit(
            X, constraints=Constraints(cannot_link=[(0, 1)], n_samples=40)
        )
    with pytest.raises(ValueError, match="patience"):
        ForwardConstraintSelector(patience=-1).fit(X, constraints=known)
    with pytest.raises(ValueError, match="between 1 and the number of features"):
        ForwardConstraintSelector(7).fit(X, constraints=known)
    flat = X.copy()
    flat[:, 3] = 1.0
    model = ForwardConstraintSelector().fit(flat, constraints=known)
    assert np.isnan(model.scores_[3])
    assert model.ranking_[3] == 6
    with pytest.warns(ConstraintWarning, match="all are kept"):
        assert ForwardConstraintSelector().fit(np.ones((40, 2)), constraints=known).support_.all()
    swapped = Constraints(known.cannot_link, known.must_link, n_samples=40)
    with pytest.warns(ConstraintWarning, match="least harm"):
        model = ForwardConstraintSelector().fit(X[:, [0]], constraints=swapped)
    assert model.merit_ < 0
    assert model.support_.all()


# --- what it is made of ---


@pytest.mark.parametrize("n_pairs", [5, 60])  # fewer and more pairs than features
@pytest.mark.parametrize(
    ("most_products", "most_differences"),
    [(512, 100), (0, 100), (0, 10_000)],  # products at once, blocks for each column, all kept
)
def test_correlations_by_definition(n_pairs, most_products, most_differences, monkeypatch):
    monkeypatch.setattr(_forward, "MAX_PRODUCTS", most_products)
    monkeypatch.setattr(_forward, "MAX_DIFFERENCES", most_differences)
    X, y = load_wine(return_X_y=True)
    X = np.maximum(X - np.median(X, axis=0), 0.0)
    pairs = known_pairs(Constraints.sample(y, n_pairs, protocol="balanced", random_state=0))
    places = np.concatenate([pairs.together, pairs.apart])
    gaps = (X[places[:, 0]] - X[places[:, 1]]) ** 2
    gaps = gaps[:, gaps.std(axis=0) > 0]
    kind = np.arange(len(places)) >= pairs.n_together
    expected = np.corrcoef(gaps, rowvar=False)
    for rows in (X, sparse.csr_array(X)):
        moments = PairMoments(rows, pairs)
        free = np.flatnonzero(moments.varies)
        found = np.array([moments.correlations(int(j))[free] for j in free])
        np.testing.assert_allclose(found, expected, atol=1e-9)
        by_definition = [np.corrcoef(column, kind)[0, 1] for column in gaps.T]
        np.testing.assert_allclose(moments.relevance[free], by_definition, atol=1e-9)
