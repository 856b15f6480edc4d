"""Errors and warnings of Sidelight: each is a sentence for the user plus the facts behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class SidelightError(ValueError):
    """An argument or input is wrong; the message names a remedy."""

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {name: value for name, value in vars(self).items() if not name.startswith("__")}
        return _rebuild, (type(self), str(self), facts)


class InvalidParameter(SidelightError, TypeError):
    """A parameter has a value of another type, out of its range, or none of its choices."""


class SparseRows(SidelightError, TypeError):
    """Sparse rows were given to a method that takes none; scikit-learn raises a TypeError too."""


class InvalidRequest(SidelightError):
    """A request contradicts itself, whatever the data holds."""


class InconsistentConstraints(SidelightError):
    """Two rows are kept apart by one statement and joined by a chain of others.

    Attributes
    ----------
    pair : tuple of int
        Positions of the two rows that must be apart.
    chain : tuple of int
        Positions of the rows on the shortest chain of must-links that joins them.
    """

    def __init__(self, message: str, *, pair: tuple[int, int], chain: Sequence[int]) -> None:
        super().__init__(message)
        self.pair = pair
        self.chain = tuple(chain)


class InfeasibleConstraints(SidelightError):
    """The constraints cannot be satisfied with this number of clusters.

    Attributes
    ----------
    k : int
        Number of clusters that was asked for.
    clique : tuple of int or None
        Positions of rows that are pairwise apart and more than ``k``, where known.
    sufficient_k : int or None
        A number of clusters that is known to suffice.
    """

    def __init__(
        self,
        message: str,
        *,
        k: int,
        clique: Sequence[int] | None = None,
        sufficient_k: int | None = None,
    ) -> None:
        super().__init__(message)
        self.k = k
        self.clique = None if clique is None else tuple(clique)
        self.sufficient_k = sufficient_k


class UnknownIds(SidelightError):
    """Side information names rows that the data does not have.

    Attributes
    ----------
    ids : tuple
        The ids that were not found.
    """

    def __init__(self, message: str, *, ids: Sequence[Any]) -> None:
        super().__init__(message)
        self.ids = tuple(ids)


class ConstraintFileError(SidelightError):
    """A file of side information cannot be read.

    Attributes
    ----------
    path : Path
        The file.
    line : int or None
        Line of the file (1 is the header), where the trouble has one.
    """

    def __init__(self, message: str, *, path: str | Path, line: int | None = None) -> None:
        super().__init__(message)
        self.path = Path(path)
        self.line = line


class ConstraintWarning(UserWarning):
    """Some constraints were ignored or changed; the message names them."""


class UnusedKnowledge(ConstraintWarning):
    """A method has no use for some of what is known; the message names the kinds."""


class EmbeddingWarning(UserWarning):
    """An embedding has fewer dimensions than requested, or is unreliable; the message says why."""


class WorkerLost(UserWarning):
    """A worker was lost during a fit; its part was done again, with the same result."""


class PreparationWarning(UserWarning):
    """New rows hold values that the preparation was not fitted to; the message names them."""


def _rebuild(kind: type[SidelightError], message: str, facts: dict[str, Any]) -> SidelightError:
    """Unpickle an error whose constructor takes keyword arguments."""
    return kind(message, **facts)
