"""What jobs about graphs share: objects and the files that list them, facts, sentences, tables."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import format_number
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table, read_table
from sidelight.io.inner import table_of_columns
from sidelight.jobs._labeled import LabeledRun
from sidelight.jobs._parts import ending, heading
from sidelight.jobs._table._features import IN_MEMORY, is_frame
from sidelight.preparation.inner import as_source
from sidelight.report.text import TextTable, Told, text_table

#: Clusters that the terminal lists.
MAX_LISTED = 10
#: Gaps below this share of the cost are rounding.
CLOSED = 1e-9
OPTIMAL = "proven optimal"


def objects_table(ids: Any, n_objects: int, path: Path, nodes: Table | None = None) -> Table:
    """Return a table of objects without attributes; ``nodes`` has their true classes."""
    data = Table(np.empty((n_objects, 0)), ids, (), path)
    if nodes is None:
        return data
    return replace(data, truth=nodes.truth, truth_column=nodes.truth_column)


def read_columns(data: Any, what: str, **roles: Any) -> Table:
    """Read columns of any type from a file or a data frame; ``what`` names what its rows are.

    ``roles`` are ``id_column``, ``truth_column``, ``columns`` and ``drop`` of
    :func:`sidelight.io.read_table`.
    """
    found = read_roles(data, what, as_columns=True, **roles)
    if found.columns is None:
        raise SidelightError(
            f"{found.path} has no names of columns; give the {what} as a table (.csv, .tsv, "
            ".xlsx, .parquet)."
        )
    return found


def read_roles(data: Any, what: str, *, as_columns: bool = False, **roles: Any) -> Table:
    """Read columns that have roles from a file or a data frame, as :func:`read_columns` does."""
    if isinstance(data, str | os.PathLike):
        return read_table(data, as_columns=as_columns, **roles)
    if not is_frame(data):
        raise InvalidRequest(f"the {what} are a file or a data frame, got {type(data).__name__}.")
    source = as_source(data)
    used = roles.pop("columns", None)
    return table_of_columns(source.columns, IN_MEMORY, ids=source.ids, columns_used=used, **roles)


@dataclass(frozen=True, eq=False, repr=False)
class GraphRun(LabeledRun):
    """Clusters of objects in a graph: many of them, of which the largest are listed."""

    def largest(self, most: int) -> dict[str, int]:
        """Return the largest clusters and their sizes."""
        return dict(sorted(self.sizes.items(), key=lambda one: -one[1])[:most])


def gap_text(estimator: Any) -> str:
    """Return how much of the cost a better partition could save at most, in words."""
    cost, bound = float(estimator.objective_), float(estimator.lower_bound_)
    if cost - bound <= CLOSED * max(cost, 1.0):
        return OPTIMAL
    if bound <= 0.0:
        return "no lower bound above 0 is known"
    return f"within {format_number(100 * (cost - bound) / cost, 2)} % of optimal"


def graph_words(found: GraphRun, noun: str, text: str, *parts: Told) -> list[Told]:
    """Return method, data, number of objects and what came out, parts, and what was kept."""
    first = heading(found.estimator, found.data, f", {text} in {found.seconds:.2f} s", noun)
    kept = ending(found.knowledge, found.violations, found.scores, found.data)
    return [first, *parts, *kept]


def largest_table(found: GraphRun, noun: str, many: str) -> TextTable:
    """Return the largest clusters; of clusters of a single object their number."""
    sizes = {name: size for name, size in found.sizes.items() if name != "-1"}
    single = sum(size == 1 for size in sizes.values())
    rows = [
        (name, f"{size:,}")
        for name, size in found.largest(MAX_LISTED).items()
        if size > 1 and name in sizes
    ]
    hidden = len(sizes) - single - len(rows)
    if hidden:
        rows.append((f"and {hidden:,} others", ""))
    if single:
        rows.append((f"and {single:,} of a single one", ""))
    return text_table(noun, many, rows=rows)
