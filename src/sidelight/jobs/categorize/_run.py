"""Categories: a category system out of documents that have classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._fit.targets import read_targets
from sidelight._typing import Array, IntArray
from sidelight._words import counted, setting, worded
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.io.inner import CATEGORIZED, quoted
from sidelight.jobs._graph import read_columns
from sidelight.jobs._labeled import FittedRun
from sidelight.jobs._method import (
    check_different,
    estimator_for,
    method_for,
    timed_fit,
)
from sidelight.jobs._result import writer_of
from sidelight.jobs._table._knowledge import knowledge_about
from sidelight.jobs._table._model import Model, fill_model
from sidelight.jobs.categorize._embedded import heaviest
from sidelight.jobs.categorize._request import CategorizeRequest
from sidelight.preparation import TextPreparer

#: Words of a category that are told.
TOP_WORDS = 10
#: Probability to be misfiled from which the held-out check supports a move.
SUPPORTED = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class CategorizeRun(FittedRun):
    """Categories of documents, with all that they were made of.

    Attributes
    ----------
    method, estimator, data, seconds, request
        As in every fitted run; labels are categories, -1 for outliers.
    preparer : TextPreparer
        What counts the words of new documents.
    X : csr_matrix
        Counts of the words that were kept.
    texts : list of str
        The documents.
    knowledge : Constraints
        Their classes.
    n_words_seen : int
        Number of words of which the kept ones are the most telling.
    notes : tuple of str
        Decisions made on the way, as sentences for the user.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import jobs
    >>> from sidelight.datasets import make_category_corpus
    >>> corpus = make_category_corpus(300, n_topics=3, with_texts=True, random_state=0)
    >>> names = [corpus.extras["class_names"][code] for code in corpus.extras["labels"]]
    >>> pages = pd.DataFrame({"text": corpus.extras["texts"], "class": names})
    >>> found = jobs.run("categorize", data=pages, labels="class")
    >>> found.estimator.category_names_.tolist(), len(found.estimator.moved_)
    (['beer', 'sailing', 'wine'], 47)
    """

    preparer: TextPreparer
    X: Any
    texts: list[str]
    knowledge: Constraints
    n_words_seen: int
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{self.data.path.name}: categories"

    @property
    def words(self) -> Array:
        """The words that were kept."""
        return self.preparer.words_

    @cached_property
    def class_codes(self) -> IntArray:
        """Class of every document as a position among ``classes_``; -1 where it has none."""
        return read_targets(None, self.knowledge, "", pass_on=False)[0]

    @cached_property
    def scores(self) -> dict[str, dict[str, float]]:
        """Agreement with the true topics: of categories, given classes and naive Bayes."""
        if self.data.truth is None:
            return {}
        from sidelight.evaluation import partition_scores

        truth = self.data.truth_codes
        known = truth >= 0
        sides = {
            "categories": np.asarray(self.labels),
            "given classes": self.class_codes,
            "naive Bayes": self.estimator.held_out_,
        }
        return {
            name: {**partition_scores(truth[known], labels[known]), "n_rows": int(known.sum())}
            for name, labels in sides.items()
        }

    def categories(self, n_words: int = TOP_WORDS) -> list[dict[str, Any]]:
        """Every category: name, size, top words, and its classes with their numbers of documents.

        The largest categories come first.
        """
        estimator, sizes = self.estimator, self.estimator.cluster_sizes_
        classes = [str(name) for name in estimator.classes_.tolist()]
        found = []
        for category in np.argsort(-sizes, kind="stable").tolist():
            words, weights = heaviest(estimator.seeds_, category, n_words)
            counts = estimator.constituents_[category]
            order = np.argsort(-counts, kind="stable")
            found.append(
                {
                    "category": category,
                    "name": str(estimator.category_names_[category]),
                    "size": int(sizes[category]),
                    "words": self.words[words].tolist(),
                    "weights": weights.tolist(),
                    "classes": {classes[c]: int(counts[c]) for c in order if counts[c]},
                    "n_without_class": int(sizes[category] - counts.sum()),
                }
            )
        return found

    @property
    def merged(self) -> list[list[str]]:
        """Classes that became one category."""
        return [[str(name) for name in group.tolist()] for group in self.estimator.merged_]

    @property
    def killed(self) -> list[str]:
        """Classes that became no category."""
        return [str(name) for name in self.estimator.killed_.tolist()]

    @property
    def held_out(self) -> dict[str, Any]:
        """What naive Bayes, which has not seen a document, says about its class."""
        estimator = self.estimator
        classed = self.class_codes >= 0
        own = np.append(estimator.class_category_, -1)[self.class_codes]
        elsewhere = classed & (estimator.held_out_ >= 0) & (estimator.held_out_ != own)
        elsewhere[estimator.moved_] = False
        return {
            "agreement": estimator.held_out_agreement_,
            "wrong_share": estimator.wrong_share_,
            "n_supported": int(np.count_nonzero(estimator.move_support_ >= SUPPORTED)),
            "n_not_supported": int(np.count_nonzero(elsewhere)),
            "indistinct": [[str(name) for name in pair] for pair in estimator.indistinct_],
        }

    def similar(self, most: int = 5) -> list[tuple[str, str, float]]:
        """Pairs of categories of largest cosine, which are merged from ``merge_threshold`` on."""
        seeds = self.estimator.seeds_
        pairs = sparse.triu(seeds @ seeds.T, 1).tocoo()
        order = np.argsort(-pairs.data, kind="stable")[:most]
        names = self.estimator.category_names_
        found = zip(pairs.row[order], pairs.col[order], pairs.data[order], strict=True)
        return [(str(names[i]), str(names[j]), float(cosine)) for i, j, cosine in found]

    def rows(self) -> dict[str, Any]:
        """Columns of the result: id, class, category, whether the document moved, how clearly."""
        estimator = self.estimator
        classes = np.append(estimator.classes_.astype(str), "")
        names = np.append(estimator.category_names_, "")
        moved = np.full(len(self.labels), "no", dtype="<U3")
        moved[estimator.moved_] = "yes"
        clear = np.full((2, len(self.labels)), None)
        known = np.isfinite(estimator.move_support_)
        found = np.stack([estimator.move_margins_, estimator.move_support_])[:, known]
        clear[:, estimator.moved_[known]] = np.round(found, 4)
        values = (
            self.data.row_ids,
            classes[self.class_codes],
            names[self.labels],
            moved,
            np.round(estimator.cosines_.astype(np.float64), 4),
            *clear,
        )
        return dict(zip(CATEGORIZED, values, strict=True))

    def _own_facts(self) -> dict[str, Any]:
        estimator = self.estimator
        return {
            "n_words": len(self.words),
            "n_words_seen": self.n_words_seen,
            "min_df": self.preparer.min_df_,
            "n_classes": len(estimator.classes_),
            "n_categories": len(estimator.category_names_),
            **self.fitted("n_iter", "converged", "objective"),
            "categories": self.categories(),
            "merged": self.merged,
            "killed": self.killed,
            "similar": self.similar(),
            "n_moved": len(estimator.moved_),
            "n_outliers": len(estimator.outliers_),
            "held_out": self.held_out,
            "scores": self.scores or None,
        }

    def row_values(self) -> dict[str, Any]:
        """Return class, category and cosine of every document."""
        return {"rows": self.rows()}

    def model(self) -> Model:
        """The model for new documents."""
        return Model(
            estimator=self.estimator,
            preparer=self.preparer,
            method=self.method.name,
            feature_names=list(self.request.text_columns),
            id_column=self.data.id_column,
            zero_based=None,
            knowledge=self.knowledge.counts,
            label_column=self.data.label_column,
        )

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super().writers(spreadsheet_safe),
            "categories": writer_of(self.rows, spreadsheet_safe),
            "model": lambda path: fill_model(self.model(), path),
        }


def prepare(request: CategorizeRequest) -> CategorizeRun:
    """Find the categories that documents have, from classes that are roughly right.

    Words are counted, those that are spread evenly over the classes are dropped
    (:class:`sidelight.feature_selection.GiniScore`), and
    :class:`sidelight.cluster.TextCategories` is fitted.
    """
    _check_request(request)
    method = method_for("categorize", request.method)
    estimator = estimator_for(method, request.settings, 0)
    data = _read(request)
    knowledge = knowledge_about(data, None, None, None)
    preparer = TextPreparer(request.text_columns, min_df=request.min_df, max_df=request.max_df)
    counts = preparer.fit_transform(data)
    codes, classes = read_targets(None, knowledge, method.cls.__name__, pass_on=False)
    kept = _telling(counts, codes, request.keep_words)
    n_seen = counts.shape[1]
    X = counts[:, np.flatnonzero(kept)]
    preparer.keep(kept)
    seconds = timed_fit(method, estimator, X, constraints=knowledge)
    notes = (
        *data.notes,
        *_notes(data, codes, classes, estimator),
        *_lost(data, X),
    )
    return CategorizeRun(
        request=request,
        method=method,
        estimator=estimator,
        data=data,
        preparer=preparer,
        X=X,
        texts=preparer.texts(data),
        knowledge=knowledge,
        n_words_seen=n_seen,
        seconds=seconds,
        notes=notes,
    )


def _check_request(request: CategorizeRequest) -> None:
    """Refuse a number of words that has no meaning, and documents without text."""
    keep = request.keep_words
    whole = isinstance(keep, int | np.integer) and not isinstance(keep, bool)
    if not (whole and keep >= 1) and not (isinstance(keep, float) and 0 < keep <= 1):
        raise InvalidRequest(
            f"{worded('keep_words', '--keep-words')} must be a number of words or a share of them, "
            f"such as 5000 or 0.9, got {keep!r}."
        )
    if not request.text_columns:
        raise InvalidRequest(
            f"{worded('text', '--text-column')} names no column; name at least one."
        )


def _read(request: CategorizeRequest) -> Table:
    """The documents: ids, classes, texts as they are."""
    check_different([*request.text_columns, request.labels, request.id_column, request.truth])
    return read_columns(
        request.data,
        "documents",
        id_column=request.id_column,
        label_column=request.labels,
        truth_column=request.truth,
        columns=list(request.text_columns),
    )


def _telling(counts: Any, codes: IntArray, keep: float) -> Array:
    """Words to keep: those that are spread least evenly over the classes."""
    from sidelight.feature_selection import GiniScore

    n_words = counts.shape[1]
    number = min(int(keep), n_words) if isinstance(keep, int | np.integer) else float(keep)
    filtered = GiniScore(number).fit(counts, constraints=Constraints.from_labels(codes))
    # Words of documents without a class have no score, but may place these.
    kept: Array = filtered.get_support() & ~np.isnan(filtered.scores_)
    return kept


def _notes(data: Table, codes: IntArray, classes: Array, estimator: Any) -> list[str]:
    """What to know about the classes."""
    notes = []
    n_unknown = int(np.count_nonzero(codes < 0))
    if n_unknown:
        notes.append(
            f"{counted(n_unknown, 'document')} without a class: placed, but they start no category."
        )
    sizes = np.bincount(codes[codes >= 0], minlength=len(classes))
    least = estimator.min_documents
    small = [str(name) for name in classes[sizes < least].tolist()]
    if small:
        verb = "has" if len(small) == 1 else "have"
        notes.append(
            f"{counted(len(small), 'class')} {verb} fewer than {least} documents "
            f"({setting('min_documents', least)}) and may lose them to others: {quoted(small)}."
        )
    category = dict(zip(classes.tolist(), estimator.class_category_.tolist(), strict=True))
    for one, other in (pair.tolist() for pair in estimator.indistinct_):
        if category[one] == category[other]:  # they have become one
            continue
        notes.append(
            f"The words do not tell the classes {str(one)!r} and {str(other)!r} apart: no document "
            "moves between them. Do they mean the same?"
        )
    if len(estimator.category_names_) == 1 and not len(estimator.killed_):
        notes.append(
            "All classes became one category: most words are in all of them. Keep fewer words "
            f"({worded('keep_words', '--keep-words')}), drop more frequent ones "
            f"({worded('max_df', '--max-df')}), or raise {setting('merge_threshold')}."
        )
    return notes


def _lost(data: Table, X: Any) -> list[str]:
    """Notes on documents without a word that counts."""
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    if not len(empty):
        return []
    names = data.row_ids[empty].tolist()
    return [
        f"{counted(len(empty), 'document')} without a word that counts, which belong"
        f"{'s' if len(empty) == 1 else ''} to no category: "
        f"{quoted(names)}."
    ]
