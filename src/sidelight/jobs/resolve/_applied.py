"""New references by a saved model: the entity of each, while old entities stay as they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.io import Table
from sidelight.io.inner import ASSIGNED, label_values, read_raw, write_columns
from sidelight.jobs._parts import heading
from sidelight.jobs._table._applied import Applied
from sidelight.jobs._table._model import Model
from sidelight.relational import AssignedReferences
from sidelight.report.inner import Told, text_table

#: References of several possible entities that are listed.
MAX_LISTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class EntitiesApplied(Applied):
    """New references with the entities that a model gives them.

    Attributes
    ----------
    model, estimator, data, features, feature_names, seconds, X, request
        As in :class:`Applied`.
    labels : ndarray of int32
        Entity of every reference: one of the fit, or a new one.
    found : AssignedReferences
        Entities, how similar their references are, and other entities that match.
    """

    found: AssignedReferences = field(kw_only=True)

    @classmethod
    def apply(cls, model: Model, table: Table, request: Any) -> EntitiesApplied:
        """Find the entities of the rows of a table."""
        start = time.perf_counter()
        rows, known = model.rows(table), Constraints(n_samples=table.n_rows, ids=table.ids)
        beside = {
            _PARAMETERS[role]: values
            for role, name in model.roles.items()
            if (values := _values(table, name)) is not None
        }
        found = model.estimator.assign(rows, constraints=known, **beside)
        return cls(
            model,
            model.estimator,
            table,
            found.labels,
            None,
            [],
            time.perf_counter() - start,
            rows,
            request=request,
            found=found,
        )

    @property
    def several(self) -> IntArray:
        """Positions of the references that other entities match, too."""
        return np.flatnonzero([bool(one) for one in self.found.also])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way, and what is left to decide."""
        notes = list(self.data.notes)
        if getattr(self.estimator, "relational_share_", 0.0):
            notes.append(
                "Attributes alone decide here: what new references occur with is not compared with "
                "the entities of the fit."
            )
        if n := len(self.several):
            notes.append(
                f"{counted(n, 'reference')} of which the column {ASSIGNED[-1]!r} names other "
                "entities would join two entities; run resolve on both tables together to decide."
            )
        return tuple(notes)

    def _own_facts(self) -> dict[str, Any]:
        is_new = self.found.is_new
        return {
            "n_entities": len(np.unique(self.labels)),
            "n_new_entities": len(np.unique(self.labels[is_new])),
            "n_of_known_entities": int((~is_new).sum()),
            "n_of_several": len(self.several),
        }

    def row_values(self) -> dict[str, Any]:
        """Return ids and entities of the references, similarities, and other entities."""
        return {
            **super().row_values(),
            "similarity": self.found.similarity,
            "also": self.found.also,
        }

    def tell(self) -> list[Told]:
        """Return how many references are of known entities, and some that others match."""
        return [heading(self.estimator, self.data, "", "reference"), *self._own_words()]

    def _own_words(self) -> list[Told]:
        facts = self._own_facts()
        n_new, n_old = facts["n_new_entities"], facts["n_entities"] - facts["n_new_entities"]
        n_known = facts["n_of_known_entities"]
        told: list[Told] = [
            f"{counted(n_known, 'reference')} of {counted(n_old, 'known entity', 'known entities')}"
            f", {self.data.n_rows - n_known:,} of {counted(n_new, 'new one')}."
        ]
        if not len(self.several):
            return told
        ids = self.data.row_ids
        rows = [
            (ids[row], self.labels[row], f"{self.found.similarity[row]:.3f}", _listed(also))
            for row in self.several[:MAX_LISTED].tolist()
            for also in [self.found.also[row]]
        ]
        return [*told, text_table("Reference", "Entity", "Similarity", "Also matches", rows=rows)]

    @property
    def gives(self) -> str:
        """What the model gives, as a kind of file."""
        return "entities"

    def _own_writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {"entities": partial(self._fill_entities, spreadsheet_safe=spreadsheet_safe)}

    def _fill_entities(self, path: Path, spreadsheet_safe: bool) -> None:
        similarity = np.round(self.found.similarity, 4).astype(object)
        similarity[np.isnan(self.found.similarity)] = None
        also = np.array([_listed(one) for one in self.found.also], dtype=str)
        values = (self.data.row_ids, self.labels, similarity, also)
        columns = dict(zip(ASSIGNED, values, strict=True))
        write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)


#: Parameters of ``assign``, by the roles of columns.
_PARAMETERS = {"groups": "relations", "sources": "sources"}


def _listed(entities: tuple[int, ...]) -> str:
    return " ".join(map(str, entities))


def _values(table: Table, name: str) -> Array | None:
    """Values of a column that is no feature; None where the table does not have it."""
    columns: Any = table.columns
    if (columns is None or name not in columns.names) and table.path.is_file():
        columns = read_raw(table.path, text_columns=[name], keep_types=True)
    if columns is None or name not in columns.names:
        return None
    return np.asarray(label_values(columns.column(name)))
