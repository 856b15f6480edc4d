"""A table to publish: generalized, checked by an independent count, and only then written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._graph import objects_table
from sidelight.jobs._labeled import FittedRun
from sidelight.jobs._method import (
    PathLike,
    check_given_once,
    estimator_for,
    is_path,
    method_for,
    timed_fit,
)
from sidelight.jobs._options import fields_of
from sidelight.jobs.anonymize._check import AnonymityCheckRun, check_table, promise_facts
from sidelight.jobs.anonymize._publish import (
    check_promise,
    check_suppressed,
    fill_published,
    put_together,
)
from sidelight.jobs.anonymize._request import AnonymizeRequest
from sidelight.jobs.anonymize._roles import (
    Columns,
    check_roles,
    notes_on_spelling,
    read_columns,
)
from sidelight.jobs.anonymize._warnings import warnings_about
from sidelight.privacy import AnonymityCheck, Hierarchy

if TYPE_CHECKING:
    import pyarrow as pa

#: Fields of a request that are parameters of the methods.
PARAMETERS = ("k", "l", "diversity", "c", "t", "suppress", "random_merges")
#: Decimals of losses.
DIGITS = 4


@dataclass(frozen=True, eq=False, repr=False)
class AnonymizeRun(FittedRun):
    """A table that is as anonymous as it was asked to be, and ways to write it.

    All that it shows or writes can be computed from the published table and the number of rows that
    were left out.

    Attributes
    ----------
    method, estimator, data, seconds, request
        As in every fitted run; the data are the rows without their columns.
    columns : Columns
        The columns that were read, by role.
    published : pyarrow.Table
        The table to publish, ordered by what is published of a row.
    check : AnonymityCheck
        What an independent count of the table found.
    checked : {"memory", "file"}
        Where the rows were counted last: in the file, once it is written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight import jobs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = Path(folder) / "people.csv", Path(folder) / "published.csv"
    ...     _ = file.write_text("name,age,illness\\nann,21,flu\\nbob,24,cold\\ncid,61,flu\\n"
    ...                         "dan,68,flu\\n")
    ...     found = jobs.run("anonymize", data=file, quasi="age", sensitive="illness", k=2)
    ...     _ = found.write(published=out)
    ...     print(out.read_text())
    age,illness
    21-24,cold
    21-24,flu
    61-68,flu
    61-68,flu
    <BLANKLINE>
    """

    columns: Columns
    published: pa.Table
    check: AnonymityCheck

    checked: str = field(default="memory", kw_only=True)

    advice = "Nothing was written; -o published.csv keeps the table, --report a report."

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions made on the way, as sentences for the user."""
        ordered = "Rows are ordered by their published values, which hides their first order."
        spelled = notes_on_spelling(self.published, self.columns.sensitive)
        return (*self.columns.notes, *spelled, ordered)

    @property
    def n_suppressed(self) -> int:
        """Number of rows that were left out."""
        return self.columns.n_rows - self.check.n_rows

    @property
    def roles(self) -> dict[str, list[str]]:
        """Names of the columns by role, those that are not published too."""
        return {
            "quasi": self.columns.quasi.column_names,
            "sensitive": self.columns.sensitive,
            "keep": self.columns.keep,
            "not_published": self.columns.dropped,
        }

    @cached_property
    def warnings(self) -> list[str]:
        """What the table does not protect, as sentences."""
        return warnings_about(self.published, self.check, self.roles["quasi"], self.columns.keep)

    @property
    def losses(self) -> dict[str, float]:
        """What was lost, by measure; computed from the published table alone."""
        return {name: round(value, DIGITS) for name, value in self.estimator.loss_.items()}

    @property
    def column_losses(self) -> dict[str, float]:
        """Share of its range that a published value leaves open, on average, by column.

        Computed from the published table alone; none where representatives are published.
        """
        found = getattr(self.estimator, "column_losses_", {})
        return {name: round(value, DIGITS) for name, value in found.items()}

    def groups_of(self, name: str) -> set[str]:
        """Return the groups of the hierarchy of a column."""
        used = (getattr(self.estimator, "hierarchies_", None) or {}).get(name)
        return set() if used is None else {*used.parents.values(), used.root}

    @property
    def generalized(self) -> pa.Table:
        """Published quasi-identifiers in the order in which the rows were read."""
        return self.estimator.published_

    def _own_facts(self) -> dict[str, Any]:
        """Return what came out as plain values, computed from the published table."""
        check = self.check
        return {
            "n_published": check.n_rows,
            "n_suppressed": self.n_suppressed,
            **promise_facts(check),
            "n_classes": check.n_classes,
            "class_sizes": _quartiles(check.class_sizes),
            "loss": self.losses,
            "column_losses": self.column_losses,
            "columns": self.roles,
            "warnings": self.warnings,
            "checked": self.checked,
        }

    def row_values(self) -> dict[str, Any]:
        """Return nothing: no value of a single row is shown."""
        return {}

    def written_facts(self) -> dict[str, Any]:
        return {"checked": self.checked}

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        rules = {"request": self.request, "spreadsheet_safe": spreadsheet_safe}
        fill = partial(fill_published, table=self.published, **rules)
        return {"published": fill, "report": self._fill_report}

    def write(
        self, *, spreadsheet_safe: bool = False, **outputs: PathLike | None
    ) -> dict[str, Path]:
        """Write several files, or none of them where one cannot be written.

        The published table is read again and counted; ``checked`` remembers it.
        """
        paths = super().write(spreadsheet_safe=spreadsheet_safe, **outputs)
        if "published" in paths:
            object.__setattr__(self, "checked", "file")
        return paths


