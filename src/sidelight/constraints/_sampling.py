"""Draw constraints from known classes by the protocols of the literature, and make them noisy.

=========== =====================================================================================
random      ``n`` different pairs, all equally likely; the classes say which kind each is
level       the same with ``n = round(level * n_rows)`` (Law, constraint levels of 1 to 15 %)
disjoint    ``n`` pairs, every row in at most one of them (book, chapter 4)
balanced    half must-links, half cannot-links; classes, and pairs of classes, get equal shares
teachers    ``n_teachers`` see ``size`` rows each and say everything about them (book, chapter 3)
chunklets   a ``fraction`` of the rows, in groups of ``size`` rows of one class
=========== =====================================================================================

Pairs are drawn in a fixed order, so that with the same seed a smaller number of random, level or
disjoint pairs is contained in a larger one. Rows of unknown class (-1) are never drawn.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight._words import setting
from sidelight.exceptions import SidelightError

Protocol = Literal["random", "level", "disjoint", "balanced", "teachers"]

# Up to this many possible pairs are shuffled; beyond, pairs are drawn and repetitions dropped.
_SHUFFLED = 2**20
# More pairs than this are not written out: 16 bytes each.
_MAX_PAIRS = 50_000_000


def sample_pairs(
    y: npt.ArrayLike,
    n: int | None = None,
    *,
    protocol: str = "random",
    level: float | None = None,
    size: int | None = None,
    n_teachers: int | None = None,
    random_state: Any = None,
) -> tuple[IntArray, IntArray]:
    """Draw pairs of rows that known classes turn into must-links and cannot-links.

    Parameters
    ----------
    y : array-like of int of shape (n_samples,)
        Class of every row, -1 for unknown.
    n : int, optional
        Number of pairs (protocols random, disjoint and balanced).
    protocol : {"random", "level", "disjoint", "balanced", "teachers"}
        How to draw; see the head of this module.
    level : float, optional
        Number of pairs as a share of the number of rows (protocol level).
    size : int, optional
        Rows that a teacher sees.
    n_teachers : int, optional
        Number of teachers; they choose their rows independently.
    random_state : int, RandomState or None
        Seed of the draw.

    Returns
    -------
    must_link, cannot_link : ndarray of shape (m, 2)
        Different pairs of rows, the smaller row first.

    Examples
    --------
    >>> from sidelight.constraints._sampling import sample_pairs
    >>> must_link, cannot_link = sample_pairs([0, 0, 1, 1, -1], 6, random_state=0)
    >>> sorted(must_link.tolist()), len(cannot_link)
    ([[0, 1], [2, 3]], 4)
    """
    classes = _check_classes(y)
    rng = check_random_state(random_state)
    if protocol not in get_args(Protocol):
        raise SidelightError(
            f"{setting('protocol')} must be one of {', '.join(get_args(Protocol))} (or chunklets, "
            f"which makes groups), got {protocol!r}."
        )
    if protocol == "teachers":
        return _teachers(
            classes,
            _needed(n_teachers, "n_teachers", protocol),
            _needed(size, "size", protocol),
            rng,
        )
    if protocol == "level":
        n = _pairs_at(_needed(level, "level", protocol), len(classes))
    wanted = _whole(_needed(n, "n", protocol), "n", 0)
    if protocol == "balanced":
        return _balanced(classes, wanted, rng)
    rows = np.flatnonzero(classes >= 0)
    draw = _disjoint_pairs if protocol == "disjoint" else _random_pairs
    return _by_kind(rows[draw(len(rows), wanted, rng)], classes)


def sample_chunklets(
    y: npt.ArrayLike,
    *,
    fraction: float | None = None,
    size: int | None = None,
    random_state: Any = None,
) -> IntArray:
    """Put a fraction of the rows into groups of rows of one class.

    Parameters
    ----------
    y : array-like of int of shape (n_samples,)
        Class of every row, -1 for unknown.
    fraction : float
        Share of all rows that are in a group, up to a whole number of groups.
    size : int
        Rows of a group, at least two.
    random_state : int, RandomState or None
        Seed of the draw.

    Returns
    -------
    groups : ndarray of shape (n_samples,)
        Group of every row, numbered by first row, -1 for rows in none.

    Examples
    --------
    >>> from sidelight.constraints._sampling import sample_chunklets
    >>> sample_chunklets([0, 0, 0, 1, 1, 1], fraction=0.7, size=2, random_state=0)
    array([-1,  0,  0,  1, -1,  1])
    """
    classes = _check_classes(y)
    rng = check_random_state(random_state)
    share = _needed(fraction, "fraction", "chunklets")
    if not 0 <= share <= 1:
        raise SidelightError(f"{setting('fraction')} must be between 0 and 1, got {share}.")
    members = _whole(_needed(size, "size", "chunklets"), "size", 2)
    n_groups = round(share * len(classes) / members)
    # Shuffled rows, class by class, cut into pieces; the rest of a class stays free.
    rows = rng.permutation(np.flatnonzero(classes >= 0))
    rows = rows[np.argsort(classes[rows], kind="stable")]
    _, first, count = np.unique(classes[rows], return_index=True, return_counts=True)
    place = np.arange(len(rows)) - np.repeat(first, count)
    whole = place < np.repeat(count // members * members, count)
    pieces = rows[whole].reshape(-1, members)
    if n_groups > len(pieces):
        raise SidelightError(
            f"{n_groups} groups of {members} rows of one class were asked for, but only "
            f"{len(pieces)} exist: ask for a smaller fraction or smaller groups."
        )
    chosen = pieces[rng.permutation(len(pieces))[:n_groups]]
    chosen = chosen[np.argsort(chosen.min(axis=1, initial=len(classes)))]
    groups = np.full(len(classes), -1, dtype=np.int64)
    groups[chosen] = np.arange(n_groups)[:, None]
    return groups


def flip_pairs(
    must_link: IntArray,
    cannot_link: IntArray,
    must_link_weight: FloatArray,
    cannot_link_weight: FloatArray,
    fraction: float,
    random_state: Any = None,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Turn ``round(fraction * m)`` of the ``m`` pairs into their opposite; weights stay.

    Parameters
    ----------
    must_link, cannot_link : ndarray of shape (m, 2)
        Pairs of rows.
    must_link_weight, cannot_link_weight : ndarray of shape (m,)
        Their weights.
    fraction : float
        Share of all pairs that are flipped, chosen at random without replacement.
    random_state : int, RandomState or None
        Seed of the choice.

    Returns
    -------
    must_link, cannot_link, must_link_weight, cannot_link_weight : ndarray
        The pairs afterwards, and their weights.
    """
    if not 0 <= fraction <= 1:
        raise SidelightError(f"{setting('fraction')} must be between 0 and 1, got {fraction}.")
    rng = check_random_state(random_state)
    pairs = np.concatenate([must_link, cannot_link])
    weight = np.concatenate([must_link_weight, cannot_link_weight])
    together = np.arange(len(pairs)) < len(must_link)
    flipped = rng.permutation(len(pairs))[: round(fraction * len(pairs))]
    together[flipped] = ~together[flipped]
    return pairs[together], pairs[~together], weight[together], weight[~together]


