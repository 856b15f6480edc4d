"""Tables in which every row is published like at least k - 1 others (section 16.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from datetime import date
from numbers import Number
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sidelight._fit.parameters import (
    Auto,
    Count,
    FinitePositive,
    Interval,
    Seed,
    Verbosity,
    check_parameters,
    estimator,
)
from sidelight._in_memory import check_in_memory
from sidelight._kernels.privacy.anonymizer.refine import nearest_class
from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.base import Clusterer
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.io.inner import quoted
from sidelight.privacy.anonymizer._columns import (
    Column,
    check_no_identifiers,
    columns_of_array,
    read_columns,
)
from sidelight.privacy.anonymizer._conditions import (
    ClassConditions,
    check_sensitive,
    check_size,
    read_sensitive,
    rows_to_remove,
)
from sidelight.privacy.anonymizer._encode import encode, encode_new, read_hierarchies
from sidelight.privacy.anonymizer._partition import AnonymousClasses, RowClasses
from sidelight.privacy.anonymizer._publish import (
    as_given,
    class_summaries,
    class_texts,
    classes_of,
    published_alike,
)
from sidelight.privacy.anonymizer._published_loss import shares_left_open
from sidelight.privacy.anonymizer._recount import (
    check_published,
    closeness,
    counts_of,
    equivalence_classes,
)
from sidelight.tags import own_tags

Share = Annotated[float, Interval(0, 1)]
ShareBelowOne = Annotated[float, Interval(0, 1, open_high=True)]
Diversity = Literal["distinct", "entropy", "recursive", "recursive-published"]


@estimator
class Anonymizer(Clusterer):
    """Generalizes columns until every row is like at least k - 1 others: a table to publish.

    ``X`` holds the quasi-identifiers: columns by which somebody could recognize a person. Rows are
    partitioned into classes, and every row is published with the ranges and sets of values of its
    class. Minimizes the normalized certainty penalty ``NCP = (1/nd) Σ_i Σ_j p_j(class of i)``,
    where ``p_j`` is the width of the published range of column ``j`` as a share of the range of
    all published rows whose values are not far out, at most 1; for a set of more than one category
    its number of categories as a share of all; for a node of a hierarchy its leaves as a share of
    all leaves; and 1 for a suppressed row. Subject to, for every class of rows that are
    *published alike*:

    - k-anonymity: it has at least ``k`` rows;
    - l-diversity, for every sensitive column with counts ``r_1 >= r_2 >= ... >= r_v`` of its values
      in the class: ``v >= l`` (distinct), ``-Σ_i (r_i/r) log(r_i/r) >= log l`` (entropy) or
      ``r_1 < c (r_l + r_{l+1} + ... + r_v)`` (recursive);
    - t-closeness, for every sensitive column: its distribution in the class is at most ``t`` from
      that in all published rows, by the earth mover's distance over the ranks of numbers and dates
      and the total variation of categories.

    The published table itself is counted again at the end of every fit; a fit whose table does
    not satisfy the conditions raises. Read more in the :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    k : int >= 1, default=5
        Least number of rows that are published alike.
    l : int >= 1, default=1
        Least diversity of every sensitive column in every class; 1 asks for nothing.
    diversity : {"distinct", "entropy", "recursive", "recursive-published"}, default="distinct"
        Model of diversity: number of different values; entropy of at least ``log l``; the most
        frequent value rarer than ``c`` times all but the ``l - 1`` most frequent together; the
        same with the ``l`` least frequent values instead, as the book's text has it.
    c : float > 0, finite, default=3.0
        Constant of the recursive models.
    t : float in [0, 1], default=1.0
        Largest distance between the distribution of a sensitive column in a class and that in the
        published rows (t-closeness), for every sensitive column; 1 asks for nothing.
    suppress : float in [0, 1), default=0.0
        Largest share of the rows that may be left out of the published table. Rows are left out
        only where that lowers the loss, a left-out row counting as lost entirely, or where the
        diversity cannot be reached with them.
    random_merges : float in [0, 1), default=0.0
        Share of the classes, drawn at random, that are joined with the nearest class although they
        are valid. It hinders conclusions from what the method would have published if the sensitive
        values were others (minimality), as long as ``random_state`` is None or kept secret.
    generalize : {"ranges", "representatives"}, default="ranges"
        Published form of a class: ranges of numbers and sets of categories, or, as in
        microaggregation, the mean of numbers and the most frequent category.
    n_clusters : int >= 1 or "auto", default="auto"
        Largest number of classes; "auto" takes as many as the conditions allow. Fewer than the
        number of rows over ``k`` are found by splits, always by the one that lowers the loss most.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Class of every row, -1 for suppressed rows; two rows have the same label if and only if
        they are published alike.
    published_ : table of texts
        The generalized quasi-identifiers in the order of the rows, without suppressed rows: a
        data frame of pandas (with its index) or polars or an Arrow table as ``X`` was, otherwise
        an array of texts. Every value is a text, none is missing: ``37``; ``20-29`` for the range
        of numbers from 20 to 29; ``2024-01-31/2024-02-29`` for a range of dates; ``{a, b}`` for
        one of several categories; ``*`` for any value; ``missing`` for a missing one.
    cluster_sizes_ : ndarray of int, shape (n_clusters,)
        Number of rows of every class.
    loss_ : dict of str to float
        Information lost by the published table, computed from that table alone: ``ncp``, the mean
        of ``column_losses_``, rows that were left out counting as lost (not for representatives);
        ``discernibility``, the sum over classes of their squared sizes, plus the number of rows for
        every suppressed row.
    column_losses_ : dict of str to float
        Mean share of every column that its published values leave open, computed from these alone;
        empty for representatives, which do not tell what they stand for.
    objective_ : float
        NCP of the classes before published numbers were rounded outward; it was minimized. It is
        computed from values that are not published, as are ``history_`` and ``search_``: do not
        publish these.
    history_ : ndarray
        The same after the start and after every pass of refinement.
    t_closeness_ : dict of str to float
        For every sensitive column, the largest distance between the distribution of a class and
        that of the published rows: earth mover's distance over the ranks of numbers and dates,
        total variation for categories.
    k_ : int
        Size of the smallest class.
    l_ : float
        Diversity reached by all classes and sensitive columns: the least number of different
        values; with entropy the least ``exp`` of it; with the recursive models the largest ``l``
        that holds. 1 without sensitive columns.
    n_suppressed_ : int
        Number of rows that were left out.
    suppressed_ : ndarray of int
        Positions of these rows.
    search_ : dict of str to ndarray
        Loss against the number of classes: ``n_clusters`` and ``ncp``.
    hierarchies_ : dict of str to Hierarchy
        Hierarchies that were used, by column.

    Notes
    -----
    Rows are split top-down, always by the cut that lowers the loss most, into blocks of near rows.
    Within a block classes grow from the rows that are farthest from the class before, each by the
    row that opens the least; where their sensitive values do not suffice, the block is split on
    instead, so that every class is valid at all times. Then rows move between near classes, or
    change places, as long as that lowers the loss and both classes stay valid. An iteration is one
    such pass. All rows of the table are needed in memory, and O(m) comparisons per row in blocks
    of m = 2,000 rows.

    Rows that are left out are forgotten before the others are published: these are published as by
    a fit without the former, and ranges, categories and losses are of these alone.

    The guarantee is about the columns of ``X``, and about ``published_`` alone. A fitted model
    holds the values that occur and the exact ranges of the classes: do not publish it. ``loss_``,
    ``column_losses_`` and ``summary()`` may be published with the table.

    References
    ----------
    Tung, Han, Lakshmanan, Ng, "Constraint-based clustering and privacy", *Constrained Clustering*
    (Basu, Davidson, Wagstaff, eds., 2009), section 16.5. Xu et al., "Utility-based anonymization
    using local recoding", KDD 2006 (the penalty). Machanavajjhala et al., "l-Diversity: privacy
    beyond k-anonymity", ACM TKDD 1 (2007). Li, Li, Venkatasubramanian, "t-Closeness", ICDE 2007.

    Examples
    --------
    >>> from sidelight.privacy import Anonymizer
    >>> ages = [[21.0], [24.0], [25.0], [61.0], [63.0], [68.0]]
    >>> model = Anonymizer(k=3, random_state=0).fit(ages)
    >>> model.published_.ravel().tolist()
    ['21-25', '21-25', '21-25', '61-68', '61-68', '61-68']
    """

    k: Count = 5
    _: KW_ONLY
    l: Count = 1  # noqa: E741 - the name of the parameter in the literature
    diversity: Diversity = "distinct"
    c: FinitePositive = 3.0
    t: Share = 1.0
    suppress: ShareBelowOne = 0.0
    random_merges: ShareBelowOne = 0.0
    generalize: Literal["ranges", "representatives"] = "ranges"
    n_clusters: Count | Auto = "auto"
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="table in which every row is published like at least k - 1 others",
        source="Tung, Han, Lakshmanan, Ng 2009, section 16.5",
        complexity="O(n log n + n m) d for blocks of m rows, O(n d) memory",
        kind="anonymizer",
        knowledge=("conditions",),
        enforcement="hard",
        missing=True,
        raw_columns=True,
        monotone=True,
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sensitive: Any = None,
        hierarchies: Any = None,
    ) -> Self:
        """Find classes of rows and generalize the quasi-identifiers.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            The quasi-identifiers only: a pandas or polars data frame or Arrow table with columns
            of numbers, dates, words or yes and no, or an array. A missing value is a value of its
            own.
        y : array of shape (n_samples,), default=None
            Not used; a warning is given for it.
        constraints : Constraints, default=None
            Not used; a warning is given for it.
        sensitive : array of shape (n_samples,) or table of several columns, default=None
            Sensitive columns, each of which has to be diverse and close to the whole in every
            class; they are not part of the published quasi-identifiers. Needed for ``l > 1`` and
            ``t < 1``. Digits that are no quantities, such as codes, are given as texts or
            categories: numbers have an order.
        hierarchies : dict of str to Hierarchy or mapping, default=None
            Hierarchies of values, by column of ``X``. A class publishes the lowest common
            ancestor of its values in place of a set or range.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self)
        self._check_y_holds_labels(y)
        columns = self._read(X, reset=True)
        n_rows = len(columns[0].codes)
        known = self._validate_knowledge(constraints, y, n_rows, X)
        self.hierarchies_ = read_hierarchies(hierarchies, columns)
        check_no_identifiers(columns, self.hierarchies_, n_rows)
        conditions = ClassConditions(
            self.k, self.diversity, self.l, self.c, read_sensitive(sensitive, n_rows, X), self.t
        )
        check_sensitive(conditions)
        check_size(self.k, n_rows)
        encode(columns, self.hierarchies_)  # whether the hierarchies hold all values
        rows, search, found = self._search(columns, conditions)
        texts = self._unite(search, found, n_rows)
        self._set_fitted_attributes(search, found, texts, rows, n_rows)
        published = [column[found.labels] for column in texts]
        self.published_ = as_given(published, [column.name for column in columns], X, rows)
        self._compare_with(known)
        return self

    def _read(self, X: Any, *, reset: bool) -> list[Column]:
        """Columns of a table, or of an array of numbers."""
        check_in_memory(X)
        if hasattr(X, "column_names") or (isinstance(X, Mapping) and not issparse(X)):
            columns, _ = read_columns(X)
            self._check_names([column.name for column in columns], reset=reset)
            return columns
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            if not len(X):
                raise SidelightError("The table has 0 sample(s); at least k rows are needed.")
            validate_data(self, X, reset=reset, skip_check_array=True)
            return read_columns(X)[0]
        if _has_texts(X):
            columns, _ = read_columns(X)
            self._check_names([column.name for column in columns], reset=reset, named=False)
            return columns
        rows: Any = self._check_rows(X, reset=reset)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])])
        return columns_of_array(rows, names)

    def _check_names(self, names: list[str], *, reset: bool, named: bool = True) -> None:
        """Keep, or compare, the names of columns that scikit-learn does not read."""
        if reset:
            self.n_features_in_ = len(names)
            if named:
                self.feature_names_in_ = np.array(names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return
        known = getattr(self, "feature_names_in_", names)
        if len(names) != self.n_features_in_ or (named and list(known) != names):
            raise SidelightError(
                f"The table has {counted(len(names), 'column')} {quoted(names)}; that of the fit "
                f"had {self.n_features_in_} features: {quoted(list(known))}."
            )

    def _search(
        self, columns: list[Column], conditions: ClassConditions
    ) -> tuple[IntArray, AnonymousClasses, RowClasses]:
        """Choose the rows that are published, and find their classes.

        Once rows are left out, they are forgotten: the others are published as if they were all.
        """
        n_rows = len(columns[0].codes)
        rng = check_random_state(self.random_state)
        seed = rng.randint(np.iinfo(np.int32).max)
        budget = int(self.suppress * n_rows + 1e-9)
        gone = rows_to_remove(conditions, budget, rng)
        check_size(self.k, n_rows - len(gone), len(gone))

        def run(rows: IntArray) -> tuple[IntArray, AnonymousClasses, RowClasses]:
            mine, rule = columns, conditions
            if len(rows) < n_rows:
                mine, rule = [column.only(rows) for column in columns], conditions.only(rows)
            search = AnonymousClasses(encode(mine, self.hierarchies_), rule)
            found = self._find_classes(search, np.random.RandomState(seed))
            found.history = [_with_lost(loss, len(rows), n_rows) for loss in found.history]
            return rows, search, found

        best = run(np.setdiff1d(np.arange(n_rows), gone))
        rows, search, found = best
        out = search.outliers(found.labels, budget - len(gone))
        if len(out):
            other = run(np.delete(rows, out))
            best = other if other[-1].history[-1] < found.history[-1] else best
        self.search_ = best[1].curve(np.random.RandomState(seed))
        if self.random_merges:
            rows, search, found = best
            found.labels = search.merge_some(found.labels, self.random_merges, rng)
            found.history.append(_with_lost(search.loss(found.labels), len(rows), n_rows))
        return best

    def _find_classes(self, search: AnonymousClasses, rng: np.random.RandomState) -> RowClasses:
        """Divide the rows into classes; one that searches in another way defines this method."""
        n_clusters = None if self.n_clusters == "auto" else int(self.n_clusters)
        return search.run(n_clusters, rng, self.verbose)

    def _unite(self, search: AnonymousClasses, found: RowClasses, n_rows: int) -> list[Array]:
        """Unite classes that are published alike, and those of them that are not valid then.

        Returns the texts of the classes; labels of ``found`` become those of what is published.
        """
        while True:
            texts = class_texts(search.encoded, classes_of(found.labels), self.generalize)
            united, kept = published_alike(texts, found.labels)
            texts = [column[kept] for column in texts]
            if not search.violating(united).any():
                found.labels = united
                return texts
            found.labels = search.merge_violating(united)
            if found.labels.max() == 0 and search.violating(found.labels).any():
                raise SidelightError(
                    f"No partition into classes with {self.diversity} diversity l={self.l} was "
                    "found; lower l, or choose another model."
                )
            loss, n_kept = search.loss(found.labels), len(found.labels)
            found.history[-1] = _with_lost(loss, n_kept, n_rows)

    def _set_fitted_attributes(
        self,
        search: AnonymousClasses,
        found: RowClasses,
        texts: list[Array],
        rows: IntArray,
        n_rows: int,
    ) -> None:
        conditions, columns = search.conditions, search.encoded.columns
        published = [column[found.labels] for column in texts]
        # From here on, only the published texts decide which rows are alike.
        classes = equivalence_classes(published)
        sizes = np.bincount(classes)
        counts = [counts_of(column, classes) for column in conditions.columns]
        check_published(sizes, classes, conditions)
        self.labels_ = np.full(n_rows, -1, np.int32)
        self.labels_[rows] = found.labels
        self.suppressed_ = np.flatnonzero(self.labels_ < 0)
        self.n_suppressed_ = len(self.suppressed_)
        self.k_ = int(sizes.min())
        reached = [one.reached(self.diversity, self.c) for one in counts]
        self.l_ = round(min(reached, default=1.0), 9)  # entropies of equal counts are whole
        self.t_closeness_ = {
            column.name: closeness(column, classes) for column in conditions.columns
        }
        self.history_ = np.array(found.history)
        self.objective_ = float(found.history[-1])
        self.n_iter_ = len(found.history)
        self.converged_ = found.converged
        suppressed = self.n_suppressed_ * n_rows
        self.loss_ = {"discernibility": float((sizes.astype(np.float64) ** 2).sum() + suppressed)}
        self.column_losses_ = {}
        if self.generalize == "ranges":  # representatives do not tell what they stand for
            self.column_losses_ = shares_left_open(columns, published, self.hierarchies_)
            mean = float(np.mean([*self.column_losses_.values()]))
            self.loss_ = {"ncp": _with_lost(mean, len(rows), n_rows), **self.loss_}
        known = self.search_["n_clusters"] < len(sizes)
        self.search_ = {
            "n_clusters": np.append(self.search_["n_clusters"][known], len(sizes)),
            "ncp": np.append(self.search_["ncp"][known], self.objective_),
        }
        self._encoded = search.encoded.without_rows()
        self._summaries = class_summaries(search.encoded, classes_of(found.labels))

    def summary(self) -> str:
        """Return five plain lines about the published table, and nothing about what is not in it.

        Examples
        --------
        >>> from sidelight.privacy import Anonymizer
        >>> print(Anonymizer(2, random_state=0).fit([[21.0], [24.0], [61.0], [63.0]]).summary())
        Anonymizer: table in which every row is published like at least k - 1 others
        Fitted to 4 rows of 1 feature.
        The published values leave 0.0595 of their columns open (NCP).
        2 clusters of 2 to 2 rows (median 2).
        No constraint was violated.
        """
        lines = super().summary().split("\n")
        lines[2] = "The published values stand for more than they tell (representatives)."
        if "ncp" in self.loss_:
            share = f"{self.loss_['ncp']:.4f}"
            lines[2] = f"The published values leave {share} of their columns open (NCP)."
        return "\n".join(lines)

    def publish(self) -> Any:
        """Return ``published_``: the generalized rows of the fit, without suppressed rows."""
        check_is_fitted(self)
        return self.published_

    def predict(self, X: Any) -> Array:
        """Return for new rows the class whose published values contain them, or the nearest.

        The nearest class is the one whose penalty grows least when the row joins it. Nothing is
        guaranteed for new rows: to publish them, fit again. Time is that of a comparison of every
        row with every class.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            New rows, with the columns of the fit.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Class of every row.
        """
        check_is_fitted(self)
        new = encode_new(self._encoded, self._read(X, reset=False))
        domain, trees = self._encoded.arrays[2], self._encoded.arrays[4:]
        return nearest_class(new, domain, trees, *self._summaries)

    def _n_clusters_found(self) -> int:
        return int(self.labels_.max()) + 1


def _with_lost(loss: float, n_kept: int, n_rows: int) -> float:
    """Mean loss of all rows, if the rows that are not kept are lost entirely."""
    return (loss * n_kept + n_rows - n_kept) / n_rows


def _has_texts(X: Any) -> bool:
    """Whether an array holds texts, dates or yes and no, and nothing that is no value."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind not in ("O", "U") or np.ndim(X) != 2 or not np.size(X):
        return False
    types = set(map(type, np.asarray(X, dtype=object).ravel()))
    known = all(
        issubclass(one, str | date | bool | np.bool_ | Number | type(None)) for one in types
    )
    return known and any(issubclass(one, str | date | bool | np.bool_) for one in types)
