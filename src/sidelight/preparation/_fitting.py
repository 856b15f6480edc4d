"""A fit, column by column: the user's choices, the decisions, and what the columns share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._words import worded
from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.io.inner import close_names
from sidelight.preparation._decide import ASKED, ColumnChoice, decide
from sidelight.preparation._known import ColumnValues
from sidelight.preparation._parts import ColumnFacts, ColumnFeatures, NoWords, make_part
from sidelight.preparation._plan import ASIDE, ColumnPlan
from sidelight.preparation._redundant import Aspect
from sidelight.preparation._scale import Scale
from sidelight.preparation._shared import GapRows, Gaps, share_weights


@dataclass
class Fitting:
    """Decisions on the columns so far, and their features.

    Attributes
    ----------
    scale : Scale
        How columns are made comparable.
    choices : dict of str to ColumnChoice
        What the user says of every column, in their order.
    weights : mapping of str to float
        Weights that the user gives.
    is_named : bool
        Whether the columns have names of their own.
    plans : list of ColumnPlan
        The decision on every column.
    parts : list of ColumnFeatures
        Features of the columns that have some.
    shared_marks : list of (int, list of int)
        Columns whose gaps are marked together.
    """

    scale: Scale
    choices: Mapping[str, ColumnChoice]
    weights: Mapping[str, float]
    is_named: bool
    plans: list[ColumnPlan] = field(default_factory=list)
    parts: list[ColumnFeatures] = field(default_factory=list)
    shared_marks: list[tuple[int, list[int]]] = field(default_factory=list)
    _aspects: list[Aspect] = field(default_factory=list)
    _gaps: Gaps = field(default_factory=Gaps)

    def plan(self, raw: ColumnValues) -> ColumnPlan:
        """Decide what becomes of a column."""
        plan = decide(raw, self.choices[raw.name])
        weight = self.weights.get(plan.name, 1.0)
        if not (isinstance(weight, int | float) and np.isfinite(weight) and weight >= 0):
            raise InvalidParameter(
                f"The weight of column {plan.name!r} must be a number of at least 0, got {weight}."
            )
        if weight == 0 and plan.used:
            return replace(plan, kind=ASIDE, how="weight 0")
        return replace(plan, weight=float(weight))

    def compares(self, name: str) -> bool:
        """Whether a column may share its weight with columns that say the same."""
        return self.is_named and name not in self.weights

    def add(
        self,
        plan: ColumnPlan,
        facts: ColumnFacts | None,
        gaps: GapRows | None = None,
        picked: npt.NDArray[Any] | None = None,
    ) -> bool:
        """Add the next column; return whether it becomes features.

        Parameters
        ----------
        plan : ColumnPlan
            The decision on it.
        facts : ColumnFacts or None
            What its features need; None for a column that is set aside.
        gaps : GapRows or None
            Rows without a value.
        picked : ndarray or None
            Values in the rows by which columns are compared.
        """
        if facts is not None:
            try:
                part = make_part(plan, facts, self.scale)
            except NoWords:
                plan = replace(plan, kind=ASIDE, how="no word occurs in several rows")
            else:
                self.parts.append(part)
                plan = part.plan
                self._gaps.add(part, gaps)
                if picked is not None and self.compares(plan.name):
                    self._aspects += part.aspects(picked)
        self.plans.append(plan)
        return plan.used

    def finish(self) -> None:
        """Let columns that say the same count once; raise if none is left."""
        if not self.parts:
            raise SidelightError(
                "No column of the table is left to be a feature: "
                + "; ".join(f"{plan.name!r}, {plan.how}" for plan in self.plans[:5])
                + "; say what a column holds by "
                + worded('kinds={"NAME": "category"}.', "--as NAME=category.")
            )
        share_weights(self.parts, self._aspects)
        self.shared_marks = self._gaps.merge_marks(self.parts)
        plans = {part.plan.name: part.plan for part in self.parts}
        self.plans = [plans.get(plan.name, plan) for plan in self.plans]


def choices_of(
    names: Sequence[str],
    kinds: Mapping[str, Any] | None,
    weights: Mapping[str, float] | None,
    drop: Sequence[str],
) -> dict[str, ColumnChoice]:
    """Return the user's choices for every column; raise for columns that there are not."""
    kinds = dict(kinds or {})
    for name in (*kinds, *(weights or {}), *drop):
        if name not in names:
            raise SidelightError(f"There is no column {name!r}; {close_names(name, names)}.")
    asked = {name: ColumnChoice() for name in names}
    asked |= {name: _read_kind(name, kind) for name, kind in kinds.items()}
    return asked | {name: ColumnChoice(ASIDE) for name in drop}


def dropped_by(kinds: Mapping[str, Any] | None) -> list[str]:
    """Return the columns that the user sets aside by their kind."""
    chosen = {name: _read_kind(name, kind) for name, kind in (kinds or {}).items()}
    return [name for name, choice in chosen.items() if choice.kind == ASIDE]


def _read_kind(name: str, kind: Any) -> ColumnChoice:
    """Parse the user's choice: a kind, an order such as ``ordered:S<M<L``, or its levels."""
    if isinstance(kind, str):
        word, _, levels = kind.partition(":")
        word = word.strip().lower()
        if word in ASKED and (not levels or word == "ordered"):
            return ColumnChoice(
                word, tuple(one.strip() for one in levels.split("<") if one.strip())
            )
    elif isinstance(kind, Sequence) and len(kind) > 1:
        return ColumnChoice("ordered", tuple(map(str, kind)))
    raise InvalidParameter(
        f"A column is one of {', '.join(ASKED)}, or ordered:low<medium<high; got {name}={kind!r}."
    )
