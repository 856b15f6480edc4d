"""A table to publish: generalized, checked by an independent count, and only then written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.io.inner import table_format
from sidelight.jobs._method import PathLike, estimator_for, is_path, method_for, timed_fit
from sidelight.jobs._options import fields_of
from sidelight.jobs._table._run import Outcome
from sidelight.jobs.anonymize._check import AnonymityCheckRun, check_table
from sidelight.jobs.anonymize._publish import (
    Promise,
    check_suppressed,
    fill_published,
    put_together,
)
from sidelight.jobs.anonymize._request import AnonymizeRequest
from sidelight.jobs.anonymize._roles import Columns, check_roles, read_columns
from sidelight.jobs.anonymize._warnings import warnings_about
from sidelight.privacy import (
    AnonymityCheck,
    Hierarchy,
    generalize,
    normalized_certainty_penalty,
)
from sidelight.report.text import Told

if TYPE_CHECKING:
    import pyarrow as pa

#: Fields of a request that are parameters of the methods.
PARAMETERS = ("k", "l", "diversity", "c", "suppress")


@dataclass(frozen=True, eq=False, repr=False)
class AnonymizeRun(Outcome):
    """A table that is as anonymous as it was asked to be, and ways to write it.

    Nothing that it shows or writes holds values of single rows, but for the published table.

    Attributes
    ----------
    request : AnonymizeRequest
        What was asked for.
    method : Method
        The method, out of the catalog.
    estimator : object
        The fitted estimator.
    columns : Columns
        The columns that were read, by role.
    published : pyarrow.Table
        The table to publish, ordered by what is published of a row.
    promise : Promise
        What the table keeps.
    check : AnonymityCheck
        What an independent count of the table found.
    seconds : float
        Time of the fit.
    checked : {"memory", "file"}
        Where the rows were counted last: in the file, once it is written.
    """

    request: AnonymizeRequest
    method: Method
    estimator: Any
    columns: Columns
    published: pa.Table
    promise: Promise
    check: AnonymityCheck
    seconds: float

    features: Any = field(default=None, kw_only=True)  # none are made
    feature_names: list[str] = field(default_factory=list, kw_only=True)
    data: Table = field(kw_only=True)
    checked: str = field(default="memory", kw_only=True)

    advice = "Nothing was written; -o published.csv keeps the table, --report a report."

    @property
    def labels(self) -> Any:
        """Class of every row that was read, -1 for those that are not published."""
        return self.estimator.labels_

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions made on the way, as sentences for the user."""
        ordered = "Rows are ordered by their published values, which hides their first order."
        return (*self.columns.notes, ordered)

    @property
    def n_suppressed(self) -> int:
        """Number of rows that were left out."""
        return int((self.labels < 0).sum())

    @cached_property
    def warnings(self) -> list[str]:
        """What the table does not protect, as sentences."""
        return warnings_about(
            self.published, self.check, list(self.promise.quasi), self.columns.keep
        )

    @cached_property
    def column_losses(self) -> dict[str, float]:
        """Share of its range that a published value leaves open, on average, by column."""
        hierarchies = getattr(self.estimator, "hierarchies_", None) or {}
        losses = {}
        for name in self.columns.quasi.column_names:
            own = {name: hierarchies[name]} if name in hierarchies else None
            column = self.columns.quasi.select([name])
            # Ranges also where a mean stands for them, which leaves as much open.
            ranges = generalize(column, self.labels, hierarchies=own)
            losses[name] = float(normalized_certainty_penalty(column, ranges, hierarchies=own))
        return losses

    @property
    def generalized(self) -> pa.Table:
        """Published quasi-identifiers in the order in which the rows were read."""
        return self.estimator.published_

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values; none of them is of a single row."""
        check = self.check
        return {
            "data": str(self.columns.path),
            "method": self.method.name,
            "parameters": self.estimator.get_params(deep=False),
            "n_rows": self.columns.n_rows,
            "n_published": check.n_rows,
            "n_suppressed": self.n_suppressed,
            "k": {"asked": check.k, "reached": check.k_reached},
            "l": {
                "asked": check.l,
                "diversity": check.diversity,
                "reached": check.l_reached,
            },
            "n_classes": check.n_classes,
            "class_sizes": _quartiles(check.class_sizes),
            "loss": dict(getattr(self.estimator, "loss_", {})),
            "column_losses": self.column_losses,
            "sensitive": {name: _facts_of(column) for name, column in check.sensitive.items()},
            "columns": {
                "quasi": list(self.promise.quasi),
                "sensitive": self.columns.sensitive,
                "keep": self.columns.keep,
                "not_published": self.columns.dropped,
            },
            "warnings": self.warnings,
            "seconds": self.seconds,
            "checked": self.checked,
        }

    def row_values(self) -> dict[str, Any]:
        """Return nothing: no value of a single row is shown."""
        return {}

    def written_facts(self) -> dict[str, Any]:
        return {"checked": self.checked}

    def tell(self) -> list[Told]:
        """Return promises, losses and limits as lines and tables; no value of a single row."""
        from sidelight.jobs.anonymize._words import words

        return words(self)

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace."""
        return self.request.inputs

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            "published": partial(self._fill_published, spreadsheet_safe=spreadsheet_safe),
            "report": self._fill_report,
        }

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

    def _fill_published(self, path: Path, spreadsheet_safe: bool) -> None:
        """Write beside the place of the file, read it again, and raise unless it is as promised."""
        fill_published(path, self.published, spreadsheet_safe=spreadsheet_safe)
        written_safely = spreadsheet_safe and table_format(path) != "parquet"
        (self.promise.harmless() if written_safely else self.promise).check_file(path)

    def _fill_report(self, path: Path) -> None:
        from sidelight.jobs.anonymize._page import render_anonymized

        page = render_anonymized(
            estimator=self.estimator,
            original=self.columns.quasi,
            generalized=self.generalized,
            check=self.check,
            column_losses=self.column_losses,
            roles=self.facts()["columns"],
            n_rows=self.columns.n_rows,
            warnings=self.warnings,
            title=f"{self.columns.path.name}: {type(self.estimator).__name__}",
            seconds=self.seconds,
        )
        path.write_text(page, encoding="utf-8")


