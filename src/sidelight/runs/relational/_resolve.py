"""Entities: which references of a table mean the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray
from sidelight._words import worded
from sidelight.constraints import Relations
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table, read_table
from sidelight.io._columns import column_texts, label_values
from sidelight.io._labels import DOUBTFUL, ENTITY, ID
from sidelight.io._table import check_readable
from sidelight.io._write_table import write_columns
from sidelight.io.formats._formats import column_names, read_raw
from sidelight.runs._shared import (
    PathLike,
    check_takes,
    command_line,
    estimator_for,
    knowledge_about,
    method_for,
    paths_of,
    timed_fit,
)
from sidelight.runs.relational._shared import GraphRun

if TYPE_CHECKING:
    from sidelight.pictures.relational._curve import ResolutionCurve

#: The default where references occur in groups, and where they do not.
COLLECTIVE, ALONE = "collective-resolution", "attribute-resolution"
#: Doubtful pairs that are written, by default.
MOST_DOUBTFUL = 100
#: The curve of precision and recall goes down to this share of the threshold.
LOWEST = 0.5
#: Pairs whose similarity is further from the threshold are not in doubt.
NEAR = 0.25


@dataclass(frozen=True, eq=False)
class ResolveRequest:
    """What is asked for: which references, how they are compared, and what is known for certain.

    Attributes
    ----------
    data : path-like
        Table of the references.
    method : str or None
        Name of the method in the catalog; by default ``collective-resolution`` where references
        occur in groups, else ``attribute-resolution``.
    groups : str or None
        Column that says which references occur together, such as the paper of an author.
    compare : mapping of str to str or ColumnComparison
        How columns are compared; empty: all of them, as their values suggest.
    blocking : sequence of keys
        Keys of which a pair has to share one to be compared; empty: chosen by the method.
    threshold, alpha : float or None
        Parameters of the method of these names; None for their defaults.
    id_column, truth, sources : str or None
        Columns with ids, with true entities (for the scores only) and with the source of a
        reference. References of one source are all different.
    constraints : Constraints, path-like or None
        What is known for certain, or the file that holds it.
    must_link, cannot_link : path-like or None
        Files of pairs, two ids per line.
    drop : sequence of str
        Columns to leave out.
    settings : mapping of str to object
        Further parameters of the method.
    seed : int
        Seed of the random numbers.
    """

    data: PathLike
    method: str | None = None
    groups: str | None = None
    compare: Mapping[str, Any] = field(default_factory=dict)
    blocking: Sequence[Any] = ()
    threshold: float | None = None
    alpha: float | None = None
    id_column: str | None = None
    truth: str | None = None
    sources: str | None = None
    constraints: Any = None
    must_link: PathLike | None = None
    cannot_link: PathLike | None = None
    drop: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return paths_of(self.data, self.constraints, self.must_link, self.cannot_link)

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory."""
        if not all(isinstance(how, str) for how in self.compare.values()):
            return None
        keys = tuple(key if isinstance(key, str) else "&".join(key) for key in self.blocking)
        options = {
            "--method": self.method,
            "--group-column": self.groups,
            "--compare": ",".join(f"{name}:{how}" for name, how in self.compare.items()) or None,
            "--block": keys,
            "--threshold": self.threshold,
            "--alpha": self.alpha,
            "--id-column": self.id_column,
            "--truth-column": self.truth,
            "--source-column": self.sources,
            "--constraints": self.constraints,
            "--must-link": self.must_link,
            "--cannot-link": self.cannot_link,
            "--drop": ",".join(self.drop) or None,
            "--seed": self.seed,
        }
        return command_line("resolve", self.data, options, self.settings)


