"""Scores on held-out pairs: nothing leaks, chance is one half, errors are what repetition shows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sidelight import Constraints
from sidelight.evaluation._constraints import Satisfaction, held_out_satisfaction
from sidelight.evaluation.comparison import _held_out
from sidelight.evaluation.comparison._comparison import Candidate
from sidelight.evaluation.comparison._held_out import (
    Estimate,
    HeldOut,
    held_out_pairs,
    n_statements,
)
from sidelight.evaluation.comparison._setting import draw_folds
from sidelight.evaluation.comparison._verdict import Verdict, how_clear, more_statements

KINDS = ("pairs", "labels", "groups", "all")


def draw(kind: str, seed: int, n: int = 40) -> tuple[Constraints, np.ndarray]:
    """Random true statements of some kinds about few rows, so that much follows from them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    pairs = rng.permutation([(i, j) for i, j in itertools.combinations(range(n), 2)])[:35]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    labels = np.where(rng.random(n) < 0.4, y, -1)
    groups = np.full(n, -1)
    for number in range(4):
        members = rng.permutation(np.flatnonzero((y == number % 3) & (groups < 0)))[:3]
        groups[members] = number
    given = {
        "pairs": {"must_link": pairs[same], "cannot_link": pairs[~same]},
        "labels": {"labels": labels},
        "groups": {"groups": groups},
    }
    chosen = given if kind == "all" else {kind: given[kind]}
    return Constraints(**{k: v for one in chosen.values() for k, v in one.items()}, n_samples=n), y


def entailed(known: Constraints) -> tuple[set, set]:
    """Everything that follows, by brute force: pairs that are together, and pairs apart."""
    n = known.n_samples
    together = np.eye(n, dtype=bool)
    apart = np.zeros((n, n), dtype=bool)
    for i, j in known.must_link:
        together[i, j] = together[j, i] = True
    for i, j in known.cannot_link:
        apart[i, j] = apart[j, i] = True
    for i, j in itertools.permutations(range(n), 2):
        if known.labels is not None and min(known.labels[i], known.labels[j]) >= 0:
            (together if known.labels[i] == known.labels[j] else apart)[i, j] = True
        if known.groups is not None and known.groups[i] == known.groups[j] >= 0:
            together[i, j] = True
    for middle in range(n):  # Warshall
        together |= together[:, [middle]] & together[[middle], :]
    apart = (together.astype(int) @ apart @ together) > 0
    pairs = list(itertools.combinations(range(n), 2))
    return {p for p in pairs if together[p]}, {p for p in pairs if apart[p]}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_scored_pair_follows_from_what_was_used(kind: str, seed: int) -> None:
    known, _ = draw(kind, seed)
    splits = draw_folds(known, 5, np.random.RandomState(seed))
    held_out = held_out_pairs(known, splits, np.random.RandomState(seed))
    assert len(held_out)
    for fold, (train, _) in enumerate(splits):
        together, apart = entailed(train)
        scored = held_out.pairs[held_out.fold == fold]
        pairs = {(int(min(pair)), int(max(pair))) for pair in scored}
        assert pairs
        assert not pairs & (together | apart)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_those_of_held_out_satisfaction(kind: str) -> None:
    known, _ = draw(kind, 7)
    splits = known.split(n_splits=3, random_state=0)
    held_out = held_out_pairs(known, splits, np.random.RandomState(0))
    labels = [np.random.default_rng(seed).integers(3, size=40) for seed in range(3)]
    hits = held_out.hits(labels)
    for fold, (train, held) in enumerate(splits):
        here = held_out.fold == fold
        must, cannot = here & held_out.together, here & ~held_out.together
        counted = Satisfaction(
            int(must.sum()), int(hits[must].sum()), int(cannot.sum()), int(hits[cannot].sum())
        )
        assert counted == held_out_satisfaction(train, held, labels[fold], known)


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_clusters_at_random_score_one_half(k: int) -> None:
    known, _ = draw("all", 3)
    held_out = held_out_pairs(known, draw_folds(known, 5, np.random.RandomState(0)), None)
    rng = np.random.default_rng(0)
    scores = [held_out.score(held_out.hits([rng.integers(k, size=40)])).value for _ in range(400)]
    error = np.std(scores) / np.sqrt(len(scores))
    assert np.mean(scores) == pytest.approx(0.5, abs=4 * error + 1e-12)


def test_true_clusters_keep_everything_and_rows_in_no_cluster_are_alone() -> None:
    known, y = draw("all", 5)
    held_out = held_out_pairs(known, draw_folds(known, 5, np.random.RandomState(0)), None)
    assert held_out.score(held_out.hits([y])).value == 1
    alone = held_out.hits([np.full(40, -1)])
    assert held_out.share(alone, True) == 0
    assert held_out.share(alone, False) == 1


def pairs_at_random(rng: np.random.Generator, m: int) -> HeldOut:
    """Pairs of rows that occur once, of which a third belong together."""
    together = np.arange(m) < m // 3
    return HeldOut(np.arange(2 * m).reshape(m, 2), together, np.ones(m), np.zeros(m, int), m)


def test_standard_error_of_independent_statements() -> None:
    rng = np.random.default_rng(0)
    held_out = pairs_at_random(rng, 60)
    chance = np.where(held_out.together, 0.9, 0.7)
    found = [held_out.score(rng.random(60) < chance) for _ in range(3000)]
    spread = np.std([one.value for one in found])
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    assert stated == pytest.approx(spread, rel=0.08)
    formula = np.sqrt((0.9 * 0.1 / 20 + 0.7 * 0.3 / 40) / 4)
    assert spread == pytest.approx(formula, rel=0.05)


