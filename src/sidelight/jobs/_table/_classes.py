"""Rows with classes: what those of a fit and new ones have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.io.inner import PROBABILITY, SCORE, fill_classes
from sidelight.jobs._table._applied import Applied
from sidelight.pictures.inner import Decisions, class_codes, decisions_of
from sidelight.report.inner import Told

#: Rows that are named as the least certain ones.
LEAST_CERTAIN = 5


class Classified:
    """Rows with their classes: what the rows of a fit and new ones have in common."""

    data: Table
    estimator: Any
    labels: Any
    X: Any

    @cached_property
    def decisions(self) -> Decisions:
        """What the classifier says about every row: a probability or a value per class."""
        return decisions_of(self.estimator, self.X)

    @cached_property
    def codes(self) -> IntArray:
        """Place of the class of every row among the classes; -1 for rows that got none."""
        return class_codes(self.labels, self.decisions.names)

    @property
    def value_columns(self) -> list[str]:
        """Columns of the probabilities, or of the decision values of methods that have none."""
        prefix = PROBABILITY if self.decisions.are_probabilities else SCORE
        return [f"{prefix}{name}" for name in self.decisions.names]

    @property
    def row_classes(self) -> Array:
        """Class of every row as files have it: None, or an empty text, where it got none."""
        names = list(self.decisions.names)
        values = self.estimator.classes_.tolist()
        if all(type(value) is int for value in values):
            whole = np.array([*values, None], dtype=object)[self.codes]
            return whole.astype(np.int64) if (self.codes >= 0).all() else whole
        return np.array([*names, ""], dtype=str)[self.codes]

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of every class, by its name."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.decisions.names))
        return dict(zip(self.decisions.names, counts.tolist(), strict=True))

    @property
    def n_unknown(self) -> int:
        """Number of rows that got no class."""
        return int((self.codes < 0).sum())

    @property
    def class_names(self) -> dict[str, str]:
        """Classes that clusters stand for: there are no clusters."""
        return {}

    def least_certain(self, rows: IntArray, most: int = LEAST_CERTAIN) -> list[dict[str, Any]]:
        """The rows whose two best classes are nearest to each other.

        Parameters
        ----------
        rows : ndarray
            Positions of the rows to choose from.
        most : int, default=5
            How many.

        Returns
        -------
        list of dict
            ``row`` (its position), ``id``, ``class`` and ``values``, by the names of the classes,
            the least certain first. Rows that have their class for certain are left out.
        """
        decisions = self.decisions
        chosen = decisions.least_certain(rows, most)
        names = self.row_classes
        return [
            {
                "row": int(row),
                "id": self.data.row_ids[row].item(),
                "class": names[row],
                "values": dict(zip(decisions.names, decisions.values[row].tolist(), strict=True)),
            }
            for row in chosen
        ]

    def row_values(self) -> dict[str, Any]:
        """Return ids and classes of the rows, and how probable every class is."""
        name = "probabilities" if self.decisions.are_probabilities else "scores"
        return {
            "ids": self.data.row_ids,
            "row_classes": self.row_classes,
            "columns": self.value_columns,
            name: self.decisions.values,
        }

    def _fill_classes(
        self, path: Path, given: npt.NDArray[np.bool_] | None, *, spreadsheet_safe: bool
    ) -> None:
        fill_classes(
            path,
            self.data.ids,
            self.row_classes,
            self.decisions.values,
            self.value_columns,
            given,
            spreadsheet_safe=spreadsheet_safe,
        )

    def _no_clusters(self, path: Path, spreadsheet_safe: bool) -> None:
        raise SidelightError(
            f"{type(self.estimator).__name__} finds no clusters; write its classes."
        )

    def _class_writers(
        self, given: npt.NDArray[np.bool_] | None, spreadsheet_safe: bool
    ) -> dict[str, Callable[[Path], None]]:
        return {
            "classes": partial(self._fill_classes, given=given, spreadsheet_safe=spreadsheet_safe),
            "labels": partial(self._no_clusters, spreadsheet_safe=spreadsheet_safe),
        }


@dataclass(frozen=True, eq=False, repr=False)
class ClassesApplied(Classified, Applied):
    """New rows with the classes that a model gives them.

    Attributes
    ----------
    model, estimator, data, features, feature_names, seconds, X
        As in :class:`Applied`.
    labels : ndarray
        Class of every row.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way."""
        return self.data.notes

    @property
    def gives(self) -> str:
        """What the model gives, as a kind of file."""
        return "classes"

    def _own_writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return self._class_writers(None, spreadsheet_safe)

    def _own_facts(self) -> dict[str, Any]:
        return {
            "sizes": self.sizes,
            "n_unknown": self.n_unknown,
            "least_certain": self.least_certain(np.arange(self.data.n_rows)),
        }

    def _own_words(self) -> list[Told]:
        from sidelight.jobs._table._class_words import predicted_words

        return predicted_words(self)