@dataclass(frozen=True, eq=False, repr=False)
class ResolveRun(GraphRun):
    """Entities of references, with the merges that made them.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes, files
        As in every run about a graph: the fitted estimator, and what it was given.
    request : ResolveRequest
        What was asked for.
    table : pyarrow.Table
        The compared columns.
    groups, sources : ndarray or None
        Group and source of every reference.
    """

    request: ResolveRequest
    table: Any
    groups: Array | None
    sources: Array | None

    @cached_property
    def curve(self) -> ResolutionCurve | None:
        """Precision and recall over the threshold; None without true entities.

        One more fit with a lower threshold makes the merges below that of the run: it goes through
        the same states and then on.
        """
        if self.data.truth is None:
            return None
        from sidelight.pictures.relational._curve import curve_of

        lower = self.method.cls(**self.estimator.get_params(deep=False))
        lower.set_params(threshold=LOWEST * self.threshold)
        _fit(self.method, lower, self.table, self.knowledge, self.groups, self.sources)
        return curve_of(lower.merges_, self.data.truth_codes)

    @property
    def threshold(self) -> float:
        """Threshold that was used."""
        from sidelight.pictures.relational._curve import threshold_of

        used = threshold_of(self.estimator)
        assert used is not None  # every resolver has one
        return used

    @cached_property
    def completeness(self) -> float | None:
        """Share of the true pairs that were compared; None without true entities."""
        if self.data.truth is None:
            return None
        return float(self.estimator.blocking_.completeness(self.data.truth_codes))

    def blocking_lines(self) -> list[str]:
        """How the compared pairs were chosen, a sentence each."""
        lines = str(self.estimator.blocking_).splitlines()
        if self.completeness is not None:
            lines.append(f"{self.completeness:.1%} of the pairs that belong together are compared.")
        return lines

    def doubtful(self, most: int = MOST_DOUBTFUL) -> dict[str, Any]:
        """Pairs nearest to the threshold: ``i``, ``j`` (positions), similarities and a reason."""
        if not hasattr(self.estimator, "doubtful_pairs"):
            return _nearest(self, most)
        return _as_columns(self.estimator.doubtful_pairs(most))

    def says(self) -> list[str]:
        """What every reference says, in short."""
        columns = [column_texts(self.table.column(name)) for name in self.table.column_names]
        return [", ".join(filter(None, row)) for row in zip(*columns, strict=True)]

    def _own_facts(self) -> dict[str, Any]:
        blocking = self.estimator.blocking_
        facts: dict[str, Any] = {
            "n_entities": self.n_clusters,
            "threshold": self.threshold,
            "n_pairs": int(blocking.n_pairs),
            "n_all_pairs": int(blocking.n_all_pairs),
            "completeness": self.completeness,
            "n_merges": len(self.estimator.merges_["i"]),
            "largest": self.largest(10),
        }
        if self.curve is not None and len(self.curve.thresholds):
            best = self.curve.best
            facts["best"] = {
                "threshold": float(self.curve.thresholds[best]),
                "f1": float(self.curve.f1[best]),
            }
        return facts

    def _writers(self, safe_ids: bool) -> dict[str, Callable[[Path], None]]:
        return {
            **super()._writers(safe_ids),
            "entities": partial(self._fill_entities, safe_ids=safe_ids),
            "doubtful": partial(self._fill_doubtful, safe_ids=safe_ids),
        }

    def _fill_entities(self, path: Path, safe_ids: bool) -> None:
        columns = {ID: self.data.row_ids, ENTITY: np.asarray(self.labels)}
        write_columns(columns, path, safe_ids=safe_ids)

    def _fill_doubtful(self, path: Path, safe_ids: bool) -> None:
        found = self.doubtful()
        ids = self.data.row_ids
        columns = {
            name: ids[np.asarray(found[name], np.int64)]
            if name in ("i", "j")
            else np.asarray(found[name], dtype=str if name == "reason" else np.float64)
            for name in DOUBTFUL
        }
        write_columns(columns, path, safe_ids=safe_ids)

    def _page(self) -> str:
        from sidelight.report.relational._resolution import render_resolution

        return render_resolution(
            estimator=self.estimator,
            ids=self.data.ids,
            says=self.says(),
            constraints=self.knowledge,
            blocking=self.blocking_lines(),
            doubtful=self.doubtful(),
            curve=self.curve,
            truth=None if self.data.truth is None else self.data.truth_codes,
            title=f"{self.data.path.name}: {type(self.estimator).__name__}",
            settings={"data": str(self.data.path), "groups": self.request.groups or "none"},
            command=self.request.command_line(),
            seconds=self.seconds,
        )


def resolve(request: ResolveRequest) -> ResolveRun:
    """Find out which references of a table mean the same entity.

    Parameters
    ----------
    request : ResolveRequest
        What is asked for.

    Returns
    -------
    ResolveRun
        The fitted estimator with its data, scores and ways to write them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.runs import ResolveRequest, resolve
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     _ = file.write_text("id,name\\n1,Ann Lee\\n2,Anne Lee\\n3,Bob Ross\\n4,Bob Ross\\n")
    ...     found = resolve(ResolveRequest(file, compare={"name": "text"}))
    >>> found.labels.tolist()
    [0, 0, 1, 1]
    """
    default = COLLECTIVE if request.groups is not None else ALONE
    method = method_for("resolve", request.method or default)
    estimator = estimator_for(method, _settings(request), request.seed)
    data, table, beside = _read(request)
    if request.groups is not None:
        check_takes(method, "relations", ("groups=", "--group-column"))
    if request.sources is not None:
        check_takes(method, "sources", ("sources=", "--source-column"))
    knowledge = knowledge_about(data, request.constraints, request.must_link, request.cannot_link)
    groups, sources = beside
    seconds = _fit(method, estimator, table, knowledge, groups, sources)
    return ResolveRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=(*data.notes, *knowledge.notes),
        files=tuple(request.inputs),
        request=request,
        table=table,
        groups=groups,
        sources=sources,
    )


