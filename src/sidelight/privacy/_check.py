"""An independent count of what a published table promises: its text, and nothing else.

The check is independent of how a table was made. Rows are alike if all their quasi-identifiers are
printed alike, sign by sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, listed
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import close_names, folded
from sidelight.privacy._printed import Cell, printed_columns

#: Models of diversity, and words for a class that falls short.
MODELS = ("distinct", "entropy", "recursive", "recursive-published")
#: Rounding of logarithms: three equal counts have the entropy log 3.
ROUNDING = 1e-12
#: Numbers of classes times values that are held at once.
BLOCK = 1 << 22


@dataclass(frozen=True)
class SensitiveColumn:
    """Diversity of a sensitive column in the classes of rows that are published alike.

    Missing values count as no value. Texts that differ in case or blanks only, and numbers that
    are written differently, count as one.

    Attributes
    ----------
    name : str
        Name of the column.
    distinct : int
        Least number of different values in a class.
    entropy : float
        Least effective number of values in a class, the exponential of the entropy.
    recursive : int
        Largest ``l`` with ``r_1 < c (r_l + ... + r_v)`` in every class, 0 for none.
    t_closeness : float
        Largest distance between the distribution of a class and that of the table: earth mover's
        distance over the ranks of the values where all are numbers (but for columns that were
        declared nominal), otherwise total variation.
    n_homogeneous : int
        Number of classes in which all rows share one value, so that the class tells it.
    n_missing : int
        Number of rows without a value.
    """

    name: str
    distinct: int
    entropy: float
    recursive: int
    t_closeness: float
    n_homogeneous: int
    n_missing: int

    def reached(self, diversity: str) -> float:
        """Diversity that every class reaches, by a model.

        Parameters
        ----------
        diversity : {"distinct", "entropy", "recursive", "recursive-published"}
            Model; the last, which is only ever true of one ``l``, goes by the number of values.
        """
        names = {"entropy": self.entropy, "recursive": self.recursive}
        return names.get(diversity, self.distinct)


@dataclass(frozen=True, eq=False)
class AnonymityCheck:
    """Result of a check of anonymity; true if all conditions hold.

    Attributes
    ----------
    k : int
        Least number of rows that should be alike.
    l : int
        Least diversity that every class should have in every sensitive column.
    diversity : str
        Model of diversity.
    c : float
        Constant of the recursive models.
    k_reached : int
        Size of the smallest class.
    class_sizes : ndarray of int
        Sizes of all classes, ascending.
    n_rows : int
        Number of rows.
    sensitive : dict of str to SensitiveColumn
        Sensitive columns, by name.
    problems : tuple of str
        The broken promises in words, with the values of the class that breaks them.
    n_too_small : int
        Number of classes with fewer than ``k`` rows.
    n_not_diverse : dict of str to int
        Number of classes that fall short of ``l``, by sensitive column.
    t : float
        Largest distance of a class to the table that every sensitive column should have.
    n_not_close : dict of str to int
        Number of classes that are farther than ``t``, by sensitive column.
    """

    k: int
    l: int  # noqa: E741 - the name in the literature
    diversity: str
    c: float
    k_reached: int
    class_sizes: IntArray
    n_rows: int
    sensitive: dict[str, SensitiveColumn]
    problems: tuple[str, ...]
    n_too_small: int
    n_not_diverse: dict[str, int] = field(default_factory=dict)
    t: float = 1.0
    n_not_close: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return not self.problems

    @property
    def n_classes(self) -> int:
        """Number of classes of rows that are published alike."""
        return len(self.class_sizes)

    @property
    def l_reached(self) -> dict[str, float]:
        """Diversity that every class reaches under the chosen model, by sensitive column."""
        return {name: one.reached(self.diversity) for name, one in self.sensitive.items()}

    def __str__(self) -> str:
        lines = [
            f"{counted(self.n_rows, 'row')} in {counted(self.n_classes, 'class')}; "
            f"k = {self.k_reached}, asked for {self.k}."
        ]
        for name, one in self.sensitive.items():
            lines.append(
                f"{name}: l = {one.distinct} (distinct), {one.entropy:.2f} (entropy), "
                f"{one.recursive} (recursive, c = {self.c:g}); t = {one.t_closeness:.3f}; "
                f"asked for {self.l} ({self.diversity})"
                + (f" and t = {self.t:g}." if self.t < 1 else ".")
            )
        return "\n".join([*lines, *self.problems])


def check_anonymity(
    table: Any,
    quasi: str | Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    *,
    k: int = 5,
    l: int = 1,  # noqa: E741 - the name in the literature
    diversity: str = "distinct",
    c: float = 3.0,
    t: float = 1.0,
    nominal: str | Sequence[str] = (),
) -> AnonymityCheck:
    """Count how many rows of a table are alike, and how diverse these are.

    The values are compared as they are printed, and of a file as they are written: ``37`` and
    ``37.0`` are two values of a quasi-identifier. Nothing is taken from the method that made the
    table. Read more in the :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    table : path-like, data frame of pandas or polars, Arrow table, or dict of columns
        The table, or the file that holds it.
    quasi : str or sequence of str
        Quasi-identifiers: columns by which somebody could recognize a person.
    sensitive : str or sequence of str, default=None
        Sensitive columns, each of which should be diverse among rows that are alike.
    k : int >= 1, default=5
        Least number of rows that should be alike.
    l : int >= 1, default=1
        Least diversity of every sensitive column in every class; 1 asks for nothing.
    diversity : {"distinct", "entropy", "recursive", "recursive-published"}, default="distinct"
        Model of diversity, as for :class:`Anonymizer`.
    c : float > 0, default=3.0
        Constant of the recursive models.
    t : float in [0, 1], default=1.0
        Largest distance between the distribution of a sensitive column in a class and that in the
        table, for every sensitive column; 1 asks for nothing.
    nominal : str or sequence of str, default=()
        Sensitive columns whose numbers are codes and have no order.

    Returns
    -------
    AnonymityCheck
        What was reached; true if it is as asked.

    Examples
    --------
    >>> from sidelight.privacy import check_anonymity
    >>> published = {"age": ["20-29"] * 3 + ["30-39"] * 2, "illness": list("abacc")}
    >>> check = check_anonymity(published, "age", "illness", k=2, l=2)
    >>> bool(check), check.k_reached, check.l_reached
    (False, 2, {'illness': 1})
    >>> print(check.problems[0])
    All 2 rows with age = 30-39 have too few values of 'illness': 1 reached, l = 2 asked for \