# -------------------------------------------------------------------- random and disjoint pairs


def _random_pairs(n_rows: int, n: int, rng: np.random.RandomState) -> IntArray:
    possible = n_rows * (n_rows - 1) // 2
    if n > possible:
        raise _too_many(n, possible, "pairs")
    if possible <= _SHUFFLED:
        return _pair_of_number(rng.permutation(possible)[:n])
    drawn: list[IntArray] = []
    # The sizes of the portions do not depend on n: the pairs of a smaller n come first.
    for portion in itertools.count():
        numbers = rng.random_sample(2 ** min(10 + portion, 22)) * possible
        drawn = [_first_of_each(np.concatenate([*drawn, numbers.astype(np.int64)]))]
        if len(drawn[0]) >= n:
            break
    return _pair_of_number(drawn[0][:n])


def _disjoint_pairs(n_rows: int, n: int, rng: np.random.RandomState) -> IntArray:
    if n > n_rows // 2:
        raise _too_many(n, n_rows // 2, "disjoint pairs")
    return np.sort(rng.permutation(n_rows)[: 2 * n].reshape(n, 2), axis=1)


def _pair_of_number(number: IntArray) -> IntArray:
    """Pairs i < j counted as (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    second = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    # The root is rounded: put right what fell on the wrong side.
    second -= second * (second - 1) // 2 > number
    second += second * (second + 1) // 2 <= number
    return np.column_stack([number - second * (second - 1) // 2, second])


def _first_of_each(numbers: IntArray) -> IntArray:
    """Drop repetitions, keep the order."""
    _, first = np.unique(numbers, return_index=True)
    return numbers[np.sort(first)]


def _by_kind(pairs: IntArray, classes: IntArray) -> tuple[IntArray, IntArray]:
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return pairs[same], pairs[~same]


# -------------------------------------------------------------------- balanced pairs


def _balanced(classes: IntArray, n: int, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Half of each kind (one more must-link if n is odd), spread evenly over classes."""
    rows = np.flatnonzero(classes >= 0)
    rows = rows[np.argsort(classes[rows], kind="stable")]
    _, first, count = np.unique(classes[rows], return_index=True, return_counts=True)

    one, number = _even_draw(count * (count - 1) // 2, n - n // 2, "must-links", rng)
    must_link = rows[first[one][:, None] + _pair_of_number(number)]

    left, right = np.triu_indices(len(count), k=1)
    both, number = _even_draw(count[left] * count[right], n // 2, "cannot-links", rng)
    a, b = np.divmod(number, count[right][both])
    ends = np.column_stack([first[left[both]] + a, first[right[both]] + b])
    return np.sort(must_link, axis=1), np.sort(rows[ends], axis=1)


def _even_draw(
    sizes: IntArray, n: int, what: str, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Draw ``n`` different elements, equally many from every urn as far as its size allows.

    Returns the urn of each, and its number in the urn.
    """
    sizes = sizes.astype(np.int64)
    if n > sizes.sum():
        raise _too_many(n, int(sizes.sum()), what)
    quota = _even_quota(sizes, n, rng)
    start = np.concatenate([[0], np.cumsum(sizes)])
    # Urns of which more than half is wanted are shuffled whole; together that is O(n).
    crowded = 2 * quota > sizes
    whole = np.repeat(np.flatnonzero(crowded), sizes[crowded])
    inside = np.arange(len(whole)) - np.repeat(np.cumsum(sizes[crowded]), sizes[crowded])
    inside += np.repeat(sizes[crowded], sizes[crowded])
    order = np.lexsort([rng.random_sample(len(whole)), whole])
    taken = inside < quota[whole]
    keys = start[whole][taken] + inside[order][taken]
    missing = np.where(crowded, 0, quota)
    while missing.any():
        urn = np.repeat(np.arange(len(sizes)), missing)
        number = (rng.random_sample(len(urn)) * sizes[urn]).astype(np.int64)
        keys = _first_of_each(np.concatenate([keys, start[urn] + number]))
        missing = quota - np.bincount(_urn_of(keys, start), minlength=len(sizes))
    urn = _urn_of(keys, start)
    return urn, keys - start[urn]


def _urn_of(keys: IntArray, start: IntArray) -> IntArray:
    return np.searchsorted(start, keys, side="right") - 1


def _even_quota(sizes: IntArray, n: int, rng: np.random.RandomState) -> IntArray:
    """How many from every urn: a common level, less where the urn is smaller, the rest by lot."""
    low, high = 0, int(sizes.max(initial=0))
    while low < high:
        level = (low + high + 1) // 2
        if np.minimum(sizes, level).sum() <= n:
            low = level
        else:
            high = level - 1
    quota = np.minimum(sizes, low)
    larger = rng.permutation(np.flatnonzero(sizes > low))
    quota[larger[: n - quota.sum()]] += 1
    return quota


# -------------------------------------------------------------------- teachers


def _teachers(
    classes: IntArray, n_teachers: int, size: int, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """All pairs of the rows that each teacher sees; classes are compared within a teacher only."""
    known = np.flatnonzero(classes >= 0)
    n_teachers, size = _whole(n_teachers, "n_teachers", 1), _whole(size, "size", 2)
    if size > len(known):
        raise _too_many(size, len(known), "rows per teacher")
    if n_teachers * size * (size - 1) // 2 > _MAX_PAIRS:
        raise SidelightError(
            f"{n_teachers} teachers with {size} rows each would state more than {_MAX_PAIRS:,} "
            "pairs: use fewer or smaller ones."
        )
    # Every teacher is an urn that holds all rows.
    urns = np.full(n_teachers, len(known))
    teacher, seen = _even_draw(urns, n_teachers * size, "rows", rng)
    rows = known[seen[np.argsort(teacher, kind="stable")]].reshape(n_teachers, size)
    left, right = np.triu_indices(size, k=1)
    ends = np.stack([rows[:, left].ravel(), rows[:, right].ravel()], axis=1)
    keys = np.unique(ends.min(axis=1) * len(classes) + ends.max(axis=1))
    return _by_kind(np.column_stack(np.divmod(keys, len(classes))), classes)


# -------------------------------------------------------------------- checks


def _check_classes(y: npt.ArrayLike) -> IntArray:
    classes = np.asarray(y)
    if classes.ndim != 1 or classes.dtype.kind not in "iu":
        raise SidelightError(
            "y must hold the class of every row as a whole number, -1 for unknown; "
            "Constraints.sample takes any kind of class."
        )
    return classes.astype(np.int64)


def _needed(value: Any, name: str, protocol: str) -> Any:
    if value is None:
        raise SidelightError(f"The protocol {protocol!r} needs {setting(name)}.")
    return value


def _pairs_at(level: float, n_rows: int) -> int:
    if not 0 <= level * n_rows < np.inf:
        raise SidelightError(
            f"{setting('level')} must be a finite share of the rows, at least 0, got {level}."
        )
    return round(level * n_rows)


def _whole(value: Any, name: str, least: int) -> int:
    if not np.isfinite(float(value)) or int(value) != value or value < least:
        raise SidelightError(
            f"{setting(name)} must be a whole number of at least {least}, got {value}."
        )
    return int(value)


def _too_many(n: int, possible: int, what: str) -> SidelightError:
    return SidelightError(
        f"{n:,} {what} were asked for, but the rows of known class have only {possible:,}."
    )
