"""Protocols that draw constraints from classes, and noise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.strategies import SEEDS

from sidelight import Constraints
from sidelight.constraints import _sampling as sampling
from sidelight.constraints._sampling import flip_pairs, sample_chunklets, sample_pairs
from sidelight.exceptions import SidelightError

Y = np.repeat([0, 1, 2, -1], [40, 30, 20, 10])

classes = st.lists(st.integers(-1, 3), min_size=2, max_size=25).map(np.array)


def as_set(*arrays: np.ndarray) -> set[tuple[int, int]]:
    return {tuple(pair) for array in arrays for pair in array.tolist()}


def check_true(y: np.ndarray, must_link: np.ndarray, cannot_link: np.ndarray) -> None:
    """Pairs of known rows, each once, the smaller row first, of the kind that the classes say."""
    for pairs in (must_link, cannot_link):
        assert pairs.dtype == np.int64
        assert pairs.shape[1:] == (2,)
        assert np.all(pairs[:, 0] < pairs[:, 1])
        assert np.all(y[pairs] >= 0)
    assert len(as_set(must_link, cannot_link)) == len(must_link) + len(cannot_link)
    assert np.all(y[must_link[:, 0]] == y[must_link[:, 1]])
    assert np.all(y[cannot_link[:, 0]] != y[cannot_link[:, 1]])


@settings(max_examples=100)
@given(classes, SEEDS, st.floats(0, 1))
def test_random_pairs_are_true_different_and_as_many_as_asked(y, seed, share):
    known = int(np.sum(y >= 0))
    possible = known * (known - 1) // 2
    n = int(share * possible)
    must_link, cannot_link = sample_pairs(y, n, random_state=seed)
    check_true(y, must_link, cannot_link)
    assert len(must_link) + len(cannot_link) == n
    with pytest.raises(SidelightError, match=f"have only {possible:,}"):
        sample_pairs(y, possible + 1, random_state=seed)


@pytest.mark.parametrize("shuffled", [0, 2**20])
def test_random_pairs_are_uniform(monkeypatch, shuffled):
    # Both ways to draw: a shuffle of all pairs, and draws without repetition.
    monkeypatch.setattr(sampling, "_SHUFFLED", shuffled)
    y = np.array([0, 0, 1, -1, 1, 0, 2])
    counts: dict[tuple[int, int], int] = {}
    for seed in range(1500):
        for pair in as_set(*sample_pairs(y, 2, random_state=seed)):
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 15
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


@pytest.mark.parametrize("shuffled", [0, 2**20])
def test_drawing_everything_ends(monkeypatch, shuffled):
    monkeypatch.setattr(sampling, "_SHUFFLED", shuffled)
    y = np.arange(60) % 3
    must_link, cannot_link = sample_pairs(y, 60 * 59 // 2, random_state=0)
    check_true(y, must_link, cannot_link)


@pytest.mark.parametrize("shuffled", [0, 2**20])
def test_levels_are_cumulative(monkeypatch, shuffled):
    monkeypatch.setattr(sampling, "_SHUFFLED", shuffled)
    y = np.arange(400) % 5
    sets = [
        as_set(*sample_pairs(y, protocol="level", level=level, random_state=7))
        for level in (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 3.0)
    ]
    assert [len(one) for one in sets] == [4, 8, 12, 20, 40, 60, 1200]
    for smaller, larger in itertools.pairwise(sets):
        assert smaller < larger
    assert sets[0] != as_set(*sample_pairs(y, 4, random_state=8))


def test_numbers_name_every_pair_once():
    n = 300
    pairs = sampling._pair_of_number(np.arange(n * (n - 1) // 2))
    assert np.all(pairs[:, 0] < pairs[:, 1])
    assert len(as_set(pairs)) == n * (n - 1) // 2
    # Roots are inexact for many rows.
    j = 94_906_265
    corner = np.array([0, -1]) + np.int64(j) * (j + 1) // 2
    assert sampling._pair_of_number(corner).tolist() == [[0, j + 1], [j - 1, j]]


def test_a_million_pairs_of_a_million_rows():
    y = np.arange(1_000_000) % 10
    must_link, cannot_link = sample_pairs(y, 1_000_000, random_state=0)
    keys = np.concatenate([must_link, cannot_link]) @ [1_000_000, 1]
    assert len(np.unique(keys)) == 1_000_000
    assert np.all(y[must_link[:, 0]] == y[must_link[:, 1]])
    assert len(must_link) == pytest.approx(100_000, rel=0.02)


@given(classes, SEEDS)
def test_disjoint_pairs_share_no_row(y, seed):
    most = int(np.sum(y >= 0)) // 2
    must_link, cannot_link = sample_pairs(y, most, protocol="disjoint", random_state=seed)
    check_true(y, must_link, cannot_link)
    rows = np.concatenate([must_link, cannot_link]).ravel()
    assert len(np.unique(rows)) == len(rows) == 2 * most
    with pytest.raises(SidelightError, match=f"have only {most}"):
        sample_pairs(y, most + 1, protocol="disjoint", random_state=seed)
    fewer = sample_pairs(y, most // 2, protocol="disjoint", random_state=seed)
    assert as_set(*fewer) <= as_set(must_link, cannot_link)


@settings(max_examples=100)
@given(classes, SEEDS, st.integers(0, 40))
def test_balanced_pairs_are_half_and_half(y, seed, n):
    sizes = np.unique(y[y >= 0], return_counts=True)[1]
    together = int(np.sum(sizes * (sizes - 1) // 2))
    apart = (int(sizes.sum()) ** 2 - int(np.sum(sizes**2))) // 2
    if n - n // 2 > together or n // 2 > apart:
        with pytest.raises(SidelightError, match=f"have only ({together}|{apart})"):
            sample_pairs(y, n, protocol="balanced", random_state=seed)
        return
    must_link, cannot_link = sample_pairs(y, n, protocol="balanced", random_state=seed)
    check_true(y, must_link, cannot_link)
    assert (len(must_link), len(cannot_link)) == (n - n // 2, n // 2)


def test_balanced_pairs_treat_classes_alike():
    # Class 2 has three pairs only, all of which are drawn; the others share the rest evenly.
    y = np.repeat([0, 1, 2], [500, 60, 3])
    must_link, cannot_link = sample_pairs(y, 200, protocol="balanced", random_state=0)
    drawn = np.bincount(y[must_link[:, 0]], minlength=3)
    assert drawn[2] == 3
    assert sorted(drawn[:2]) == [48, 49]
    ends = np.sort(y[cannot_link], axis=1)
    _, counts = np.unique(ends @ [3, 1], return_counts=True)
    assert sorted(counts) == [33, 33, 34]


def test_balanced_pairs_are_uniform_in_a_class():
    y = np.repeat([0, 1], [6, 2])
    counts = np.zeros((8, 8))
    for seed in range(1500):
        must_link, _ = sample_pairs(y, 6, protocol="balanced", random_state=seed)
        inside = must_link[y[must_link[:, 0]] == 0]
        counts[inside[:, 0], inside[:, 1]] += 1
    assert stats.chisquare(counts[np.triu_indices(6, k=1)]).pvalue > 1e-3


@settings(max_examples=50)
@given(SEEDS, st.integers(1, 4), st.integers(2, 12))
def test_teachers_say_everything_about_what_they_see(seed, n_teachers, size):
    must_link, cannot_link = sample_pairs(
        Y, protocol="teachers", n_teachers=n_teachers, size=size, random_state=seed
    )
    check_true(Y, must_link, cannot_link)
    said = as_set(must_link, cannot_link)
    if n_teachers == 1:
        rows = {row for pair in said for row in pair}
        assert len(rows) == size
        assert len(said) == size * (size - 1) // 2
    assert len(said) <= n_teachers * size * (size - 1) // 2


def test_teachers_see_rows_equally_often():
    seen = np.zeros(len(Y))
    for seed in range(300):
        pairs = sample_pairs(Y, protocol="teachers", n_teachers=1, size=9, random_state=seed)
        seen[np.unique(np.concatenate(pairs))] += 1
    assert np.all(seen[Y < 0] == 0)
    # Rows are drawn without replacement, which spreads them a little more evenly.
    assert stats.chisquare(seen[Y >= 0]).pvalue > 1e-3


def test_teachers_are_not_compared():
    y = np.zeros(10_000, dtype=int)
    must_link, _ = sample_pairs(y, protocol="teachers", n_teachers=20, size=3, random_state=0)
    known = Constraints(must_link, n_samples=10_000)
    assert np.sum(known.closure().sizes == 3) == 20


@settings(max_examples=60)
@given(classes, SEEDS, st.integers(2, 4), st.floats(0, 0.6))
def test_chunklets_are_groups_of_one_class(y, seed, size, fraction):
    sizes = np.unique(y[y >= 0], return_counts=True)[1]
    most, wanted = int(np.sum(sizes // size)), round(fraction * len(y) / size)
    if wanted > most:
        with pytest.raises(SidelightError, match=f"only {most} exist"):
            sample_chunklets(y, fraction=fraction, size=size, random_state=seed)
        return
    groups = sample_chunklets(y, fraction=fraction, size=size, random_state=seed)
    assert groups.shape == y.shape
    assert np.array_equal(np.unique(groups[groups >= 0]), np.arange(wanted))
    for group in range(wanted):
        assert np.sum(groups == group) == size
        assert len(np.unique(y[groups == group])) == 1
        assert y[groups == group][0] >= 0


# ------------------------------------------------------------------------- noise


@settings(max_examples=60)
@given(SEEDS, st.floats(0, 1), st.integers(0, 12), st.integers(0, 12))
def test_flipping_changes_exactly_that_many(seed, fraction, n_must, n_cannot):
    pairs = np.column_stack([np.arange(n_must + n_cannot), np.arange(n_must + n_cannot) + 100])
    weight = np.arange(n_must + n_cannot) + 1.0
    must, cannot, must_weight, cannot_weight = flip_pairs(
        pairs[:n_must], pairs[n_must:], weight[:n_must], weight[n_must:], fraction, seed
    )
    assert as_set(must, cannot) == as_set(pairs)
    turned = len(as_set(must) ^ as_set(pairs[:n_must]))
    assert turned == round(fraction * (n_must + n_cannot))
    # Every pair keeps its own weight.
    assert np.array_equal(must_weight, must[:, 0] + 1.0)
    assert np.array_equal(cannot_weight, cannot[:, 0] + 1.0)


def test_every_pair_is_equally_likely_to_be_flipped():
    pairs = np.column_stack([np.arange(10), np.arange(10) + 10])
    counts = np.zeros(10)
    for seed in range(1000):
        must, *_ = flip_pairs(pairs[:5], pairs[5:], np.ones(5), np.ones(5), 0.3, seed)
        still = np.isin(np.arange(10), must[:, 0])
        counts += still != (np.arange(10) < 5)
    assert counts.sum() == 3000
    assert stats.chisquare(counts).pvalue > 1e-3


def test_flipping_a_constraints_object():
    known = Constraints.sample(Y, 50, random_state=0)
    noisy = known.flip(0.2, random_state=0)
    assert noisy.n_pairs == 50
    assert len(as_set(noisy.must_link) ^ as_set(known.must_link)) == 10
    assert known.flip(0.0, random_state=0) == known


# ------------------------------------------------------------------------- errors, repeatability


def test_the_same_seed_draws_the_same():
    for options in (
        {"n": 30},
        {"n": 30, "protocol": "balanced"},
        {"n": 30, "protocol": "disjoint"},
        {"protocol": "teachers", "n_teachers": 4, "size": 6},
    ):
        first, second, other = (sample_pairs(Y, random_state=s, **options) for s in (3, 3, 4))
        assert np.array_equal(first[0], second[0])
        assert np.array_equal(first[1], second[1])
        assert as_set(*first) != as_set(*other)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "magic"}, "random, level, disjoint"),
        ({"protocol": "random"}, "needs n"),
        ({"protocol": "level"}, "needs level"),
        ({"protocol": "teachers", "n_teachers": 3}, "needs size"),
        ({"protocol": "teachers", "n_teachers": 3, "size": 1}, "size must be"),
        ({"protocol": "teachers", "n_teachers": 3, "size": 91}, "have only 90"),
        ({"protocol": "teachers", "n_teachers": 10**7, "size": 9}, "more than 50,000,000"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"n": -1}, "at least 0"),
    ],
)
def test_nonsense_is_refused(options, words):
    with pytest.raises(SidelightError, match=words):
        sample_pairs(Y, **options)


def test_other_nonsense_is_refused():
    with pytest.raises(SidelightError, match="takes any kind of class"):
        sample_pairs(["a", "b"], 1)
    with pytest.raises(SidelightError, match="between 0 and 1"):
        flip_pairs(np.empty((0, 2)), np.empty((0, 2)), np.empty(0), np.empty(0), 1.5)
    with pytest.raises(SidelightError, match="between 0 and 1"):
        sample_chunklets(Y, fraction=2, size=3)
    with pytest.raises(SidelightError, match="needs fraction"):
        sample_chunklets(Y, size=3)


def test_classes_of_any_kind_through_the_object():
    names = np.array(["cat", "dog", "", "cat", "dog", "cat"])
    known = Constraints.sample(names, 10, random_state=0)
    assert not known.violations([0, 1, 7, 0, 1, 0])
    assert known.n_pairs == 10
    groups = Constraints.sample(names, protocol="chunklets", fraction=0.4, size=2, random_state=0)
    assert groups.groups.max() == 0
