"""Models on disk (skops, which unlike pickle runs no code of the file), and rows for them."""

from __future__ import annotations

import copy
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sidelight import __version__, catalog
from sidelight._typing import FloatArray
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.io import Table, read_table
from sidelight.io.inner import (
    PANDAS_INDEX,
    atomic_write,
    check_readable,
    column_names,
    quoted,
    table_format,
)
from sidelight.preparation import BinaryPreparer, TablePreparer, TextPreparer

FORMAT = "sidelight-model-3"

#: What makes features of columns of any type.
FROM_TABLES = (TablePreparer, TextPreparer, BinaryPreparer)

#: What a model may be made of, besides NumPy and scikit-learn: estimators and their parameters.
OURS = tuple(f"sidelight.{part}." for part in (*catalog.FAMILIES, "_fit", "graphs", "preparation"))
HARMLESS = (
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sidelight.constraints._pairs.Pairs",  # pairs that a growing map keeps in mind
    # What learners of scikit-learn that classifiers wrap are made of: arrays, and no code.
    "sklearn.tree._tree.Tree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._kd_tree.KDTree64",
    "sklearn.neighbors._kd_tree.KDTree32",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._ball_tree.BallTree64",
    "sklearn.neighbors._ball_tree.BallTree32",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.EuclideanDistance32",
)


