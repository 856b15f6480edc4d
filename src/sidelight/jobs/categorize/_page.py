"""The page of categories: what they are made of, what moved, and a ranking of new texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight._words import SCORES, counted, listed
from sidelight.jobs.categorize._embedded import seeds_in_page
from sidelight.pictures.categories._flows import flows_of
from sidelight.report.page import render_page, row_names, size_figure
from sidelight.report.sections import Section, status
from sidelight.report.templates import resource

#: Words of a category, documents that moved, outliers, and cells of the table of flows.
TOP_WORDS, MAX_MOVED, MAX_OUTLIERS, MAX_FLOWS = 12, 1000, 200, 24
#: Classes of a category that are listed, and words that tell why a document moved.
MAX_CLASSES, TELLING = 12, 4
#: Most letters of what a document says.
SNIPPET = 220


def render_categories(
    *,
    estimator: Any,
    X: Any,
    words: Array,
    class_codes: IntArray,
    texts: Sequence[str],
    ids: Any = None,
    similar: Sequence[tuple[str, str, float]] = (),
    scores: Mapping[str, Mapping[str, float]] | None = None,
    remarks: Sequence[str] = (),
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of categories as HTML: one page that needs no other file.

    Parameters
    ----------
    estimator : TextCategories
        Fitted.
    X : csr_matrix of shape (n_samples, n_words)
        Counts that it was fitted to.
    words : ndarray of str, shape (n_words,)
        The words.
    class_codes : ndarray of shape (n_samples,)
        Given class of every document, -1 where it has none.
    texts : sequence of str
        The documents.
    ids : ndarray of shape (n_samples,), default=None
        Names of the documents.
    similar : sequence of (str, str, float)
        Pairs of categories with a large cosine.
    scores : mapping, default=None
        Agreement with true topics, by what was compared with them.
    remarks : sequence of str
        Sentences about the documents.
    title, settings, command, seconds
        As for :func:`sidelight.report.render_report`.
    """
    n, n_classes = len(estimator.labels_), len(estimator.classes_)
    n_categories, n_moved = len(estimator.category_names_), len(estimator.moved_)
    embedded, n_cut = seeds_in_page(estimator, words)
    documents = _Documents(estimator, X, words, class_codes, texts, ids)
    cards = {
        "sentence": (
            f"{counted(n, 'document')} of {counted(n_classes, 'class')} in "
            f"{counted(n_categories, 'category', 'categories')}; {n_moved:,} moved to another "
            f"category than that of their class, {counted(len(estimator.outliers_), 'outlier')}."
        ),
        "status": status(None, f"{n_moved / n:.1%} of the documents moved"),
        "facts_of_its_own": [
            ("Classes", f"{n_classes:,}"),
            ("Categories", f"{n_categories:,}"),
            ("Words", f"{len(words):,}"),
        ],
        "n_colors": 1,
        "categories": _categories(estimator, words),
        "merged": [[str(name) for name in group.tolist()] for group in estimator.merged_],
        "killed": [str(name) for name in estimator.killed_.tolist()],
        "similar": [(one, other, f"{cosine:.3f}") for one, other, cosine in similar],
        "moved": documents.moved(),
        "n_moved": n_moved,
        "outliers": documents.outliers(),
        "n_outliers": len(estimator.outliers_),
        "flows": _flow_table(estimator),
        "passes": _passes(estimator),
        "sizes": size_figure(estimator.labels_, "categories"),
        "scores": _scores(scores or {}),
        "remarks": list(remarks),
        "embedded": embedded,
        "n_cut": n_cut,
        "category_script": Markup(resource("page.js", __package__)),
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        package=__package__,
        estimator=estimator,
        n_rows=n,
        noun="Documents",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
    )


def _categories(estimator: Any, words: Array) -> list[Section]:
    """Every category with its heaviest words and the classes of its documents, largest first."""
    seeds, sizes = estimator.seeds_, estimator.cluster_sizes_
    names = [str(name) for name in estimator.classes_.tolist()]
    found = []
    for category in np.argsort(-sizes, kind="stable").tolist():
        entries = slice(seeds.indptr[category], seeds.indptr[category + 1])
        weights = seeds.data[entries]
        order = np.argsort(-weights, kind="stable")[:TOP_WORDS]
        heaviest = max(float(weights.max(initial=0.0)), 1e-300)
        counts = estimator.constituents_[category]
        classes = [c for c in np.argsort(-counts, kind="stable").tolist() if counts[c]]
        own = estimator.class_category_ == category
        found.append(
            {
                "name": str(estimator.category_names_[category]),
                "size": int(sizes[category]),
                "words": [
                    {
                        "word": str(words[seeds.indices[entries][place]]),
                        "share": round(float(weights[place]) / heaviest, 3),
                        "weight": f"{weights[place]:.3f}",
                    }
                    for place in order.tolist()
                ],
                "classes": [
                    {"name": names[c], "n": int(counts[c]), "own": bool(own[c])}
                    for c in classes[:MAX_CLASSES]
                ],
                "n_more": len(classes) - len(classes[:MAX_CLASSES]),
                "n_without": int(sizes[category] - counts.sum()),
            }
        )
    return found


