"""The order of rows or columns, and how far apart the members of a cluster may be in it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints.algebra._alignment import own_ids
from sidelight.constraints.algebra._canonical import RowIndex, as_ids
from sidelight.constraints.algebra._plain import frozen, plain
from sidelight.exceptions import SidelightError


class Ordering:
    r"""Order of rows or columns by a score, with bounds on the gaps between members of a set.

    With the elements sorted by score, a set with members at the places
    :math:`r_1 < \dots < r_m` has the gaps :math:`r_{i+1} - r_i - 1`, the numbers of elements
    between consecutive members that are not in the set. It is admissible if

    .. math::
        \mathrm{min\_gap} \le r_{i+1} - r_i - 1 \le \mathrm{max\_gap}, \qquad i = 1, \dots, m - 1 .

    ``max_gap`` asks for intervals (0: no hole at all), ``min_gap`` for members that are spread
    out. In a circular order the gap from the last member back to the first counts as well, and the
    largest gap of all does not, since the set may begin anywhere. Sets of fewer than two members
    are admissible. (Constrained Clustering, 2009, sections 6.2 and 6.3.3.) The object never
    changes.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Time, position or any other values that can be sorted: numbers, dates, words. All
        different: elements of the same score have no order.
    max_gap : int >= 0, default=None
        Most elements between consecutive members that are not in the set; None for any number.
    min_gap : int >= 0, default=None
        Fewest elements between consecutive members that are not in the set; None for any number.
    circular : bool, default=False
        Whether the first element follows the last one, as in hours of a day.
    ids : array-like of shape (n,), default=None
        Your own names of the elements; by default the index of scores that are a pandas Series
        with an index of its own.

    Attributes
    ----------
    order : ndarray of int64, shape (n,)
        Elements by increasing score.
    rank : ndarray of int64, shape (n,)
        Place of every element in the order, from 0.

    Examples
    --------
    >>> from sidelight.constraints import Ordering
    >>> weeks = Ordering([3, 1, 2, 5, 4], max_gap=1)
    >>> weeks
    <Ordering of 5 elements: at most 1 element in a gap>
    >>> weeks.admits([0, 2, 3])
    True
    >>> weeks.admits([1, 3])
    False
    """

    __slots__ = ("circular", "ids", "max_gap", "min_gap", "order", "rank", "scores")

    scores: Array
    max_gap: int | None
    min_gap: int | None
    circular: bool
    ids: Array | None
    order: IntArray
    rank: IntArray

    def __init__(
        self,
        scores: Any,
        max_gap: int | None = None,
        min_gap: int | None = None,
        circular: bool = False,
        *,
        ids: Any = None,
    ) -> None:
        names = own_ids(scores) if ids is None else as_ids(ids)
        values = _sortable(plain(scores))
        if names is not None and len(names) != len(values):
            raise SidelightError(
                f"ids has {counted(len(names), 'name')} for {counted(len(values), 'score')}; "
                "give one name for each."
            )
        order = np.argsort(values, kind="stable")
        _check_no_ties(values[order], order, names)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        lower, upper = _gap(min_gap, "min_gap"), _gap(max_gap, "max_gap")
        if lower is not None and upper is not None and lower > upper:
            raise SidelightError(
                f"min_gap={lower} is larger than max_gap={upper}: no set of two members would be "
                "admissible; raise max_gap or lower min_gap."
            )
        if not isinstance(circular, (bool, np.bool_)):
            raise SidelightError(f"circular must be True or False, got {circular!r}.")
        for name, value in (
            ("scores", frozen(values)),
            ("max_gap", upper),
            ("min_gap", lower),
            ("circular", bool(circular)),
            ("ids", None if names is None else frozen(np.array(names))),
            ("order", frozen(order.astype(np.int64))),
            ("rank", frozen(rank)),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("An Ordering never changes; make a new one.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("An Ordering never changes; make a new one.")

    def __len__(self) -> int:
        return len(self.rank)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.scores, self.max_gap, self.min_gap, self.circular, self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ordering):
            return NotImplemented
        return (
            np.array_equal(self.scores, other.scores)
            and (self.max_gap, self.min_gap, self.circular)
            == (other.max_gap, other.min_gap, other.circular)
            and np.array_equal(self.ids, other.ids)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        return hash((len(self), self.max_gap, self.min_gap, self.circular))

    def __repr__(self) -> str:
        kind = "circular ordering" if self.circular else "Ordering"
        return (
            f"<{kind[0].upper()}{kind[1:]} of {counted(len(self), 'element')}: {self.bounds_text}>"
        )

    @property
    def has_bounds(self) -> bool:
        """Whether some sets are not admissible."""
        return bool(self.min_gap) or self.max_gap is not None

    @property
    def bounds_text(self) -> str:
        """The bounds in words."""
        parts = []
        if self.min_gap:
            parts.append(f"at least {counted(self.min_gap, 'element')}")
        if self.max_gap is not None:
            parts.append(f"at most {counted(self.max_gap, 'element')}")
        return f"{' and '.join(parts)} in a gap" if parts else "any gaps"

    def in_order_of(self, names: Any) -> Ordering:
        """The same ordering for elements listed in another order; unchanged if there are no ids.

        Parameters
        ----------
        names : array-like of shape (n,)
            Names of the elements, out of ``ids``.
        """
        if self.ids is None:
            return self
        wanted = as_ids(names)
        places = RowIndex(self.ids).positions(wanted)
        if np.array_equal(places, np.arange(len(self))):
            return self
        if len(wanted) != len(self) or np.any(np.sort(places) != np.arange(len(self))):
            unknown = wanted[places < 0].tolist()
            problem = f"{unknown[0]!r} has no score" if unknown else "the numbers of both differ"
            raise SidelightError(
                f"The order names other elements than the table: {problem}. Give both the same "
                "names, or the scores as an array in the order of the table."
            )
        return _remake(self.scores[places], self.max_gap, self.min_gap, self.circular, wanted)

    def gaps(self, members: Any) -> IntArray:
        """Gaps between consecutive members that count.

        Parameters
        ----------
        members : array-like of int
            Positions of the members, in any order.

        Returns
        -------
        gaps : ndarray of int64
            Numbers of elements in the gaps, in the order of the places; in a circular order
            without the largest one.
        """
        places = np.sort(self.rank[np.unique(np.asarray(members, dtype=np.int64))])
        gaps = np.diff(places) - 1
        if self.circular and len(places) > 1:
            gaps = np.append(gaps, places[0] + len(self) - places[-1] - 1)
            gaps = np.delete(gaps, np.argmax(gaps))
        return gaps

    def admits(self, members: Any) -> bool:
        """Whether the gaps of a set are within the bounds.

        Parameters
        ----------
        members : array-like of int
            Positions of the members, in any order.
        """
        gaps = self.gaps(members)
        if self.max_gap is not None and np.any(gaps > self.max_gap):
            return False
        return self.min_gap is None or not np.any(gaps < self.min_gap)


def _remake(
    scores: Any, max_gap: int | None, min_gap: int | None, circular: bool, ids: Any
) -> Ordering:
    return Ordering(scores, max_gap, min_gap, circular, ids=ids)


def _sortable(values: Array) -> Array:
    """Scores as one row of values that can be compared, nothing missing."""
    if values.ndim != 1 or not len(values):
        raise SidelightError(
            f"scores must hold one value for each element, got an array of shape {values.shape}."
        )
    missing = [place for place, value in enumerate(values.tolist()) if _is_missing(value)]
    if missing:
        raise SidelightError(
            f"The score of element {missing[0]} is missing; give every element a score."
        )
    try:
        np.argsort(values, kind="stable")
    except TypeError as error:
        raise SidelightError(
            "The scores cannot be sorted, since they are of different types; give numbers, dates "
            "or words."
        ) from error
    return np.array(values)


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def _check_no_ties(ordered: Array, order: Array, names: Array | None) -> None:
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same):
        first, second = (
            repr(plain(names)[place].item()) if names is not None else str(place)
            for place in order[same[0] : same[0] + 2].tolist()
        )
        raise SidelightError(
            f"Elements {first} and {second} have the same score, {ordered[same[0]]}, so that "
            "neither comes first; give different scores."
        )


def _gap(value: Any, name: str) -> int | None:
    if value is None:
        return None
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < 0:
        raise SidelightError(f"{name} must be a whole number of at least 0 or None, got {value!r}.")
    return int(value)
