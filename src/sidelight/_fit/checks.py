"""Checks of what ``fit`` is given besides parameters: numbers of clusters, weights, bad values."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from sidelight._in_memory import check_computed, check_in_memory
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted, setting, worded
from sidelight.constraints import Constraints
from sidelight.constraints.inner import check_one_index, plain
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import (
    DIRECTIONS,
    PAIR_WEIGHTS,
    SQUARED,
    WEIGHTS,
    largest_by_column,
    too_large,
    too_small,
)
from sidelight.exceptions import ConstraintWarning, SidelightError, SparseRows

#: A column beside larger ones may be as small as this: squares are float64 where columns are
#: compared, and some are squared again.
SMALLEST_COLUMN = SQUARED[8]

#: Below this many numbers threads are not worth it.
FEW_NUMBERS = 1_000_000


def check_n_clusters(n_clusters: Any, n_samples: int, *, name: str = "n_clusters") -> int:
    """Check that ``1 <= n_clusters <= n_samples``; ``name`` is what the parameter is called."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, Integral):
        raise TypeError(f"{setting(name)} must be a whole number, got {n_clusters!r}.")
    if int(n_clusters) < 1:
        raise ValueError(f"{setting(name)} must be at least 1, got {n_clusters}.")
    if int(n_clusters) > n_samples:
        raise ValueError(
            worded(
                f"n_samples={n_samples} should be >= {name}={n_clusters}; ",
                f"{setting(name, n_clusters)} is more than the {counted(n_samples, 'row')} there "
                f"{'is' if n_samples == 1 else 'are'}; ",
            )
            + "ask for fewer clusters or give more rows."
        )
    return int(n_clusters)


