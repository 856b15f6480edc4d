"""Suggested pairs against all pairs, written out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from tests.semi_supervised.pairs.problems import L, problem

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.semi_supervised import PairwiseLogisticRegression, PairwiseSVC
from sidelight.semi_supervised.pairs import _suggest


def sequences_of(known):
    """Rows joined by must-links and groups."""
    joined = Constraints(known.must_link, groups=known.groups, n_samples=known.n_samples)
    component = joined.components()
    return [np.flatnonzero(component == number) for number in np.unique(component)]


def by_hand(model, X, labels, known, strategy, K):
    """All candidates in the order of their use: (score, rows of one, rows of the other)."""
    values = model.decision_function(X)
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    ambiguity = {i: min(L(value) for value in row) for i, row in enumerate(values)}
    everything = known | Constraints(labels=labels, n_samples=len(X))
    closure = everything.closure(on_contradiction="keep")
    apart = {tuple(pair) for pair in closure.conflicts.tolist()}

    def is_open(one, other):
        a, b = sorted((int(closure.component[one[0]]), int(closure.component[other[0]])))
        return a != b and (a, b) not in apart

    def doubt(rows):
        return max(ambiguity[i] for i in rows)

    def kernel(one, other):
        return np.mean([K[i, j] for i in one for j in other])

    sequences = sequences_of(known)
    unknown = [rows for rows in sequences if np.all(labels[rows] < 0)]
    told = [rows for rows in sequences if np.any(labels[rows] >= 0)]
    if strategy == "com":
        pairs = [(a, b) for a, b in combinations(unknown, 2) if is_open(a, b)]
        scored = [(doubt(a) + doubt(b) - kernel(a, b), a, b) for a, b in pairs]
        return sorted(scored, key=lambda entry: -entry[0])
    turn = 1 if strategy == "min" else -1
    found = []
    for rows in sorted(unknown, key=lambda rows: -doubt(rows)):
        others = [other for other in told if is_open(rows, other)]
        if others:
            best = min(others, key=lambda o: turn * (kernel(o, o) - 2 * kernel(rows, o)))
            found.append((doubt(rows), rows, best))
    return found


@pytest.mark.parametrize("strategy", ["min", "max"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_ambiguous_rows_meet_the_nearest_or_farthest_of_known_class(strategy, n_classes, kernel):
    X, labels, known = problem(n_classes, groups=True, n_pairs=12)
    model = PairwiseLogisticRegression(kernel=kernel, gamma=0.4).fit(X, labels, constraints=known)
    K = rbf_kernel(X, gamma=0.4) if kernel == "rbf" else X @ X.T
    expected = by_hand(model, X, labels, known, strategy, K)
    pairs, scores = model.suggest_pairs(X, strategy, 100)
    assert len(pairs) == len(expected) > 10
    np.testing.assert_allclose(scores, [score for score, _, _ in expected], rtol=1e-9)
    for (i, j), (_, one, other) in zip(pairs, expected, strict=True):
        assert i in one
        assert j in other
        assert labels[j] >= 0
    np.testing.assert_array_equal(model.suggest_pairs(X, strategy, 3)[0], pairs[:3])


@pytest.mark.parametrize("cls", [PairwiseLogisticRegression, PairwiseSVC])
def test_ambiguous_rows_meet_each_other(cls):
    X, labels, known = problem(3, groups=True, n_pairs=12)
    model = cls(gamma=0.4).fit(X, labels, constraints=known)
    expected = by_hand(model, X, labels, known, "com", rbf_kernel(X, gamma=0.4))
    pairs, scores = model.suggest_pairs(X, "com", 6)
    used: set[int] = set()
    best = iter(expected)
    for pair, score in zip(pairs.tolist(), scores, strict=True):
        # The best of those that hold no sequence of an earlier pair.
        wanted, one, other = next(e for e in best if not used & {*e[1].tolist(), *e[2].tolist()})
        assert score == pytest.approx(wanted, rel=1e-9)
        assert len(set(pair) & set(one.tolist())) == 1
        assert len(set(pair) & set(other.tolist())) == 1
        used |= {*one.tolist(), *other.tolist()}


@pytest.mark.parametrize("strategy", ["min", "max", "com"])
def test_nothing_that_follows_is_suggested(strategy):
    X, labels, known = problem(3, groups=True, n_pairs=40, seed=4)
    model = PairwiseLogisticRegression().fit(X, labels, constraints=known)
    closure = (known | Constraints(labels=labels, n_samples=len(X))).closure("keep")
    apart = {tuple(pair) for pair in closure.conflicts.tolist()}
    pairs, _ = model.suggest_pairs(X, strategy, 1000)
    assert len(pairs)
    for ends in np.sort(closure.component[pairs], axis=1).tolist():
        assert ends[0] != ends[1]
        assert tuple(ends) not in apart


@pytest.mark.parametrize("strategy", ["min", "max", "com"])
def test_pairs_left_open_before_are_not_suggested_again(strategy):
    X, labels, known = problem(groups=True)
    model = PairwiseLogisticRegression().fit(X, labels, constraints=known)
    exclude = np.empty((0, 2), dtype=int)
    sequence = np.empty(len(X), dtype=int)
    for number, rows in enumerate(sequences_of(known)):
        sequence[rows] = number
    seen: set[tuple[int, ...]] = set()
    for _ in range(5):
        pairs, _ = model.suggest_pairs(X, strategy, 2, exclude=exclude)
        keys = {tuple(sorted(ends)) for ends in sequence[pairs].tolist()}
        assert not keys & seen
        seen |= keys
        exclude = np.vstack([exclude, pairs[:, ::-1]])
    assert len(seen) == 10


def test_nothing_is_left_to_suggest():
    X, labels, _ = problem()
    labels = np.where(labels < 0, 0, labels)
    model = PairwiseLogisticRegression().fit(X, labels)
    for strategy in ("min", "max", "com"):
        pairs, scores = model.suggest_pairs(X, strategy)
        assert pairs.shape == (0, 2)
        assert scores.shape == (0,)


def test_other_rows_and_strategies_are_refused():
    X, labels, known = problem()
    model = PairwiseLogisticRegression().fit(X, labels, constraints=known)
    with pytest.raises(SidelightError, match="takes the 40 rows of the fit, got 39"):
        model.suggest_pairs(X[:39])
    with pytest.raises(SidelightError, match='strategy must be "min", "max" or "com"'):
        model.suggest_pairs(X, "best")


# --- what it is made of ---


def test_blocks_change_nothing(monkeypatch):
    X, labels, known = problem(3, groups=True)
    model = PairwiseLogisticRegression().fit(X, labels, constraints=known)
    whole = {s: model.suggest_pairs(X, s, 20) for s in ("min", "max", "com")}
    for name in ("AT_A_TIME", "ROWS_AT_A_TIME", "VALUES_AT_A_TIME"):
        monkeypatch.setattr(_suggest, name, 3)
    for strategy, (pairs, scores) in whole.items():
        again = model.suggest_pairs(X, strategy, 20)
        np.testing.assert_array_equal(again[0], pairs)
        np.testing.assert_allclose(again[1], scores)