#: Rows that are summed at a time; how weights turn from row to row; what stands for a gap.
BLOCK_ROWS, TURNS, GAP = 65_536, np.array([np.sqrt(2.0), np.sqrt(5.0)]), np.pi
#: Numbers are the same up to this share of the absolute sum of their column.
SAME_NUMBER, SAME_SINGLE = 1e-11, 1e-7
#: What resolvers say about the pairs of their references, and a choice about its candidates.
OF_THE_FIT = ("pairs_", "merges_", "blocking_", "_scorer", "_outcome", "_compared", "_candidates")


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted estimator with all that new rows need.

    Attributes
    ----------
    estimator : object
        The fitted estimator.
    preparer : TablePreparer, TextPreparer, BinaryPreparer, scaler or None
        Transformer that made the features of the columns; None where they are taken as they are.
    method : str
        Name of the method in the catalog.
    feature_names : list of str
        Columns that the rows need, in their order.
    id_column : str or None
        Column that named the rows.
    zero_based : bool or None
        For libsvm files, whether the first feature has the number 0.
    knowledge : dict of str to int
        How many statements of each kind the method used, as ``Constraints.counts`` names them.
    label_column : str or None
        Column with the known classes that a classifier learned from: never a feature of new rows.
    splits : list of objects
        Fitted estimators of all splits, where there are several of the same rows; ``estimator`` is
        the first one.
    avoided : dict of str to bool, or None
        Columns of known splits that the splits differ from, and whether they hold numbers; None
        where known splits came from elsewhere, so that new rows have none.
    fit_rows : ndarray of shape (2, n_features), or None
        Weighted sums of the rows of the fit, by which they are known again; None for maps and the
        like.
    roles : dict of str to str
        Columns that are no features and that new rows may have too, by what they say: ``groups``
        and ``sources`` of references.
    """

    estimator: Any
    preparer: Any
    method: str
    feature_names: list[str]
    id_column: str | None
    zero_based: bool | None
    knowledge: dict[str, int] = field(default_factory=dict)
    label_column: str | None = None
    splits: list[Any] = field(default_factory=list)
    avoided: dict[str, bool] | None = None
    fit_rows: Any = None
    roles: dict[str, str] = field(default_factory=dict)

    def given_by_fit(self, X: Any) -> Any:
        """Return clusters or classes that the fit gave to its rows; None for any other rows.

        What is known about rows, and bounds on sizes, count for the rows of a fit only. Several
        splits have a column each.
        """
        if self.fit_rows is None or not are_rows_of(self.fit_rows, X):
            return None
        if self.splits:
            given = np.column_stack([one.labels_ for one in self.splits])
        else:
            given = fit_labels(self.estimator)
        return given if given is not None and len(given) == X.shape[0] else None

    @property
    def kind(self) -> str:
        """Kind of the estimator, out of :data:`sidelight.tags.KINDS`."""
        return str(self.estimator.__sidelight_tags__().kind)

    @property
    def features_in(self) -> list[str]:
        """Names of the features that the estimator sees."""
        return names_in(self.preparer, self.feature_names)

    def read(self, path: str | os.PathLike[str], *, id_column: str | None = None) -> Table:
        """Read a table in the way the data of the model was read."""
        file = check_readable(path)
        is_prepared = isinstance(self.preparer, FROM_TABLES) or self.kind == "resolver"
        if isinstance(self.preparer, BinaryPreparer) and self.preparer.long is not None:
            return self.preparer.read_long(file)
        if table_format(file) == "libsvm":
            if is_prepared and not getattr(self.preparer, "is_sparse_", False):
                raise SidelightError(
                    f"{file} holds sparse rows, but the model was fitted to a table with the "
                    f"columns {quoted(self.feature_names)}."
                )
            data = read_table(file, zero_based=self.zero_based)
            if len(data.feature_names) > len(self.feature_names):
                raise SidelightError(
                    f"{file} has {len(data.feature_names)} features, but the model knows only "
                    f"{len(self.feature_names)}."
                )
            return data
        names = column_names(file)
        lacking = [name for name in self.feature_names if name not in set(names)]
        if lacking:
            raise SidelightError(
                f"{file} has no column{'s'[: len(lacking) > 1]} {quoted(lacking)}, which the model "
                "was fitted to; its "
                f"columns are {quoted(names, limit=12)}."
            )
        if id_column is None and self.id_column in names:
            id_column = self.id_column
        data = read_table(
            file,
            id_column=id_column,
            label_column=self.label_column if self.label_column in names else None,
            columns=self.feature_names,
            allow_missing=self.estimator.__sidelight_tags__().missing,
            as_columns=is_prepared,
        )
        return replace(data, notes=(*data.notes, *self._notes_on_others(names, data.id_column)))

    def rows(self, data: Table) -> Any:
        """Return the rows of a table as the estimator takes them."""
        if self.kind == "resolver":
            return columns_of(data, self.feature_names)
        X = data.X
        if data.zero_based is not None and X.shape[1] < len(self.feature_names):
            X = X.copy()  # the file mentions no feature beyond the last that occurs in it
            X.resize(X.shape[0], len(self.feature_names))
            data = replace(data, X=X)
        if isinstance(self.preparer, FROM_TABLES):
            return self.preparer.transform(data)
        return X if self.preparer is None else self.preparer.transform(X)

    def _notes_on_others(self, names: list[str], id_column: str | None) -> list[str]:
        """Notes on columns that were not there when the model was fitted."""
        if not isinstance(self.preparer, TablePreparer):
            return []
        known = {*(plan.name for plan in self.preparer.plan_), id_column, PANDAS_INDEX}
        known |= {self.label_column, *(self.avoided or ())}
        new = [name for name in names if name not in known]
        return [f"Not used, since the model was fitted without: {quoted(new)}."] if new else []


def columns_of(data: Table, names: Sequence[str]) -> Any:
    """Return columns of any type as an Arrow table, as resolvers read them."""
    import pyarrow as pa

    columns: Any = data.columns
    return pa.table({name: columns.column(name) for name in names})


def fit_labels(estimator: Any) -> Any:
    """Return clusters or classes that an estimator gave to the rows of its fit; None without."""
    return getattr(estimator, "transduction_", getattr(estimator, "labels_", None))


def row_sums(X: Any) -> tuple[FloatArray, FloatArray]:
    """Sums of rows by two sets of weights, which differ from row to row, and of absolute values.

    Rows in another order, or other rows, have other sums. Those that went through a file have
    nearly the same: not everyone writes and reads the last digit of a number.
    """
    sums, sizes = np.zeros((2, X.shape[1])), np.zeros(X.shape[1])
    for start in range(0, X.shape[0], BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        if not sparse.issparse(block):  # a gap is a number like others
            block = np.nan_to_num(np.asarray(block, dtype=np.float64), nan=GAP)
        places = np.arange(start + 1.0, start + block.shape[0] + 1.0)
        sums += np.asarray(np.cos(places * TURNS[:, None]) @ block)
        sizes += np.asarray(abs(block).sum(axis=0)).reshape(-1)
    return sums, sizes


def are_rows_of(known: FloatArray, X: Any) -> bool:
    """Whether rows have these sums, but for the rounding of their numbers."""
    if X.shape[1] != known.shape[1]:
        return False
    sums, sizes = row_sums(X)
    least = SAME_NUMBER if X.dtype == np.float64 else SAME_SINGLE
    return bool(np.all(np.abs(sums - known) <= least * sizes))


def names_in(preparer: Any, names: Sequence[str]) -> list[str]:
    """Names of the features that become of columns."""
    if not isinstance(preparer, FROM_TABLES):
        return list(names)
    return [str(name) for name in preparer.get_feature_names_out()]


def mapped_rows(estimator: Any, preparer: Any, data: Table, rows: Callable[[], Any]) -> Any:
    """Rows in the features that an estimator makes; chosen ones stay in the user's units."""
    if hasattr(estimator, "get_support") and isinstance(preparer, TablePreparer):
        return preparer.plain_features(data)[:, estimator.get_support()]
    return estimator.transform(rows())