def prepare(request: AnonymizeRequest) -> AnonymizeRun | AnonymityCheckRun:
    """Make a table that can be published, or count the rows of one that was.

    Every column has a role, and a column without one is not published. The table is put together,
    counted by :func:`sidelight.privacy.check_anonymity`, and counted once more after it was
    written; a table that does not keep its promise is never in its place.

    Parameters
    ----------
    request : AnonymizeRequest
        What is asked for.

    Returns
    -------
    AnonymizeRun or AnonymityCheckRun
        The table with what it costs and what it does not protect; ``write(published=...)`` writes
        it. With ``check``, what the count found.

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
    check_roles(request.roles, request.hierarchies, least=request.l)
    method = method_for("anonymize", request.method)
    estimator = estimator_for(method, _settings(method, request), request.seed)
    hierarchies = {
        name: Hierarchy.read(given) if is_path(given) else given
        for name, given in request.hierarchies.items()
    }
    columns = read_columns(request.data, request.roles, hierarchies, least=request.l)
    beside = {"sensitive": columns.sensitive_values()}
    if hierarchies:
        beside["hierarchies"] = hierarchies
    seconds = timed_fit(method, estimator, columns.quasi, **beside)
    kept = np.asarray(estimator.labels_) >= 0
    check_suppressed(int((~kept).sum()), columns.n_rows, request.suppress)
    promise = Promise(
        quasi=tuple(request.roles["quasi"]),
        sensitive=tuple(columns.sensitive),
        k=request.k,
        l=request.l,
        diversity=request.diversity,
        c=request.c,
        columns=tuple(columns.order),
        n_rows=int(kept.sum()),
    )
    published = put_together(columns, estimator.published_, kept)
    return AnonymizeRun(
        request=request,
        method=method,
        estimator=estimator,
        columns=columns,
        published=published,
        promise=promise,
        check=promise.check(published),
        seconds=seconds,
        data=Table(np.empty((columns.n_rows, 0)), None, (), columns.path),
    )


def _settings(method: Method, request: AnonymizeRequest) -> dict[str, Any]:
    """Parameters of the method, those with an option of their own among them."""
    known = method.cls().get_params(deep=False)
    given = dict(request.settings)
    fields = fields_of(AnonymizeRequest)
    for name in PARAMETERS:
        option = fields[name].names[0]
        if name in given:
            where = worded(f"as {name}= and in settings", f"by {option} and by --set")
            raise InvalidRequest(f"{name} is given twice: {where}.")
        value = getattr(request, name)
        if name in known:
            given[name] = value
        elif value != fields[name].default:
            raise InvalidRequest(
                f"{method.cls.__name__} has no {worded(name, option)}: leave it out."
            )
    return given


def _quartiles(sizes: Any) -> dict[str, float]:
    """Sizes of the classes in short."""
    names = ("smallest", "lower_quartile", "median", "upper_quartile", "largest")
    return {
        n: float(s) for n, s in zip(names, np.quantile(sizes, np.linspace(0, 1, 5)), strict=True)
    }


def _facts_of(column: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(column).items() if name != "name"}
