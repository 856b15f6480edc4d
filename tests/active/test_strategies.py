"""What every strategy promises, and the guarantees of each."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.active.conftest import converse

from sidelight import Constraints
from sidelight.active import (
    COBRAS,
    NPU,
    Answers,
    ExploreConsolidate,
    MinMax,
    RandomPairs,
    make_strategy,
)
from sidelight.cluster import KMeans, PCKMeans
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError

STRATEGIES = {
    "random": RandomPairs(),
    "explore-consolidate": ExploreConsolidate(),
    "trimmed": ExploreConsolidate(trim=0.1),
    "min-max": MinMax(),
    "npu": NPU(PCKMeans(3, n_init=1), n_estimators=5),
    "cobras": COBRAS(KMeans(n_init=1)),
}
every = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


@every
@pytest.mark.parametrize("unsure", [0.0, 0.3])
def test_no_question_whose_answer_follows_and_everything_found_in_the_end(strategy, mixed, unsure):
    X, y = mixed
    answers, spy = converse(clone(strategy), X, y, 3, unsure=unsure)  # the spy complains
    truth = y[:, None] == y
    for i, j in spy.asked:
        assert answers.entailed(i, j) in (None, truth[i, j])
    if unsure == 0.0:
        components = answers.components()
        np.testing.assert_array_equal(components[:, None] == components, truth)
        assert answers.n_open == 0


@every
def test_without_a_number_of_clusters_everything_is_found_too(strategy, mixed):
    X, y = mixed
    answers, _ = converse(clone(strategy), X, y, None)
    assert not any(entry.inferred for entry in answers)
    components = answers.components()
    np.testing.assert_array_equal(components[:, None] == components, y[:, None] == y)


@every
def test_the_same_seed_asks_the_same_and_another_asks_otherwise(strategy, mixed):
    X, y = mixed
    first, again, other = (
        converse(clone(strategy), X, y, 3, budget=15, seed=seed)[1].asked for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


@every
def test_undo_between_questions_is_followed(strategy, mixed):
    X, y = mixed
    answers = Answers(len(y))
    running = clone(strategy).start(X, answers, 3, random_state=0)
    chance = np.random.default_rng(0)
    for _ in range(150):
        pair = running.next_pair()
        if pair is None:
            break
        assert not answers.is_settled(*pair)
        answers.add(*pair, bool(y[pair[0]] == y[pair[1]]))
        if chance.random() < 0.3:
            for _ in range(chance.integers(1, 6)):
                answers.undo()
    while (pair := running.next_pair()) is not None:
        answers.add(*pair, bool(y[pair[0]] == y[pair[1]]))
    components = answers.components()
    np.testing.assert_array_equal(components[:, None] == components, y[:, None] == y)


@every
def test_prior_knowledge_is_used(strategy, mixed):
    X, y = mixed
    known = Constraints.from_labels(np.where(np.arange(len(y)) < 20, y, -1))
    with_it, _ = converse(clone(strategy), X, y, 3, answers=Answers(known=known))
    without, _ = converse(clone(strategy), X, y, 3)
    assert with_it.n_open == 0
    assert with_it.n_answers < without.n_answers


@every
def test_all_rows_alike_come_to_an_end(strategy):
    X, y = np.zeros((8, 2)), np.zeros(8)
    answers, spy = converse(clone(strategy), X, y, 2)
    assert len(spy.asked) <= 28
    if "cobras" not in str(strategy).lower():  # COBRAS cannot split what is alike, and need not
        assert answers.n_open == 0


@every
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(strategy, n):
    _, spy = converse(clone(strategy), np.arange(n, dtype=float)[:, None], np.arange(n), 2)
    assert len(spy.asked) == n - 1


@every
def test_one_cluster_is_followed_without_a_question_where_k_is_used(strategy):
    _, spy = converse(clone(strategy), np.arange(6.0)[:, None], np.zeros(6), 1)
    uses_k = "random" not in str(strategy).lower() and "cobras" not in str(strategy).lower()
    assert bool(spy.asked) != uses_k


@pytest.mark.parametrize("name", ["explore-consolidate", "min-max", "cobras", "npu"])
def test_sparse_rows_and_other_sources_ask_the_same(name, mixed):
    X, y = mixed
    X = np.round(X)  # so that distances are exact either way
    strategy = STRATEGIES[name]
    dense = converse(clone(strategy), X, y, 3, budget=20)[1].asked
    assert converse(clone(strategy), sparse.csr_matrix(X), y, 3, budget=20)[1].asked == dense
    if name != "npu":
        assert converse(clone(strategy), as_rows(X), y, 3, budget=20)[1].asked == dense


# ------------------------------------------------------------------ explore, consolidate, min-max


@pytest.mark.parametrize("strategy", [ExploreConsolidate(), MinMax()])
def test_explore_finds_k_separate_balls_within_its_bound(strategy, balls):
    X, y = balls
    k = 4
    for seed in range(10):
        answers, _ = converse(clone(strategy), X, y, k, budget=k * (k - 1) // 2, seed=seed)
        apart = answers.constraints.closure().conflicts
        rows = np.unique(answers.constraints.cannot_link)
        assert len(apart) == k * (k - 1) // 2  # all pairs of k neighborhoods, all different
        assert set(y[rows]) == set(range(k))


def test_consolidation_takes_at_most_k_minus_1_questions_per_row(mixed):
    X, y = mixed
    answers, spy = converse(ExploreConsolidate(), X, y, 3)
    explore = next(
        n for n in range(len(spy.asked)) if len({frozenset(y[list(p)]) for p in spy.asked[:n]}) > 2
    )
    per_row = np.bincount([i for i, _ in spy.asked[explore:]])
    assert per_row.max() <= 2
    assert any(entry.inferred for entry in answers)


def test_inferred_links_save_questions_and_are_stored(mixed):
    X, y = mixed
    with_k, without_k = (converse(MinMax(), X, y, k)[0] for k in (3, None))
    assert with_k.n_answers < without_k.n_answers
    assert with_k.constraints.components().tolist() == without_k.constraints.components().tolist()


@pytest.mark.parametrize("width", [0.05, 0.7, 30.0])
def test_min_max_is_brute_force_whatever_the_width(mixed, width):
    X, y = mixed
    _, spy = converse(MinMax(), X, y, 3, seed=2)
    order = list(dict.fromkeys(i for i, _ in spy.asked))
    first = spy.asked[0][1]
    # log K, so that a narrow kernel does not vanish: argmin max K is the same
    logs = -((X[:, None] - X) ** 2).sum(axis=2) / (2 * width**2)
    inside = [first]
    for row in order:
        outside = [i for i in range(len(y)) if i not in inside]
        worth = logs[np.ix_(outside, inside)].max(axis=1)
        assert outside[int(np.argmin(worth))] == row
        inside.append(row)


def test_trimmed_explore_passes_over_outliers(balls):
    X, y = balls
    X = np.vstack([X, [[500.0, 0, 0], [0, 400.0, 0]]])
    y = np.append(y, [0, 0])
    for seed in range(5):
        plain = converse(ExploreConsolidate(), X, y, 4, budget=6, seed=seed)[1].asked
        trimmed = converse(ExploreConsolidate(trim=0.05), X, y, 4, budget=6, seed=seed)[1].asked
        assert {60, 61} & set(np.ravel(plain))
        assert not {60, 61} & {i for i, _ in trimmed}


# ------------------------------------------------------------------ random


def test_random_pairs_are_uniform_over_the_pairs_that_do_not_follow():
    # 0, 1 together, 2 apart from them; what is open: all pairs with 3 (of 4 rows)
    counts = {}
    for seed in range(300):
        answers = Answers(4)
        answers.add(0, 1, True)
        answers.add(1, 2, False)
        pair = RandomPairs().start(np.zeros((4, 1)), answers, random_state=seed).next_pair()
        counts[tuple(sorted(pair))] = counts.get(tuple(sorted(pair)), 0) + 1
    assert set(counts) == {(0, 3), (1, 3), (2, 3)}
    assert max(counts.values()) < 130  # 100 expected, standard deviation 8


def test_random_pairs_find_the_last_open_pair_in_a_large_set():
    n = 5000
    labels = np.zeros(n, int)
    labels[n // 2 :] = 1
    labels[-1] = -1
    known = Constraints(cannot_link=[(0, n - 1)], labels=labels, n_samples=n)
    answers = Answers(known=known)
    strategy = RandomPairs().start(np.zeros((n, 1)), answers, random_state=0)
    pair = strategy.next_pair()
    assert n - 1 in pair
    answers.add(*pair, True)
    assert strategy.next_pair() is None


# ------------------------------------------------------------------ mistakes


def test_bad_input_is_explained():
    X = np.zeros((3, 1))
    with pytest.raises(SidelightError, match="answers are about 4 rows but X has 3"):
        MinMax().start(X, Answers(4))
    with pytest.raises(SidelightError, match="no strategy 'best'"):
        make_strategy("best")
    with pytest.raises(SidelightError, match="give it an estimator"):
        NPU().start(X, Answers(3))
    with pytest.raises(SidelightError, match="in memory"):
        NPU(KMeans()).start(as_rows(X), Answers(3))
    with pytest.raises(SidelightError, match="n_clusters"):
        COBRAS().start(X, Answers(3))
    with pytest.raises(ValueError, match="trim"):
        MinMax(trim=1.0).start(X, Answers(3))


def test_strategies_by_name_get_the_estimator_where_they_need_one():
    estimator = PCKMeans(5)
    assert make_strategy("npu", estimator).estimator.n_clusters == 5
    assert make_strategy("npu", estimator).estimator is not estimator
    own = NPU(PCKMeans(7))
    assert make_strategy(own, estimator).estimator.n_clusters == 7
    assert isinstance(make_strategy("min-max", estimator), MinMax)