def _settings(request: ResolveRequest) -> dict[str, Any]:
    """Parameters of the method, those with an option of their own among them."""
    own = {
        "compare": (dict(request.compare) or None, "--compare"),
        "blocking": (tuple(request.blocking) or None, "--block"),
        "threshold": (request.threshold, "--threshold"),
        "relational_share": (request.alpha, "--alpha"),
    }
    both = [
        name for name, (value, _) in own.items() if value is not None and name in request.settings
    ]
    if both:
        name, option = both[0], own[both[0]][1]
        where = worded(f"as {name}= and in settings", f"by {option} and by --set")
        raise InvalidRequest(f"{name} is given twice: {where}.")
    given = {name: value for name, (value, _) in own.items() if value is not None}
    return {**request.settings, **given}


def _fit(
    method: Any, estimator: Any, table: Any, knowledge: Any, groups: Any, sources: Any
) -> float:
    beside: dict[str, Any] = {}
    if groups is not None:
        beside["relations"] = Relations.from_groups(groups)
    if sources is not None:
        beside["sources"] = sources
    return timed_fit(method, estimator, table, constraints=knowledge, **beside)


def _read(request: ResolveRequest) -> tuple[Table, Any, tuple[Any, Any]]:
    """The references: roles of the columns, those to compare as Arrow, groups and sources."""
    import pyarrow as pa

    special = [name for name in (request.groups, request.sources) if name is not None]
    _check_roles(request, special)
    data = read_table(
        request.data,
        id_column=request.id_column,
        truth_column=request.truth,
        columns=_named_columns(request),
        drop=tuple(dict.fromkeys((*request.drop, *special))),
        as_columns=True,
    )
    if data.columns is None:
        raise SidelightError(
            f"{data.path} has no names of columns; give the references as a table (.csv, .tsv, "
            ".xlsx, .parquet)."
        )
    table = pa.table({name: data.columns.column(name) for name in data.feature_names})
    raw = read_raw(data.path, text_columns=special, keep_types=True)
    values = [
        None if name is None else label_values(raw.column(name))
        for name in (request.groups, request.sources)
    ]
    return data, table, (values[0], values[1])


def _named_columns(request: ResolveRequest) -> list[str] | None:
    """Columns to read: those that are compared or make keys; None for all."""
    if not request.compare:
        return None
    header = column_names(check_readable(request.data))
    keys = [key if isinstance(key, str) else None for key in _flat(request.blocking)]
    of_keys = [key if key in header else key.rpartition(":")[0] for key in keys if key]
    return list(dict.fromkeys((*request.compare, *(name for name in of_keys if name in header))))


def _flat(keys: Sequence[Any]) -> list[Any]:
    return [one for key in keys for one in (key if isinstance(key, tuple | list) else (key,))]


def _check_roles(request: ResolveRequest, special: Sequence[str]) -> None:
    roles = [*special, request.id_column, request.truth]
    named = [name for name in roles if name is not None]
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise InvalidRequest(f"the column {twice[0]!r} cannot be two things at once.")
    both = [name for name in request.compare if name in named]
    if both:
        raise InvalidRequest(
            f"the column {both[0]!r} is compared, and something else at once: leave it out of "
            f"{worded('compare', '--compare')}."
        )


def _nearest(found: ResolveRun, most: int) -> dict[str, Any]:
    """The open pairs whose similarity is nearest to the threshold, at most ``NEAR`` away."""
    estimator = found.estimator
    pairs = {name: np.asarray(values) for name, values in estimator.pairs_.items()}
    apart = np.abs(pairs["similarity"] - found.threshold)
    order = np.argsort(apart, kind="stable")
    order = order[(apart <= NEAR)[order] & ~_settled(found, pairs["i"], pairs["j"])[order]][:most]
    chosen = {name: values[order] for name, values in pairs.items()}
    chosen.setdefault("relational", np.zeros(len(order)))
    joined = found.labels[chosen["i"]] == found.labels[chosen["j"]]
    words = np.where(joined, "joined", "kept apart").tolist()
    chosen["reason"] = np.array(
        [
            f"{how}: the similarity is {value:.3f}, the threshold {found.threshold:g}"
            for how, value in zip(words, chosen["similarity"].tolist(), strict=True)
        ],
        dtype=str,
    )
    return chosen


def _settled(found: ResolveRun, i: IntArray, j: IntArray) -> npt.NDArray[np.bool_]:
    """Whether it is known for certain whether two references are the same."""
    closure = found.knowledge.closure()
    a, b = np.sort([closure.component[i], closure.component[j]], axis=0)
    n = closure.n_components
    low, high = np.sort(closure.conflicts, axis=1).reshape(-1, 2).T
    settled = (a == b) | np.isin(a * n + b, low * n + high)
    kinds = [found.sources, found.groups if found.estimator.distinct else None]
    for values in kinds:
        if values is not None:
            unknown = "" if values.dtype.kind == "U" else -1
            settled |= (values[i] == values[j]) & (values[i] != unknown)
    return settled


def _as_columns(pairs: Any) -> dict[str, Any]:
    """Doubtful pairs by column."""
    return {name: np.asarray(values) for name, values in dict(pairs).items()}
