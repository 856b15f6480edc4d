"""Documents move where a held-out check supports it: right classes stay, misfiled documents go."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from sidelight.cluster import TextCategories
from sidelight.cluster.categories._held_out import SMOOTHING, check_held_out
from sidelight.datasets import make_category_corpus
from sidelight.feature_selection import GiniScore

MODULES = ("numpy", "numpy.ma", "scipy.stats", "scipy.signal", "scipy.special", "scipy.sparse")


def misfiled(truth, share, seed):
    """Classes of which a share is another one, at random."""
    rng = np.random.default_rng(seed)
    n_classes = truth.max() + 1
    others = (truth + rng.integers(1, n_classes, len(truth))) % n_classes
    return np.where(rng.uniform(size=len(truth)) < share, others, truth)


def right_share(model, truth):
    placed = model.labels_ >= 0
    return np.mean(placed & (model.class_category_[truth] == model.labels_))


@pytest.fixture(scope="module")
def docstrings():
    """Counts of the words of docstrings, and the modules that they are from."""
    texts: dict[str, int] = {}
    for code, name in enumerate(MODULES):
        module = importlib.import_module(name)
        for key, one in sorted(vars(module).items()):
            if key.startswith("_") or inspect.ismodule(one):
                continue
            text = inspect.getdoc(one) or ""
            if len(text) >= 150:
                texts.setdefault(text, code)
    truth = np.unique(list(texts.values()), return_inverse=True)[1]
    words = CountVectorizer(min_df=5, max_df=0.5, dtype=np.float64)
    return sparse.csr_array(words.fit_transform(list(texts))), truth


def test_real_documents_in_right_classes_stay(docstrings):
    X, truth = docstrings
    model = TextCategories().fit(X, truth)
    published = TextCategories(variant="published").fit(X, truth)
    assert len(published.moved_) > 0.1 * len(truth)
    assert len(model.moved_) <= 0.01 * len(truth)
    assert model.wrong_share_ < 0.02


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_misfiled_real_documents_go_where_they_belong(docstrings, share):
    X, truth = docstrings
    labels = misfiled(truth, share, seed=1)
    words = GiniScore(0.9).fit_transform(X, labels)
    model = TextCategories().fit(words, labels)
    given, found = np.mean(labels == truth), right_share(model, truth)
    naive_bayes = np.mean(model.held_out_ == model.class_category_[truth])
    published = right_share(TextCategories(variant="published").fit(words, labels), truth)
    assert found > max(given, naive_bayes, published)
    assert model.wrong_share_ == pytest.approx(1 - given, abs=0.04)
    right = model.class_category_[truth[model.moved_]] == model.labels_[model.moved_]
    assert right.mean() > 0.7


def test_moves_are_ordered_by_a_support_that_holds(docstrings):
    X, truth = docstrings
    labels = misfiled(truth, 0.2, seed=2)
    model = TextCategories().fit(X, labels)
    assert np.all(np.diff(model.move_support_) <= 0)
    assert np.all((model.move_support_ >= 0.5) & (model.move_support_ <= 1))
    assert np.all((model.move_margins_ > 0) & (model.move_margins_ < 1))
    np.testing.assert_array_equal(model.labels_[model.moved_], model.held_out_[model.moved_])
    was_wrong = labels[model.moved_] != truth[model.moved_]
    assert was_wrong.mean() == pytest.approx(model.move_support_.mean(), abs=0.08)
    half = len(was_wrong) // 2
    assert was_wrong[:half].mean() > was_wrong[half:].mean()


def test_margins_of_documents_that_were_misfiled_at_random_are_uniform():
    corpus = make_category_corpus(3000, n_topics=6, mislabeled=0.0, random_state=0)
    labels = misfiled(corpus.target, 0.2, seed=0)
    model = TextCategories().fit(corpus.data, labels)
    assert model.wrong_share_ == pytest.approx(np.mean(labels != corpus.target), abs=0.01)
    assert right_share(model, corpus.target) > 0.99
    assert stats.kstest(model.move_margins_, "uniform").statistic < 0.1


def test_nothing_moves_between_classes_that_say_the_same():
    corpus = make_category_corpus(400, n_topics=4, n_duplicated=1, mislabeled=0.0, random_state=0)
    labels = corpus.extras["labels"]
    model = TextCategories(merge_threshold=2.0).fit(corpus.data, labels)
    assert [pair.tolist() for pair in model.indistinct_] == [[0, 4]]
    assert not len(model.moved_)
    np.testing.assert_array_equal(model.class_category_[labels], model.labels_)


def test_the_published_moves_say_which_of_them_are_supported(docstrings):
    X, truth = docstrings
    model = TextCategories(variant="published").fit(X, misfiled(truth, 0.2, seed=3))
    known = np.isfinite(model.move_support_)
    assert 0 < known.sum() < len(known)
    assert np.all(np.diff(known.astype(int)) <= 0)  # those without support are last
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_documents_of_the_fit_are_known_again_and_the_left_out_stay_out():
    corpus = make_category_corpus(600, n_topics=4, random_state=1)
    X, labels = corpus.data, corpus.extras["labels"]
    for variant in ("default", "published"):
        model = TextCategories(outlier_threshold=0.45, variant=variant).fit(X, labels)
        assert len(model.outliers_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.predict(X.astype(np.float32)), model.labels_)
        for n in (1, 3):
            ranking = model.rank(X, n)
            np.testing.assert_array_equal(ranking.categories[:, 0], model.labels_)
        assert np.all(ranking.cosines[model.outliers_] == 0)
        # The same words in other numbers are another document.
        ranking = model.rank(4.0 * X, 3)
        assert "filed" not in ranking.reasons
        np.testing.assert_array_equal(ranking.nearest, model.predict(4.0 * X))


def test_an_outlier_of_an_early_pass_stays_one():
    """Seeds that lost words come nearer to a document; it is out for good all the same."""
    corpus = make_category_corpus(600, n_topics=4, mean_length=20.0, random_state=1)
    options = {"outlier_threshold": 0.42, "variant": "published"}
    model = TextCategories(**options).fit(corpus.data, corpus.extras["labels"])
    near = model.cosines_[model.outliers_] >= 0.42
    assert near.any()
    assert np.all(model.predict(corpus.data)[model.outliers_] == -1)


def test_a_document_of_the_fit_stands_first_where_it_is_filed(docstrings):
    X, truth = docstrings
    model = TextCategories().fit(X, truth)
    ranking = model.rank(X, 3)
    np.testing.assert_array_equal(ranking.categories[:, 0], model.labels_)
    by_file = np.flatnonzero(ranking.reasons[:, 0] == "filed")
    assert len(by_file)
    assert np.all(ranking.nearest[by_file] != -1)
    words = [f"w{j}" for j in range(X.shape[1])]
    assert "filed there" in ranking.why(by_file[0], 0, model.category_names_, words)
    assert all(len(set(row[row >= 0])) == np.sum(row >= 0) for row in ranking.categories)


# --- what it is made of ---


def test_naive_bayes_has_not_seen_the_document():
    """Against scikit-learn's, fitted again without every document."""
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, 40)
    X = rng.poisson(rng.gamma(0.5, 2.0, (3, 15))[codes]).astype(np.float64)
    X[7] = 0.0
    check = check_held_out(sparse.csr_array(X), codes, 3)
    for i in range(40):
        rest = (np.arange(40) != i) & (codes >= 0)
        prior = np.bincount(codes[rest], minlength=3) + 1.0
        model = MultinomialNB(alpha=SMOOTHING, class_prior=prior / prior.sum())
        model.fit(X[rest], codes[rest])
        assert check.classes[i] == (-1 if i == 7 else model.predict(X[[i]])[0])
    judged = np.isfinite(check.margins)
    assert np.all(codes[judged] != check.classes[judged])
    np.testing.assert_array_equal(check.tidied[codes < 0], -1)


def test_the_order_of_documents_and_classes_does_not_matter(docstrings):
    X, truth = docstrings
    labels = misfiled(truth, 0.2, seed=4)
    order = np.random.default_rng(0).permutation(len(truth))
    one = check_held_out(X, labels, labels.max() + 1)
    other = check_held_out(X[order], labels.max() - labels[order], labels.max() + 1)
    np.testing.assert_allclose(other.support, one.support[order], atol=1e-9)
    np.testing.assert_array_equal(labels.max() - other.tidied, one.tidied[order])
