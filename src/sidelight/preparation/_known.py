"""What decisions on a column need to know of its values: read in memory, or from blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sidelight._typing import FloatArray
from sidelight.exceptions import SidelightError
from sidelight.preparation._source import Source
from sidelight.preparation._texts import Levels


class NumberValues(Protocol):
    """A column read as numbers."""

    @property
    def convention(self) -> str:
        """How texts spell them; empty for numbers."""

    @property
    def how(self) -> str:
        """Note on the reading."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_missing(self) -> int:
        """Rows without a number."""

    @property
    def n_unreadable(self) -> int:
        """Number of texts that are no numbers."""

    @property
    def extent(self) -> tuple[float, float]:
        """Smallest and largest number."""

    @property
    def sample(self) -> FloatArray:
        """Numbers of some rows, evenly spread."""

    @property
    def has_two_values(self) -> bool:
        """Whether there are no more than two different numbers."""

    @property
    def is_whole(self) -> bool:
        """Whether every row has a whole number."""

    @property
    def counts_rows(self) -> bool:
        """Whether each number is one more than that of the row before."""

    @property
    def ends(self) -> tuple[float, float]:
        """Numbers of the first and the last row."""

    @property
    def n_different(self) -> int:
        """How many numbers differ."""

    @property
    def has_each_once(self) -> bool:
        """Whether every whole number from the smallest to the largest one is there once."""

    def positive_quartile(self) -> float:
        """Lower quartile of the numbers above 0."""


class DateValues(Protocol):
    """A column read as dates or times of day."""

    @property
    def kind(self) -> str:
        """``date`` or ``time``."""

    @property
    def format(self) -> str:
        """How texts spell them; empty for dates."""

    @property
    def how(self) -> str:
        """Note on the reading."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_missing(self) -> int:
        """Rows without a date."""

    @property
    def n_unreadable(self) -> int:
        """Number of texts that are no dates."""

    @property
    def extent(self) -> tuple[float, float]:
        """Seconds of the first and the last date."""


class ColumnValues(Protocol):
    """A column of a table."""

    name: str
    source: Source

    @property
    def type(self) -> Any:
        """Arrow's type of the values."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_null(self) -> int:
        """Number of rows without a value."""

    @property
    def words(self) -> Sequence[str]:
        """Words of a category, in its order."""

    @property
    def coded(self) -> Levels:
        """The different values as text, whatever they are."""

    @property
    def numbered(self) -> NumberValues | None:
        """The numbers, if it holds numbers or texts that spell them."""

    @property
    def dated(self) -> DateValues | None:
        """The dates or times of day, if it holds some or texts that spell them."""

    @property
    def differing(self) -> list[str]:
        """Texts of a sample of many rows, if most of them differ; else empty."""

    @property
    def is_empty(self) -> bool:
        """Whether no row has a value."""

    def unreadable(self, kind: str) -> SidelightError:
        """Error about a value that is no number, date or time of day."""
