"""Documents with two independent topics each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight.datasets import Dataset

SUBJECTS = ("aviation", "autos")
MODES = ("real", "simulator")


def make_two_factor_documents(
    n_samples: int = 400,
    *,
    n_words: int = 600,
    n_topic_words: int = 40,
    topic_share: tuple[float, float] = (0.08, 0.12),
    mean_length: float = 80.0,
    concentration: float = 0.3,
    random_state: Any = None,
) -> Dataset:
    """Word counts of documents that can be sorted by subject or by mode (book, E2.2).

    Stands in for the 20,000 articles of the source (aviation or autos, simulator or real). All
    documents share background frequencies drawn from a Dirichlet(0.3) over 600 words; 8 to 12 %
    of the words of a document come from the 40-word list of its subject and 8 to 12 % from that
    of its mode; its length is Poisson(80). The four lists are disjoint parts of the vocabulary.
    Without feedback a mixture finds one of the two factors; which one is an accident.

    Parameters
    ----------
    n_samples : int, default=400
        Number of documents, spread evenly over the four combinations.
    n_words : int, default=600
        Size of the vocabulary.
    n_topic_words : int, default=40
        Length of each of the four lists.
    topic_share : tuple of two floats, default=(0.08, 0.12)
        Range of the share of words from each of a document's two lists.
    mean_length : float, default=80.0
        Mean number of words in a document; no document is empty.
    concentration : float, default=0.3
        Parameter of the Dirichlet distribution of the background.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``data``: CSR array of counts; ``target``: the subject; ``extras["mode"]``: the other
        target; ``extras["mode_names"]``: its names.

    Examples
    --------
    >>> from experiments.recipes.documents import make_two_factor_documents
    >>> documents = make_two_factor_documents(100, random_state=0)
    >>> documents.data.shape, sorted(documents.extras)
    ((100, 600), ['mode', 'mode_names'])
    """
    rng = check_random_state(random_state)
    combination = rng.permutation(np.arange(n_samples) % 4)
    subject, mode = combination // 2, combination % 2

    background = rng.dirichlet(np.full(n_words, concentration))
    lists = rng.permutation(n_words)[: 4 * n_topic_words].reshape(4, n_topic_words)
    topics = np.zeros((4, n_words))
    np.put_along_axis(topics, lists, 1 / n_topic_words, axis=1)

    share = rng.uniform(*topic_share, size=(2, n_samples, 1))
    words = (
        (1 - share.sum(axis=0)) * background
        + share[0] * topics[subject]
        + share[1] * topics[2 + mode]
    )
    length = np.maximum(1, rng.poisson(mean_length, n_samples))
    counts = np.array([rng.multinomial(n, p) for n, p in zip(length, words, strict=True)])
    return Dataset(
        data=sparse.csr_array(counts),
        target=subject.astype(np.int64),
        feature_names=_word_names(lists, n_words),
        target_names=SUBJECTS,
        description="Documents by subject and mode (after Constrained Clustering, E2.2)",
        extras={"mode": mode.astype(np.int64), "mode_names": MODES},
    )


def _word_names(lists: np.ndarray, n_words: int) -> tuple[str, ...]:
    names = [f"word{number}" for number in range(n_words)]
    for topic, members in zip(SUBJECTS + MODES, lists, strict=True):
        for number, word in enumerate(members):
            names[word] = f"{topic}{number}"
    return tuple(names)
