"""A map that grows as rows come: from a file, a pipe or any lines."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, set_by, worded
from sidelight.constraints import Constraints
from sidelight.engine.inner import SQUARED
from sidelight.exceptions import (
    EmbeddingWarning,
    InvalidRequest,
    PreparationWarning,
    SidelightError,
)
from sidelight.io import Table
from sidelight.io.inner import close_names, quoted, sounds_like_ids
from sidelight.jobs._table._estimator import make_estimator
from sidelight.jobs._table._features import IN_MEMORY, scaler_for
from sidelight.jobs._table._run import names_out
from sidelight.jobs.embed._growth import Growth
from sidelight.jobs.embed._maps import map_method, numbers_or_texts
from sidelight.jobs.embed._records import Records, lines_of
from sidelight.jobs.embed._request import WHOLE_TABLE, EmbedRequest, refuse_given
from sidelight.jobs.embed._run import MapRun

START = 100
#: Stands for the file of rows that come through a pipe.
STANDARD_INPUT = Path("standard input")
DEFAULT = "incremental-isomap"
#: Numbers beyond it cannot be squared, as they came or as they are scaled.
LARGEST = SQUARED[8].largest
#: Rows that are left out are told one by one so often, then only counted.
MAX_TOLD = 5
#: Part of the first rows of a column that have to be numbers.
NUMBERS = 0.5
#: Endings of files that hold a row in each line.
LINES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson")


class _Row(NamedTuple):
    """A row as it came, by the names of the columns, and the numbers that are mapped."""

    values: dict[str, Any]
    numbers: Array


class MapStream:
    """Place rows on a growing map, each as soon as it is read.

    Iterating gives the id and the coordinates of each row. Those of the first ``start`` rows come
    together, when the map begins. Coordinates move as the map grows: :meth:`finish` has the last
    ones.

    Parameters
    ----------
    request : EmbedRequest
        What is asked for. ``data`` is a path or any lines of text, such as an open file: CSV with a
        header, or JSON objects; ``method`` has ``partial_fit`` and is ``incremental-isomap`` by
        default. Columns have to be numbers; they are scaled by the first rows unless
        ``raw``.
    start : int, default=100
        Number of rows with which the map begins.
    keep : bool, default=True
        Whether to keep the rows, which the final coordinates and the report need.
    lines : iterable of str or bytes, default=None
        Lines to read in the place of the file that ``data`` names.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.jobs import EmbedRequest, MapStream
    >>> rows = np.random.default_rng(0).normal(size=(40, 3))
    >>> lines = ["a,b,c", *(",".join(map(str, row)) for row in rows)]
    >>> stream = MapStream(EmbedRequest(lines, raw=True), start=30)
    >>> [row_id for row_id, coordinates in stream][-3:]
    [37, 38, 39]
    >>> stream.finish().features.shape
    (40, 2)
    """

    def __init__(
        self,
        request: EmbedRequest,
        *,
        start: int = START,
        keep: bool = True,
        lines: Iterable[str | bytes] | None = None,
    ) -> None:
        refuse_given(
            request,
            WHOLE_TABLE,
            "for a stream, whose rows are not known before they come; give the whole table",
        )
        if request.color is not None and not isinstance(request.color, str):
            raise InvalidRequest("color must be the name of a column of the stream.")
        self.method = map_method(
            request.method or DEFAULT,
            lambda one: hasattr(one.cls, "partial_fit"),
            "cannot add rows to a map that is there; these can",
        )
        self.request = replace(request, method=self.method.name)
        self.start = start
        self.keep = keep
        self.estimator = make_estimator(
            self.method, settings=request.settings, seed=request.seed, k=request.k
        )
        self.notes: list[str] = []
        self.n_rows = 0
        self.n_left_out = 0
        self._n_read = 0
        self._lines = lines
        self.growth = Growth()
        self._preparer: Any = None
        self._names: list[str] = []
        self._id_column: str | None = None
        self._rows: list[Array] = []
        self._ids: list[Any] = []
        self._id_set: set[Any] | None = set()
        self._colors: list[Any] = []
        self._said: set[str] = set()
        self._remarks: list[str] = []
        self._seconds = 0.0

    def __iter__(self) -> Iterator[tuple[Any, Array]]:
        if self._lines is not None:
            yield from self._placed(Records(self._lines, str(self._path)))
        elif self.request.path is None:
            yield from self._placed(Records(self.request.data, str(self._path)))
        else:
            with open_lines(self._path) as file:
                yield from self._placed(Records(lines_of(file), str(self._path)))

    @property
    def feature_names(self) -> list[str]:
        """Names of the coordinates."""
        return names_out(self.estimator, self._names)

    @property
    def _path(self) -> Path:
        """The file, or what stands for it."""
        if self.request.path is None:
            return IN_MEMORY
        return STANDARD_INPUT if self.request.path == Path("-") else self.request.path

    def finish(self) -> MapRun:
        """Return the map as it is now, with the coordinates of all rows that were kept.

        Coordinates that only follow the changes row by row are refined first.
        """
        if not self.growth.n_start:
            raise SidelightError("No row came, so that there is no map.")
        if hasattr(self.estimator, "refine"):
            self.estimator.refine()
        raw = np.array(self._rows).reshape(-1, len(self._names))
        X = self._scaled(raw)
        places = np.zeros((0, self.estimator.embedding_.shape[1]))
        if self.keep:
            self.growth.record(self.n_rows, self.estimator, last=True)
            places = self._coordinates(X)
        notes = list(self.notes)
        if self.n_left_out > MAX_TOLD:
            notes.append(
                f"{counted(self.n_left_out, 'row')} were left out, since a value is no number, or "
                "one that is too large."
            )
        ids = np.array(self._ids) if self._ids and self._id_column is not None else None
        data = Table(
            X=raw,
            ids=ids,
            feature_names=tuple(self._names),
            path=self._path,
            id_column=self._id_column,
        )
        return MapRun(
            self.request,
            self.method,
            self.estimator,
            data,
            X,
            self._preparer,
            Constraints(n_samples=len(X)),
            tuple(notes),
            labels=None,
            features=places,
            feature_names=self.feature_names,
            seconds=self._seconds,
            color=self._color(),
            growth=self.growth if self.keep else None,
            remarks=tuple(self._remarks),
        )

    # --- rows ---------------------------------------------------------------------------------

    def _placed(self, records: Records) -> Iterator[tuple[Any, Array]]:
        """Begin the map with the first rows, then add one after the other."""
        first: list[tuple[int, list[Any]]] = []
        rows = iter(records)
        for values in rows:
            first.append((records.line, values))
            if len(first) == self.start:
                break
        if not first:
            raise SidelightError(f"No row came from {records.name}.")
        if len(first) < self.start:
            self.notes.append(
                f"The rows ended before there were {self.start:,}: the map has "
                f"{counted(len(first), 'row')}."
            )
        self._choose_columns(records, first)
        yield from self._begin(records, first)
        for values in rows:
            yield from self._add(records, values)
        if records.extra:
            self.notes.append(f"Not used, since the first row is without: {quoted(records.extra)}.")

    def _begin(
        self, records: Records, first: Sequence[tuple[int, list[Any]]]
    ) -> Iterator[tuple[Any, Array]]:
        read = [(line, self._read(records, values, line)) for line, values in first]
        usable = [(line, row) for line, row in read if row is not None]
        raw = [row.numbers for _, row in usable]
        if not raw:
            raise SidelightError(
                f"None of the first {counted(len(first), 'row')} has numbers in all columns "
                f"({quoted(self._names)}); {worded('columns=', '--columns')} names those to use."
            )
        if len(raw) == 1:
            raise SidelightError(f"A map needs at least 2 rows; only 1 came from {records.name}.")
        block = np.array(raw)
        if (block == block[0]).all():
            raise SidelightError(
                f"The first {len(block):,} rows are all the same; a map begins with rows that "
                f"differ: {worded('start=', '--start')} takes more of them."
            )
        self._fit_scale(block)
        too_large = self._too_large(block).any(axis=0)
        if too_large.any():
            name = self._names[int(np.flatnonzero(too_large)[0])]
            raise SidelightError(f"The numbers of the column {name!r} are too large to be scaled.")
        places = self._feed(block)
        ids = [self._keep(row, line) for line, row in usable]
        self.growth.n_start = len(block)
        if self.keep:
            self.growth.record(self.n_rows, self.estimator)
        yield from zip(ids, places, strict=True)

    def _add(self, records: Records, values: list[Any]) -> Iterator[tuple[Any, Array]]:
        row = self._read(records, values, records.line)
        if row is None:
            return
        start = time.perf_counter()
        try:
            (place,) = self._feed(row.numbers[None])
        except SidelightError as problem:
            raise records.wrong(f"ends the stream: {str(problem).removesuffix('.')}") from problem
        row_id = self._keep(row, records.line)
        if self.keep:
            self.growth.seconds.append(time.perf_counter() - start)
            self.growth.record(self.n_rows, self.estimator)
        yield row_id, place

    def _read(self, records: Records, values: list[Any], line: int) -> _Row | None:
        """Values and numbers of a row; None, with a warning, if it cannot be used."""
        by_name = dict(zip(records.columns, values, strict=True))
        numbers = np.array([records.number(by_name[name]) for name in self._names])
        for unusable, reason in (
            (np.isnan(numbers), "no number"),
            (self._too_large(numbers[None])[0], "too large to be computed with"),
        ):
            if unusable.any():
                name = self._names[int(np.flatnonzero(unusable)[0])]
                self._leave_out(f"Line {line:,} of {records.name}", name, by_name[name], reason)
                return None
        return _Row(by_name, numbers)

    def _too_large(self, raw: Array) -> Array:
        """Which numbers of rows have no square, as they came or scaled."""
        too_large: Array = ~(np.maximum(np.abs(raw), np.abs(self._scaled(raw))) <= LARGEST)
        return too_large

    def _leave_out(self, line: str, column: str, value: Any, reason: str) -> None:
        """Count a row that cannot be used, and warn about the first of them."""
        self.n_left_out += 1
        if self.n_left_out <= MAX_TOLD:
            warn(
                f"{line} is left out: {value!r} in the column {column!r} is {reason}.",
                PreparationWarning,
            )

    def _keep(self, row: _Row, line: int) -> Any:
        """Keep what the result shows of a row, and return its id."""
        column = self._id_column
        row_id = self._n_read if column is None else _plain_id(row.values[column])
        if self.keep:
            self._tell_of_repetition(row_id, line)
            self._rows.append(row.numbers)
            self._ids.append(row_id)
            if self.request.color is not None:
                self._colors.append(row.values[self.request.color])
        self._n_read += 1
        return row_id

    def _tell_of_repetition(self, row_id: Any, line: int) -> None:
        """Note once that an id came again."""
        if self._id_set is not None and row_id in self._id_set:
            self.notes.append(f"The id {row_id!r} came again in line {line:,}: it is another row.")
            self._id_set = None
        elif self._id_set is not None:
            self._id_set.add(row_id)

    # --- columns ------------------------------------------------------------------------------

    def _choose_columns(self, records: Records, first: Sequence[tuple[int, list[Any]]]) -> None:
        """Assign roles of ids, numbers and others by the names and the first rows."""
        names, request = records.columns, self.request
        wanted = [request.id_column, request.color, *(request.columns or ()), *request.drop]
        for name in wanted:
            if name is not None and name not in names:
                raise InvalidRequest(
                    f"{records.name} has no column {name!r}; {close_names(name, names)}."
                )
        columns = list(zip(*(values for _, values in first), strict=True))
        shares = {
            name: float(np.mean([not np.isnan(records.number(value)) for value in column]))
            for name, column in zip(names, columns, strict=True)
        }
        self._id_column = request.id_column or self._find_ids(names, shares)
        taken = {self._id_column, *request.drop}
        if request.columns is None:
            taken |= {request.color}
            free = [name for name in names if name not in taken]
            self._names = [name for name in free if shares[name] > NUMBERS]
            others = [name for name in free if shares[name] <= NUMBERS]
            if others:
                self.notes.append(f"Not used, since they do not hold numbers: {quoted(others)}.")
        else:
            self._names = [name for name in request.columns if name not in taken]
        if not self._names:
            raise SidelightError(
                f"{records.name} has no column of numbers; a stream is mapped by numbers alone."
            )

    def _find_ids(self, names: Sequence[str], shares: dict[str, float]) -> str | None:
        """A column called id, a first column of texts, or one whose name says so."""
        free = [name for name in names if name not in {*(self.request.columns or ())}]
        free = [name for name in free if name not in {*self.request.drop, self.request.color}]
        found = next((name for name in free if name.lower() == "id"), None)
        if found is None and free and free[0] == names[0] and shares[names[0]] == 0:
            found = names[0]
        if found is None:
            found = next((name for name in free if sounds_like_ids(name)), None)
        if found is not None:
            self.notes.append(f"The column {found!r} names the rows.")
        return found

    def _color(self) -> tuple[str, Any] | None:
        if self.request.color is None or not self._colors:
            return None
        return self.request.color, numbers_or_texts(self._colors)

    def _fit_scale(self, block: Array) -> None:
        """Fit the scale to the first rows, for all that come."""
        scaler = scaler_for(self.request.scale or "standard") if self.request.prepare else None
        if scaler is None:
            return
        with np.errstate(all="ignore"):
            self._preparer = scaler.fit(block)
        self.notes.append(
            f"{counted(len(self._names), 'column of numbers', 'columns of numbers')}, scaled by "
            f"the first {counted(len(block), 'row')}; the scale stays the same from then on."
        )
        constant = [
            name
            for name, low, high in zip(self._names, block.min(0), block.max(0), strict=True)
            if low == high
        ]
        if constant:
            self.notes.append(
                f"{quoted(constant)} did not vary in these rows; later values count in their own "
                "unit."
            )

    # --- the map ------------------------------------------------------------------------------

    def _feed(self, raw: Array) -> Array:
        """Add rows to the map and return their coordinates."""
        start = time.perf_counter()
        X = self._scaled(raw)
        with warnings.catch_warnings(record=True) as caught, set_by(self.method.options):
            warnings.simplefilter("always")
            if self.n_rows:
                self.estimator.partial_fit(X)
            else:
                self.estimator.fit(X)
            places = self._newest(X)
        self._warn_once(caught)
        self.n_rows += len(X)
        self._seconds += time.perf_counter() - start
        return places

    def _newest(self, X: Array) -> Array:
        """Coordinates of the rows that came last."""
        last = getattr(self.estimator, "last_embedding_", None)
        if last is not None:
            return np.array(last)
        embedding = self.estimator.embedding_
        if len(embedding) == self.n_rows + len(X):
            return np.array(embedding[-len(X) :])
        return np.asarray(self.estimator.transform(X))

    def _coordinates(self, X: Array) -> Array:
        """Coordinates of all rows; those that the map has forgotten are placed again."""
        embedding = self.estimator.embedding_
        return embedding if len(embedding) == len(X) else self.estimator.transform(X)

    def _scaled(self, raw: Array) -> Array:
        if self._preparer is None or not len(raw):
            return raw
        with np.errstate(all="ignore"):
            return np.asarray(self._preparer.transform(raw))

    def _warn_once(self, caught: Sequence[Any]) -> None:
        """Pass on warnings, but not again for every row with other numbers in them."""
        for warning in caught:
            plain = re.sub(r"[\d.,]+", "#", str(warning.message))
            if plain not in self._said:
                self._said.add(plain)
                if warning.category is EmbeddingWarning:
                    self._remarks.append(str(warning.message))
                warn(warning.message, warning.category)


def _plain_id(value: Any) -> Any:
    """An id as text or number; JSON may hold anything."""
    return value if isinstance(value, str | int | float) else str(value)


def open_lines(path: Path) -> Any:
    """Open a file of lines, or a pipe."""
    if not path.name.lower().endswith(LINES) and path.is_file():
        raise SidelightError(
            f"{path} is not read as a stream; that takes lines of CSV or JSON ({', '.join(LINES)})."
        )
    if path.is_dir():
        raise SidelightError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        raise SidelightError(f"There is no file {path}.")
    if not os.access(path, os.R_OK):
        raise SidelightError(f"Cannot read {path}: permission denied.")
    return path.open("rb")
