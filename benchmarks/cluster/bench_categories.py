"""Categories of documents beside the same passes by sparse products, and a nearest centroid.

- The passes of TClus written with SciPy and scikit-learn alone: unit rows times the transposed
  seeds in blocks of documents, the largest of every row, sums by label, and the heaviest words of
  every seed. Labels are compared with ours. Nothing is merged or deleted on either side.
- scikit-learn's ``NearestCentroid`` fitted to the same classes, and its classes of the same
  documents: one pass, no categories.
- Ranked categories and the Gini scores of all words, for which there is no peer.
"""

from __future__ import annotations

import numpy as np
from benchmarks.harness import Row, clock
from scipy import sparse
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize

from sidelight.cluster import TextCategories
from sidelight.datasets import make_category_corpus
from sidelight.feature_selection import GiniScore

#: Number of words of the seeds in every pass.
WORDS = (500, 350, 245, 200)
#: Documents whose cosines with all seeds are held at a time by the other side.
BLOCK = 2000
LIMIT_SECONDS = 120.0


def run(quick: bool) -> list[Row]:
    n, n_words, n_classes = (4000, 5000, 50) if quick else (100_000, 50_000, 500)
    corpus = make_category_corpus(
        n,
        n_topics=n_classes - n_classes // 10,
        n_duplicated=n_classes // 10,
        n_words=n_words,
        mean_length=100,
        random_state=0,
    )
    X, y = corpus.data, corpus.extras["labels"]
    size = f"{n:,} documents, {n_words:,} words, {n_classes} classes"
    TextCategories(min_documents=0).fit(X[:500], y[:500])  # compiles
    return [_passes(X, y, size), _centroid(X, y, size), *_alone(X, y, size)]


def _passes(X: sparse.csr_array, y: np.ndarray, size: str) -> Row:
    model = TextCategories(merge_threshold=2.0, min_documents=0)
    seconds = clock(lambda: model.fit(X, y))
    labels: list[np.ndarray] = []
    theirs = clock(lambda: labels.append(naive_passes(X, y)))
    return {
        "case": f"4 passes, {size}",
        "peer": "SciPy products",
        "ours": seconds,
        "theirs": theirs,
        "ratio": seconds / theirs,
        "limit": 0.5,
        "same labels": float(np.mean(labels[0] == model.labels_)),
    }


def naive_passes(X: sparse.csr_array, y: np.ndarray) -> np.ndarray:
    """Labels by the same passes, without compiled loops."""
    counts = sparse.csr_array(X)
    damped = counts.sqrt()
    seeds = _sums(damped, y)
    rows = normalize(damped)
    for words in WORDS:
        seeds = _heaviest(_sums(damped, _nearest(rows, seeds)), words)
    return _nearest(rows, seeds)


def _sums(damped: sparse.csr_array, labels: np.ndarray) -> sparse.csr_array:
    n = len(labels)
    members = sparse.csr_array((np.ones(n), (labels, np.arange(n))), (labels.max() + 1, n))
    return sparse.csr_array(members @ damped)


def _nearest(rows: sparse.csr_array, seeds: sparse.csr_array) -> np.ndarray:
    directions = sparse.csr_array(normalize(seeds)).T.tocsr()
    found = [
        np.asarray((rows[start : start + BLOCK] @ directions).argmax(axis=1)).ravel()
        for start in range(0, rows.shape[0], BLOCK)
    ]
    return np.concatenate(found)


def _heaviest(seeds: sparse.csr_array, n_words: int) -> sparse.csr_array:
    kept = seeds.tolil()
    for h in range(kept.shape[0]):
        values = np.asarray(kept.data[h])
        order = np.sort(np.argsort(-values, kind="stable")[:n_words])
        kept.data[h] = values[order].tolist()
        kept.rows[h] = np.asarray(kept.rows[h])[order].tolist()
    return sparse.csr_array(kept)


def _centroid(X: sparse.csr_array, y: np.ndarray, size: str) -> Row:
    few = slice(0, min(X.shape[0], 10_000))  # its distances to 500 dense centroids take minutes
    rows, classes = sparse.csr_matrix(X[few]), y[few]
    model, peer = TextCategories(min_documents=0), NearestCentroid()
    seconds = clock(lambda: model.fit(rows, classes))
    theirs = clock(lambda: peer.fit(rows, classes).predict(rows))
    return {
        "case": f"the first {rows.shape[0]:,} documents of {size}",
        "peer": "NearestCentroid",
        "ours": seconds,
        "theirs": theirs,
        "ratio": seconds / theirs,
        "limit": 1.0,
    }


def _alone(X: sparse.csr_array, y: np.ndarray, size: str) -> list[Row]:
    model = TextCategories()
    seconds = {
        "fit": clock(lambda: model.fit(X, y)),
        "three ranked categories": clock(lambda: model.rank(X)),
        "Gini scores of the words": clock(lambda: GiniScore(0.9, min_df=7).fit(X, y)),
    }
    return [
        {"case": f"{what}, {size}", "seconds": taken, "largest wanted": LIMIT_SECONDS}
        for what, taken in seconds.items()
    ]
