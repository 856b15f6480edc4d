"""``sidelight classify``: classes from the rows whose class is known."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight._fit.targets import read_targets
from sidelight._typing import IntArray
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints, Violations
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.jobs._table._class_words import class_words
from sidelight.jobs._table._classes import Classified
from sidelight.jobs._table._estimator import BASE
from sidelight.jobs._table._request import prepare as prepare_table
from sidelight.jobs._table._run import Prepared, Run
from sidelight.jobs.classify._labels import (
    check_labels,
    check_not_quantity,
    note_on_machines,
    notes_on_labels,
    split_kinds,
)
from sidelight.jobs.classify._request import ClassifyRequest
from sidelight.pictures.inner import Decisions, class_codes, fitted_decisions
from sidelight.report.inner import Told

if TYPE_CHECKING:
    from sidelight.jobs.classify._contrast import Contrast
    from sidelight.report.inner import Page


def prepare(request: ClassifyRequest) -> PreparedClasses:
    """Read the rows and their labels, and make the classifier."""

    def choose(data: Table, known: Constraints) -> tuple[Method, tuple[str, ...]]:
        method, why = default_classifier(known, wraps=request.base is not None)
        return method, (why,)

    def parameters(method: Method) -> Mapping[str, Any]:
        return {} if request.base is None else {BASE: base_learner(method, request.base)}

    asked, is_category = split_kinds(request)
    prepared = prepare_table(asked, choose, parameters=parameters, kind=PreparedClasses)
    assert isinstance(prepared, PreparedClasses)
    data, known = prepared.data, prepared.knowledge
    check_labels(data, known)
    if not is_category:
        check_not_quantity(data, known)
    machines = note_on_machines(prepared.method, known)
    return dataclasses.replace(
        prepared,
        request=dataclasses.replace(asked, raw=prepared.request.raw, kinds=request.kinds),
        notes=(*prepared.notes, *machines, *notes_on_labels(known)),
    )


def default_classifier(known: Constraints, *, wraps: bool = False) -> tuple[Method, str]:
    """The classifier where none is named, and a sentence that says so.

    ``wraps``: it is to wrap a learner that is named.
    """
    if wraps:
        method = catalog.get("semiboost")
        why = "learns from labels and from unlabeled rows"
    elif known.n_pairs or known.has_groups:
        method = catalog.get("pairwise-logistic-regression")
        why = f"learns from {'pairs' if known.n_pairs else 'groups'} as well as from labels"
    else:
        method = catalog.get("auto")
        why = (
            "is plain logistic regression unless another classifier is clearly better on labels "
            "that are held out"
        )
    return method, f"The classes are found by {method.name}, which {why}; -m names another method."


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


class PreparedClasses(Prepared):
    """Rows, labels and a classifier that is not fitted yet."""

    def _result(self, estimator: Any) -> type[Run]:
        return ClassRun


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
        given = self.labels_given
        return {
            "classes": {name: {"labels": given[name], "rows": n} for name, n in self.sizes.items()},
            "n_given": int(self.given.sum()),
            "n_unknown": self.n_unknown,
            **self.fitted("objective", "n_iter", "converged"),
            **self._choice_facts(),
            "violations": self.violations.as_dict(),
            "contrast": self.contrast.facts(),
            "least_certain": self.least_certain(self.open_rows),
            "explanation": self._explanation_facts(),
        }

    def _choice_facts(self) -> dict[str, Any]:
        """Return what was chosen by held-out labels, where it was."""
        if not hasattr(self.estimator, "chosen_"):
            return {}
        columns = self.estimator.cv_results_
        rows = zip(*columns.values(), strict=True)
        return {
            **self.fitted("chosen", "reason"),
            "candidates": [dict(zip(columns, row, strict=True)) for row in rows],
        }

    def tell(self) -> list[Told]:
        """Return labels and predictions by class, how far to trust them, and rows in doubt."""
        return class_words(self)

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super().writers(spreadsheet_safe),
            **self._class_writers(self.given, spreadsheet_safe),
        }

    def page(self) -> Page:
        return self._page(contrast=self.contrast)
