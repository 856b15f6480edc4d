"""What only classifiers are asked for and give: a class for every row, and how sure it is."""

from __future__ import annotations

import time
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight._fit.targets import read_targets
from sidelight._typing import Array, IntArray
from sidelight._words import counted, worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints, Violations
from sidelight.constraints.algebra._plain import text_of
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io._columns import is_number
from sidelight.io._labels import PROBABILITY, SCORE, fill_classes
from sidelight.jobs._table._run import Prepared, Run
from sidelight.jobs.predict._run import Applied
from sidelight.pictures.classes._decisions import (
    Decisions,
    class_codes,
    decisions_of,
    fitted_decisions,
)

if TYPE_CHECKING:
    from sidelight.jobs.classify._contrast import Contrast

#: Rows that are named as the least certain ones.
LEAST_CERTAIN = 5
#: Parameter of the classifiers that wrap another one.
BASE = "estimator"


# --- what is asked for ------------------------------------------------------------------------


def default_classifier(known: Constraints) -> tuple[Method, str]:
    """The classifier where none is named, and a sentence that says so."""
    if known.n_pairs or known.has_groups:
        method = catalog.get("pairwise-logistic-regression")
        why = f"learns from {'pairs' if known.n_pairs else 'groups'} as well as from labels"
    else:
        method = catalog.get("semiboost")
        why = "learns from labels and from unlabeled rows"
    return method, f"The classes are found by {method.name}, which {why}; -m names another method."


def check_labels(data: Table, known: Constraints) -> None:
    """Refuse what nothing can be learned from, by the name of the column that is to blame."""
    column = f"the column {data.label_column!r} of {data.path}"
    if known.labels is None:
        if data.label_column is None:
            return  # the classifier says what it needs
        raise SidelightError(
            f"No row is labeled: {column} is empty, or -1, everywhere. Fill in the classes of some "
            "rows, of at least two classes."
        )
    if data.labels is None or len(known.label_names) < 2:
        return
    names = [text_of(name) for name in known.label_names.tolist()]
    fractions = [name for name in names if is_number(name) and not float(name).is_integer()]
    if fractions and all(map(is_number, names)):
        raise SidelightError(
            f"The classes in {column} are fractions, such as {fractions[0]}, as a quantity has "
            "them; a class is a word or a whole number."
        )
    if len(names) == len(known.labels):
        raise SidelightError(
            f"Every row has a class of its own in {column}, from which nothing can be learned."
        )


def notes_on_labels(known: Constraints) -> tuple[str, ...]:
    """Tell where there is nothing to predict."""
    if known.labels is None or (known.labels < 0).any():
        return ()
    return (
        f"The class of all {counted(known.n_samples, 'row')} is given: this is supervised "
        "learning, and of use for new rows.",
    )


def base_learner(method: Method, base: Any) -> Any:
    """The learner that a wrapper is to wrap, by its name or itself."""
    parameter = declared(method.cls).get(BASE)
    if method.tags.kind != "classifier" or parameter is None:
        able = [m.name for m in catalog.methods(kind="classifier") if BASE in declared(m.cls)]
        instead = f"; these do: {', '.join(able)}" if able else ""
        raise InvalidRequest(
            f"{method.cls.__name__} wraps no other learner, so that {worded('base=', '--base')} "
            f"has no use{instead}."
        )
    names = [
        name
        for option in parameter.options
        if typing.get_origin(option) is Literal
        for name in typing.get_args(option)
    ]
    if isinstance(base, str) and base not in names:
        raise InvalidRequest(f"there is no learner {base!r} to wrap; there are {', '.join(names)}.")
    parameter.check(base)
    return base


