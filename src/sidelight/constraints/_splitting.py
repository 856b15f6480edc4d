"""Hold some statements out, such that none of them follows from the rest.

A must-link held out is worthless as a test when a chain of other must-links entails it. Statements
are therefore split by the connected parts of the graph that they form: whole parts are held out,
and nothing is known any more about their rows. Where one part is too large for that, rows are
taken out of it one after the other, each with all statements about it (the book, section
5.3.8, folds over the points that take part in constraints): a row about which nothing is left
cannot be in anything that follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._typing import IntArray
from sidelight.assignment.inner import connected_parts
from sidelight.constraints.algebra._canonical import StatedPairs, Statements
from sidelight.constraints.algebra._plain import Classes
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints._constraints import Constraints

BoolArray = npt.NDArray[np.bool_]
Split = tuple["Constraints", "Constraints"]


def split_constraints(
    constraints: Constraints,
    *,
    test_size: float = 0.3,
    n_splits: int | None = None,
    random_state: Any = None,
) -> Split | list[Split]:
    """Split constraints into what is used and what is held out, without leakage.

    No held-out must-link, cannot-link, label or group follows from the closure of the others. Pairs
    and labels count one each; a group counts as one statement and is never divided. Labels are
    held out in proportion to their classes. Where whole connected parts can be held out (see the
    head of this module), nothing that is used follows from what is held out either.

    Parameters
    ----------
    constraints : Constraints
        What is known.
    test_size : float
        Share of the statements to hold out, as nearly as the parts allow.
    n_splits : int, optional
        Make this many splits instead, each holding out a share of ``1 / n_splits``. A statement is
        held out in one of them, or, within a part too large for one split, in none to two.
    random_state : int, RandomState or None
        Seed of the choice.

    Returns
    -------
    (train, held_out) : tuple of Constraints, or a list of such tuples with ``n_splits``
        Both about all rows, and together all that is stated.

    Raises
    ------
    SidelightError
        When nothing can be held out, for instance of a single statement.

    References
    ----------
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 5.3.8.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> known = Constraints([(0, 1), (1, 2), (3, 4), (5, 6)], [(7, 8)], n_samples=9)
    >>> train, held_out = known.split(test_size=0.4, random_state=0)
    >>> train.n_pairs, held_out.n_pairs
    (3, 2)
    """
    rng = check_random_state(random_state)
    if not 0 < test_size < 1:
        raise SidelightError(f"test_size must be between 0 and 1, got {test_size}.")
    if n_splits is not None and n_splits < 2:
        raise SidelightError(f"n_splits must be at least 2, got {n_splits}.")
    stated = collect_statements(constraints)
    share = test_size if n_splits is None else 1 / n_splits
    splits = [
        (
            constraints_of(constraints, stated, ~held, rest=True),
            constraints_of(constraints, stated, held, rest=False),
        )
        for held in _hold_out(stated, share, n_splits or 1, rng)
    ]
    return splits[0] if n_splits is None else splits


@dataclass(frozen=True)
class StatementGraph:
    """All statements between atoms; an atom is a group, or a row that is in none.

    ``ends`` (m, 2) are the atoms of every statement, twice the same for a label or a group;
    ``kind`` (m,) is 0 for must-links, 1 for cannot-links, 2 for groups, 3 + class for labels.
    """

    n_atoms: int
    ends: IntArray
    kind: IntArray
    # Codes of the groups that are statements, and rows of the labels, in the order above.
    group_codes: IntArray
    labelled_rows: IntArray


def collect_statements(known: Constraints) -> StatementGraph:
    """Return the statements of constraints as a graph between the rows that they name."""
    atom = np.arange(known.n_samples)
    codes = grouped = labeled = np.empty(0, dtype=np.int64)
    if known.groups is not None:
        inside = np.flatnonzero(known.groups >= 0)
        code, first, which, size = np.unique(
            known.groups[inside], return_index=True, return_inverse=True, return_counts=True
        )
        atom[inside] = inside[first][which]
        # A group of one row constrains nothing.
        codes, grouped = code[size > 1], inside[first[size > 1]]
    if known.labels is not None:
        labeled = np.flatnonzero(known.labels >= 0)
    classes = labeled if known.labels is None else known.labels[labeled]
    single = [np.column_stack([atom[rows], atom[rows]]) for rows in (grouped, labeled)]
    rows = np.concatenate([atom[known.must_link], atom[known.cannot_link], *single])
    atoms, ends = np.unique(rows, return_inverse=True)
    counts = [len(known.must_link), len(known.cannot_link), len(grouped)]
    kind = np.concatenate([np.repeat([0, 1, 2], counts), 3 + classes])
    return StatementGraph(len(atoms), ends.reshape(-1, 2), kind, codes, labeled)


def _hold_out(
    stated: StatementGraph, share: float, n_splits: int, rng: np.random.RandomState
) -> list[BoolArray]:
    """Which statements are held out, ``n_splits`` times a share of them."""
    m = len(stated.ends)
    target = max(share * m, 1.0)
    # Whole parts only where they fit; if that leaves a split empty, all parts are torn.
    for largest in (min(1.5 * target, m - 1), 0.0):
        masks = _hold_out_parts(stated, target, largest, n_splits, rng)
        if all(mask.any() and not mask.all() for mask in masks):
            return masks
    raise _cannot_split(m, n_splits)


def _hold_out_parts(
    stated: StatementGraph, target: float, largest: float, n_splits: int, rng: np.random.RandomState
) -> list[BoolArray]:
    """Hold out whole parts of at most ``largest`` statements, then rows of the others."""
    n_parts, part = connected_parts(stated.n_atoms, stated.ends)
    part_of = part[stated.ends[:, 0]]
    small = np.bincount(part_of, minlength=n_parts) <= largest
    split_of_part = _fill_with_parts(stated, part_of, small, target, n_splits, rng)
    torn = np.flatnonzero(~small[part_of])
    way = order_atoms(stated, torn, target, rng)
    masks = []
    for split in range(n_splits):
        held = split_of_part[part_of] == split
        held[torn], way = take_atoms(stated, torn, way, target - held.sum(), alone=not held.any())
        masks.append(held)
    return masks


def _fill_with_parts(
    stated: StatementGraph,
    part_of: IntArray,
    small: BoolArray,
    target: float,
    n_splits: int,
    rng: np.random.RandomState,
) -> IntArray:
    """Split in which every part is held out, -1 for none: one after the other, up to the target.

    The order is random but mixes the kinds: any stretch of it holds single must-links,
    cannot-links and labels of every class in proportion.
    """
    weight = np.bincount(part_of, minlength=len(small))
    split = np.full(len(small), -1, dtype=np.int64)
    parts = np.flatnonzero(small)
    if len(parts) == 0:
        return split
    # A part of several statements is of a kind of its own.
    kind = np.full(len(small), -1, dtype=np.int64)
    kind[part_of] = stated.kind
    kind[weight > 1] = -1
    parts = parts[_mixed_order(kind[parts], rng)]
    middle = np.cumsum(weight[parts]) - weight[parts] / 2
    stretch = target if n_splits == 1 else weight[parts].sum() / n_splits
    position = np.floor(middle / stretch).astype(np.int64)
    split[parts] = np.where(position < n_splits, position, -1)
    if n_splits == 1:
        # Room that the next part was too large for goes to single statements further on.
        later = parts[(split[parts] < 0) & (weight[parts] == 1)]
        split[later[: max(round(target - weight[split == 0].sum()), 0)]] = 0
        if small.all() and np.all(split == 0):
            split[parts[-1]] = -1
    return split


def _mixed_order(kind: IntArray, rng: np.random.RandomState) -> IntArray:
    """A random order in which every stretch holds the kinds in proportion."""
    shuffled = rng.permutation(len(kind))
    by_kind = shuffled[np.argsort(kind[shuffled], kind="stable")]
    _, first, count = np.unique(kind[by_kind], return_index=True, return_counts=True)
    rank = np.arange(len(kind)) - np.repeat(first, count)
    place = (rank + rng.random_sample(len(kind))) / np.repeat(count, count)
    return by_kind[np.argsort(place, kind="stable")]


def order_atoms(
    stated: StatementGraph, torn: IntArray, target: float, rng: np.random.RandomState
) -> IntArray:
    """The atoms of the parts that are torn, in the order in which they may be taken out.

    An atom with more statements than may be held out comes last.
    """
    ends = stated.ends[torn]
    pairs = ends[ends[:, 0] != ends[:, 1]]
    touches = np.bincount(pairs.ravel(), minlength=stated.n_atoms)
    touches += np.bincount(ends[ends[:, 0] == ends[:, 1], 0], minlength=stated.n_atoms)
    atoms = np.flatnonzero(touches)
    kind = np.zeros(stated.n_atoms, dtype=np.int64)
    kind[ends[:, 0]] = np.where(stated.kind[torn] >= 2, stated.kind[torn], 0)
    atoms = atoms[_mixed_order(kind[atoms], rng)]
    return atoms[np.argsort(np.where(touches[atoms] > target, touches[atoms], 0), kind="stable")]


def take_atoms(
    stated: StatementGraph, torn: IntArray, way: IntArray, room: float, *, alone: bool
) -> tuple[BoolArray, IntArray]:
    """Take atoms out until there is no room; (which cut statements go, the rest of the order)."""
    none = np.zeros(len(torn), dtype=bool)
    if len(way) == 0 or (room < 1 and not alone):
        return none, way
    turn = np.full(stated.n_atoms, len(way), dtype=np.int64)
    turn[way] = np.arange(len(way))
    # A statement goes with the first of its atoms.
    goes = turn[stated.ends[torn]].min(axis=1)
    new = np.bincount(goes, minlength=len(way) + 1)[: len(way)]
    middle = np.cumsum(new) - new / 2
    n_taken = int(np.searchsorted(middle, room))
    if n_taken == 0 and alone:
        n_taken = 1
    return goes < n_taken, way[n_taken:]


def constraints_of(
    known: Constraints, stated: StatementGraph, keep: BoolArray, *, rest: bool
) -> Constraints:
    """The constraints of some statements; ``rest``: with the groups that constrain nothing."""
    n_must, n_cannot = len(known.must_link), len(known.cannot_link)
    must, cannot = keep[:n_must], keep[n_must : n_must + n_cannot]
    groups, labels = known.groups, known.labels
    if groups is not None:
        kept = np.full(len(known.group_names) + 1, rest)
        kept[stated.group_codes] = keep[stated.kind == 2]
        groups = np.where(kept[groups], groups, -1)
    if labels is not None:
        labels = labels.copy()
        labels[stated.labelled_rows[~keep[stated.kind > 2]]] = -1
    return known._derive(
        Statements(
            StatedPairs(known.must_link[must], known.must_link_weight[must]),
            StatedPairs(known.cannot_link[cannot], known.cannot_link_weight[cannot]),
            None if labels is None else Classes(labels, known.label_names),
            None if groups is None else Classes(groups, known.group_names),
        )
    )


def _cannot_split(n_statements: int, n_splits: int) -> SidelightError:
    if n_statements < 2:
        return SidelightError(
            f"Nothing can be held out of {n_statements} statement{'s'[: n_statements != 1]}: "
            "at least two are needed."
        )
    if n_splits == 1:
        return SidelightError(
            "Nothing can be held out: all statements are about the same rows. Add constraints "
            "between other rows."
        )
    return SidelightError(
        f"The constraints are too few, or hang together too much, for {n_splits} splits: ask for "
        "fewer."
    )
