"""Selectors by a score of each feature on its own (Hamad, part 3; Book 2009, section 7.2.2)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import Tags

from sidelight._fit.parameters import Auto, Count, FiniteNonNegative, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import worded
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.feature_selection._base import _ScoreSelector
from sidelight.feature_selection._known import classes_of, constraint_sums, edit_graph, missing_y
from sidelight.feature_selection._scores import (
    fisher_scores,
    gini_scores,
    graph_sums,
    laplacian_scores,
    ratio,
    variances,
)
from sidelight.graphs import neighbor_graph
from sidelight.tags import MethodTags, own_tags


class _Filter(_ScoreSelector):
    """Keeps the features whose scores, each found on its own, are best.

    Subclasses define ``_scores(rows, known)`` and whether larger ones are better.
    """

    _larger_is_better = False

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        self._check_y_holds_labels(y)
        taken = y if "labels" in self.__sidelight_tags__().knowledge else None
        rows, known = self._validate_fit_in_memory(X, taken, constraints)
        scores = self._scores(rows, known)
        self._set_scores(scores, larger_is_better=self._larger_is_better)
        return self

    def _scores(self, rows: Any, known: Constraints) -> Array:
        raise NotImplementedError


@estimator
class VarianceScore(_Filter):
    """Keeps the features of largest variance ``V_r = (1/n) Σ_i (x_ir - μ_r)²``.

    The simplest baseline (Hamad, part 3): it uses no knowledge, and it depends on the units of the
    features. Read more in the :doc:`user guide </feature_selection/index>`.

    Parameters
    ----------

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Variances; the larger the better.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.feature_selection import VarianceScore
    >>> VarianceScore(1).fit(np.array([[0.0, 5.0], [0.1, 9.0]])).get_support()
    array([False,  True])
    """

    _larger_is_better = True

    _own_tags = own_tags(
        summary="features of largest variance, the baseline",
        knowledge=(),
        enforcement="none",
        source="Hamad, part 3",
        complexity="O(n d) time, O(d) memory",
        raw_columns=True,
        out_of_core=True,
    )

    def _scores(self, rows: Any, known: Constraints) -> Array:
        return variances(rows)


@estimator
class FisherScore(_Filter):
    """Keeps the features that separate known classes best.

    ``F_r = Σ_w n_w (μ_wr - μ_r)² / Σ_w n_w σ²_wr`` over the labeled rows (Hamad, part 3): the
    variance between classes over that within, ``(c - 1)/(n - c)`` times the F of an analysis of
    variance. Must-links and groups pass labels on. Read more in the
    :doc:`user guide </feature_selection/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    satellite and wine, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ``F``; the larger the better, NaN for features that do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.feature_selection import FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> np.round(FisherScore().fit(X, y).scores_, 4)
    array([ 1.6226,  0.6688, 16.0566, 13.0613])
    """

    _larger_is_better = True
    _needs_knowledge = True
    _with_labels = ("must-link", "groups")

    _own_tags = own_tags(
        summary="features that tell known classes apart",
        knowledge=("labels",),
        source="Hamad, part 3",
        complexity="O(n d) time, O(c d) memory for c classes",
        out_of_core=True,
    )

    def _scores(self, rows: Any, known: Constraints) -> Array:
        return fisher_scores(rows, classes_of(known, self))


@estimator
class LaplacianScore(_Filter):
    """Keeps the features that vary little between neighbors and much otherwise.

    ``LS_r = f̃'Lf̃ / f̃'Df̃`` with ``f̃ = f - Σ d_i f_i / Σ d_i`` on a graph of nearest neighbors
    (He, Cai, Niyogi 2005; Hamad, part 3). Must-linked rows, and those of a class or group, are
    joined by the weight of the pair (1 by default); cannot-linked ones, and those of two classes,
    are not joined. Read more in the :doc:`user guide </feature_selection/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    glass, satellite, vowel and wine, for some numbers of them (:doc:`the comparison of all
    methods </does_knowledge_help>`).

    Parameters
    ----------
    n_neighbors : int >= 1, default=5
        Number of neighbors of a row in the graph.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ``LS``, between 0 and 2; the smaller the better, NaN for features that do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.feature_selection import LaplacianScore
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.repeat([0.0, 5.0], 30), rng.normal(size=60)])
    >>> LaplacianScore(1).fit(X).get_support()
    array([ True, False])
    """

    _: KW_ONLY
    n_neighbors: Count = 5

    _own_tags = own_tags(
        summary="features that vary little between neighbors",
        weights=("must-link",),
        source="He, Cai, Niyogi 2005; Hamad, part 3",
        complexity="O(n log n d + n m d) time, O(n m) memory for m neighbors",
    )

    def _scores(self, rows: Any, known: Constraints) -> Array:
        graph = edit_graph(neighbor_graph(rows, self.n_neighbors), known)
        if not graph.nnz:
            raise SidelightError(
                "LaplacianScore compares neighbors, but no two of the rows "
                f"({worded('n_samples=', '')}{rows.shape[0]}) are joined: give more rows, or fewer "
                "cannot-links."
            )
        return laplacian_scores(rows, graph)


@estimator
class ConstraintScore(_Filter):
    """Keeps the features in which must-linked rows are close and cannot-linked rows are far.

    With ``f'L^M f = Σ_ML w (f_i - f_j)²`` and ``f'L^C f`` likewise (Zhang, Chen, Zhou 2008;
    Kalakech et al. 2011; Hamad, part 3), ``criterion`` is

    - "ratio": ``f'L^M f / f'L^C f``, the smaller the better;
    - "difference": ``f'L^M f - λ f'L^C f``, likewise; it depends on the units of the features;
    - "laplacian*constraint": the ratio times the Laplacian score, which also uses the rows that
      no constraint is about;
    - "locality": ``f'L^b f / f'L^w f``, the larger the better, where neighbors and (much more)
      must-linked rows are joined in ``w`` and cannot-linked ones in ``b``.

    Known classes and groups give all pairs of their rows, without forming them. Without any
    must-link the variance of all rows takes the place of ``f'L^M f`` in the ratio. Read more in the
    :doc:`user guide </feature_selection/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    digits, ionosphere, satellite and vehicle, for some numbers of them (:doc:`the comparison of
    all methods </does_knowledge_help>`).

    Parameters
    ----------
    criterion : {"ratio", "difference", "laplacian*constraint", "locality"}, default="ratio"
        Score of a feature, see above.
    penalty : float >= 0, finite or "auto", default="auto"
        Weight ``λ`` of the cannot-links against the must-links in "difference". "auto" is 0.1.
    n_neighbors : int >= 1, default=5
        Number of neighbors of a row in the graph of "laplacian*constraint" and "locality".

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Scores, see above.
    penalty_ : float
        Weight of the cannot-links that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.feature_selection import ConstraintScore
    >>> X = np.array([[0.0, 3.0], [0.1, 9.0], [5.0, 3.1], [5.2, 8.0]])
    >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3)], n_samples=4)
    >>> ConstraintScore(1).fit(X, constraints=known).get_support()
    array([ True, False])
    """

    _needs_knowledge = True

    _: KW_ONLY
    criterion: Literal["ratio", "difference", "laplacian*constraint", "locality"] = "ratio"
    penalty: FiniteNonNegative | Auto = "auto"
    n_neighbors: Count = 5

    _elsewhere = (
        "ConstraintScore with criterion='ratio' or 'difference' has no graph of neighbors, and "
        "reads rows block by block."
    )

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="features in which must-links are short and cannot-links long",
            source="Zhang, Chen, Zhou 2008; Kalakech et al. 2011; Hamad, part 3",
            complexity="O(m d) time for m pairs, O(d) memory",
            out_of_core=self.criterion in ("ratio", "difference"),
        )

    def _scores(self, rows: Any, known: Constraints) -> Array:
        self.penalty_ = 0.1 if self.penalty == "auto" else float(self.penalty)
        self._larger_is_better = self.criterion == "locality"
        together, apart = constraint_sums(rows, known)
        if apart is None:
            nothing = missing_y() * known.is_empty
            one = ", only rows of 1 class" if known.has_labels else ""
            raise SidelightError(
                f"{nothing}{type(self).__name__} compares rows that belong together with rows that "
                f"do not, but no two rows are known to be apart{one}: give cannot-links, or labels "
                f"of two classes ({worded('y', '--label-column')}), or use LaplacianScore."
            )
        scores = self._scores_from_sums(rows, known, together, apart)
        if not np.any(apart > 0) and not np.isnan(scores).all():
            warn(
                "No feature tells the rows apart that are known to be apart.",
                ConstraintWarning,
            )
        return scores

    def _scores_from_sums(
        self, rows: Any, known: Constraints, together: Array | None, apart: Array
    ) -> Array:
        """Scores from the sums over must-links (None without any) and cannot-links."""
        if self.criterion == "locality":
            within = edit_graph(neighbor_graph(rows, self.n_neighbors), known, must_link=100.0)
            return ratio(apart, graph_sums(rows, within))
        if self.criterion == "difference":
            nearness = np.zeros(rows.shape[1]) if together is None else together
            scores = nearness - self.penalty_ * apart
            scores[(nearness == 0) & (apart == 0)] = np.nan  # 0 would beat what varies at all
            return scores
        if together is None:
            warn(
                "No two rows are known to belong together, so that all ratios would be 0: the "
                "variance of all rows stands in for must-links.",
                ConstraintWarning,
            )
            together = variances(rows)
        scores = ratio(together, apart)
        if self.criterion == "laplacian*constraint":
            scores = scores * laplacian_scores(rows, neighbor_graph(rows, self.n_neighbors))
        return scores


@estimator
class GiniScore(_Filter):
    """Keeps the words whose presence is skewed over known classes (Book 2009, section 7.2.2).

    With ``f_i`` occurrences of a word in class ``i`` of ``n_i`` words, its share of class ``i`` is
    ``p_i = (f_i/n_i) / Σ_j (f_j/n_j)`` and its index ``g = 1 - sqrt(Σ_i p_i²)``: 0 for a word of
    one class only, ``1 - 1/√K`` for one spread evenly over ``K`` classes. Read more in the
    :doc:`user guide </feature_selection/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    digits, satellite and wdbc, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    min_df : int >= 1, default=1
        Smallest number of rows that a word is in; words in fewer rows come last (7 in the book).

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        ``g``; the smaller the better, NaN for words that do not occur (or in too few rows).

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.feature_selection import GiniScore
    >>> counts = np.array([[3, 1], [2, 1], [0, 1], [0, 2]])
    >>> GiniScore(1).fit(counts, [0, 0, 1, 1]).get_support()
    array([ True, False])
    """

    _needs_knowledge = True
    _with_labels = ("must-link", "groups")

    _: KW_ONLY
    min_df: Count = 1

    _own_tags = own_tags(
        summary="words whose presence is skewed over known classes",
        knowledge=("labels",),
        source="Book 2009, section 7.2.2",
        complexity="O(nnz) time and memory",
        raw_columns=True,
        out_of_core=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _scores(self, rows: Any, known: Constraints) -> Array:
        (present, negative), _ = as_rows(rows).map_reduce(_present_words)
        if negative:
            raise SidelightError("Negative values in data passed to GiniScore: counts are not.")
        scores = gini_scores(rows, classes_of(known, self))
        return np.where(present < self.min_df, np.nan, scores)


def _present_words(block: Any) -> tuple[tuple[Array, int], tuple[()]]:
    """Number of rows that every word is in, and of values below 0."""
    return (np.asarray((block > 0).sum(axis=0)).reshape(-1), int((block < 0).sum())), ()
