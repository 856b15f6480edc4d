"""What every estimator shares: its tags, and how rows and side information are checked.

Families derive from :class:`ConstrainedEstimator`; the catalog, the docs' method table, the command
line and the common tests are generated from :class:`MethodTags`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import ConstraintWarning, SidelightError

Rows: TypeAlias = npt.NDArray[Any] | sparse.csr_matrix | sparse.csr_array | RowSource

KNOWLEDGE = ("must-link", "cannot-link", "labels", "groups", "sizes", "feedback")


@dataclass(frozen=True, kw_only=True)
class MethodTags:
    """What a method is and takes.

    Attributes
    ----------
    name : str
        Name on the command line.
    family : str
        Subpackage it lives in.
    summary : str
        One line for a menu.
    knowledge : tuple of str
        Kinds of side information it uses, out of :data:`KNOWLEDGE`; empty for none.
    enforcement : {"hard", "soft", "start", "none"}
        ``hard``: everything is satisfied or the fit raises. ``soft``: violations cost and are
        reported. ``start``: only the start of the search uses the knowledge.
    source : str
        Where the method is published.
    complexity : str
        Time per iteration and memory.
    needs_n_clusters : bool
        Whether the number of clusters has to be given.
    monotone : bool
        Whether the mathematics promises that ``history_`` never rises.
    sparse : bool
        Whether CSR input is taken as it is.
    out_of_core : bool
        Whether rows may live on disk (:func:`sidelight.engine.open_rows`).
    missing : bool
        Whether NaN stands for a value that was not measured, which the method models.
    kind : {"clusterer", "transformer"}
        Whether it gives labels, or new features of the rows.
    """

    name: str
    family: str
    summary: str
    knowledge: tuple[str, ...]
    enforcement: Literal["hard", "soft", "start", "none"]
    source: str
    complexity: str
    needs_n_clusters: bool = True
    monotone: bool = False
    sparse: bool = False
    out_of_core: bool = False
    missing: bool = False
    kind: Literal["clusterer", "transformer"] = "clusterer"

    def __post_init__(self) -> None:
        unknown = set(self.knowledge) - set(KNOWLEDGE)
        if unknown:
            raise ValueError(f"unknown kinds of side information: {sorted(unknown)}")


class ConstrainedEstimator(BaseEstimator):
    """An estimator that may be told what is known about its rows.

    Subclasses define ``__sidelight_tags__`` and ``fit(X, y=None, *, constraints=None, ...)``.
    """

    def __sidelight_tags__(self) -> MethodTags:
        raise AttributeError(f"{type(self).__name__} does not say what it is: define its tags")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = self.__sidelight_tags__()
        tags.input_tags.sparse = own.sparse
        tags.input_tags.allow_nan = own.missing
        return tags

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        """Validate the data: float32 or float64, finite, dense or CSR, or rows on disk."""
        tags = self.__sidelight_tags__()
        if isinstance(X, RowSource):
            rows = self._check_source(X, reset=reset, allowed=tags.out_of_core)
            return rows.with_gaps() if tags.missing else rows
        try:
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr" if tags.sparse else False,
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite="allow-nan" if tags.missing else True,
            )
        except (ValueError, TypeError) as error:
            raise _explain_bad_rows(X, error) from error

    def _check_source(self, X: RowSource, *, reset: bool, allowed: bool) -> RowSource:
        if not allowed:
            raise SidelightError(
                f"{type(self).__name__} works on arrays in memory; load the rows first."
            )
        if reset:
            self.n_features_in_ = X.n_features
        elif X.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {X.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _check_constraints(
        self, constraints: Constraints | None, y: Any, n_samples: int
    ) -> Constraints:
        """Put everything that is known about the rows into one object.

        A clusterer takes a ``y`` that labels every row for the truth, and ignores it; what makes
        features learns from it.
        """
        if constraints is None:
            known = Constraints(n_samples=n_samples)
        elif isinstance(constraints, Constraints):
            known = constraints
        else:
            raise TypeError(
                f"constraints must be a sidelight.Constraints object, not "
                f"{type(constraints).__name__}; make one with Constraints(must_link=..., "
                "cannot_link=..., n_samples=...) or Constraints.from_table(...)."
            )
        if known.n_samples != n_samples:
            raise SidelightError(
                f"The constraints are about {known.n_samples} rows but X has {n_samples}; "
                "make them with the ids or n_samples of this X, or restrict them to its rows."
            )
        labels = _partial_labels(y, n_samples)
        if labels is None:
            return known
        stated = Constraints(labels=labels, ids=known.ids)
        is_clusterer = self.__sidelight_tags__().kind == "clusterer"
        if is_clusterer and stated.labels is not None and np.all(stated.labels >= 0):
            warnings.warn(
                "y labels every row, so nothing is left to cluster: it was taken for the truth "
                "that the result will be compared with, and ignored. Mark unknown labels with -1, "
                "or pass constraints=Constraints.from_labels(y) if you mean it.",
                ConstraintWarning,
                stacklevel=3,
            )
            return known
        return known | stated

    def _warn_of_contradictions(self, constraints: Constraints) -> None:
        """Tell about contradictions that a soft method will have to leave violated."""
        contradictions = constraints.closure(on_contradiction="keep").contradictions
        if len(contradictions):
            first, second = constraints.name_rows(contradictions[0])
            more = f" (and {len(contradictions) - 1} more)" if len(contradictions) > 1 else ""
            warnings.warn(
                f"The constraints contradict themselves: {first} and {second} are to be kept "
                f"apart, but must-links join them{more}. {type(self).__name__} will violate some; "
                "constraints.closure() shows the chain.",
                ConstraintWarning,
                stacklevel=3,
            )


def check_n_clusters(n_clusters: Any, n_samples: int, *, name: str = "n_clusters") -> int:
    """Check that ``1 <= n_clusters <= n_samples``; ``name`` is what the parameter is called."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, Integral):
        raise TypeError(f"{name} must be a whole number, got {n_clusters!r}.")
    if int(n_clusters) < 1:
        raise ValueError(f"{name} must be at least 1, got {n_clusters}.")
    if int(n_clusters) > n_samples:
        raise ValueError(
            f"n_samples={n_samples} should be >= {name}={n_clusters}; "
            "ask for fewer clusters or give more rows."
        )
    return int(n_clusters)


def check_weights(sample_weight: Any, source: RowSource) -> npt.NDArray[Any] | None:
    """Check the weights of the rows: one each, not negative, not all zero."""
    if sample_weight is None:
        return None
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
    return weights


def _partial_labels(y: Any, n_samples: int) -> npt.NDArray[Any] | None:
    """Read ``y`` as partial labels; scikit-learn hands anything at all to a clusterer's ``y``."""
    if y is None:
        return None
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise ValueError(
            f"y must hold one label per row, shape ({n_samples},), got shape {values.shape}."
        )
    if values.dtype.kind == "f":
        known = values[np.isfinite(values)]
        if np.any(known != np.round(known)):
            warnings.warn(
                "y holds fractions, so it cannot be a labelling, and was ignored.",
                ConstraintWarning,
                stacklevel=4,
            )
            return None
    return values


def _explain_bad_rows(X: Any, error: Exception) -> Exception:
    """Say where the trouble is when the data itself tells; otherwise keep scikit-learn's words."""
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
        f"{X.shape[0]} rows are affected: drop them, or fill the gaps first."
    )


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
    if not hasattr(X, "shape") or len(X.shape) != 2:
        return None
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    rows, columns = np.nonzero(is_bad(values))
    return (rows, columns) if len(rows) else None
