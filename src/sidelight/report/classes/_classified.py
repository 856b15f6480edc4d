"""A fitted classifier with the rows of its fit, as its page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.exceptions import SidelightError
from sidelight.pictures.inner import (
    Decisions,
    Given,
    Partition,
    Run,
    class_codes,
    class_names,
    fitted_decisions,
)


@dataclass(frozen=True)
class ClassifiedRun(Run):
    """Classes in the place of clusters, and what the classifier says about every row."""

    contrast: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.clusters.names

    @cached_property
    def decisions(self) -> Decisions:
        """Probabilities of the rows of the fit, or decision values."""
        rows = self.rows.take(np.arange(self.n_rows))
        return fitted_decisions(self.estimator, rows)

    @cached_property
    def stated(self) -> npt.NDArray[np.bool_]:
        """Whether the class of a row was given."""
        labels = self.constraints.labels
        return np.zeros(self.n_rows, dtype=bool) if labels is None else labels >= 0

    @cached_property
    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Whether the class of a row was not given and another is nearly as good."""
        return self.decisions.doubtful(~self.stated)

    def least_certain(self, most: int) -> IntArray:
        """Positions of the least decided rows whose class was not given."""
        return self.decisions.least_certain(np.flatnonzero(~self.stated), most)

    @property
    def margins(self) -> FloatArray:
        """By how much the best class of a row is ahead of the second."""
        return self.decisions.margins

    @cached_property
    def truth_numbers(self) -> IntArray:
        """Colour of every true class: that of the class of the same name, or one of its own."""
        if self.truth is None:
            return np.zeros(0, dtype=np.int64)
        numbers = class_codes(np.array(self.truth.names, dtype=object), self.names)
        alone = np.flatnonzero(numbers < 0)
        numbers[alone] = len(self.names) + np.arange(len(alone))
        return numbers


def make_classified(given: Given, contrast: Any) -> ClassifiedRun:
    """Add the classes of the rows."""
    estimator = given.estimator
    if len(estimator.transduction_) != given.n_rows:
        raise SidelightError(
            f"X has {given.n_rows} rows but the classifier was fitted on "
            f"{len(estimator.transduction_)}; give the report what the fit was given."
        )
    names = class_names(estimator)
    codes = class_codes(estimator.transduction_, names)
    return ClassifiedRun(
        **vars(given),
        clusters=Partition(codes, names, names),
        violations=given.constraints.violations(codes),
        contrast=contrast,
    )
