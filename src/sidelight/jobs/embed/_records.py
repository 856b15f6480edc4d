"""Rows that come as lines: CSV with a header, or one JSON object per line.

Every line is a row of its own, so that a row can be used as soon as its line is there.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sidelight.exceptions import SidelightError
from sidelight.io.inner import DELIMITERS, QUOTED, is_number, quoted

BYTE_ORDER_MARK = "\ufeff"
#: Longest line, in bytes: a device that never ends a line would fill the memory.
LONGEST = 1 << 24


def lines_of(file: Any) -> Iterator[str | bytes]:
    """Lines of an open file, of which :class:`Records` refuses one that does not end."""
    return iter(lambda: file.readline(LONGEST), file.read(0))


class Records:
    """Rows of a text, line by line.

    Parameters
    ----------
    lines : iterable of str or bytes
        The lines; a first line that begins with ``{`` means JSON, any other names the columns.
    name : str
        Where they come from, for messages.
    """

    def __init__(self, lines: Iterable[str | bytes], name: str) -> None:
        self.name = name
        self.line = 0
        self.columns: list[str] = []
        self.extra: list[str] = []
        self._delimiter = ","
        self._lines = iter(lines)

    def __iter__(self) -> Iterator[list[Any]]:
        """Values of each row, in the order of the columns; text, or what JSON says."""
        first = next(self._texts(), None)
        if first is None:
            return
        if first.lstrip().startswith("{"):
            self.columns = self._json_columns(first)
            yield self._json_values(first)
            read = self._json_values
        else:
            self._read_header(first)
            read = self._csv_values
        for text in self._texts():
            yield read(text)

    def number(self, value: Any) -> float:
        """A value as a finite number; NaN where it is none."""
        if isinstance(value, str):
            text = value.strip()
            if self._delimiter != "," and text.count(",") == 1 and "." not in text:
                text = text.replace(",", ".")  # decimal comma
            found = float(text) if is_number(text) else math.nan
        else:
            found = float(value) if isinstance(value, int | float) else math.nan
        return found if math.isfinite(found) else math.nan

    @property
    def place(self) -> str:
        """The line that was read last, as messages name it."""
        return f"line {self.line:,} of {self.name}"

    def _texts(self) -> Iterator[str]:
        """Lines that are not empty."""
        for line in self._lines:
            self.line += 1
            if len(line) >= LONGEST:
                raise self.wrong("goes on for millions of characters; is it a table?")
            text = self._decoded(line).rstrip("\r\n")
            if self.line == 1:
                text = text.removeprefix(BYTE_ORDER_MARK)
            if text.strip():
                yield text

    def _decoded(self, line: str | bytes) -> str:
        if isinstance(line, str):
            return line
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong("is not UTF-8 text") from None

    def wrong(self, what: str) -> SidelightError:
        """The error that ends the stream at this line."""
        return SidelightError(f"{self.place[0].upper()}{self.place[1:]} {what}.")

    # --- CSV ----------------------------------------------------------------------------------

    def _read_header(self, text: str) -> None:
        outside = QUOTED.sub("", text)
        self._delimiter = max(DELIMITERS, key=outside.count)  # the first of equally many
        self.columns = [name.strip() for name in self._split(text)]
        if all(is_number(name) for name in self.columns):
            raise self.wrong("should name the columns, but holds numbers")
        self._check_names(self.columns)

    def _csv_values(self, text: str) -> list[Any]:
        values = self._split(text)
        if len(values) != len(self.columns):
            n_values = f"{len(values):,} value{'s'[: len(values) != 1]}"
            raise self.wrong(f"has {n_values}, but the header names {len(self.columns):,} columns")
        return values

    def _split(self, text: str) -> list[str]:
        try:
            return next(csv.reader([text], delimiter=self._delimiter, strict=True))
        except csv.Error:
            raise self.wrong(
                "has a quotation mark that is not closed; in a stream every row is one line"
            ) from None

    # --- JSON ---------------------------------------------------------------------------------

    def _json_columns(self, text: str) -> list[str]:
        names = list(self._json(text))
        self._check_names(names)
        return names

    def _json_values(self, text: str) -> list[Any]:
        found = self._json(text)
        lacking = [name for name in self.columns if name not in found]
        if lacking:
            raise self.wrong(f"has no {quoted(lacking)}, which the first row has")
        self.extra += [name for name in found if name not in {*self.columns, *self.extra}]
        return [found[name] for name in self.columns]

    def _json(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self.wrong('is no JSON object such as {"id": "a", "x": 1.5}')
        return found

    def _check_names(self, names: Sequence[str]) -> None:
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise self.wrong(f"names {quoted(repeated)} twice")