(distinct).
    """
    quasi = [quasi] if isinstance(quasi, str) else list(quasi)
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())
    nominal = [nominal] if isinstance(nominal, str) else list(nominal)
    _check_request(quasi, names, k, l, diversity, c)
    _check_closeness(names, nominal, t)
    columns = printed_columns(table)
    n_rows = _check_columns(columns, [*quasi, *names])
    # Equivalence classes: rows that are equal in all quasi-identifiers, as printed.
    codes = np.zeros(n_rows, np.int64)
    for name in quasi:
        of_column = _codes(columns[name])
        codes = np.unique(codes * (of_column.max() + 1) + of_column, return_inverse=True)[1]
    sizes = np.bincount(codes)
    problems = []
    # k-anonymity: every class has at least k rows.
    too_small = sizes < k
    if too_small.any():
        words = _class_words(columns, quasi, codes, int(sizes.argmin()))
        problems.append(f"Only {counted(int(sizes.min()), 'row')} with {words}: k = {k} asked for.")
    found, not_diverse, not_close = {}, {}, {}
    # l-diversity of every sensitive column in every class, by the model asked for.
    for name in names:
        counts = _ValueCounts(columns[name], codes, len(sizes), name in nominal)
        found[name] = counts.summary(name, c)
        short = counts.short_of(l, diversity, c)
        not_diverse[name] = int(short.sum())
        if short.any():
            worst = int(np.flatnonzero(short)[0])
            words = _class_words(columns, quasi, codes, worst)
            reached = counts.words(worst, diversity, c)
            problems.append(
                f"All {counted(int(sizes[worst]), 'row')} with {words} have too few values of "
                f"{name!r}: {reached} reached, l = {l} asked for ({diversity})."
            )
        # t-closeness: no class is farther from the table.
        distances = counts.distances()
        far = distances > t + ROUNDING
        not_close[name] = int(far.sum())
        if far.any():
            worst = int(distances.argmax())
            words = _class_words(columns, quasi, codes, worst)
            problems.append(
                f"All {counted(int(sizes[worst]), 'row')} with {words} are far from the table in "
                f"{name!r}: {distances[worst]:.3f} reached, t = {t:g} asked for."
            )
    return AnonymityCheck(
        k=k,
        l=l,
        diversity=diversity,
        c=c,
        k_reached=int(sizes.min()),
        class_sizes=np.sort(sizes),
        n_rows=n_rows,
        sensitive=found,
        problems=tuple(problems),
        n_too_small=int(too_small.sum()),
        n_not_diverse=not_diverse,
        t=t,
        n_not_close=not_close,
    )


def _check_request(
    quasi: Sequence[str], sensitive: Sequence[str], k: int, least: int, diversity: str, c: float
) -> None:
    if not quasi:
        raise InvalidRequest("Name the quasi-identifiers: the columns that a person is known by.")
    named = [*quasi, *sensitive]
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise InvalidRequest(f"The column {twice[0]!r} is named twice; a column has one role.")
    if k < 1 or least < 1:
        raise InvalidRequest(f"k and l are at least 1, got {k} and {least}.")
    if diversity not in MODELS:
        raise InvalidRequest(f"{diversity!r} is no model of diversity; there are {listed(MODELS)}.")
    if not 0 < c < np.inf:
        raise InvalidRequest(f"c is a positive number, got {c}.")
    if least > 1 and not sensitive:
        raise InvalidRequest(f"l = {least} is about sensitive columns; name at least one.")


def _check_closeness(sensitive: Sequence[str], nominal: Sequence[str], t: float) -> None:
    if not 0 <= t <= 1:
        raise InvalidRequest(f"t is a distance from 0 to 1, got {t}.")
    if t < 1 and not sensitive:
        raise InvalidRequest(f"t = {t:g} is about sensitive columns; name at least one.")
    strange = [name for name in nominal if name not in sensitive]
    if strange:
        raise InvalidRequest(
            f"{strange[0]!r} is named as nominal, and not as sensitive; only the distance of "
            "sensitive columns knows an order."
        )


def _check_columns(columns: dict[str, list[Cell]], named: Sequence[str]) -> int:
    for name in named:
        if name not in columns:
            raise SidelightError(f"There is no column {name!r}; {close_names(name, [*columns])}.")
    n_rows = len(columns[named[0]])
    if not n_rows:
        raise SidelightError("The table has no rows.")
    return n_rows


def _codes(values: Sequence[Any]) -> IntArray:
    """Equal values get equal numbers."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int64)