def used_columns(preparer: Any, names: Sequence[str]) -> list[str]:
    """Columns that become features; all of them where they are not prepared."""
    if not isinstance(preparer, TablePreparer):
        return list(names)
    return [plan.name for plan in preparer.plan_ if plan.used]


def save_model(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model; the file appears complete or not at all."""
    with atomic_write(path) as temporary:
        fill_model(model, temporary)
    return Path(path)


def fill_model(model: Model, path: Path) -> None:
    """Write to the path itself; the caller renames the file into its place."""
    import skops.io

    content = {one.name: getattr(model, one.name) for one in fields(Model)}
    content["estimator"] = _for_new_rows(model.estimator)
    content["splits"] = [_for_new_rows(one) for one in model.splits]
    skops.io.dump({"format": FORMAT, "version": __version__, **content}, path)
    if _strange(set(skops.io.get_untrusted_types(file=path))):
        raise SidelightError(
            f"{model.method} keeps its rows for further feedback and cannot be saved as a model "
            "for new ones; in Python, pickle it."
        )


def _for_new_rows(estimator: Any) -> Any:
    """An estimator without its records of the rows of the fit, which are of no use for new ones."""
    records: dict[str, Any] = {
        name: None for name, value in vars(estimator).items() if isinstance(value, Constraints)
    }
    if hasattr(estimator, "updates_"):  # of every row that came
        records["updates_"] = []
    records |= dict.fromkeys(name for name in OF_THE_FIT if name in vars(estimator))
    chosen = getattr(estimator, "estimator_", None)
    if chosen is not None and _for_new_rows(chosen) is not chosen:
        records["estimator_"] = _for_new_rows(chosen)
    if not records:
        return estimator
    lighter = copy.copy(estimator)
    vars(lighter).update(records)
    return lighter


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model; a file that holds types of another origin is refused.

    Parameters
    ----------
    path : path-like
        What :func:`save_model` or :meth:`Run.save` wrote.

    Returns
    -------
    Model
        The model.
    """
    import skops.io

    file = check_readable(path)
    try:
        found = set(skops.io.get_untrusted_types(file=file))
        strange = _strange(found)
        if strange:
            raise SidelightError(
                f"{file} was not loaded: it brings {', '.join(map(repr, strange[:3]))}, and only "
                "Sidelight, scikit-learn and NumPy are trusted in a model."
            )
        content = skops.io.load(file, trusted=sorted(found))
    except (zipfile.BadZipFile, KeyError, AttributeError, ImportError, TypeError) as error:
        raise _not_a_model(file) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _not_a_model(file)
    known = [one.name for one in fields(Model) if one.name in content]  # older files have fewer
    return Model(**{name: content[name] for name in known})


def _strange(types: set[str]) -> list[str]:
    """Types that no model of ours is made of."""
    return sorted(name for name in types if not name.startswith(OURS) and name not in HARMLESS)


def _not_a_model(path: Path) -> SidelightError:
    return SidelightError(f"{path} is not a model that this version of `sidelight` has saved.")
