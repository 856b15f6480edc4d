"""The count of a table that was published already, whoever made it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight._words import listed, worded
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._method import is_path
from sidelight.jobs._options import fields_of
from sidelight.jobs._result import Result
from sidelight.jobs.anonymize._publish import count_rows
from sidelight.jobs.anonymize._request import OF_MAKING, AnonymizeRequest
from sidelight.jobs.anonymize._roles import check_nominal
from sidelight.privacy import AnonymityCheck
from sidelight.report.inner import Told


@dataclass(frozen=True, eq=False)
class AnonymityCheckRun(Result):
    """What the count of a published table found.

    Attributes
    ----------
    request : AnonymizeRequest
        What was asked for.
    check : AnonymityCheck
        What is reached; true if the table is as asked.
    exit_code : int
        1 if it is not.
    notes : tuple of str
        Decisions made on the way: none.
    """

    request: AnonymizeRequest
    check: AnonymityCheck
    exit_code: int
    notes: tuple[str, ...] = ()

    advice = ""

    @property
    def name(self) -> str:
        """File of the table, or what it is in memory."""
        return str(self.request.data) if is_path(self.request.data) else "table in memory"

    def facts(self) -> dict[str, Any]:
        """Return what was counted as plain values."""
        check = self.check
        return {
            "table": self.name,
            "kept": bool(check),
            "n_rows": check.n_rows,
            "n_classes": check.n_classes,
            "n_too_small": check.n_too_small,
            "n_not_diverse": check.n_not_diverse,
            "n_not_close": check.n_not_close,
            **promise_facts(check),
            "problems": list(check.problems),
        }

    def tell(self) -> list[Told]:
        """Return counts and problems as lines and tables."""
        told: list[Told] = self.module("_words").check_words(self)
        return told

    def write(
        self, *, spreadsheet_safe: bool = False, **outputs: str | os.PathLike[str] | None
    ) -> dict[str, Path]:
        """Refuse to write files: a count makes none."""
        given = [kind for kind, path in outputs.items() if path is not None]
        if given:
            raise InvalidRequest(
                worded(
                    f"a check writes nothing, and no {listed(given)}.",
                    "--check only counts, and writes nothing: leave -o and --report out.",
                )
            )
        return {}


def promise_facts(check: AnonymityCheck) -> dict[str, Any]:
    """Return what was asked for and what the count reached as plain values."""
    return {
        "k": {"asked": check.k, "reached": check.k_reached},
        "l": {"asked": check.l, "diversity": check.diversity, "reached": check.l_reached},
        "t": {
            "asked": check.t,
            "reached": {name: column.t_closeness for name, column in check.sensitive.items()},
        },
        "sensitive": {
            name: {key: value for key, value in vars(column).items() if key != "name"}
            for name, column in check.sensitive.items()
        },
    }


def check_table(request: AnonymizeRequest) -> AnonymityCheckRun:
    """Count how many rows of a published table are alike, and how diverse these are."""
    fields = fields_of(AnonymizeRequest)
    for name in OF_MAKING:
        if getattr(request, name) != fields[name].default:
            raise InvalidRequest(
                f"{worded('check', '--check')} only counts: leave {fields[name].spelled} out."
            )
    check_nominal(request.roles, request.nominal_names)
    found = count_rows(request.data, request)
    return AnonymityCheckRun(request, found, exit_code=0 if found else 1)
