"""Labeled documents whose classes are roughly right."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight._typing import IntArray
from sidelight.datasets._dataset import Dataset
from sidelight.exceptions import SidelightError

SUBJECTS = (
    *("wine", "beer", "sailing", "rowing", "opera", "jazz", "physics", "chemistry", "trains"),
    *("trams", "roses", "tulips", "chess", "bridge", "tax", "banking", "maps", "globes", "bees"),
    "ants",
)
#: Parts of the vocabulary: words of all documents, and words of a group of related topics.
SHARED_PART, GROUP_PART = 0.2, 0.2


def make_category_corpus(
    n_samples: int = 1000,
    *,
    n_topics: int = 10,
    n_words: int = 2000,
    n_related: int = 2,
    n_duplicated: int = 0,
    mislabeled: float = 0.15,
    topic_share: float = 0.35,
    group_share: float = 0.15,
    mean_length: float = 60.0,
    burstiness: float = 0.2,
    with_texts: bool = False,
    random_state: Any = None,
) -> Dataset:
    """Documents about topics, filed under classes of which some are wrong and some double.

    Stands in for the web pages of a taxonomy (Book 2009, chapter 7). Every topic has words of its
    own, shares others with the topics of its group, and takes the rest from words of all
    documents; frequencies fall as 1/rank within each list. A part of the documents is filed under
    the class of a related topic, and documents of duplicated topics are filed under one of two
    classes that mean the same.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents, spread evenly over the topics.
    n_topics : int, default=10
        Number of topics.
    n_words : int, default=2000
        Size of the vocabulary.
    n_related : int, default=2
        Number of topics of a group.
    n_duplicated : int, default=0
        Number of topics that have two classes.
    mislabeled : float, default=0.15
        Share of the documents that are filed under the class of a related topic, or of any other
        where a topic is alone in its group.
    topic_share, group_share : float, default=0.35 and 0.15
        Mean share of the words of a document that come from the lists of its topic and its group.
    mean_length : float, default=60.0
        Mean number of words in a document; no document is empty.
    burstiness : float, default=0.2
        Share of the words of a document that repeat an earlier one.
    with_texts : bool, default=False
        Whether to write the documents as texts, too.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``data``: CSR array of counts; ``target``: the true topic. ``extras``: ``labels``, the class
        that each document is filed under; ``class_names``; ``class_topic``, the topic of every
        class; ``mislabeled``, whether a document is filed under another topic; ``shared_words``,
        whether a word is one of all documents; ``texts``, a list of str, with ``with_texts``.

    Examples
    --------
    >>> from sidelight.datasets import make_category_corpus
    >>> corpus = make_category_corpus(200, n_topics=4, n_duplicated=1, random_state=0)
    >>> corpus.data.shape, corpus.extras["class_names"]
    ((200, 2000), ('wine', 'beer', 'sailing', 'rowing', 'wine again'))
    """
    if not 1 <= n_duplicated + 1 <= n_topics + 1 or n_topics < 2:
        raise SidelightError(
            "There have to be at least two topics, and not more duplicated ones than topics; got "
            f"n_topics={n_topics} and n_duplicated={n_duplicated}."
        )
    n_groups = -(-n_topics // n_related)
    if n_words < 10 * (n_topics + n_groups):
        raise SidelightError(
            f"n_words={n_words} is too few for {n_topics} topics: give at least "
            f"{10 * (n_topics + n_groups)}."
        )
    rng = check_random_state(random_state)
    # Documents: a topic, a length, words from the three lists, and repetitions.
    topic = rng.permutation(np.arange(n_samples) % n_topics)
    starts, sizes = _lists(n_topics, n_groups, n_words)
    lengths = np.maximum(1, rng.poisson(mean_length, n_samples))
    words = _draw(rng, topic, lengths, n_related, starts, sizes, topic_share, group_share)
    words = _repeat(rng, words, lengths, burstiness)
    # A row of counts for every document.
    ends = np.append(0, np.cumsum(lengths))
    ones = np.ones(len(words))
    counts = sparse.csr_array((ones, words, ends), (n_samples, n_words), copy=True)
    counts.sum_duplicates()
    # Classes: some documents under a related topic, duplicated topics under one of two classes.
    wrong, filed = _misfile(rng, topic, n_topics, n_related, mislabeled)
    labels = np.where((filed < n_duplicated) & (rng.uniform(size=n_samples) < 0.5), 1, 0)
    labels = np.where(labels == 1, n_topics + filed, filed)
    topics = _topic_names(n_topics)
    names = _word_names(topics, n_groups, sizes)
    extras: dict[str, Any] = {
        "labels": labels.astype(np.int64),
        "class_names": (*topics, *(f"{name} again" for name in topics[:n_duplicated])),
        "class_topic": np.append(np.arange(n_topics), np.arange(n_duplicated)),
        "mislabeled": wrong,
        "shared_words": np.arange(n_words) < sizes[0],
    }
    if with_texts:
        spelled = np.array(names, dtype=object)[words]
        extras["texts"] = [" ".join(spelled[a:b]) for a, b in itertools.pairwise(ends)]
    return Dataset(
        data=counts,
        target=topic.astype(np.int64),
        feature_names=names,
        target_names=topics,
        description="Documents under classes that are roughly right (after Book 2009, chapter 7)",
        extras=extras,
    )


def _lists(n_topics: int, n_groups: int, n_words: int) -> tuple[IntArray, IntArray]:
    """Start and size of the lists of words: of all documents, of the groups, of the topics."""
    n_group = max(int(GROUP_PART * n_words) // n_groups, 1)
    n_topic = int((1 - SHARED_PART - GROUP_PART) * n_words) // n_topics
    rest = n_words - n_groups * n_group - n_topics * n_topic
    sizes = np.array([rest, *[n_group] * n_groups, *[n_topic] * n_topics])
    return np.cumsum(sizes) - sizes, sizes


def _draw(
    rng: np.random.RandomState,
    topic: IntArray,
    lengths: IntArray,
    n_related: int,
    starts: IntArray,
    sizes: IntArray,
    topic_share: float,
    group_share: float,
) -> IntArray:
    """Words of all documents, one after the other."""
    n_groups = len(sizes) - 1 - (topic.max() + 1)
    # Documents differ in how much they keep to their topic.
    keen = rng.uniform(0.5, 1.5, len(topic)) * topic_share
    of_topic, of_group = np.repeat(keen, lengths), np.repeat(topic // n_related, lengths)
    draw = rng.uniform(size=lengths.sum())
    chosen = np.where(
        draw < of_topic,
        1 + n_groups + np.repeat(topic, lengths),
        np.where(draw < of_topic + group_share, 1 + of_group, 0),
    )
    return starts[chosen] + _ranks(rng, sizes[chosen])


def _ranks(rng: np.random.RandomState, sizes: IntArray) -> IntArray:
    """Ranks below ``sizes``, with frequencies that fall about as 1/rank."""
    draw = (sizes + 1.0) ** rng.uniform(size=len(sizes)) - 1.0
    return np.minimum(draw.astype(np.int64), sizes - 1)


def _repeat(
    rng: np.random.RandomState, words: IntArray, lengths: IntArray, burstiness: float
) -> IntArray:
    """Let some words repeat one that stands before them in the same document."""
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = np.arange(len(words)) - first
    earlier = first + (rng.uniform(size=len(words)) * place).astype(np.int64)
    again = rng.uniform(size=len(words)) < burstiness
    return np.where(again, words[earlier], words)


def _misfile(
    rng: np.random.RandomState, topic: IntArray, n_topics: int, n_related: int, share: float
) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """Which documents are filed under another topic, and the topic that each is filed under."""
    first = topic // n_related * n_related
    n_near = np.minimum(n_related, n_topics - first)
    alone = n_near == 1
    first, n_near = np.where(alone, 0, first), np.where(alone, n_topics, n_near)
    step = 1 + (rng.uniform(size=len(topic)) * (n_near - 1)).astype(np.int64)
    other = first + (topic - first + step) % n_near
    wrong = rng.uniform(size=len(topic)) < share
    return wrong, np.where(wrong, other, topic)


def _topic_names(n_topics: int) -> tuple[str, ...]:
    rounds = [divmod(number, len(SUBJECTS)) for number in range(n_topics)]
    return tuple(SUBJECTS[k] if not again else f"{SUBJECTS[k]}{again}" for again, k in rounds)


def _word_names(topics: tuple[str, ...], n_groups: int, sizes: IntArray) -> tuple[str, ...]:
    """Names of the words: ``wine_7`` of a topic, ``kin3_7`` of a group, ``word7`` of all."""
    lists = ["word", *(f"kin{group}_" for group in range(n_groups)), *(f"{one}_" for one in topics)]
    return tuple(
        f"{name}{number}" for name, size in zip(lists, sizes, strict=True) for number in range(size)
    )
