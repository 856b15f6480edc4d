"""The corpus of misfiled documents has what its description says."""

from __future__ import annotations

import numpy as np
import pytest

from sidelight.datasets import make_category_corpus
from sidelight.exceptions import SidelightError


def test_labels_are_wrong_as_often_as_asked():
    corpus = make_category_corpus(
        4000, n_topics=7, n_related=3, n_duplicated=2, mislabeled=0.2, random_state=0
    )
    labels, wrong = corpus.extras["labels"], corpus.extras["mislabeled"]
    topic = corpus.extras["class_topic"][labels]
    np.testing.assert_array_equal(topic != corpus.target, wrong)
    assert wrong.mean() == pytest.approx(0.2, abs=0.02)
    grouped = corpus.target < 6
    assert np.all(topic[grouped] // 3 == corpus.target[grouped] // 3)
    assert len(np.unique(topic[(corpus.target == 6) & wrong])) > 2  # alone in its group
    twice = np.bincount(labels, minlength=9)
    assert twice[7] == pytest.approx(twice[0], rel=0.2)
    assert corpus.extras["class_names"][7:] == ("wine again", "beer again")


def test_words_belong_to_topics_groups_or_all():
    corpus = make_category_corpus(2000, n_topics=4, burstiness=0.0, random_state=1)
    names = np.array(corpus.feature_names)
    sums = np.array([corpus.data[corpus.target == t].sum(axis=0) for t in range(4)])
    for topic, name in enumerate(corpus.target_names):
        own = np.char.startswith(names, f"{name}_")
        assert sums[np.arange(4) != topic][:, own].sum() == 0
    kin = np.char.startswith(names, "kin0_")
    assert sums[2:, kin].sum() == 0
    shared = corpus.extras["shared_words"]
    assert np.all(np.char.startswith(names[shared], "word"))
    assert np.all(sums[:, shared].sum(axis=1) > 0)
    share = sums[:, ~shared].sum() / sums.sum()
    assert share == pytest.approx(0.5, abs=0.02)


def test_texts_are_the_counts():
    corpus = make_category_corpus(50, n_topics=3, with_texts=True, random_state=2)
    place = {word: j for j, word in enumerate(corpus.feature_names)}
    for row, text in enumerate(corpus.extras["texts"]):
        counts = np.zeros(corpus.n_features)
        np.add.at(counts, [place[word] for word in text.split()], 1)
        np.testing.assert_array_equal(corpus.data[[row]].toarray()[0], counts)


def test_burstiness_repeats_words():
    plain = make_category_corpus(500, burstiness=0.0, random_state=0)
    bursty = make_category_corpus(500, burstiness=0.6, random_state=0)
    assert bursty.data.nnz < 0.8 * plain.data.nnz


def test_bad_numbers():
    with pytest.raises(SidelightError, match="two topics"):
        make_category_corpus(10, n_topics=1)
    with pytest.raises(SidelightError, match="too few for 50 topics"):
        make_category_corpus(10, n_topics=50, n_words=100)
