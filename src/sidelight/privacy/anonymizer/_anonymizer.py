"""Tables in which every row is published like at least k - 1 others (section 16.5)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

from sidelight._fit.parameters import (
    Auto,
    Count,
    FinitePositive,
    Interval,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array
from sidelight.base import Clusterer
from sidelight.constraints import Constraints
from sidelight.tags import own_tags

ShareBelowOne = Annotated[float, Interval(0, 1, open_high=True)]
Diversity = Literal["distinct", "entropy", "recursive", "recursive-published"]


@estimator
class Anonymizer(Clusterer):
    """Generalizes columns until every row is like at least k - 1 others: a table to publish.

    ``X`` holds the quasi-identifiers: columns by which somebody could recognize a person. Rows are
    partitioned into classes, and every row is published with the ranges and sets of values of its
    class. Minimizes the normalized certainty penalty ``NCP = (1/nd) Σ_i Σ_j p_j(class of i)``,
    where ``p_j`` is the width of the published range of column ``j`` as a share of the range of
    all rows; for a set of more than one category its number of categories as a share of all; for
    a node of a hierarchy its leaves as a share of all leaves; and 1 for a suppressed row. Subject
    to, for every class of rows that are *published alike*:

    - k-anonymity: it has at least ``k`` rows;
    - l-diversity, for every sensitive column with counts ``r_1 >= r_2 >= ... >= r_v`` of its values
      in the class: ``v >= l`` (distinct), ``-Σ_i (r_i/r) log(r_i/r) >= log l`` (entropy) or
      ``r_1 < c (r_l + r_{l+1} + ... + r_v)`` (recursive).

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
    suppress : float in [0, 1), default=0.0
        Largest share of the rows that may be left out of the published table. Rows are left out
        only where that lowers the loss, a left-out row counting as lost entirely, or where the
        diversity cannot be reached with them.
    generalize : {"ranges", "representatives"}, default="ranges"
        Published form of a class: ranges of numbers and sets of categories, or, as in
        microaggregation, the mean of numbers and the most frequent category.
    n_clusters : int >= 1 or "auto", default="auto"
        Largest number of classes; "auto" takes as many as the conditions allow.

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
        Information lost by the published table: ``ncp``, the normalized certainty penalty in
        [0, 1]; ``dispersion``, the sum of squared distances of the standardized and encoded rows
        to the means of their classes, ``DISP`` of the book; ``discernibility``, the sum over
        classes of their squared sizes, plus the number of rows for every suppressed row.
    objective_ : float
        NCP of the classes before published numbers were rounded outward; it was minimized.
    history_ : ndarray
        The same after the start and after every pass of refinement.
    t_closeness_ : dict of str to float
        For every sensitive column, the largest distance between the distribution of a class and
        that of the published rows: earth mover's distance over the order of numbers, total
        variation for categories.
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
    search_ : dict of ndarray
        Loss against the number of classes: ``n_clusters`` and ``ncp``.
    hierarchies_ : dict of str to Hierarchy
        Hierarchies that were used, by column.

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
    suppress: ShareBelowOne = 0.0
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
        as_they_are=True,
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
        y : ignored
            There for the conventions of scikit-learn.
        constraints : Constraints, default=None
            Not used; told if given.
        sensitive : array of shape (n_samples,) or table of several columns, default=None
            Sensitive columns, each of which has to be diverse in every class; they are not part
            of the published quasi-identifiers. Needed for ``l > 1``.
        hierarchies : dict of str to Hierarchy or mapping, default=None
            Hierarchies of values, by column of ``X``. A class publishes the lowest common
            ancestor of its values in place of a set or range.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        raise NotImplementedError

    def publish(self) -> Any:
        """Return ``published_``: the generalized rows of the fit, without suppressed rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Return for new rows the class whose published values contain them, or the nearest.

        The nearest class is the one whose penalty grows least when the row joins it. Nothing is
        guaranteed for new rows: to publish them, fit again.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            New rows, with the columns of the fit.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Class of every row.
        """
        raise NotImplementedError