def check_weights(sample_weight: Any, source: RowSource, X: Any) -> Array | None:
    """Check the weights of the rows of X: one each, not negative, not all zero."""
    if sample_weight is None:
        return None
    check_computed(sample_weight, "sample_weight", rows=False)
    check_one_index(sample_weight, X if hasattr(X, "iloc") else source, "sample_weight")
    weights = np.asarray(sample_weight, dtype=source.dtype)
    if weights.ndim == 0:
        weights = np.full(source.n_rows, weights, dtype=source.dtype)
    if weights.shape != (source.n_rows,):
        raise ValueError(
            f"sample_weight must hold one weight per row, shape ({source.n_rows},), got shape "
            f"{weights.shape}."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        bad = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise ValueError(
            f"sample_weight must be finite and not negative; row {bad} has {weights[bad]}."
        )
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every row.")
    extent, largest = WEIGHTS[source.dtype.itemsize], float(weights.max())
    if not extent.smallest <= largest <= extent.largest:
        raise SidelightError(
            f"The largest sample_weight is {largest:.3g}, and has to be between "
            f"{extent.smallest:.0e} and {extent.largest:.0e} in {source.dtype}: divide all weights "
            "by the same number."
        )
    return weights


def check_extent(X: Any, rows: Any, *, fit: bool, directions: bool = False) -> None:
    """Check that the values are neither too large nor, in a fit, too small to be squared.

    New rows may all be small beside those of the fit.

    Parameters
    ----------
    X : object
        What the user gave; its names of rows and columns are in the message.
    rows : ndarray, CSR matrix or RowSource
        The same, as numbers. Large values of rows on disk are found as they are read.
    fit : bool
        Whether the rows are those of a fit.
    directions : bool, default=False
        Whether only ratios within a row count.
    """
    extent = (DIRECTIONS if directions else SQUARED)[rows.dtype.itemsize]
    if isinstance(rows, RowSource):
        if not fit and rows.max_parallel is not None:
            return
        largest = rows.largest()
    else:
        largest = _largest(rows)
    if largest.max(initial=0.0) > extent.largest:
        place, value = _place_of_largest(X, rows, largest)
        raise SidelightError(f"{place} holds {value:.3g}; {too_large(rows.dtype, extent)}.")
    if not fit:
        return
    if 0 < largest.max(initial=0.0) < extent.smallest:
        raise SidelightError(
            f"No value is larger than {largest.max():.3g} in size; {too_small(rows.dtype, extent)}."
        )
    small = np.flatnonzero((largest > 0) & (largest < SMALLEST_COLUMN.smallest))
    if len(small) and not directions:
        raise SidelightError(
            f"No value of {_column_name(X, small[0])} is larger than {largest[small[0]]:.3g} in "
            f"size; {too_small(rows.dtype, SMALLEST_COLUMN)}, or drop the column."
        )


def _largest(rows: Any) -> Array:
    """Largest ``|x|`` of every column, by several threads where there are many rows."""
    if sparse.issparse(rows) or rows.size < FEW_NUMBERS:
        return largest_by_column(rows)
    return as_rows(rows).largest()


def _place_of_largest(X: Any, rows: Any, largest: Array) -> tuple[str, float]:
    """Words for where the largest value is, and the value."""
    j = int(np.argmax(largest))
    if isinstance(rows, RowSource):
        return f"Column {j}", float(largest[j])
    values = rows[:, [j]].toarray()[:, 0] if sparse.issparse(rows) else rows[:, j]
    i = int(np.argmax(np.abs(values) == largest[j]))
    index = getattr(X, "index", None)
    row = i if index is None or callable(index) else repr(index[i])  # a list has such a method
    return f"Row {row}, {_column_name(X, j)}", float(values[i])


def _column_name(X: Any, position: Any) -> str:
    names = getattr(X, "columns", None)
    return f"column {position}" if names is None else f"column {str(names[position])!r}"


def check_pair_weights(known: Constraints) -> None:
    """Check that the weights of pairs can be added up."""
    for pairs, weights, what in (
        (known.must_link, known.must_link_weight, "must-link"),
        (known.cannot_link, known.cannot_link_weight, "cannot-link"),
    ):
        largest = weights.max() if len(weights) else 1.0
        if not PAIR_WEIGHTS.smallest <= largest <= PAIR_WEIGHTS.largest:
            first, second = known.name_rows(pairs[weights.argmax()])
            raise SidelightError(
                f"The {what} {first} - {second} has the largest weight, {largest:.3g}, which has "
                f"to be between {PAIR_WEIGHTS.smallest:.0e} and {PAIR_WEIGHTS.largest:.0e}: divide "
                "all weights by the same number."
            )


def partial_labels(y: Any, n_samples: int) -> Array | None:
    """Read ``y`` as partial labels; scikit-learn hands anything at all to a clusterer's ``y``."""
    if y is None:
        return None
    check_computed(y, "y", rows=False)
    values = plain(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise ValueError(
            f"y must hold one label per row, shape ({n_samples},), got shape {values.shape}."
        )
    if values.dtype.kind == "f":
        known = values[np.isfinite(values)]
        if np.any(known != np.round(known)):
            warn(
                "y holds fractions, so it cannot be a labelling, and was ignored.",
                ConstraintWarning,
            )
            return None
    return values


def no_sparse_rows(name: str) -> str:
    """What to do with sparse rows for a method that takes none."""
    return f"{name} takes no sparse rows: " + worded(
        "X.toarray() makes them dense, if they fit into memory.",
        "give them as a table (.csv, .parquet, .npy), or choose a method that takes them: "
        "`sidelight methods NAME` tells.",
    )


def explain_bad_rows(X: Any, error: Exception, name: str = "This method") -> Exception:
    """Error that names bad columns or values if the data shows them; else scikit-learn's own."""
    if sparse.issparse(X) and "dense data is required" in str(error):
        return SparseRows(no_sparse_rows(name))
    names = getattr(X, "columns", None)
    if names is not None and hasattr(X, "__getitem__") and "convert" in str(error):
        bad = [str(name) for name in names if np.asarray(X[name]).dtype.kind not in "biuf"]
        if bad:
            return type(error)(
                f"Columns {bad} are not numbers; drop them or turn them into numbers "
                f"(one column per category) first. ({error})"
            )
    found = _bad_values(X, is_bad=np.isinf if "NaN" not in str(error) else _not_finite)
    if found is None:
        return error
    rows, columns = found
    index, names = getattr(X, "index", None), getattr(X, "columns", None)
    row = rows[0] if index is None else repr(index[rows[0]])
    column = columns[0] if names is None else repr(str(names[columns[0]]))
    return type(error)(
        f"{error}\nThe first is in row {row}, column {column}; {len(np.unique(rows))} of "
        f"{X.shape[0]} rows are affected: drop them, or fill in the values first."
    )


def check_coordinates(Z: Any, n_components: int, what: str = "Z") -> Array:
    """Check places on a map: in memory, finite, dense, a column for each of its coordinates."""
    check_in_memory(Z, what)
    if sparse.issparse(Z):
        raise SidelightError(
            f"{what} is sparse, but places on a map are not: give {what}.toarray(), a column for "
            "each coordinate, as transform returns them."
        )
    places: Array = check_array(Z, dtype=[np.float64, np.float32], input_name=what)
    if places.shape[1] != n_components:
        raise SidelightError(
            f"{what} has {counted(places.shape[1], 'column')}, but the map has "
            f"{counted(n_components, 'coordinate')}; give places as transform returns them."
        )
    return places


def _not_finite(values: Any) -> Any:
    return ~np.isfinite(values)


def _bad_values(X: Any, is_bad: Any) -> tuple[Any, Any] | None:
    """Rows and columns of values that cannot be used, in the order of the rows."""
    if sparse.issparse(X):
        entries = X.tocoo()
        bad = np.flatnonzero(is_bad(entries.data)) if entries.dtype.kind == "f" else np.array([])
        if not len(bad):
            return None
        rows, columns = entries.row[bad], entries.col[bad]
        order = np.lexsort((columns, rows))
        return rows[order], columns[order]
    if not hasattr(X, "shape") or len(X.shape) != 2 or np.iscomplexobj(X):
        return None
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    rows, columns = np.nonzero(is_bad(values))
    return (rows, columns) if len(rows) else None
