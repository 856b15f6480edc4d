"""Documents of one topic each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight._typing import Array
from sidelight.datasets import Dataset
from sidelight.exceptions import SidelightError


def make_topics(
    n_samples: int = 1000,
    *,
    n_topics: int = 2,
    n_words: int = 2000,
    n_topic_words: int = 150,
    topic_share: float = 0.2,
    mean_length: float = 100.0,
    random_state: Any = None,
) -> Dataset:
    """Word counts of documents of one topic each, in the manner of the newsgroups.

    All documents share background frequencies by Zipf's law. A share of the words of a document
    comes from the words of its topic, whose frequencies also fall by Zipf's law.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents, spread evenly over the topics.
    n_topics : int, default=2
        Number of topics.
    n_words : int, default=2000
        Size of the vocabulary.
    n_topic_words : int, default=150
        Number of words of a topic, disjoint from those of the others.
    topic_share : float, default=0.2
        Expected share of the words of a document that are of its topic.
    mean_length : float, default=100.0
        Mean number of words in a document; no document is empty.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``data``: CSR array of counts; ``target``: the topic of each document.

    Examples
    --------
    >>> from experiments.recipes.topics import make_topics
    >>> documents = make_topics(100, random_state=0)
    >>> documents.data.shape, documents.target_names
    ((100, 2000), ('topic 1', 'topic 2'))
    """
    rng = check_random_state(random_state)
    if n_topics * n_topic_words > n_words:
        raise SidelightError(
            f"{n_topics} topics of {n_topic_words} words each need at least "
            f"{n_topics * n_topic_words} words, n_words is {n_words}."
        )
    topic = rng.permutation(np.arange(n_samples) % n_topics)
    background = rng.permutation(_zipf(n_words))
    own = rng.permutation(n_words)[: n_topics * n_topic_words].reshape(n_topics, n_topic_words)
    length = np.maximum(1, rng.poisson(mean_length, n_samples))
    n_own = rng.binomial(length, topic_share)
    # All words of all documents at once, each with the document that it is in.
    document = np.repeat(np.arange(n_samples), length - n_own)
    word = rng.choice(n_words, size=len(document), p=background)
    of_topic = np.repeat(np.arange(n_samples), n_own)
    place = rng.choice(n_topic_words, size=len(of_topic), p=_zipf(n_topic_words))
    rows = np.concatenate([document, of_topic])
    columns = np.concatenate([word, own[topic[of_topic], place]])
    counts = sparse.coo_array(
        (np.ones(len(rows)), (rows, columns)), shape=(n_samples, n_words)
    ).tocsr()
    counts.sum_duplicates()
    return Dataset(
        data=counts,
        target=topic.astype(np.int64),
        feature_names=tuple(f"word{number}" for number in range(n_words)),
        target_names=tuple(f"topic {number + 1}" for number in range(n_topics)),
        description="Documents of one topic each",
    )


def _zipf(n: int) -> Array:
    """Frequencies that fall as one over the rank."""
    weights = 1.0 / np.arange(1, n + 1)
    return weights / weights.sum()
