"""The transformer from tables to features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import worded
from sidelight.engine import get_threads, threads
from sidelight.exceptions import InvalidParameter, PreparationWarning, SidelightError
from sidelight.io.inner import quoted
from sidelight.preparation._fitting import Fitting, choices_of, dropped_by
from sidelight.preparation._parts import ColumnFeatures, extent_of, facts_in_memory
from sidelight.preparation._plan import ColumnPlan, plan_table
from sidelight.preparation._reading import RawColumn, read_typed
from sidelight.preparation._redundant import sampled_rows
from sidelight.preparation._scale import Scale
from sidelight.preparation._shared import GapRows, has_marks, missing_rows
from sidelight.preparation._source import Source, as_source
from sidelight.preparation._typed import TypedColumn
from sidelight.preparation.streams._fit import fit_parts
from sidelight.preparation.streams._rows import rows_of
from sidelight.preparation.streams._table import as_parts, in_parts, open_table

SCALES = ("standard", "robust", "range", "none")
#: Rows that are written at a time: their features stay in the processor's cache.
BLOCK_ROWS = 8192


class TablePreparer(TransformerMixin, BaseEstimator):
    r"""Turn a table as people have it into features of which each counts the same.

    Every column is recognized by its type, values and name: numbers (texts with decimal commas,
    thousands separators or currency signs too), skewed positive numbers, yes or no, categories,
    ordered categories, dates, times of day, short texts. Ids, constant columns and texts that are
    all different are set aside. ``plan_`` tells every decision, ``kinds`` overrules it.

    The squared Euclidean distance of two rows is a sum over the columns in which each counts as
    one feature,

    .. math:: d^2(a, b) = \sum_j w_j \, d_j^2(a_j, b_j),

    with :math:`d_j = |a_j - b_j| / s_j` for numbers and ranks of ordered levels, and
    :math:`d_j^2 = m` for different categories, 0 for equal ones. With ``scale="range"``
    (:math:`s_j` the range, :math:`m = 1`) the :math:`d_j` are those of Gower's coefficient; with
    ``scale="standard"`` (:math:`s_j` the standard deviation, :math:`m = 2`) two different
    categories are as far apart as two random rows are in a number.

    Parameters
    ----------
    kinds : dict of str to str or sequence of str, default=None
        What columns hold, where it should not be found out: ``"number"``, ``"log"`` (a number whose
        logarithm counts), ``"yes-no"``, ``"category"``, ``"ordered"``, ``"date"``, ``"time"``,
        ``"text"`` or ``"aside"``; the levels from low to high for an ordered category.
    weights : dict of str to float, default=None
        How many features a column counts as; 1 for all others.
    scale : {"standard", "robust", "range", "none"}, default="standard"
        Numbers have variance 1 (``standard``), an interquartile range like that of variance 1
        (``robust``, which outliers do not change), range 1 (``range``, Gower's), or their own unit
        (``none``).
    drop : sequence of str, default=()
        Columns to leave out.
    missing : {"fill", "keep"}, default="fill"
        Gaps in numbers and dates are filled with the mean and marked in a column of their own, and
        are a level of their own in categories (``fill``); or stay NaN, for methods that model them
        (``keep``).

    Attributes
    ----------
    plan_ : list of ColumnPlan
        Decision on every column: ``name``, ``kind``, ``how``, ``n_missing``, ``weight``,
        ``levels``.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, where they have names.

    Notes
    -----
    Columns of a table with names that say the same count once together: those that order the rows
    alike, as an hour and a clock time or a weight in two units, and codes with their names; ``how``
    and ``weight`` of the plan tell. Columns with ``weights`` are left alone. Columns with gaps in
    the same rows have one mark together.

    Levels in less than 1 % of the rows, and those beyond the thirtieth, are joined. A skewed
    positive number goes through :math:`\log(1 + x / c)` with the lower quartile c, so that the
    result does not depend on its unit. Texts become TF-IDF weights of their words, in the 20
    directions in which they differ most (latent semantic analysis), of length 1.

    Time and memory are linear in the cells of the table and of the result. Folders, patterns and
    lists of files, datasets and queries are read block by block, in memory that does not grow with
    the rows, and give the same preparer for every cut into files; beyond 32,768 different values of
    a column, quartiles and counts of its levels have an error below 0.04 % of the rows, and words
    of texts are learned from 100,000 rows. ``prepared_rows`` gives features of such tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight.preparation import TablePreparer
    >>> table = pd.DataFrame(
    ...     {
    ...         "age": [31, 45, 27, 62],
    ...         "country": ["DE", "FR", "DE", "IT"],
    ...         "member": ["yes", "no", "no", "yes"],
    ...     }
    ... )
    >>> preparer = TablePreparer().fit(table)
    >>> for row in preparer.plan_table():
    ...     print(row)
    ('age', 'number', '')
    ('country', 'category', '3 levels')
    ('member', 'yes-no', 'no or yes')
    >>> preparer.get_feature_names_out().tolist()
    ['age', 'country=DE', 'country=FR', 'country=IT', 'member=yes']
    >>> preparer.transform(table).shape
    (4, 5)

    The same pipeline that the command line runs:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sidelight.cluster import KMeans
    >>> model = make_pipeline(TablePreparer(), KMeans(n_clusters=2, random_state=0)).fit(table)
    >>> model.predict(table).shape
    (4,)
    """

    def __init__(
        self,
        *,
        kinds: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        scale: Literal["standard", "robust", "range", "none"] = "standard",
        drop: Sequence[str] = (),
        missing: Literal["fill", "keep"] = "fill",
    ) -> None:
        self.kinds = kinds
        self.weights = weights
        self.scale = scale
        self.drop = drop
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide on every column and fit its features.

        Parameters
        ----------
        X : data frame, Arrow table, Table, path-like, array, dataset or query
            The table. A folder, a pattern such as ``"big/*.parquet"``, a list of files, a
            ``pyarrow`` dataset, a polars LazyFrame or a DuckDB relation may be larger than memory.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted preparer.
        """
        for _ in self._fit_columns(X):
            pass  # columns are read one after the other, and forgotten
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Array:
        """Fit to a table and return its features; as :meth:`fit` and :meth:`transform`."""
        columns = list(self._fit_columns(X))
        if in_parts(X):
            return self.transform(X)
        return self._features(columns, self._n_rows, self._out_type)

    def transform(self, X: Any) -> Array:
        """Features of a table with the same columns, in any order.

        Parameters
        ----------
        X : data frame, Arrow table, Table, path-like, array, dataset or query
            The table.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The features, all in memory; ``prepared_rows`` gives them block by block.
        """
        check_is_fitted(self, "plan_")
        if in_parts(X):
            parts = [part for part in as_parts(X) if part.n_rows]
            rows: Array = rows_of(parts, self).to_memory()
            return rows
        source = self._source(X, reset=False)
        columns = list(self._typed(source))
        return self._features(columns, source.n_rows, _out_type(source, self.plan_))

    def typed_columns(self, X: Any) -> list[TypedColumn]:
        """Columns of a table that become features, in the user's own units and words.

        Parameters
        ----------
        X : data frame, Arrow table, Table, path-like or array
            The table.

        Returns
        -------
        list of TypedColumn
            Name, kind and values of each.
        """
        check_is_fitted(self, "plan_")
        return list(self._typed(self._source(X, reset=False)))

    def plain_features(self, X: Any) -> Array:
        """Features of a table in the user's units: not scaled, levels as 0 and 1.

        Parameters
        ----------
        X : data frame, Arrow table, Table, path-like or array
            The table.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The features that :meth:`transform` scales; NaN where a number is missing.
        """
        columns = self.typed_columns(X)
        parts = zip(self._parts, columns, strict=True)
        return np.hstack([part.plain(column.values) for part, column in parts])

    def check_columns(self, names: Sequence[str], table: str = "The table") -> None:
        """Raise if a table lacks columns that become features; warn about new ones.

        Parameters
        ----------
        names : sequence of str
            Its columns.
        table : str, default="The table"
            What it is called.
        """
        check_is_fitted(self, "plan_")
        lacking = [one.plan.name for one in self._parts if one.plan.name not in set(names)]
        if lacking:
            raise SidelightError(
                f"{table} has no column {quoted(lacking)}, which the preparation was fitted to; "
                f"its columns are {quoted(names, limit=8)}."
            )
        known = {plan.name for plan in self.plan_}
        new = [name for name in names if name not in known]
        if new:
            warn(
                f"Columns that the preparation was not fitted to are not used: {quoted(new)}.",
                PreparationWarning,
            )

    def plan_table(self) -> list[tuple[str, str, str]]:
        """Return the decisions as rows of a short table: column, use, treatment."""
        check_is_fitted(self, "plan_")
        return plan_table(self.plan_, self.missing)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the features, such as ``country=DE``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; those of the fit if given.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self, "plan_")
        names = [name for part in self._parts for name in part.names]
        return np.array(names, dtype=object)

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return len(self.get_feature_names_out())

    # --- fitting ------------------------------------------------------------------------------

    def _fit_columns(self, X: Any) -> Iterator[TypedColumn]:
        """Fit column by column; yield each column that becomes features right after it is read."""
        self._check_options()
        if in_parts(X):
            self._fit_parts(X)
            return
        source = self._source(X, reset=True)
        fitting = self._fitting(source.columns.names, source.named)
        rows = sampled_rows(source.n_rows)
        for name in source.columns.names:
            raw = RawColumn(name, source.columns.column(name), source)
            plan = fitting.plan(raw)
            if not plan.used:
                fitting.add(plan, None)
                continue
            column = read_typed(plan, raw)
            facts = facts_in_memory(plan, column, extent_of(plan, raw), fitting.scale)
            gaps = GapRows.of(column.values) if has_marks(plan) else None
            if fitting.add(plan, facts, gaps, column.values[rows]):
                yield column
        self._finish(fitting)
        self._n_rows = source.n_rows
        self._out_type = _out_type(source, self.plan_)

    def _fit_parts(self, X: Any) -> None:
        """Fit to a table larger than memory, block by block."""
        table, names = open_table(X, [*self.drop, *dropped_by(self.kinds)])
        self._check_size(table.places.n_rows)
        fitting = self._fitting(names, is_named=True)
        fit_parts(table, fitting)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._finish(fitting)
        self._n_rows, self._out_type = table.places.n_rows, np.float64

    def _fitting(self, names: Sequence[str], is_named: bool) -> Fitting:
        choices = choices_of(names, self.kinds, self.weights, self.drop)
        scale = Scale(self.scale, self.missing == "keep")
        return Fitting(scale, choices, self.weights or {}, is_named)

    def _finish(self, fitting: Fitting) -> None:
        fitting.finish()
        self.plan_: list[ColumnPlan] = fitting.plans
        self._parts: list[ColumnFeatures] = fitting.parts
        self._shared_marks = fitting.shared_marks

    def _check_options(self) -> None:
        check_scale(self.scale)
        if self.missing not in ("fill", "keep"):
            raise InvalidParameter(f"missing must be 'fill' or 'keep', got {self.missing!r}.")

    # --- reading ------------------------------------------------------------------------------

    def _source(self, X: Any, *, reset: bool) -> Source:
        """The table as named columns; arrays go through scikit-learn's own checks."""
        is_array = isinstance(X, np.ndarray | list | tuple) or hasattr(X, "tocsr")
        if is_array and not _holds_text(X):
            X = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")
        source = as_source(X)
        self._check_size(source.n_rows, least=2 if reset else 1)
        if reset:
            self.n_features_in_ = len(source.columns.names)
            if source.named:
                self.feature_names_in_ = np.array(source.columns.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        return source

    def _check_size(self, n_rows: int, *, least: int = 2) -> None:
        if n_rows == 0:
            raise SidelightError(
                worded("Found array with 0 sample(s): the", "The") + " table has no rows."
            )
        if n_rows < least:
            raise SidelightError(
                worded("One row (n_samples=1)", "One row")
                + " does not tell what its columns hold; give more rows."
            )

    def _typed(self, source: Source) -> Iterator[TypedColumn]:
        """Read the columns that become features; raise or warn about missing and new ones."""
        self.check_columns(source.columns.names)
        yield from self._read(source, gaps=self.missing)

    def _read(self, source: Source, *, gaps: str) -> Iterator[TypedColumn]:
        for part in self._parts:
            raw = RawColumn(part.plan.name, source.columns.column(part.plan.name), source)
            yield read_typed(part.plan, raw, gaps=gaps, some=part.plan.n_unreadable > 0)

    def features_of_block(self, source: Source, *, warns: bool) -> Array:
        """Features of a few rows, written by this thread."""
        columns = list(self._read(source, gaps=self.missing if warns else ""))
        X = np.empty((source.n_rows, self.n_features_out_))
        with threads(1):
            self._fill(X, columns)
        return X

    def _features(self, columns: Sequence[TypedColumn], n_rows: int, dtype: Any) -> Array:
        """Write the features of all columns, block by block."""
        X = np.empty((n_rows, self.n_features_out_), dtype=dtype)
        self._fill(X, columns)
        return X

    def _fill(self, X: Array, columns: Sequence[TypedColumn]) -> None:
        ends = np.cumsum([0, *(len(part.names) for part in self._parts)]).tolist()

        def fill(start: int) -> None:
            rows = slice(start, min(start + BLOCK_ROWS, len(X)))
            for place, (part, column) in enumerate(zip(self._parts, columns, strict=True)):
                part.fill(X[rows, ends[place] : ends[place + 1]], column.values[rows])
            for first, others in self._shared_marks:  # rows of the fit have all gaps, or none
                marks, mark = X[rows, ends[first + 1] - 1], self._parts[first].mark
                for other in others:
                    marks += mark * missing_rows(columns[other].values[rows])
                marks /= len(others) + 1

        starts = range(0, len(X), BLOCK_ROWS)
        if len(starts) == 1 or get_threads() == 1:
            for start in starts:
                fill(start)
            return
        with ThreadPoolExecutor(get_threads()) as pool:  # every block is written by one thread
            list(pool.map(fill, starts))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_scale(scale: Any) -> None:
    """Check that a scale is one of those that there are."""
    if scale not in SCALES:
        raise InvalidParameter(
            f"{worded('scale', '--scale')} must be one of {', '.join(SCALES)}, got {scale!r}."
        )


def _holds_text(X: Any) -> bool:
    """Whether an array holds texts, which only a table of mixed columns does."""
    if hasattr(X, "tocsr"):
        return False
    values = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    if values.dtype.kind in "USM":
        return True
    return values.dtype.kind == "O" and any(isinstance(v, str) for v in values.ravel()[:10_000])


def _out_type(source: Source, plans: Sequence[ColumnPlan]) -> Any:
    """float32 if all columns that become features are, else float64."""
    import pyarrow as pa

    if source.named:
        return np.float64
    columns = [source.columns.column(plan.name) for plan in plans if plan.used]
    return np.float32 if all(pa.types.is_float32(c.type) for c in columns) else np.float64
