"""``sidelight select``: features ranked by what is known about the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.catalog import Method
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.jobs._parts import heading
from sidelight.jobs._table._estimator import methods_of
from sidelight.jobs._table._request import prepare as prepare_table
from sidelight.jobs._table._run import Prepared, Run
from sidelight.jobs.select._request import SelectRequest
from sidelight.report.inner import (
    TextTable,
    Told,
    first_rows,
    ranking_sentence,
    score_text,
    text_table,
)

#: Largest number of features that are listed.
MAX_FEATURES = 30


def prepare(request: SelectRequest) -> Prepared:
    """Read the rows and what is known, and make the selector."""
    if request.method is None:
        raise InvalidRequest(f"say how: -m NAME, one of {', '.join(methods_of(request.job))}.")
    return prepare_table(request, _choose, kind=PreparedSelection)


def _choose(data: Table, knowledge: Constraints) -> tuple[Method, tuple[str, ...]]:
    raise AssertionError("a selector is named")


class PreparedSelection(Prepared):
    """Rows, knowledge and a selector that is not fitted yet."""

    def _result(self, estimator: Any) -> type[Run]:
        return SelectRun


class SelectRun(Run):
    """A fitted selector with its ranking of the features."""

    def tell(self) -> list[Told]:
        """Return the ranking, and how many features are kept."""
        text = (
            f", {counted(len(self.features_in), 'feature')} in, {len(self.feature_names)} out, in "
            f"{self.seconds:.2f} s"
        )
        said = ranking_sentence(self.estimator)
        return [_ranking(self), heading(self.estimator, self.data, text), *([said] if said else [])]

    def row_values(self) -> dict[str, Any]:
        """Return nothing: the rows have the values that they had."""
        return {}


def _ranking(found: SelectRun) -> TextTable:
    estimator, names = found.estimator, found.features_in
    order, kept = np.argsort(estimator.ranking_, kind="stable"), estimator.get_support()
    rows = [
        (
            names[j],
            estimator.ranking_[j],
            score_text(float(estimator.scores_[j]), 6),
            "✓" if kept[j] else "",
        )
        for j in order[:MAX_FEATURES]
    ]
    shown = first_rows(rows, MAX_FEATURES, of=len(order))
    return text_table("Feature", "Rank", "Score", "Kept", rows=shown)
