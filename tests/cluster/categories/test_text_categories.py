"""TClus: against plain Python, in its limits, and on documents that need tidying."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.cluster.categories import naive

import sidelight
from sidelight.cluster import TextCategories
from sidelight.datasets import make_category_corpus
from sidelight.exceptions import SidelightError


def corpus_of(seed: int, n: int = 60, n_words: int = 40, n_classes: int = 5):
    """Small counts with classes that overlap; real weights, so that no two cosines are equal."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    often = rng.gamma(0.3, 2.0, (n_classes, n_words))
    often[1] = often[0] + 0.05 * often[1]  # two classes that are nearly the same
    X = rng.poisson(often[y]) * rng.uniform(0.5, 1.5, (n, n_words))
    X[rng.integers(0, n)] = 0.0
    return X, np.where(rng.uniform(size=n) < 0.1, -1, y)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    words=st.sampled_from([(30, 6, 0.7), (12, 5, 0.5), (8, 8, 0.9), (40, 40, 0.7)]),
    merge=st.sampled_from([0.8, 0.95, 2.0]),
    fewest=st.sampled_from([0, 4, 9]),
    outlier=st.sampled_from([0.0, 0.3, 0.5]),
    damping=st.sampled_from(["sqrt", "log1p", "binary", "identity"]),
    both=st.booleans(),
)
def test_it_is_the_algorithm_of_the_book(seed, words, merge, fewest, outlier, damping, both):
    X, y = corpus_of(seed)
    options = {
        "n_words": words[0],
        "n_words_final": words[1],
        "shrink": words[2],
        "merge_threshold": merge,
        "min_documents": fewest,
        "outlier_threshold": outlier,
        "damping": damping,
        "damp_documents": both,
    }
    published = {**options, "variant": "published"}
    labels, seeds, origin = naive.categories(X, y, **options)
    if not seeds or set(labels) == {-1}:
        return
    model = TextCategories(**published).fit(sparse.csr_array(X), y)
    assert model.labels_.tolist() == labels
    assert model.seeds_.shape[0] == len(seeds)
    for number, seed_words in enumerate(seeds):
        row = model.seeds_[[number]].toarray()[0]
        assert set(np.flatnonzero(row)) == set(seed_words)
        length = np.linalg.norm(list(seed_words.values()))
        for word, value in seed_words.items():
            assert row[word] == pytest.approx(value / length)
        classes = model.classes_[model.class_category_ == number]
        assert classes.tolist() == origin[number]


@pytest.fixture(scope="module")
def corpus():
    return make_category_corpus(1500, n_topics=6, n_duplicated=1, random_state=0)


@pytest.fixture(scope="module")
def tidied(corpus):
    return TextCategories().fit(corpus.data, corpus.extras["labels"])


def test_documents_in_the_wrong_class_move_and_double_classes_become_one(corpus, tidied):
    labels, topic = corpus.extras["labels"], corpus.target
    assert [group.tolist() for group in tidied.merged_] == [[0, 6]]
    assert tidied.seeds_.shape[0] == 6
    assert np.mean(tidied.class_category_[topic] == tidied.labels_) > 0.97
    assert np.mean(corpus.extras["class_topic"][labels] == topic) < 0.9
    wrong = corpus.extras["mislabeled"]
    assert np.mean(wrong[tidied.moved_]) > 0.9
    assert np.isin(np.flatnonzero(wrong), tidied.moved_).mean() > 0.9


