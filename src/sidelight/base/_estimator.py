"""An estimator with side information: how rows, knowledge and parameters are checked."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sidelight._fit.checkpoints import described
from sidelight._fit.checks import (
    check_extent,
    check_n_clusters,
    check_pair_weights,
    explain_bad_rows,
    no_sparse_rows,
    partial_labels,
)
from sidelight._fit.docstrings import complete
from sidelight._fit.loading import load_rows, names_of
from sidelight._fit.parameters import check_parameters
from sidelight._fit.restarts import Result, Run, best_restart, numbers_in
from sidelight._fit.summary import summarize
from sidelight._in_memory import check_computed, is_collection
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import listed, worded
from sidelight.base._answers import answer_by_blocks, not_in_memory
from sidelight.constraints import Constraints
from sidelight.constraints.inner import align, check_one_index, warn_of_order, warn_of_positions
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import in_checkpoint, opened
from sidelight.exceptions import ConstraintWarning, SidelightError, SparseRows, UnusedKnowledge
from sidelight.tags import KINDS, MethodTags

#: Settings under which ``X`` holds what is between rows, and not rows.
BETWEEN_ROWS = ("precomputed", "distances")

Rows: TypeAlias = Array | sparse.csr_matrix | sparse.csr_array | RowSource


class ConstrainedEstimator(BaseEstimator):
    """An estimator that takes side information about its rows.

    Subclasses define ``__sidelight_tags__`` and ``fit(X, y=None, *, constraints=None, ...)``, and
    declare their parameters as fields (:func:`sidelight._fit.parameters.estimator`).
    """

    #: Entries of docstrings that the classes of a family share: name of a parameter to its text,
    #: head of an attribute to its text.
    _common_parameters: ClassVar[Mapping[str, str]] = {}
    _common_attributes: ClassVar[Mapping[str, str]] = {}

    #: Tags that the methods of a family share, where they do not say otherwise.
    _family_tags: ClassVar[dict[str, Any]] = {}

    random_state: Any
    verbose: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls, "Attributes", cls._common_attributes)
        answer_by_blocks(cls)

    #: Kinds of knowledge that count beside labels only, such as must-links that pass them on.
    _with_labels: ClassVar[tuple[str, ...]] = ()

    #: Whether a clusterer takes a ``y`` that labels every row for the truth, not for knowledge.
    _ignores_full_labels: ClassVar[bool] = True

    #: Sentence that names a method for knowledge that this one does not use.
    _uses_pairs: ClassVar[str] = ""

    #: Sentence that names a method for rows that do not fit into memory, where this one needs all
    #: of them at once; that of its kind by default.
    _elsewhere: ClassVar[str] = ""

    #: Tags of the method itself (:func:`sidelight.tags.own_tags`).
    _own_tags: ClassVar[dict[str, Any]] = {}

    def __sidelight_tags__(self) -> MethodTags:
        if not self._own_tags:
            raise AttributeError(f"{type(self).__name__} has no tags: define __sidelight_tags__")
        return self._method_tags(**self._own_tags)

    def _method_tags(self, **own: Any) -> MethodTags:
        """Tags of a method, with those of its family."""
        return MethodTags(**(self._family_tags | own))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = self.__sidelight_tags__()
        tags.input_tags.sparse = own.sparse
        tags.input_tags.allow_nan = own.missing
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Fit the estimator to rows and to what is known about them.

        Parameters
        ----------
        X : array, CSR matrix, path, query or RowSource of shape (n_samples, n_features)
            The rows; CSR matrices where the method takes them. What
            :func:`sidelight.engine.open_rows` opens (a file, ``"big/*.parquet"``, a dataset, a
            query) is read block by block where the method can, else whole.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Side information about the rows: pairs, labels, groups. Where both the constraints have
            ids and ``X`` has an index, rows are found by it, whatever their order; otherwise by
            position.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, for methods that take them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        not_defined(self, "fit")

    def summary(self) -> str:
        """Return five plain lines about the fit: method, data, end of the search, result, advice.

        Examples
        --------
        >>> from sidelight.cluster import KMeans
        >>> print(KMeans(n_clusters=2, random_state=0).fit([[0.0], [0.1], [5.0]]).summary())
        KMeans: k-means without side information, the baseline
        Fitted to 3 rows of 1 feature.
        Converged after 2 iterations; objective 0.005.
        2 clusters of 1 to 2 rows (median 1.5).
        No constraint was violated.
        """
        check_is_fitted(self)
        return summarize(self)

    def _validate_fit(
        self, X: Any, y: Any, constraints: Constraints | None
    ) -> tuple[RowSource, Constraints]:
        """Check parameters, rows and knowledge: how every ``fit`` begins."""
        self._check_parameters(reset=True)
        X = opened(X)
        source = self._validate_rows(X, reset=True)
        known = self._validate_knowledge(constraints, y, source.n_rows, X)
        return in_checkpoint(source, lambda: described(self, known)), known

    def _validate_fit_in_memory(
        self, X: Any, y: Any, constraints: Constraints | None, *, reset: bool = True
    ) -> tuple[Any, Constraints]:
        """Like :meth:`_validate_fit`, for methods that need the array or CSR matrix itself."""
        self._check_parameters(reset=reset)
        X = opened(X)
        rows: Any = self._check_rows(X, reset=reset)
        return rows, self._validate_knowledge(constraints, y, rows.shape[0], X)

    def _check_parameters(self, *, reset: bool) -> None:
        """Check the parameters; before a new fit also drop ``search_``, which it may not set."""
        check_parameters(self)
        if reset and hasattr(self, "search_"):
            del self.search_

    def _validate_knowledge(
        self, constraints: Constraints | None, y: Any, n_samples: int, X: Any
    ) -> Constraints:
        """Check the number of clusters and the knowledge against the rows."""
        self._check_y_holds_labels(y)
        for name in ("n_clusters", "n_components"):
            if self._is_clusterer and isinstance(getattr(self, name, None), Integral):
                check_n_clusters(getattr(self, name), n_samples, name=name)
        known = self._check_constraints(constraints, y, n_samples, X)
        self._warn_of_unused(known)
        tags = self.__sidelight_tags__()
        soft = tags.enforcement in ("soft", "start")
        if soft and tags.kind != "selector":  # scores average over all pairs
            self._warn_of_contradictions(known)
        return known

    def _check_y_holds_labels(self, y: Any) -> None:
        """Hint at the keyword where side information was passed by position."""
        if isinstance(y, Constraints):
            raise TypeError(
                f"Side information is passed by name, {type(self).__name__}(...).fit(X, "
                "constraints=known): the second argument is y, the labels."
            )

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        """Check rows and make them a source of blocks."""
        return as_rows(self._check_rows(X, reset=reset))

    @property
    def _is_clusterer(self) -> bool:
        return KINDS[self.__sidelight_tags__().kind].clusters

    @property
    def _takes_directions(self) -> bool:
        """Whether only ratios within a row count, so that rows may have any scale."""
        return False

    def _best_restart(self, n_init: int, run: Run[Result], source: RowSource) -> Result:
        """Run ``n_init`` restarts over rows and return the best; see :func:`best_restart`."""
        return best_restart(
            run,
            n_init,
            self.random_state,
            numbers_in(source),
            description=type(self).__name__,
            verbose=self.verbose,
        )

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        """Validate the data: float32 or float64, finite, dense or CSR, or rows on disk."""
        tags = self.__sidelight_tags__()
        if reset and not tags.out_of_core and is_collection(X):
            check_computed(X)
        X = opened(X)
        if isinstance(X, RowSource) and X.is_in_memory and not tags.out_of_core:
            X = X.to_memory()
        if isinstance(X, RowSource):
            rows: Any = self._check_source(X, reset=reset)
            rows = rows.with_missing() if tags.missing else rows
            if not tags.out_of_core:
                if rows.is_partitioned:
                    raise not_in_memory(self)
                rows = self._loaded(load_rows(rows, not_in_memory(self)), tags, reset=reset)
            check_extent(X, rows, fit=reset, directions=self._takes_directions)
            return rows
        if sparse.issparse(X) and not tags.sparse and getattr(self, "metric", "") == "precomputed":
            raise SidelightError(
                f"{type(self).__name__} compares every row with every other: it needs a dense "
                "matrix of the distances between all rows. A sparse one stores those of neighbors; "
                "distances along its edges are sidelight.graphs.geodesics(graph), "
                "sidelight.manifold.Isomap maps them."
            )
        try:
            rows = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr" if tags.sparse else False,
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite="allow-nan" if tags.missing else True,
            )
        except (ValueError, TypeError) as error:
            raise explain_bad_rows(X, error, type(self).__name__) from error
        if reset:
            self._fitted_dense = not sparse.issparse(rows)
        if sparse.issparse(rows):
            rows = self._arranged(rows, tags)
        check_extent(X, rows, fit=reset, directions=self._takes_directions)
        return rows

    def _arranged(self, rows: Any, tags: MethodTags) -> Any:
        """Return sparse rows in canonical order; as a table where the fit was to one.

        What a fit has moved or sorted as a table cannot be compared with sparse rows. Sparse
        distances stay sparse: what they do not store is no distance of 0.
        """
        settings = (getattr(self, "metric", None), getattr(self, "graph", None))
        given = any(isinstance(one, str) and one in BETWEEN_ROWS for one in settings)
        if getattr(self, "_fitted_dense", False) and not tags.out_of_core and not given:
            return rows.toarray()
        if not rows.has_canonical_format:
            rows = rows.copy()  # SciPy would bring the user's own matrix into order
            rows.sum_duplicates()
        return rows

    def _check_source(self, X: RowSource, *, reset: bool) -> RowSource:
        """Check the columns of rows on disk, by their names where they have some."""
        if not X.n_rows:
            raise ValueError(
                f"Found 0 sample(s) in X, but {type(self).__name__} needs at least one row."
            )
        if X.is_sparse and not self.__sidelight_tags__().sparse:
            raise SparseRows(no_sparse_rows(type(self).__name__))
        if reset:
            self._fitted_dense = not X.is_sparse
        if reset or hasattr(X, "columns"):
            validate_data(self, names_of(X), reset=reset, skip_check_array=True)
        elif X.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {X.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _loaded(self, rows: Any, tags: MethodTags, *, reset: bool) -> Any:
        """Return rows that were read from disk as rows that were given are returned."""
        if reset:
            self._fitted_dense = not sparse.issparse(rows)
        return self._arranged(rows, tags) if sparse.issparse(rows) else rows

    def _check_constraints(
        self, constraints: Constraints | None, y: Any, n_samples: int, X: Any
    ) -> Constraints:
        """Join all constraints on the rows into one object, in the order of the rows.

        Most clusterers take a ``y`` that labels every row for the truth, and ignore it; what makes
        features, or starts from given classes, learns from it.
        """
        if constraints is None:
            known = Constraints(n_samples=n_samples)
        elif isinstance(constraints, Constraints):
            known = align(constraints, X)
            if known.ids is None:
                warn_of_positions(known, X)
            elif isinstance(X, RowSource) and not X.is_in_memory:
                warn_of_order(known, X)
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
        check_pair_weights(known)
        check_one_index(y, X, "y")
        labels = partial_labels(y, n_samples)
        if labels is None:
            return known
        stated = Constraints(labels=labels, ids=known.ids)
        to_cluster = self._is_clusterer and self._ignores_full_labels
        if to_cluster and stated.labels is not None and np.all(stated.labels >= 0):
            warn(
                "y labels every row, so nothing is left to cluster: it was taken for the truth "
                "that the result will be compared with, and ignored. Mark unknown labels with -1, "
                "or pass constraints=Constraints.from_labels(y) if you mean it.",
                ConstraintWarning,
            )
            return known
        return known | stated

    def _warn_of_unused(self, known: Constraints) -> None:
        """Warn about kinds of constraints, and weights of pairs, that the method does not use."""
        tags = self.__sidelight_tags__()
        used = {*tags.knowledge, *self._with_labels}
        given = [kind.replace("_", "-") for kind, number in known.counts.items() if number]
        unused = [_plural(kind) for kind in given if kind not in used]
        if unused:
            counted = ""
            if self._is_clusterer:
                counted = worded(
                    "; n_violations_ counts those that it violates",
                    "; they are only compared with the result",
                )
            instead = f" {self._uses_pairs}" if self._uses_pairs else ""
            warn(
                f"{type(self).__name__} does not use {listed(unused)}: its result is the same "
                f"without them{counted}.{instead}",
                UnusedKnowledge,
            )
        weights = {
            "must-link": known.must_link_weight,
            "cannot-link": known.cannot_link_weight,
        }
        alike = [
            _plural(kind)
            for kind, weight in weights.items()
            if kind in used and kind not in (tags.weights or ()) and np.any(weight != 1)
        ]
        if alike:
            warn(
                f"{type(self).__name__} does not use the weights of {listed(alike)}: each counts "
                "as much as any other.",
                UnusedKnowledge,
            )

    def _warn_of_contradictions(self, constraints: Constraints) -> None:
        """Warn about contradictions, of which a soft method has to violate some constraints."""
        contradictions = constraints.closure(on_contradiction="keep").contradictions
        if len(contradictions):
            first, second = constraints.name_rows(contradictions[0])
            more = f" (and {len(contradictions) - 1} more)" if len(contradictions) > 1 else ""
            warn(
                f"The constraints contradict themselves: {first} and {second} are to be kept "
                f"apart, but must-links join them{more}. {type(self).__name__} will violate some; "
                + worded(
                    "constraints.closure() shows the chain.", "`sidelight check` shows the chain."
                ),
                ConstraintWarning,
            )


def _plural(kind: str) -> str:
    return kind if kind.endswith("s") else f"{kind}s"


def not_defined(estimator: object, method: str) -> NoReturn:
    """Raise the error of a method that an estimator inherits but cannot offer."""
    raise AttributeError(f"{type(estimator).__name__} does not define {method}.")