def test_standard_error_of_a_paired_difference() -> None:
    """Two partitions that go wrong on the same statements differ by less than their errors say."""
    rng = np.random.default_rng(1)
    held_out = pairs_at_random(rng, 90)
    found = []
    for _ in range(2000):
        common = rng.random(90)
        one, other = (common < 0.8).astype(float), (common < 0.7).astype(float)
        found.append(held_out.difference(one, other))
    spread = np.std([one.value for one in found])
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    assert stated == pytest.approx(spread, rel=0.1)
    assert np.mean([one.value for one in found]) == pytest.approx(0.1, abs=0.005)
    unpaired = np.sqrt(2) * held_out.score(np.tile([1.0, 0.0, 1.0], 30)).error
    assert stated < 0.75 * unpaired


def test_standard_error_of_labels_counts_rows_not_pairs() -> None:
    """Pairs of labels share rows: with 40 labels there are 780 pairs, but not 780 facts."""
    rng = np.random.default_rng(2)
    population = rng.integers(3, size=20_000)
    wrong = rng.random(len(population)) < 0.25
    clusters = np.where(wrong, rng.integers(3, size=len(population)), population)
    found = []
    for _ in range(300):
        rows = rng.choice(len(population), 40, replace=False)
        labels = Constraints(labels=population[rows])
        held_out = held_out_pairs(labels, labels.split(n_splits=4, random_state=0), None)
        found.append(held_out.score(held_out.hits([clusters[rows]])))
    spread = np.std([one.value for one in found])
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    assert stated == pytest.approx(spread, rel=0.25)
    as_if_independent = np.sqrt(0.25 * 2 * 0.2 / 780)
    assert spread > 1.8 * as_if_independent


def test_errors_stay_above_zero_and_fall_with_the_statements() -> None:
    rng = np.random.default_rng(0)
    errors = [pairs_at_random(rng, m).score(np.ones(m)).error for m in (12, 48, 192)]
    assert errors[0] > errors[1] > errors[2] > 0
    same = pairs_at_random(rng, 12)
    assert same.difference(np.ones(12), np.ones(12)).error > 0


def test_weights_count() -> None:
    together = np.array([True, True, False])
    pairs = np.array([[0, 1], [2, 3], [4, 5]])
    held_out = HeldOut(pairs, together, np.array([3.0, 1.0, 1.0]), np.zeros(3, int), 3)
    assert held_out.score(np.array([1.0, 0.0, 1.0])).value == pytest.approx((0.75 + 1) / 2)
    only_must = HeldOut(pairs[:2], together[:2], np.array([3.0, 1.0]), np.zeros(2, int), 2)
    assert only_must.score(np.array([1.0, 0.0])).value == pytest.approx(0.75)


def test_many_labels_and_large_groups_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.random.default_rng(0).integers(2, size=3000)
    known = Constraints(labels=y)
    splits = known.split(n_splits=5, random_state=0)
    held_out = held_out_pairs(known, splits, np.random.RandomState(0))
    most = _held_out.MAX_LABELS
    assert len(held_out) <= 5 * (most * (most - 1) // 2 + most * most)
    assert np.array_equal(held_out.together, y[held_out.pairs[:, 0]] == y[held_out.pairs[:, 1]])
    group = Constraints(groups=np.repeat([0, 1, 2], 1000))
    found = held_out_pairs(
        group, draw_folds(group, 5, np.random.RandomState(0)), np.random.RandomState(0)
    )
    assert 0 < len(found) <= 6 * _held_out.MAX_MEMBERS**2


def test_statements_are_counted_once() -> None:
    known = Constraints([(0, 1)], [(2, 3)], labels=[0, 1, -1, -1], groups=[-1, -1, 5, 5])
    assert n_statements(known) == 1 + 1 + 2 + 1


@pytest.mark.parametrize(("d", "e", "m"), [(0.1, 0.1, 30), (-0.05, 0.08, 100), (0.2, 0.11, 12)])
def test_so_many_more_statements_make_a_difference_twice_its_error(d, e, m) -> None:
    more = more_statements(Estimate(d, e), m)
    assert abs(d) >= 2 * e * np.sqrt(m / (m + more)) - 1e-12
    assert abs(d) < 2 * e * np.sqrt(m / (m + more - 1))


def test_a_clear_difference_needs_no_more() -> None:
    assert more_statements(Estimate(0.3, 0.1), 30) == 0
    assert how_clear(Estimate(0.3, 0.1)) == "more"
    assert how_clear(Estimate(-0.3, 0.1)) == "less"
    assert how_clear(Estimate(0.15, 0.1)) == "unclear"
    assert how_clear(Estimate(0.05, 0.1)) == "noise"
    assert how_clear(Estimate(0.004, 0.0001)) == "noise"


@pytest.mark.parametrize(
    ("difference", "error", "n_more", "words"),
    [
        (0.1, 0.1, 90, "about 90 more would show it. "),
        (0.01, 0.05, None, "would take about 3,000 more statements. More than 300, an hour"),
        (0.001, 0.05, None, None),
    ],
)
def test_no_more_statements_are_proposed_than_are_worth_asking(difference, error, n_more, words):
    """A gain of 0.01 ± 0.05 by 30 statements needs 2,970 more to be twice its error."""
    one = Candidate(
        "pckmeans", 3, "scored", plain="kmeans", learns=True, gain=difference, gain_error=error
    )
    asked = []
    verdict = Verdict(one, [], OneStatement(30), [])
    said = verdict._too_few(lambda n, k: asked.append(n) or "ask")
    assert asked == ([] if n_more is None else [n_more])
    assert (words is None and said == []) or words in said[0]


class OneStatement:
    """So many statements, of which only the number is known."""

    def __init__(self, n: int) -> None:
        self.n_statements = n

    def __len__(self) -> int:
        return self.n_statements
