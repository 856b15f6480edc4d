"""Losses and risks of a published table, from that table and the original alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.privacy.anonymizer._columns import Column, places_of, read_columns
from sidelight.privacy.anonymizer._conditions import read_sensitive
from sidelight.privacy.anonymizer._encode import read_hierarchies
from sidelight.privacy.anonymizer._hierarchy import Hierarchy, tree_of
from sidelight.privacy.anonymizer._publish import (
    ANY,
    NOTHING,
    different_texts,
    read_dates,
    read_range,
    read_set,
    single,
)
from sidelight.privacy.anonymizer._recount import closeness, equivalence_classes


def normalized_certainty_penalty(
    original: Any, published: Any, *, hierarchies: Mapping[str, Any] | None = None
) -> float:
    """Mean share of the range of a column that a published value leaves open, in [0, 1].

    ``NCP = (1/nd) Σ_i Σ_j p_ij`` with the width of a published range as a share of the range of
    the column, at most 1; the number of categories of a set as a share of all (0 for a single one);
    or the leaves below a node of a hierarchy as a share of all leaves (0 for a leaf). Rows that are
    not published count 1. The range is that of values that are not far out: within 1.5 times the
    range of the middle 80 % around it. Read more in the :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    original : table or array of shape (n_samples, n_features)
        The quasi-identifiers as they were.
    published : table of texts of shape (n_published, n_features)
        The same columns as they are published, in the form of :attr:`Anonymizer.published_`.
    hierarchies : dict of str to Hierarchy, default=None
        Hierarchies that the published values are nodes of, by column.

    Returns
    -------
    penalty : float
        0 for the original, 1 if nothing is left.

    Examples
    --------
    >>> from sidelight.privacy import normalized_certainty_penalty
    >>> normalized_certainty_penalty([[20], [30], [60]], [["20-30"], ["20-30"], ["60"]])
    0.16666666666666666
    """
    columns, _ = read_columns(original)
    texts = published_columns(published)
    _check_width(columns, texts)
    known = read_hierarchies(hierarchies, columns)
    n_rows, n_published = len(columns[0].codes), len(texts[0])
    if n_published > n_rows:
        raise SidelightError(
            f"The published table has {counted(n_published, 'row')}, the original {n_rows:,} only."
        )
    total = 0.0
    for column, published_column in zip(columns, texts, strict=True):
        different, counts = _counted(published_column)
        penalties = penalties_of_texts(column, different, known.get(column.name))
        total += float(penalties @ counts)
    return (total / len(columns) + n_rows - n_published) / n_rows


def discernibility(published: Any, *, n_suppressed: int = 0) -> int:
    """Sum of the squared sizes of the classes of rows that are published alike.

    Every row costs as many rows as it is indistinguishable from: ``Σ_c |c|² + s n`` with ``s``
    suppressed rows of ``n`` in all. Read more in the :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    published : table of shape (n_published, n_features)
        The published quasi-identifiers.
    n_suppressed : int, default=0
        Rows that were left out; each counts as much as there are rows.

    Examples
    --------
    >>> from sidelight.privacy import discernibility
    >>> discernibility([["20-29"], ["20-29"], ["30-39"]])
    5
    """
    sizes = np.bincount(equivalence_classes(published_columns(published)))
    return int((sizes**2).sum() + n_suppressed * (sizes.sum() + n_suppressed))


def dispersion(original: Any, published: Any) -> float:
    """Sum of squared distances of standardized, encoded rows to the means of their classes.

    ``DISP = Σ_c Σ_{i in c} ‖z_i - mean of c‖²`` (section 16.2): numbers and dates have mean 0 and
    variance 1, missing ones are at the mean and marked by a coordinate of their own, and two
    different categories are at a distance of 1. Read more in the
    :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    original : table or array of shape (n_published, n_features)
        The rows that were published, as they were.
    published : table of shape (n_published, n_features)
        The published quasi-identifiers, which define the rows that are alike.

    Examples
    --------
    >>> from sidelight.privacy import dispersion
    >>> dispersion([[1.0], [3.0]], [["1-3"], ["1-3"]])
    2.0
    """
    columns, _ = read_columns(original)
    classes = equivalence_classes(published_columns(published))
    if len(classes) != len(columns[0].codes):
        raise SidelightError(
            f"The original has {counted(len(columns[0].codes), 'row')} and the published table "
            f"{len(classes):,}; give the rows that were published."
        )
    return dispersion_of(columns, classes)


def t_closeness(published: Any, sensitive: Any) -> dict[str, float]:
    """Largest distance of the distribution of a sensitive column in a class to that in all rows.

    Earth mover's distance over the ranks of the values for numbers and dates, total variation for
    categories, and where values are missing. Read more in the
    :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    published : table of shape (n_published, n_features)
        The published quasi-identifiers, which define the rows that are alike.
    sensitive : array of shape (n_published,) or table
        Sensitive columns of the published rows.

    Returns
    -------
    distances : dict of str to float
        By sensitive column, in [0, 1].

    Examples
    --------
    >>> from sidelight.privacy import t_closeness
    >>> t_closeness([["a"], ["a"], ["b"], ["b"]], ["flu", "flu", "flu", "cold"])
    {'sensitive': 0.25}
    """
    classes = equivalence_classes(published_columns(published))
    columns = read_sensitive(sensitive, len(classes), None)
    return {column.name: closeness(column, classes) for column in columns}


def published_columns(published: Any) -> list[Array]:
    """Columns of a published table as texts."""
    if isinstance(published, Mapping):
        return [np.asarray(list(values), dtype=object) for values in published.values()]
    if hasattr(published, "column_names"):
        return [np.array(column.to_pylist(), dtype=object) for column in published.columns]
    if hasattr(published, "iloc"):
        return [published.iloc[:, j].to_numpy(object) for j in range(published.shape[1])]
    if hasattr(published, "get_columns"):
        return [np.array(column.to_list(), dtype=object) for column in published.get_columns()]
    rows = np.asarray(published, dtype=object)
    if rows.ndim != 2:
        raise SidelightError("A published table has rows and columns.")
    return list(rows.T)


def penalties_of_texts(column: Column, texts: list[str], hierarchy: Hierarchy | None) -> FloatArray:
    """Share of a column that each published text leaves open."""
    if hierarchy is not None:
        tree = tree_of(hierarchy, column)
        shares = {single(name): open_ for name, open_ in zip(tree.names, tree.open, strict=True)}
        shares[ANY], shares[NOTHING] = 1.0, 0.0
        penalty = shares.__getitem__
    elif column.is_ordered:
        penalty = _RangePenalty(column)
    else:
        domain = column.n_different

        def penalty(text: str) -> float:
            number = domain if text == ANY else len(read_set(text))
            return number / domain if number > 1 else 0.0

    try:
        return np.array([penalty(text) for text in texts])
    except (KeyError, ValueError, TypeError) as error:
        raise SidelightError(
            f"A published value of column {column.name!r} cannot be read: {error}."
        ) from error


class _RangePenalty:
    """Width of published ranges as shares of the range of a column."""

    def __init__(self, column: Column) -> None:
        self.column = column

    def __call__(self, text: str) -> float:
        if text in (ANY, NOTHING):
            return float(text == ANY)
        column = self.column
        if not len(column.values):
            return 0.0
        if column.kind == "date":
            unit = column.values.dtype
            ends = np.array([end.astype(unit) for end in read_dates(text)])
        else:
            ends = np.array(read_range(text))
        low, high = np.clip(places_of(ends, column), *column.positions[[0, -1]])
        return min(float(high - low), 1.0)


def dispersion_of(columns: list[Column], classes: IntArray) -> float:
    """Sum of squared distances to the means of classes, over all columns."""
    sizes = np.bincount(classes).astype(np.float64)
    total = 0.0
    for column in columns:
        missing = column.codes < 0
        if column.is_ordered:
            total += _within(np.append(column.shares, np.nan)[column.codes], classes, sizes)
            if missing.any():
                share = np.bincount(classes, missing) / sizes
                total += float((sizes * share * (1 - share)).sum())
        else:
            width = len(column.values) + 1
            codes = np.where(missing, width - 1, column.codes)
            pairs, counts = np.unique(classes * width + codes, return_counts=True)
            squares = np.bincount(pairs // width, counts.astype(np.float64) ** 2, len(sizes))
            total += float((sizes - squares / sizes).sum()) / 2
    return total


def _within(values: FloatArray, classes: IntArray, sizes: FloatArray) -> float:
    """Squared distances of standardized numbers to the means of their classes."""
    deviation = np.nanstd(values) if not np.isnan(values).all() else 0.0
    if deviation == 0.0:
        return 0.0
    scaled = np.nan_to_num((values - np.nanmean(values)) / deviation)
    means = np.bincount(classes, scaled) / sizes
    return float(((scaled - means[classes]) ** 2).sum())


def _counted(column: Array) -> tuple[list[str], IntArray]:
    """Different texts of a column and how often they occur."""
    texts, places = different_texts(column)
    if (places < 0).any():
        raise SidelightError("A published table has no missing values; found some.")
    return texts, np.bincount(places, minlength=len(texts))


def _check_width(columns: list[Column], texts: list[Any]) -> None:
    if len(columns) != len(texts):
        raise SidelightError(
            f"The original has {counted(len(columns), 'column')}, the published table "
            f"{len(texts)}; both should be the quasi-identifiers in one order."
        )
