"""The seeds inside the page, by which its script ranks the categories of a new text."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array
from sidelight.report.inner import for_script

#: Words of seeds that a page holds; of more, only the heaviest words of every seed are there.
MAX_ENTRIES = 200_000
#: Words that a page knows; of more, only those of seeds.
MAX_WORDS = 100_000


def seeds_in_page(estimator: Any, words: Array) -> tuple[Markup, int | None]:
    """Seeds and settings as JSON, and the number of words that seeds were cut to, if they were.

    The words of a seed ascend, as differences: ``[word, step, step ...]``; weights are thousandths
    of thousandths.
    """
    seeds = estimator.seeds_
    most = None
    if seeds.nnz > MAX_ENTRIES:
        most = max(MAX_ENTRIES // seeds.shape[0], 1)
    rows = [_heaviest(seeds, category, most) for category in range(seeds.shape[0])]
    used = np.arange(seeds.shape[1])
    if len(used) > MAX_WORDS:
        used = np.unique(np.concatenate([indices for indices, _ in rows]))
    place = np.zeros(seeds.shape[1], dtype=np.int64)
    place[used] = np.arange(len(used))
    threshold = float(estimator.domination_threshold)
    content = {
        "names": estimator.category_names_.tolist(),
        "words": [str(word) for word in words[used].tolist()],
        "seeds": [np.diff(place[indices], prepend=0).tolist() for indices, _ in rows],
        "weights": [np.round(1e6 * weights).astype(int).tolist() for _, weights in rows],
        "damping": estimator.damping if estimator.damp_documents else "identity",
        "tau": None if np.isinf(threshold) else threshold,
        "least": float(estimator.outlier_threshold),
    }
    if estimator.use_idf:
        content["idf"] = estimator.idf_[used].tolist()
    return Markup(for_script(content)), most


def _heaviest(seeds: Any, category: int, most: int | None) -> tuple[Array, Array]:
    """The ``most`` heaviest words of a seed in their own order, and their weights."""
    indices, weights = heaviest(seeds, category, most)
    order = np.argsort(indices)
    return indices[order], weights[order]


def heaviest(rows: Any, row: int, most: int | None) -> tuple[Array, Array]:
    """Positions and values of the ``most`` largest entries of a row, the largest first."""
    entries = slice(rows.indptr[row], rows.indptr[row + 1])
    indices, values = rows.indices[entries], rows.data[entries].astype(np.float64)
    order = np.argsort(-values, kind="stable")[:most]
    return indices[order], values[order]