class _Documents:
    """Documents as the tables of the page show them."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        words: Array,
        class_codes: IntArray,
        texts: Sequence[str],
        ids: Any,
    ) -> None:
        self._estimator, self._X, self._words = estimator, X, words
        self._codes, self._texts, self._ids = class_codes, texts, ids

    def moved(self) -> list[Section]:
        """Documents that moved, those that gained most by it first."""
        estimator, rows = self._estimator, self._estimator.moved_
        labels = estimator.labels_[rows]
        before = estimator.class_category_[self._codes[rows]]
        documents = estimator.compared_counts(self._X[rows])
        documents = sparse.diags_array(1 / _lengths(documents)) @ documents
        seeds = sparse.vstack([estimator.seeds_, sparse.csr_array((1, estimator.seeds_.shape[1]))])
        seeds = sparse.csr_array(seeds)
        gain = sparse.csr_array(documents.multiply(seeds[labels] - seeds[before]))
        old = np.asarray(documents.multiply(seeds[before]).sum(axis=1)).reshape(-1)
        new = estimator.cosines_[rows]
        order = np.argsort(old - new, kind="stable")[:MAX_MOVED]
        names = row_names(self._ids, rows[order])
        return [
            {
                "id": name,
                "class": str(estimator.classes_[self._codes[rows[k]]]),
                "category": str(estimator.category_names_[labels[k]]),
                "text": self._snippet(int(rows[k])),
                "why": listed(self._telling(gain, int(k))),
                "new": f"{new[k]:.3f}",
                "old": f"{old[k]:.3f}" if before[k] >= 0 else "deleted",
            }
            for name, k in zip(names, order.tolist(), strict=True)
        ]

    def outliers(self) -> list[Section]:
        """Documents without a category."""
        rows = self._estimator.outliers_[:MAX_OUTLIERS]
        cosines = self._estimator.cosines_
        return [
            {
                "id": name,
                "text": self._snippet(row),
                "why": "no word that counts" if cosines[row] == 0 else f"{cosines[row]:.3f}",
            }
            for name, row in zip(row_names(self._ids, rows), rows.tolist(), strict=True)
        ]

    def _telling(self, gain: sparse.csr_array, row: int) -> list[str]:
        entries = slice(gain.indptr[row], gain.indptr[row + 1])
        values, indices = gain.data[entries], gain.indices[entries]
        order = np.argsort(-values, kind="stable")[:TELLING]
        return [str(self._words[indices[place]]) for place in order if values[place] > 0]

    def _snippet(self, row: int) -> str:
        text = " ".join(self._texts[row][: 4 * SNIPPET].split())
        return text if len(text) <= SNIPPET else f"{text[: SNIPPET - 1]}…"


def _lengths(documents: sparse.csr_array) -> Array:
    squares = np.asarray(documents.multiply(documents).sum(axis=1), dtype=np.float64).reshape(-1)
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def _flow_table(estimator: Any) -> Section:
    """Documents of classes in categories, as a table whose cells are shaded by the share."""
    flows = flows_of(estimator, MAX_FLOWS)
    rows = [
        {
            "name": name,
            "cells": [
                {"n": int(n), "share": round(float(share), 3)}
                for n, share in zip(counts, shares, strict=True)
            ],
        }
        for name, counts, shares in zip(flows.classes, flows.counts, flows.shares, strict=True)
    ]
    return {"rows": rows, "categories": flows.categories, "note": flows.note}


def _passes(estimator: Any) -> list[tuple[int, ...]]:
    """What happened in every pass: words, categories, merged, killed, outliers."""
    names = ("n_words", "n_categories", "n_merged", "n_killed", "n_outliers")
    columns = [estimator.passes_[name].tolist() for name in names]
    return [(number, *row) for number, row in enumerate(zip(*columns, strict=True), start=1)]


def _scores(scores: Mapping[str, Mapping[str, float]]) -> Section | None:
    if not scores:
        return None
    rows = [
        (title, [f"{side[name]:.3f}" for side in scores.values()]) for name, title in SCORES.items()
    ]
    return {"sides": list(scores), "rows": rows}
