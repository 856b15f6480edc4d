"""What is sent to a partition: a block function by value, and how to find its row values there.

Row values (labels, bounds, weights) that a pass is aligned with are named, not sent: a worker keeps
what the passes before have left with a partition. That is a cache. Where it is gone with its
worker, the answer is :class:`Missing`, and the order comes a second time with all that it takes to
make the values again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sidelight._typing import Array


@runtime_checkable
class Restorable(Protocol):
    """A block function whose row values do not depend on those of the passes before.

    A pass that skips rows by bounds gives the labels that a pass without bounds would give: the
    labels are a function of the rows and of the model. Only such a function is sent when values
    were lost; of any other, the passes before are repeated.

    Attributes
    ----------
    again_from : tuple of int
        Which of the aligned arguments :meth:`rows_again` takes: none that an earlier pass has left.
    """

    again_from: tuple[int, ...]

    def rows_again(self, block: Any, *slices: Any) -> Sequence[Array]:
        """Return the row values of a block; weaker bounds are as good."""


class Sliceable(Protocol):
    """Something as long as the table that can be cut without being an array."""

    def part(self, start: int, stop: int) -> Any:
        """Return what a partition needs: sliced like its blocks, from 0 on."""


@dataclass(frozen=True)
class Sent:
    """A piece that travels with every order, since it is small: positions, equal weights."""

    piece: Any


@dataclass(frozen=True)
class Filled:
    """The same value for all rows."""

    value: Array


@dataclass(frozen=True)
class Stored:
    """Values of the client, by their content; they travel once, and again where they are lost."""

    key: str
    values: Array | None


@dataclass(frozen=True)
class Left:
    """Values that an earlier pass has left with the partition.

    Attributes
    ----------
    key : str
        The pass.
    index : int
        Which of its row values.
    changed : tuple of ndarray or None
        Positions in the partition, and the values there instead.
    origin : Pass or None
        The pass itself, to be repeated where its values are lost.
    """

    key: str
    index: int
    changed: tuple[Array, Array] | None = None
    origin: Pass | None = None


Piece = Sent | Filled | Stored | Left


@dataclass(frozen=True)
class Pass:
    """A block function with what it is aligned with in one partition.

    Attributes
    ----------
    key : str
        Name under which its row values are kept.
    function : bytes
        The pickled block function.
    aligned : tuple
        Pieces, in the order of the arguments.
    again : bool
        Whether only the row values are wanted, by ``rows_again`` (:class:`Restorable`).
    """

    key: str
    function: bytes
    aligned: tuple[Piece, ...]
    again: bool = False


@dataclass(frozen=True)
class PartitionOrder:
    """What is done with one partition: a pass, or row values to fetch.

    Attributes
    ----------
    table : str
        The table, under which row values are kept.
    number : int
        Number of the partition.
    dtype : str
        Element type of the rows of all partitions together.
    work : Pass
        The pass; where it has no function, the values that it is aligned with are fetched.
    forget : tuple of str
        Keys of row values that nobody needs any more.
    closed : tuple of str
        Tables that nobody needs any more.
    rows : ndarray or None
        Positions in the partition of the values to fetch; None for all.
    """

    table: str
    number: int
    dtype: str
    work: Pass
    forget: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    rows: Array | None = None


@dataclass(frozen=True)
class Missing:
    """Answer where values are gone that the order only names."""

    number: int


@dataclass(frozen=True)
class Done:
    """Answer of a pass over one partition.

    Attributes
    ----------
    totals : list
        Sums of its blocks, and other reductions.
    kinds : tuple of tuple
        Shape behind the first dimension, and element type, of each of its row values.
    values : ndarray or None
        The row values that were to be fetched.
    """

    totals: list[Any]
    kinds: tuple[tuple[tuple[int, ...], Any], ...]
    values: Array | None = None


def content_key(values: Array) -> str:
    """Name an array by its content, type and shape."""
    digest = hashlib.blake2b(np.ascontiguousarray(values).view(np.uint8).data, digest_size=16)
    return f"{digest.hexdigest()}-{values.dtype.str}-{'x'.join(map(str, values.shape))}"
