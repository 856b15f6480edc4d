"""Labels held out of a fit, with everything that would give them away.

A row whose label is held out stays in the data as an unlabeled row. Nothing is left in the fit
that speaks of it: neither its must-links and its group, which pass labels on, nor its cannot-links,
which with two classes tell the label as well. With nothing said about a row, nothing can follow
about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import listed
from sidelight.constraints.inner import (
    StatementGraph,
    collect_statements,
    constraints_of,
    order_atoms,
    take_atoms,
    text_of,
)
from sidelight.exceptions import ConstraintWarning, SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints

#: Kind of the first class in the statements of a split; below it are pairs and groups.
FIRST_CLASS = 3

#: Classes that a message names.
NAMED_CLASSES = 3


@dataclass(frozen=True)
class LabelFold:
    """A part of what is known to fit with, and labels to score by.

    Attributes
    ----------
    train : Constraints
        Constraints for the fit. They label rows of every class.
    held_out : Constraints
        Pairs and groups that the fit does not get.
    rows : ndarray of int64
        Rows whose labels are held out.
    """

    train: Constraints
    held_out: Constraints
    rows: IntArray


def label_folds(
    known: Constraints, parts: int | float, rng: np.random.RandomState, *, tell: bool = True
) -> list[LabelFold]:
    """Fold labels, class by class, together with the pairs and groups of their rows.

    Parameters
    ----------
    known : Constraints
        What is known, labels of at least two classes among it.
    parts : int or float
        Number of folds, each label being held out in one of them; or the share of the labels that
        is held out once. Fewer folds where there are fewer labels.
    rng : RandomState
        Source of the random order.
    tell : bool, default=True
        Whether to warn of classes that are never held out: those with a single label, or a single
        group of labels, which every fit needs.

    Returns
    -------
    folds : list of LabelFold
        In every fold some labels are held out, and about as large a share of the pairs.
    """
    stated = collect_statements(known)
    atoms, classes = _labeled_atoms(stated)
    if tell:
        _warn_of_single(known, classes)
    folds = _deal(classes, parts, rng)
    if not len(folds):
        raise SidelightError(
            "No label can be held out: every class has a single labeled row, or a single group of "
            "them, which the fit needs. Label at least two rows of a class that no group joins."
        )
    taken = [_with_every_class(stated, atoms[fold]) for fold in folds]
    share = float(parts) if parts < 1 else 1 / len(folds)
    masks = _hold_out(stated, [atoms for atoms in taken if len(atoms)], share, rng)
    return [_fold(known, stated, held) for held in masks]


def _labeled_atoms(stated: StatementGraph) -> tuple[IntArray, IntArray]:
    """Groups and single rows with a label, and the class of each."""
    of_labels = np.flatnonzero(stated.kind >= FIRST_CLASS)
    atoms, first = np.unique(stated.ends[of_labels, 0], return_index=True)
    return atoms, stated.kind[of_labels[first]] - FIRST_CLASS


def _warn_of_single(known: Constraints, classes: IntArray) -> None:
    single = np.flatnonzero(np.bincount(classes, minlength=len(known.label_names)) == 1)
    if not len(single):
        return
    names = [repr(text_of(known.label_names[code])) for code in single[:NAMED_CLASSES]]
    more = ["..."] if len(single) > NAMED_CLASSES else []
    several = len(single) > 1
    warn(
        f"The class{'es' if several else ''} {listed([*names, *more])} "
        f"ha{'ve' if several else 's'} a single labeled row, or a single group of them, which "
        "every fit needs: it is never held out. Label more rows to see how well the class comes "
        "out.",
        ConstraintWarning,
    )


def _deal(classes: IntArray, parts: int | float, rng: np.random.RandomState) -> list[IntArray]:
    """Places of the labeled atoms that each fold takes: every class in equal numbers.

    A class with a single one keeps it.
    """
    shuffled = rng.permutation(len(classes))
    ordered = shuffled[np.argsort(classes[shuffled], kind="stable")]
    counts = np.bincount(classes)
    ordered = ordered[counts[classes[ordered]] > 1]
    if not len(ordered):
        return []
    if parts < 1:
        return [_share_of_each(ordered, classes, float(parts))]
    n_folds = min(int(parts), len(ordered))
    return [ordered[fold::n_folds] for fold in range(n_folds)]


def _share_of_each(ordered: IntArray, classes: IntArray, share: float) -> IntArray:
    """A share of the atoms of every class, at least one in all and never all of a class."""
    sizes = np.bincount(classes[ordered])
    rank = np.arange(len(ordered)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    wanted = np.clip(np.round(share * sizes), 0, np.maximum(sizes - 1, 0))
    if not wanted.any():
        wanted[np.argmax(sizes)] = 1
    return ordered[rank < wanted[classes[ordered]]]


def _with_every_class(stated: StatementGraph, taken: IntArray) -> IntArray:
    """Leave atoms in the fit without which a class would have no label.

    Only groups with labels of several classes make this necessary.
    """
    of_labels = stated.kind >= FIRST_CLASS
    kinds, ends = stated.kind[of_labels], stated.ends[of_labels, 0]
    left = ~np.isin(ends, taken)
    needed = ends[~np.isin(kinds, kinds[left])]
    return taken[~np.isin(taken, needed)]


def _hold_out(
    stated: StatementGraph, taken: list[IntArray], share: float, rng: np.random.RandomState
) -> list[Array]:
    """Statements that each fold holds out: all about its atoms, and more pairs up to its share."""
    relations = stated.kind < FIRST_CLASS
    target = share * relations.sum()
    labeled = np.unique(stated.ends[~relations])
    way = order_atoms(stated, np.flatnonzero(relations), max(target, 1.0), rng)
    way = way[~np.isin(way, labeled)]
    masks = []
    for atoms in taken:
        held = np.asarray(np.isin(stated.ends, atoms).any(axis=1))
        others = np.flatnonzero(relations & ~held)
        room = target - np.sum(held & relations)
        held[others], way = take_atoms(stated, others, way, room, alone=False)
        masks.append(held)
    return masks


def _fold(known: Constraints, stated: StatementGraph, held: Array) -> LabelFold:
    labels_held = held[stated.kind >= FIRST_CLASS]
    pairs = held & (stated.kind < FIRST_CLASS)
    return LabelFold(
        train=constraints_of(known, stated, ~held, rest=True),
        held_out=constraints_of(known, stated, pairs, rest=False),
        rows=stated.labelled_rows[labels_held],
    )