# --- what comes out ---------------------------------------------------------------------------


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
        """Tell of the rows whose two best classes are nearest to each other.

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
class ClassRun(Classified, Run):
    """A fitted classifier with all that it was given.

    Attributes
    ----------
    request, method, estimator, data, X, preparer, knowledge, notes
        As in :class:`Prepared`; the estimator is fitted.
    labels : ndarray
        Class of every row: the given one, or the predicted one.
    features, feature_names
        None and empty: classifiers make no features.
    seconds : float
        Time of the fit.
    """

    @cached_property
    def decisions(self) -> Decisions:
        """What the classifier says about every row of its fit."""
        return fitted_decisions(self.estimator, self.X)

    @property
    def uses(self) -> tuple[str, ...]:
        """Kinds of statements that count, as ``Constraints.counts`` names them."""
        kinds = {*self.method.tags.knowledge, *getattr(self.method.cls, "_with_labels", ())}
        return tuple(kind for kind in self.knowledge.counts if kind.replace("_", "-") in kinds)

    @cached_property
    def given(self) -> npt.NDArray[np.bool_]:
        """Whether the class of a row was given, or follows from must-links and groups."""
        pass_on = "must-link" in getattr(self.method.cls, "_with_labels", ())
        codes, _ = read_targets(None, self.knowledge, self.method.cls.__name__, pass_on=pass_on)
        return codes >= 0

    @property
    def labels_given(self) -> dict[str, int]:
        """Number of stated labels of every class, by its name."""
        codes = class_codes(self.knowledge.label_names, self.decisions.names)
        stated = self.knowledge.labels
        assert stated is not None  # nothing is learned without labels
        counts = np.zeros(len(self.decisions.names), dtype=np.int64)
        np.add.at(counts, codes[stated[stated >= 0]], 1)
        return dict(zip(self.decisions.names, counts.tolist(), strict=True))

    @cached_property
    def violations(self) -> Violations:
        """Stated constraints that the classes do not keep."""
        return self.knowledge.violations(self.codes)

    @cached_property
    def contrast(self) -> Contrast:
        """What rows without a label and pairs changed against the labels alone."""
        from sidelight.jobs.classify._contrast import contrast_of

        return contrast_of(self)

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        """Empty: :attr:`contrast` has the accuracy by the true classes."""
        return {}

    @property
    def open_rows(self) -> IntArray:
        """Positions of the rows whose class was not given."""
        return np.flatnonzero(~self.given)

    def _cluster_facts(self) -> dict[str, Any]:
        ended = ("objective", "n_iter", "converged")
        given = self.labels_given
        return {
            "classes": {name: {"labels": given[name], "rows": n} for name, n in self.sizes.items()},
            "n_given": int(self.given.sum()),
            "n_unknown": self.n_unknown,
            **{name: getattr(self.estimator, f"{name}_", None) for name in ended},
            "violations": self.violations.as_dict(),
            "contrast": self.contrast.facts(),
            "least_certain": self.least_certain(self.open_rows),
        }

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super().writers(spreadsheet_safe),
            **self._class_writers(self.given, spreadsheet_safe),
        }

    def _report(self) -> dict[str, Any]:
        return {**super()._report(), "columns": None, "contrast": self.contrast}


@dataclass(frozen=True, eq=False, repr=False)
class ClassesApplied(Classified, Applied):
    """New rows with the classes that a model gives them.

    Attributes
    ----------
    model, estimator, data, features, feature_names, seconds
        As in :class:`Applied`.
    labels : ndarray
        Class of every row.
    X : ndarray or csr_matrix
        The rows as the classifier takes them.
    """

    X: Any

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out on the way."""
        return self.data.notes

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {**super().writers(spreadsheet_safe), **self._class_writers(None, spreadsheet_safe)}


def fit_classes(prepared: Prepared) -> ClassRun:
    """Fit a classifier."""
    start = time.perf_counter()
    estimator = prepared.method.cls(**prepared.estimator.get_params(deep=False))
    estimator.fit(prepared.X, constraints=prepared.knowledge)
    return ClassRun(
        **{**vars(prepared), "estimator": estimator},
        labels=estimator.transduction_,
        features=None,
        feature_names=[],
        seconds=time.perf_counter() - start,
    )
