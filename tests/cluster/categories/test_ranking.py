"""Ranked categories: the domination matrix against plain Python, and in its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.categories import naive
from tests.cluster.categories.test_text_categories import corpus_of

from sidelight.cluster import TextCategories


def fitted(X, y, **options):
    """A model of other documents than ``X``: those of the fit stand first in their own category."""
    options = {
        "n_words": 12,
        "n_words_final": 8,
        "min_documents": 1,
        "damp_documents": False,
        "variant": "published",
    } | options
    return TextCategories(**options).fit(4.0 * X, y)


def seeds_of(model):
    rows = model.seeds_.toarray()
    return [{int(w): float(row[w]) for w in np.flatnonzero(row)} for row in rows]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tau=st.sampled_from([0.0, 0.025, 0.1, 0.4, np.inf]),
    most=st.sampled_from([1, 2, 3, 5, 9]),
)
def test_it_is_the_ranking_of_the_book(seed, tau, most):
    X, y = corpus_of(seed)
    model = fitted(X, y, domination_threshold=tau, merge_threshold=2.0)
    ranking = model.rank(X, most)
    seeds = seeds_of(model)
    for i, document in enumerate(naive.vectors(X)):
        expected = naive.ranked(document, seeds, most, tau)
        found = ranking.categories[i]
        assert found[found >= 0].tolist() == expected
        for place, category in enumerate(expected):
            cosine = naive.cosine(seeds[category], document)
            assert ranking.cosines[i, place] == pytest.approx(cosine)


@pytest.fixture(scope="module")
def overlapping():
    X, y = corpus_of(11, n=200)
    return X, fitted(X, y, merge_threshold=2.0)


def test_no_threshold_is_the_order_of_cosines(overlapping):
    X, model = overlapping
    ranking = model.set_params(domination_threshold=0.0).rank(X, 4)
    assert np.all(np.diff(ranking.cosines, axis=1) <= 1e-12)
    assert not ranking.reranked.any()
    assert "own words" not in ranking.reasons


def test_an_infinite_threshold_looks_at_own_words_only(overlapping):
    X, model = overlapping
    ranking = model.set_params(domination_threshold=np.inf).rank(X, 2)
    seeds = seeds_of(model)
    for i, document in enumerate(naive.vectors(X)):
        one, other = ranking.categories[i]
        if other < 0:
            continue
        own = naive.cosine(naive.without(seeds[one], seeds[other]), document)
        its = naive.cosine(naive.without(seeds[other], seeds[one]), document)
        assert own >= its - 1e-12
    assert ranking.reranked.any()
    assert "cosine" not in ranking.reasons[ranking.categories[:, 1] >= 0][:, 0]


def test_seeds_without_shared_words_are_ranked_by_cosine():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.where(np.arange(12) // 4 == y[:, None], rng.uniform(1, 2, (60, 12)), 0.0)
    model = fitted(X, y, domination_threshold=np.inf)
    mixed = rng.uniform(0.1, 1.0, (30, 12))
    ranking = model.rank(mixed, 3)
    assert np.all(np.diff(ranking.cosines, axis=1) <= 1e-12)


def test_of_every_pair_one_dominates(overlapping):
    X, model = overlapping
    ranking = model.set_params(domination_threshold=0.1).rank(X, 2)
    both = ranking.categories[:, 1] >= 0
    wins = ranking.dominated[both]
    assert np.all(wins.sum(axis=1) <= 1)
    assert np.mean(wins.sum(axis=1) == 1) > 0.95  # a tie is only where neither has words of its own
    assert np.all(wins[:, 0] >= wins[:, 1])


def test_one_candidate_is_the_nearest_seed(overlapping):
    X, model = overlapping
    ranking = model.rank(X, 1)
    np.testing.assert_array_equal(ranking.categories[:, 0], model.predict(X))
    assert set(ranking.reasons[:, 0]) <= {"last", ""}


def test_outliers_have_no_categories():
    X, y = corpus_of(7)
    model = fitted(X, y, outlier_threshold=0.3)
    X = 4.0 * X  # those of the fit
    ranking = model.rank(X, 3)
    np.testing.assert_array_equal(ranking.categories[:, 0] < 0, model.labels_ < 0)
    assert np.all(ranking.cosines[ranking.categories >= 0] >= 0.3)
    assert np.all(ranking.reasons[ranking.categories < 0] == "")
    nothing = int(np.flatnonzero(model.labels_ < 0)[0])
    assert ranking.why(nothing, 0, model.category_names_, []) == ""


def test_reasons_name_the_words():
    words = ["the", "sail", "mast", "jazz", "drum", "club"]
    X = np.array([[3, 4, 2, 0, 0, 2], [3, 2, 4, 0, 0, 2], [3, 0, 0, 4, 2, 2], [3, 0, 0, 2, 4, 2.0]])
    model = fitted(X, ["sea", "sea", "music", "music"], domination_threshold=0.2)
    ranking = model.rank(np.array([[5.0, 0, 1, 0.9, 0, 3], [0, 3, 1, 0, 0, 0]]), 2)
    names = model.category_names_
    sentence = ranking.why(0, 0, names, words)
    assert ranking.reasons[0, 0] == "own words"
    assert sentence.startswith("cosine 0.")
    assert "by words of its own: mast" in sentence
    assert "the" not in sentence.split("own:")[1]
    assert "sail" in ranking.why(1, 0, names, words)


def test_cycles_are_told_by_the_other_candidates():
    """Somewhere one stands before another only because it dominates more of the rest."""
    found = set()
    for seed in range(30):
        X, y = corpus_of(seed, n_classes=8, n=120)
        model = fitted(X, y, merge_threshold=2.0, domination_threshold=0.2)
        ranking = model.rank(X, 6)
        found |= set(np.unique(ranking.reasons))
        for i, place in zip(*np.nonzero(ranking.reasons == "others"), strict=True):
            assert ranking.dominated[i, place] > ranking.dominated[i, place + 1]
            text = ranking.why(i, place, model.category_names_, [f"w{j}" for j in range(40)])
            assert "dominates more" in text
    assert {"cosine", "own words", "others", "last"} <= found