def prepare(request: AnonymizeRequest) -> AnonymizeRun | AnonymityCheckRun:
    """Make a table that can be published, or count the rows of one that was.

    Every column has a role, and a column without one is not published. The table is put together,
    counted by :func:`sidelight.privacy.check_anonymity`, and counted once more after it was
    written; a table that does not keep its promise is never in its place.
    """
    return check_table(request) if request.check else _anonymize(request)


def _anonymize(request: AnonymizeRequest) -> AnonymizeRun:
    if request.k < 2:
        raise InvalidRequest(
            f"{worded('k=', '-k ')}{request.k} protects nobody: every row may be different; ask "
            "for 2 at least, 5 is usual."
        )
    if not is_path(request.data):
        raise InvalidRequest(
            f"the table to publish must be a file, got {type(request.data).__name__}."
        )
    nominal = request.nominal_names
    check_roles(request.roles, request.hierarchies, least=request.l, t=request.t, nominal=nominal)
    method = method_for("anonymize", request.method)
    estimator = estimator_for(method, _settings(method, request), request.seed)
    if request.random_merges:
        _keep_secret(request)
        estimator.set_params(random_state=None)
    hierarchies = {
        name: Hierarchy.read(given) if is_path(given) else given
        for name, given in request.hierarchies.items()
    }
    asked = request.l > 1 or request.t < 1
    columns = read_columns(
        request.data, request.roles, hierarchies, about_sensitive=asked, nominal=nominal
    )
    beside = {"sensitive": columns.sensitive_values()}
    if hierarchies:
        beside["hierarchies"] = hierarchies
    seconds = timed_fit(method, estimator, columns.quasi, **beside)
    kept = np.asarray(estimator.labels_) >= 0
    check_suppressed(int((~kept).sum()), columns.n_rows, request.suppress)
    published = put_together(columns, estimator.published_, kept)
    return AnonymizeRun(
        request=request,
        method=method,
        estimator=estimator,
        columns=columns,
        published=published,
        check=check_promise(published, request, int(kept.sum())),
        seconds=seconds,
        data=objects_table(None, columns.n_rows, columns.path),
    )


def _keep_secret(request: AnonymizeRequest) -> None:
    """Refuse a seed where nobody may know it."""
    if request.seed != fields_of(AnonymizeRequest)["seed"].default:
        raise InvalidRequest(
            f"{worded('random_merges', '--random-merges')} hide nothing from who knows the seed: "
            f"leave {worded('seed=', '--seed')} out, and one is drawn that nobody knows."
        )


def _settings(method: Method, request: AnonymizeRequest) -> dict[str, Any]:
    """Parameters of the method, those with an option of their own among them."""
    check_given_once(request, PARAMETERS)
    known = method.cls().get_params(deep=False)
    given = dict(request.settings)
    for name in PARAMETERS:
        option = fields_of(AnonymizeRequest)[name]
        value = getattr(request, name)
        if name in known:
            given[name] = value
        elif value != option.default:
            raise InvalidRequest(f"{method.cls.__name__} has no {option.spelled}: leave it out.")
    return given


def _quartiles(sizes: Any) -> dict[str, float]:
    """Sizes of the classes in short."""
    names = ("smallest", "lower_quartile", "median", "upper_quartile", "largest")
    return {
        n: float(s) for n, s in zip(names, np.quantile(sizes, np.linspace(0, 1, 5)), strict=True)
    }