def test_schedule_of_the_book(tidied):
    assert tidied.passes_["n_words"].tolist() == [500, 350, 245, 200]
    assert tidied.n_iter_ == 4
    assert len(tidied.history_) == 5
    assert np.diff(tidied.seeds_.indptr).max() <= 200


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), words=st.integers(1, 30), final=st.integers(1, 30))
def test_seeds_shrink_and_never_multiply(seed, words, final):
    X, y = corpus_of(seed)
    model = TextCategories(n_words=words, n_words_final=final, min_documents=0).fit(X, y)
    n_seeds = [len(model.classes_), *model.passes_["n_categories"]]
    assert all(after <= before for before, after in itertools.pairwise(n_seeds))
    lost = model.passes_["n_merged"] + model.passes_["n_killed"]
    assert n_seeds[0] - lost.sum() == n_seeds[-1]
    assert np.diff(model.seeds_.indptr).max() <= min(words, max(final, 1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(np.sqrt(model.seeds_.multiply(model.seeds_).sum(axis=1)), 1.0)


def test_the_order_of_classes_changes_the_order_of_seeds_only(corpus, tidied):
    labels = corpus.extras["labels"]
    other = TextCategories().fit(corpus.data, labels.max() - labels)
    assert other.seeds_.shape == tidied.seeds_.shape
    np.testing.assert_array_equal(
        other.labels_[:, None] == other.labels_, tidied.labels_[:, None] == tidied.labels_
    )
    names = np.array([f"class {9 - code}" for code in labels])
    renamed = TextCategories().fit(corpus.data, names)
    np.testing.assert_array_equal(
        renamed.labels_[:, None] == renamed.labels_, tidied.labels_[:, None] == tidied.labels_
    )


def test_the_same_documents_under_two_classes_merge_in_the_first_pass():
    X, y = corpus_of(3, n=100)
    y = np.where(y < 0, 0, y)
    twice = np.vstack([X, X[y == 2]])
    labels = np.append(y, np.full(np.count_nonzero(y == 2), 7))
    model = TextCategories(min_documents=0, merge_threshold=0.999).fit(twice, labels)
    assert [group.tolist() for group in model.merged_] == [[2, 7]]
    assert model.passes_["n_merged"].tolist()[0] == 1
    assert model.passes_["n_categories"].tolist()[0] == 5


def test_small_classes_are_deleted_and_their_documents_go_elsewhere(corpus):
    labels = corpus.extras["labels"].copy()
    few = (corpus.target == 3) & (np.cumsum(corpus.target == 3) > 20)
    rest = np.flatnonzero(~few)
    X, labels = corpus.data[rest], labels[rest]
    model = TextCategories(min_documents=60).fit(X, labels)
    assert model.killed_.tolist() == [3]
    assert model.class_category_[3] == -1
    assert np.all(model.labels_ >= 0)
    related = model.class_category_[2]
    assert np.mean(model.labels_[corpus.target[rest] == 3] == related) > 0.8
    kept = TextCategories(min_documents=5).fit(X, labels)
    assert not len(kept.killed_)


def test_outliers_are_left_out_and_do_not_shape_the_seeds(corpus):
    rng = np.random.default_rng(0)
    words = np.flatnonzero(~corpus.extras["shared_words"])
    strange = np.zeros((20, corpus.n_features))
    strange[:, rng.choice(words, 150)] = rng.uniform(size=(20, 150)) < 0.5
    X = sparse.csr_array(sparse.vstack([corpus.data, sparse.csr_array(strange)]))
    labels = np.append(corpus.extras["labels"], np.full(20, -1))
    plain = TextCategories().fit(X, labels)
    strict = TextCategories(outlier_threshold=0.35).fit(X, labels)
    assert not len(plain.outliers_)
    assert np.isin(np.arange(1500, 1520), strict.outliers_).all()
    assert np.isin(np.arange(1500), strict.outliers_).mean() < 0.1
    np.testing.assert_array_equal(strict.predict(X), strict.labels_)
    only = np.flatnonzero(strange.any(axis=0))
    alone = TextCategories(outlier_threshold=0.35).fit(corpus.data, corpus.extras["labels"])
    weights = [model.seeds_[:, only].sum() for model in (plain, strict, alone)]
    assert weights[0] > 1.05 * weights[1]
    assert weights[1] == pytest.approx(weights[2], rel=0.01)


def test_documents_without_a_class_are_placed_and_shape_the_seeds(corpus, tidied):
    labels = corpus.extras["labels"].copy()
    hidden = np.arange(len(labels)) % 3 > 0
    model = TextCategories().fit(corpus.data, np.where(hidden, -1, labels))
    right = model.class_category_[corpus.target] == model.labels_
    assert right[hidden].mean() > 0.9
    assert not np.isin(np.flatnonzero(hidden), model.moved_).any()
    words = [None if gone else f"c{label}" for gone, label in zip(hidden, labels, strict=True)]
    same = TextCategories().fit(corpus.data, words)
    np.testing.assert_array_equal(same.labels_, model.labels_)
    alone = TextCategories().fit(corpus.data[~hidden], labels[~hidden])
    assert alone.seeds_.sum() != model.seeds_.sum()


def test_inverse_document_frequencies_are_weights_of_the_words():
    X, y = corpus_of(5)
    frequency = np.maximum((X > 0).sum(axis=0), 1)
    options = {"damping": "identity", "min_documents": 2, "variant": "published"}
    by_hand = TextCategories(**options).fit(X / frequency, y)
    model = TextCategories(use_idf=True, **options).fit(X, y)
    np.testing.assert_array_equal(model.labels_, by_hand.labels_)
    np.testing.assert_allclose(model.seeds_.toarray(), by_hand.seeds_.toarray())
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_damping_counts_repetitions_less():
    """One document that shouts a word does not give the category its name."""
    X = np.array([[1.0, 0, 0], [1.0, 0, 0], [1.0, 9.0, 0], [0, 1.0, 1.0], [0, 0, 1.0]])
    y = np.array([0, 0, 0, 1, 1])
    plain = TextCategories(damping="identity", min_documents=1).fit(X, y)
    damped = TextCategories(damping="binary", min_documents=1).fit(X, y)
    assert plain.seeds_[[0]].toarray()[0].argmax() == 1
    assert damped.seeds_[[0]].toarray()[0].argmax() == 0


def test_names_of_categories():
    X = np.repeat(np.eye(3), 4, axis=0)
    X = np.vstack([X, X[:4], X[:4], X[:4]])
    y = np.repeat(["a", "b", "c", "d", "e", "f"], 4)
    model = TextCategories(min_documents=1).fit(X, y)
    assert model.category_names_.tolist() == ["a + d + e + 1 more", "b", "c"]
    assert model.constituents_[0].tolist() == [4, 0, 0, 4, 4, 4]
    assert not len(model.moved_)
    assert not len(model.killed_)


def test_what_leaves_nothing_is_told():
    X, y = corpus_of(1)
    with pytest.raises(SidelightError, match=r"Every document is an outlier.*outlier_threshold=1"):
        TextCategories(outlier_threshold=1.0).fit(X, y)
    with pytest.raises(SidelightError, match=r"the largest of 5 has .*min_documents=100"):
        TextCategories(min_documents=100).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes"):
        stopped = TextCategories(shrink=1.0, max_iter=1, min_documents=1).fit(X, y)
    assert not stopped.converged_


def test_counts_that_are_written_twice_are_added():
    X, y = corpus_of(2)
    whole = sparse.csr_array(X)
    halves = sparse.csr_array(
        (
            np.repeat(whole.data / 2, 2),
            np.repeat(whole.indices, 2),
            whole.indptr * 2,
        ),
        whole.shape,
    )
    model = TextCategories(min_documents=2).fit(whole, y)
    again = TextCategories(min_documents=2).fit(halves, y)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    np.testing.assert_allclose(model.seeds_.toarray(), again.seeds_.toarray())


# --- what it is made of ---


def test_ctrl_c_keeps_the_passes_that_are_done(corpus, monkeypatch):
    from sidelight.cluster.categories import _passes

    real, calls = _passes.Passes.run, []

    def interrupted(self, seeds, n_words):
        calls.append(n_words)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, seeds, n_words)

    monkeypatch.setattr(_passes.Passes, "run", interrupted)
    with warnings.catch_warnings(), sidelight.progress(show=False, keep_best=True):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TextCategories().fit(corpus.data, corpus.extras["labels"])
    assert model.n_iter_ == 2
    assert not model.converged_
    np.testing.assert_array_equal(model.predict(corpus.data), model.labels_)