def _class_words(
    columns: dict[str, list[Cell]], quasi: Sequence[str], codes: IntArray, number: int
) -> str:
    row = int(np.argmax(codes == number))
    values = ((name, columns[name][row]) for name in quasi)
    return listed(
        [f"{name} = {'nothing' if value in ('', None) else value}" for name, value in values]
    )


class _ValueCounts:
    """How often every value occurs in every class: pairs that occur, ordered by class."""

    def __init__(
        self, values: Sequence[Cell], codes: IntArray, n_classes: int, nominal: bool
    ) -> None:
        keys = [folded(value) for value in values]
        known = np.array([key is not None for key in keys], bool)
        self.n_missing, self.n_classes = int((~known).sum()), n_classes
        self.n_values, of_value, ordered = _ordered_codes([k for k in keys if k is not None])
        self.ordered = ordered and not nominal
        width = max(self.n_values, 1)
        pairs, self.n = np.unique(codes[known] * width + of_value, return_counts=True)
        self.cls, self.value = np.divmod(pairs, width)
        self.total = np.bincount(self.cls, self.n, n_classes)
        self.distinct = np.bincount(self.cls, minlength=n_classes)

    def effective(self) -> FloatArray:
        """Exponential of the entropy of every class; 0 for a class without values."""
        share = self.n / self.total[self.cls]
        entropy = np.bincount(self.cls, -share * np.log(share), self.n_classes)
        return np.where(self.total > 0, np.exp(entropy), 0.0)

    def recursive(self, c: float) -> IntArray:
        """Largest ``l`` of every class with ``r_1 < c (r_l + ... + r_v)``."""
        cls, n = self._descending()
        first = np.searchsorted(cls, np.arange(self.n_classes))
        before = np.concatenate([[0], np.cumsum(n)])
        tail = before[first[cls] + self.distinct[cls]] - before[np.arange(len(n))]
        return np.bincount(cls[n[first[cls]] < c * tail], minlength=self.n_classes)

    def short_of(self, least: int, diversity: str, c: float) -> Array:
        """Classes that are less diverse than required."""
        if least == 1:  # asks for nothing, also of a recursive model with a small constant
            return np.zeros(self.n_classes, bool)
        if diversity == "distinct":
            return self.distinct < least
        if diversity == "entropy":
            return self.effective() < least * (1 - ROUNDING)
        if diversity == "recursive":
            return self.recursive(c) < least
        cls, n = self._descending()
        first = np.searchsorted(cls, np.arange(self.n_classes))
        from_last = first[cls] + self.distinct[cls] - np.arange(len(n))
        rarest = np.bincount(cls, np.where(from_last <= least, n, 0), self.n_classes)
        most = np.zeros(self.n_classes)
        most[cls] = n[first[cls]]
        return (self.distinct < least) | ~(most < c * rarest)

    def words(self, number: int, diversity: str, c: float) -> str:
        """Diversity of one class."""
        if diversity == "entropy":
            return f"{self.effective()[number]:.2f}"
        if diversity == "recursive":
            return str(self.recursive(c)[number])
        return str(self.distinct[number]) if diversity == "distinct" else "not"

    def distances(self) -> FloatArray:
        """Distance of every class to the table; 0 for a class without values."""
        if self.n_values < 2:
            return np.zeros(self.n_classes)
        everywhere = np.bincount(self.value, self.n, self.n_values) / self.n.sum()
        share = self.n / self.total[self.cls]
        if not self.ordered:  # what a class has more of, some other value has less of
            more = np.maximum(share - everywhere[self.value], 0.0)
            return np.asarray(np.bincount(self.cls, more, self.n_classes), np.float64)
        found, below = np.zeros(self.n_classes), np.cumsum(everywhere)
        height = max(1, BLOCK // self.n_values)
        for start in range(0, self.n_classes, height):
            here = (self.cls >= start) & (self.cls < start + height)
            held = np.zeros((min(height, self.n_classes - start), self.n_values))
            held[self.cls[here] - start, self.value[here]] = share[here]
            moved = np.abs(np.cumsum(held, axis=1) - below).sum(axis=1) / (self.n_values - 1)
            known = self.total[start : start + height] > 0
            found[start : start + height] = np.where(known, moved, 0.0)
        return found

    def summary(self, name: str, c: float) -> SensitiveColumn:
        """The least of all classes."""
        return SensitiveColumn(
            name=name,
            distinct=int(self.distinct.min()),
            entropy=float(self.effective().min()),
            recursive=int(self.recursive(c).min()),
            t_closeness=float(self.distances().max()),
            n_homogeneous=int((self.distinct == 1).sum()),
            n_missing=self.n_missing,
        )

    def _descending(self) -> tuple[IntArray, IntArray]:
        """Classes and counts of the pairs, in every class the most frequent value first."""
        order = np.lexsort((-self.n, self.cls))
        return self.cls[order], self.n[order]


def _ordered_codes(keys: Sequence[Any]) -> tuple[int, IntArray, bool]:
    """Number of different values, their codes, and whether these have an order: all are numbers."""
    different = set(keys)
    ordered = all(isinstance(key, float) for key in different)
    place = {key: i for i, key in enumerate(sorted(different) if ordered else different)}
    return len(place), np.array([place[key] for key in keys], np.int64), ordered
