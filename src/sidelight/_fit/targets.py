"""Classes that a classifier learns, as the user wrote them: codes of the rows, and the names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import worded
from sidelight.constraints import Constraints
from sidelight.constraints.inner import is_missing, plain
from sidelight.exceptions import ConstraintWarning, SidelightError


def check_target(y: Any, X: Any, n_samples: int) -> None:
    """Raise if ``y`` cannot hold classes, and warn if two marks for "unlabeled" occur in it.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None
        Classes, with -1, None, NaN or an empty word where unknown.
    X : object
        The rows as they were given; its index names rows in messages.
    n_samples : int
        Number of rows.
    """
    if y is None:
        return
    values = plain(y)
    if values.shape == (n_samples, 1):
        warn(
            "A column-vector y was passed when a 1d array was expected; its single column was "
            "taken. y.ravel() gives it this shape.",
            DataConversionWarning,
        )
        values = values[:, 0]
    if values.shape != (n_samples,):
        return  # raised where all constraints are checked
    fractions = _fractions(values)
    if len(fractions):
        raise SidelightError(
            f"Unknown label type: y holds fractions, such as {values[fractions[0]]:g} in row "
            f"{fractions[0]}, as a quantity does. A class is a whole number or a word: give "
            "classes as text, or use a regressor."
        )
    _warn_of_two_marks(values)


def _fractions(values: Array) -> IntArray:
    """Rows whose value is a number that is not whole."""
    if values.dtype.kind == "O":
        given = [value if isinstance(value, float | np.floating) else 0 for value in values]
        values = np.array(given, dtype=np.float64)
    if values.dtype.kind != "f":
        return np.empty(0, dtype=np.int64)
    known = np.where(np.isfinite(values), values, 0.0)
    return np.flatnonzero(known != np.round(known))


def _warn_of_two_marks(values: Array) -> None:
    """Warn that both -1 and missing values were taken for "unlabeled"."""
    if values.dtype.kind == "f":
        both = bool(np.any(values == -1) and np.isnan(values).any())
    elif values.dtype.kind == "O":
        given = values.tolist()
        both = any(map(_is_minus_one, given)) and any(map(is_missing, given))
    else:
        return
    if both:
        warn(
            "y marks rows by -1 and by missing values, and both were taken for unlabeled. If -1 "
            "is a class, give it another name.",
            ConstraintWarning,
        )


def _is_minus_one(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and value == -1


def read_targets(y: Any, known: Constraints, name: str, *, pass_on: bool) -> tuple[IntArray, Array]:
    """Codes of the rows (-1 where unlabeled) and the classes that they stand for, sorted.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None
        Classes as the user wrote them; they come back as such. Classes that only the constraints
        know have the names that these give them.
    known : Constraints
        All that is known, the classes of ``y`` included.
    name : str
        Name of the classifier, for messages.
    pass_on : bool
        Whether rows that must-links and groups join to a labeled row share its class, and rows
        that cannot-links keep from all classes but one are of that one.

    Returns
    -------
    codes : ndarray of shape (n_samples,), int64
        Place among the classes; -1 where the class is not known.
    classes : ndarray of shape (n_classes,)
        The classes, sorted where they can be.
    """
    if known.labels is None:
        raise _no_labels(y, name)
    codes = _passed_on(known) if pass_on else known.labels
    names = as_written(y, known)
    order = _order(names)
    rank = np.append(np.argsort(order), -1)
    classes = names[order]
    if len(classes) < 2:
        raise _one_class(classes.tolist()[0], name)
    return rank[codes], classes


def _one_class(only: Any, name: str) -> SidelightError:
    return SidelightError(
        f"{name} tells classes apart, but all labeled rows are of one class, {only!r}: label rows "
        "of at least two classes."
        + worded(
            " The number -1 means unlabeled; a class that is called -1 needs another name.",
            " An empty field or -1 means unlabeled.",
        )
    )


def _no_labels(y: Any, name: str) -> SidelightError:
    if y is None:
        begin = worded(
            f"This {name} estimator requires y to be passed, but the target y is None: ",
            f"{name} has nothing to learn from: ",
        )
    else:
        begin = f"{name} has nothing to learn from, since no row is labeled: "
    return SidelightError(
        begin
        + worded(
            "give the classes of some rows as y (-1 where unknown), or as labels of the "
            "constraints. Pairs alone say which rows go together, but not which class they are.",
            "name the column of known classes with --label-column, or give labels among the "
            "constraints. Pairs alone say which rows go together, but not which class they are.",
        )
    )


def _passed_on(known: Constraints) -> IntArray:
    """Known class of every row, also through must-links, groups and cannot-links.

    Where a chain joins rows of two classes, only what is stated counts.
    """
    assert known.labels is not None
    closure = known.closure(on_contradiction="keep")
    joined = np.zeros(closure.n_components, dtype=bool)
    joined[closure.component[closure.joined_classes]] = True
    reached = np.where(joined, -1, closure.component_label)
    if len(known.cannot_link):
        reached = _by_exclusion(reached, closure.conflicts, joined, len(known.label_names))
    stated = known.labels >= 0
    return np.where(stated, known.labels, reached[closure.component])


def _by_exclusion(
    classes: IntArray, conflicts: IntArray, closed: Array, n_classes: int
) -> IntArray:
    """Classes of must-link components of which cannot-links rule out all other classes.

    Parameters
    ----------
    classes : ndarray of shape (n_components,)
        Codes of the known classes, -1 elsewhere.
    conflicts : ndarray of shape (e, 2)
        Components that are kept apart.
    closed : ndarray of bool, shape (n_components,)
        Components that take no class: they have two.
    n_classes : int
        Number of classes.
    """
    found = classes.copy()
    ends = np.concatenate([conflicts, conflicts[:, ::-1]])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    start = np.searchsorted(ends[:, 0], np.arange(len(classes) + 1))
    ruled_out = np.zeros((len(classes), n_classes), dtype=bool)
    news = np.flatnonzero(found >= 0)
    while len(news):  # in rounds: what is found in one rules out classes in the next
        counts = start[news + 1] - start[news]
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        others = ends[np.repeat(start[news], counts) + steps, 1]
        ruled_out[others, np.repeat(found[news], counts)] = True
        seen = np.unique(others[(found[others] < 0) & ~closed[others]])
        news = seen[ruled_out[seen].sum(axis=1) == n_classes - 1]
        found[news] = np.argmin(ruled_out[news], axis=1)
    return found


def idle_cannot_links(known: Constraints) -> IntArray:
    """Places of the cannot-links that say nothing about a class: one of their rows has none."""
    if known.labels is None:
        return np.arange(len(known.cannot_link))
    return np.flatnonzero((_passed_on(known)[known.cannot_link] < 0).any(axis=1))


def as_written(y: Any, known: Constraints) -> Array:
    """Name of every class as ``y`` writes it, or else as the constraints name it."""
    n_classes = len(known.label_names)
    if y is None:
        return known.label_names
    values = plain(y).reshape(-1)
    given = np.asarray(y).reshape(-1) if hasattr(y, "__array__") else values
    if given.dtype.kind == "f" and values.dtype.kind != "f":
        given = values  # whole numbers with gaps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)  # given when constraints were joined
        own = Constraints(labels=values).labels
    first = np.full(n_classes, -1, dtype=np.int64)
    if own is not None:
        rows = np.flatnonzero(own >= 0)[::-1]
        assert known.labels is not None
        first[known.labels[rows]] = rows
    if np.all(first >= 0) and given.dtype.kind not in "O":
        return given[first]
    written = [known.label_names[code] if row < 0 else given[row] for code, row in enumerate(first)]
    if all(isinstance(value, str) for value in written):
        return np.array(written, dtype=str)
    kinds = {type(value) for value in written}
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return np.array(written)
    objects = np.empty(n_classes, dtype=object)
    for code, value in enumerate(written):
        objects[code] = value
    return objects


def _order(names: Array) -> IntArray:
    """Order of the class names: sorted, or unchanged where they cannot be compared."""
    if names.dtype.kind != "O":
        return np.argsort(names, kind="stable")
    try:
        return np.array(sorted(range(len(names)), key=lambda code: names[code]), dtype=np.int64)
    except TypeError:
        return np.arange(len(names))
