"""New documents by a model of categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._words import counted
from sidelight.io.inner import ID, RANKED
from sidelight.jobs._parts import MAX_CLUSTERS
from sidelight.jobs._result import writer_of
from sidelight.jobs._table._applied import Applied
from sidelight.report.inner import Told, first_rows, text_table

if TYPE_CHECKING:
    from sidelight.cluster import CategoryRanking

#: Categories of a document that are written.
N_RANKED = 3


@dataclass(frozen=True, eq=False, repr=False)
class CategoriesApplied(Applied):
    """New documents with the categories that a model gives them.

    Attributes
    ----------
    model, estimator, data, features, feature_names, seconds
        As in :class:`Applied`.
    labels : ndarray
        Nearest category of every document; -1 for outliers.
    X : csr_matrix
        Counts of the words of the documents.
    """

    X: Any

    @cached_property
    def ranking(self) -> CategoryRanking:
        """The three best categories of every document, and why."""
        found: CategoryRanking = self.estimator.rank(self.X, N_RANKED)
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way."""
        nowhere = self.ranking.categories[:, 0] < 0
        wordless = np.diff(self.X.indptr) == 0
        n_lost, n_out = (int(np.count_nonzero(nowhere & one)) for one in (wordless, ~wordless))
        notes = list(self.data.notes)
        if n_lost:
            notes.append(f"{counted(n_lost, 'document')} without a known word: no category fits.")
        if n_out:
            notes.append(
                f"{counted(n_out, 'document')} too far from all categories, or left out as an "
                "outlier when these were found: no category."
            )
        return tuple(notes)

    @property
    def n_reranked(self) -> int:
        """Number of documents that words of its own put into another than the nearest category."""
        filed = self.ranking.reasons[:, 0] == "filed"
        return int(np.count_nonzero(self.ranking.reranked & ~filed & (self.labels >= 0)))

    @property
    def sizes(self) -> dict[str, int]:
        """Number of documents of every category that comes first somewhere, by its name."""
        first = self.ranking.categories[:, 0]
        categories, counts = np.unique(first[first >= 0], return_counts=True)
        names = self.estimator.category_names_[categories].tolist()
        return dict(zip(names, counts.tolist(), strict=True))

    def _own_facts(self) -> dict[str, Any]:
        """Return the ranked categories of every document as plain values."""
        ranking, names = self.ranking, self.estimator.category_names_
        return {
            "sizes": self.sizes,
            "n_reranked": self.n_reranked,
            "categories": [
                [str(names[category]) for category in row if category >= 0]
                for row in ranking.categories.tolist()
            ],
            "reasons": ranking.reasons,
        }

    def _own_words(self) -> list[Told]:
        """Return how many documents every category comes first for."""
        sizes = sorted(self.sizes.items(), key=lambda one: -one[1])
        rows = first_rows([(name, f"{size:,}") for name, size in sizes], MAX_CLUSTERS, "others")
        n_other = self.n_reranked
        told: list[Told] = [text_table("Category", "Documents", rows=rows)]
        if n_other:
            told.append(
                f"For {counted(n_other, 'document')} words of its own put another category first."
            )
        return told

    def rows(self) -> dict[str, Any]:
        """Columns of the ranking: category, cosine and reason of every place."""
        names, words = self.estimator.category_names_, self.model.features_in
        columns: dict[str, Any] = {ID: self.data.row_ids}
        for place in range(self.ranking.categories.shape[1]):
            behind = "" if place == 0 else f"_{place + 1}"
            category = self.ranking.categories[:, place]
            reasons = [self.ranking.why(row, place, names, words) for row in range(len(category))]
            category_names = np.where(category >= 0, names[category], "")
            columns[f"{RANKED[1]}{behind}"] = category_names
            columns[f"{RANKED[2]}{behind}"] = np.round(self.ranking.cosines[:, place], 4)
            columns[f"{RANKED[3]}{behind}"] = np.array(reasons, dtype=str)
        return columns

    @property
    def gives(self) -> str:
        """What the model gives, as a kind of file."""
        return "ranked"

    def _own_writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {"ranked": writer_of(self.rows, spreadsheet_safe)}
