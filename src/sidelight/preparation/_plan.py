"""Decisions about columns, and the short table that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidelight._words import counted

#: Kind of a column that becomes no feature.
ASIDE = "aside"


@dataclass(frozen=True)
class ColumnPlan:
    """The decision on one column of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        ``number``, ``yes-no``, ``category``, ``ordered``, ``date``, ``time``, ``text``, or
        ``aside`` for a column that becomes no feature.
    how : str
        Reason and treatment, in words.
    n_missing : int
        Rows without a value.
    n_unreadable : int
        How many of them have one that cannot be read.
    marked_by : str
        Column that marks the gaps of this one too, since it has them in the same rows; empty where
        the column marks its own.
    weight : float
        How many features the column counts as in a squared distance.
    levels : tuple of str
        Levels that are distinguished: most frequent first for ``category``, in their order for
        ``ordered``, no and yes for ``yes-no``.
    joined : bool
        Whether all other levels count as one, called "other".
    log_scale : float
        Value c of the logarithm log(1 + x / c) that a skewed number goes through; 0 for none.
    written : str
        How texts of the column spell numbers or dates; empty where they need no reading.
    """

    name: str
    kind: str
    how: str
    n_missing: int = 0
    weight: float = 1.0
    levels: tuple[str, ...] = ()
    joined: bool = False
    log_scale: float = 0.0
    written: str = ""
    n_unreadable: int = 0
    marked_by: str = ""

    @property
    def used(self) -> bool:
        """Whether the column becomes features."""
        return self.kind != ASIDE

    def cells(self, missing: str) -> tuple[str, str, str]:
        """Name, use and treatment for the table; ``missing`` is what becomes of gaps."""
        if not self.used:
            return self.name, "set aside", self.how
        how = [self.how] if self.how else []
        if self.n_missing:
            gaps = counted(self.n_missing, "gap")
            treatment = "left to the method" if missing == "keep" else "filled and marked"
            if self.kind == "text":
                treatment = "as texts without words"
            elif missing != "keep" and self.kind in ("category", "yes-no"):
                treatment = "a level of their own"
            elif self.marked_by:
                treatment = (
                    f"filled, and marked by {self.marked_by}, which has them in the same rows"
                )
            how.append(f"{gaps}, {treatment}")
        if self.weight != 1.0:
            how.append(f"counts {self.weight:.3g} times")
        return self.name, self.kind, "; ".join(how)


def plan_table(plans: Sequence[ColumnPlan], missing: str) -> list[tuple[str, str, str]]:
    """Rows of the table of decisions: used columns first, then those set aside."""
    ordered = [plan for plan in plans if plan.used] + [plan for plan in plans if not plan.used]
    return [plan.cells(missing) for plan in ordered]
