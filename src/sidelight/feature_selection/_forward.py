"""Forward search for a subset of features, all pairs at once (Mallapragada 2010, section 5.5)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import Whole, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import worded
from sidelight.constraints import Constraints, Pairs, known_pairs
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.feature_selection._base import _ScoreSelector
from sidelight.feature_selection._known import missing_y
from sidelight.feature_selection._scores import ROUNDING, largest_values, squared_differences
from sidelight.tags import own_tags

#: Below this variance (of a feature with mean square 1) a feature does not vary.
MIN_VARIANCE = 1e-10
#: Up to this many features all their products are kept.
MAX_PRODUCTS = 512
#: Differences that are taken at a time: pairs times features.
MAX_DIFFERENCES = 2_000_000


@estimator
class ForwardConstraintSelector(_ScoreSelector):
    """Searches the subset of features whose distance separates must-links from cannot-links best.

    A pair of rows has the squared differences ``δ_j = (x_j - x'_j)²``; ``t`` is 1 for pairs that
    are known to be apart and 0 for pairs that belong together. The merit of a subset is

    ``J(S) = Σ_{j∈S} ρ_j / √(Σ_{i,j∈S} |R_ij|)``

    with ``ρ_j = corr(δ_j, t)`` and ``R_ij = corr(δ_i, δ_j)``: features count that differ between
    rows known to be apart, and not for the same pairs as others do (Hall 1999, read for pairs).
    Without the bars it is the correlation of the distance ``Σ_{j∈S} δ_j / σ_j`` with ``t``, which
    many features that cancel each other by chance drive up; with them no such chance pays, and
    ``J`` is at most that correlation. The search is best-first: always from the best subset that
    was not extended yet by the feature that helps most, so that it goes on from an earlier subset
    where a step does not help. It is the batch method that the thesis compares online selection
    with (Mallapragada 2010, section 5.5, which names the search and not its merit); all pairs have
    to be there at once. Read more in the :doc:`user guide </feature_selection/index>`.

    On rows without constraints it was worse with correct constraints than without any on
    digits, glass and wine, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    n_features_to_select : int >= 1 or float in (0, 1] or None, default=None
        Largest number of features to keep, or their share (150 in the thesis); as many as help by
        default.
    patience : int >= 0, default=5
        Number of consecutive subsets that may be no better than the best before the search ends. 0
        is plain forward search.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Gain in ``J`` of a chosen feature when it came in, and of each of the others if it were
        added to the subset found; NaN for features that do not vary between the pairs.
    ranking_ : ndarray of int, shape (n_features,)
        1 for the first feature that came in; then the others by their scores.
    merit_ : float
        ``J`` of the subset.
    n_subsets_ : int
        Number of subsets that were extended.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.feature_selection import ForwardConstraintSelector
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> X = rng.normal(size=(200, 20))
    >>> X[:, [3, 8]] += 3 * y[:, None]
    >>> known = Constraints.sample(y, 200, random_state=0)
    >>> model = ForwardConstraintSelector(2).fit(X, constraints=known)
    >>> model.get_support(indices=True)
    array([3, 8])
    """

    _needs_knowledge = True

    _: KW_ONLY
    patience: Whole = 5

    _own_tags = own_tags(
        summary="best-first search for the subset whose distance tells pairs apart",
        source="Mallapragada 2010, section 5.5; Hall 1999",
        complexity="O(m d) time per subset, O(s d) memory for m pairs, s subsets",
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        pairs = known_pairs(known)
        self._check_both_kinds(known, pairs)
        d = rows.shape[1]
        most = d if self.n_features_to_select is None else self._n_kept(d)
        moments = PairMoments(rows, pairs)
        if not moments.varies.any():
            warn(
                "No feature differs between the pairs, so none is better than another: all are "
                "kept.",
                ConstraintWarning,
            )
            self.merit_, self.n_subsets_ = 0.0, 0
            self._set_ranking(np.arange(d), np.full(d, np.nan), d, larger_is_better=True)
            return
        found, self.n_subsets_ = best_first(
            moments.relevance, moments.correlations, moments.varies, most, int(self.patience)
        )
        if found.merit <= 0:
            warn(
                "No feature differs more between rows known to be apart than between rows that "
                "belong together; the one that does least harm is kept.",
                ConstraintWarning,
            )
        self.merit_ = found.merit
        scores = merits_with_one_more(found, moments.relevance, moments.varies) - found.merit
        scores[~np.isfinite(scores)] = np.nan
        scores[found.chosen] = found.gains
        # The chosen come first, in their order; then the others by their scores.
        worth = np.where(np.isnan(scores), -np.inf, scores)
        worth[found.chosen] = np.inf
        order = np.argsort(-worth, kind="stable")
        order[: len(found.chosen)] = found.chosen
        self._set_ranking(order, scores, len(found.chosen), larger_is_better=True)

    def _check_both_kinds(self, known: Constraints, pairs: Pairs) -> None:
        if pairs.n_together and pairs.n_apart:
            return
        nothing = missing_y() * known.is_empty
        missing = "belong together" if pairs.n_apart else "be apart"
        one = " (rows of 1 class only)" if known.has_labels and not pairs.n_apart else ""
        raise SidelightError(
            f"{nothing}{type(self).__name__} compares rows that belong together with rows that do "
            f"not, but no two rows are known to {missing}{one}: give pairs of both kinds, or "
            f"labels ({worded('y', '--label-column')}) of two classes with two rows each."
        )


class PairMoments:
    """Correlations of squared differences, with the kind of the pair and among each other.

    Of few features the products are summed once. Of more, a column of ``R`` is one pass over the
    pairs, whose differences are kept if they are sparse or few and taken again if not.
    """

    def __init__(self, rows: Any, pairs: Pairs) -> None:
        self._rows = rows
        self._pairs = np.concatenate([pairs.together, pairs.apart])
        weight = np.concatenate([pairs.together_weight, pairs.apart_weight])
        self._weight = weight / weight.sum()
        is_apart = np.arange(len(weight)) >= pairs.n_together
        d = rows.shape[1]
        self._differences: Any = None
        self._columns: Any = None
        self._products: Array | None = None
        if sparse.issparse(rows):
            self._differences = squared_differences(rows, self._pairs)
            self._columns = self._differences.tocsc()
        elif d <= MAX_PRODUCTS:
            self._products = np.zeros((d, d))
        elif len(weight) * d <= MAX_DIFFERENCES:
            self._differences = squared_differences(rows, self._pairs)
        sums, apart, squares = np.zeros(d), np.zeros(d), np.zeros(d)
        for block, differences in self._blocks():
            w = self._weight[block]
            sums += _flat(w @ differences)
            apart += _flat((w * is_apart[block]) @ differences)
            if self._products is not None:
                self._products += (differences * w[:, None]).T @ differences
            squares += _flat(
                w
                @ (
                    differences.multiply(differences)
                    if sparse.issparse(differences)
                    else differences**2
                )
            )
        # Every feature in units in which its mean square is 1: then rounding is the same for all.
        differs = squares > (ROUNDING * largest_values(rows)) ** 4
        self._unit = np.sqrt(np.where(differs, squares, 1.0))
        self._mean = sums / self._unit
        variance = np.where(differs, 1.0 - self._mean**2, 0.0)
        self.varies = variance > MIN_VARIANCE
        self._spread = np.sqrt(np.where(self.varies, variance, 1.0))
        share = float(self._weight[is_apart].sum())
        covariance = apart / self._unit - share * self._mean
        relevance = covariance / self._spread / np.sqrt(share * (1 - share))
        self.relevance: Array = np.where(self.varies, relevance, 0.0)

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """Squared differences of some pairs at a time, and which pairs they are."""
        if self._differences is not None:
            yield slice(0, len(self._pairs)), self._differences
            return
        size = max(1, MAX_DIFFERENCES // self._rows.shape[1])
        for start in range(0, len(self._pairs), size):
            block = slice(start, start + size)
            yield block, squared_differences(self._rows, self._pairs[block])

    def correlations(self, j: int) -> Array:
        """Column ``j`` of ``R``; 0 for features that do not vary."""
        if self._products is not None:
            mixed = self._products[:, j]
        elif self._columns is not None:  # only pairs that differ in this feature count
            here = slice(self._columns.indptr[j], self._columns.indptr[j + 1])
            differ, own = self._columns.indices[here], self._columns.data[here]
            mixed = _flat((self._weight[differ] * own) @ self._differences[differ])
        else:
            mixed = np.zeros(len(self.varies))
            for block, differences in self._blocks():
                mixed += (self._weight[block] * differences[:, j]) @ differences
        mixed = mixed / self._unit / self._unit[j]
        column = (mixed - self._mean * self._mean[j]) / self._spread / self._spread[j]
        return np.where(self.varies, column, 0.0)


@dataclass
class Subset:
    """A subset of features, with the sums that its extensions need.

    ``relevance`` is ``Σ ρ_j`` and ``overlap`` ``Σ |R_ij|`` within it; ``with_it`` is
    ``Σ_{i∈S} |R_ij|`` for every feature ``j``; ``order`` its extensions, the best
    first, of which ``tried`` were made.
    """

    chosen: list[int]
    gains: list[float]
    merit: float
    relevance: float
    overlap: float
    with_it: Array
    order: Array
    merits: Array
    tried: int = 0

    def next_merit(self) -> float:
        """Merit of the best extension that was not made yet; minus infinity when all were."""
        if self.tried >= len(self.order):
            return -np.inf
        return float(self.merits[self.order[self.tried]])


def best_first(
    relevance: Array,
    correlations: Callable[[int], Array],
    allowed: Array,
    most: int,
    patience: int,
) -> tuple[Subset, int]:
    """Subset of at most ``most`` allowed features with the largest merit that was met.

    ``relevance`` is ``ρ``, ``correlations(j)`` column ``j`` of ``R``. Also returns the number of
    subsets that were extended.
    """
    columns: dict[int, Array] = {}
    d = len(relevance)
    empty = Subset([], [], 0.0, 0.0, 0.0, np.zeros(d), np.empty(0), np.empty(0))
    _rank_extensions(empty, relevance, allowed)
    best = Subset([], [], -np.inf, 0.0, 0.0, np.zeros(d), np.empty(0), np.empty(0))
    made = [empty]
    waiting = [(-empty.next_merit(), 0)]
    seen: set[frozenset[int]] = set()
    stale = 0
    while waiting and stale <= patience:
        _, number = heapq.heappop(waiting)
        parent = made[number]
        j = int(parent.order[parent.tried])
        parent.tried += 1
        if np.isfinite(parent.next_merit()):
            heapq.heappush(waiting, (-parent.next_merit(), number))
        members = frozenset((*parent.chosen, j))
        if members in seen:
            continue
        seen.add(members)
        if j not in columns:
            columns[j] = correlations(j)
        child = _extended(parent, j, relevance, columns[j])
        improved = child.merit > best.merit + 1e-12
        stale = 0 if improved else stale + 1
        if improved:
            best = child
            if len(child.chosen) == most:
                break
        if len(child.chosen) < most:
            _rank_extensions(child, relevance, allowed)
            if np.isfinite(child.next_merit()):
                made.append(child)
                heapq.heappush(waiting, (-child.next_merit(), len(made) - 1))
    return best, len(made)


def merits_with_one_more(subset: Subset, relevance: Array, allowed: Array) -> Array:
    """``J(S ∪ {j})`` for every ``j``; minus infinity for features in it or not allowed."""
    merits = (subset.relevance + relevance) / np.sqrt(subset.overlap + 2 * subset.with_it + 1.0)
    merits[~allowed] = -np.inf
    merits[subset.chosen] = -np.inf
    return merits


def _rank_extensions(subset: Subset, relevance: Array, allowed: Array) -> None:
    subset.merits = merits_with_one_more(subset, relevance, allowed)
    order = np.argsort(-subset.merits, kind="stable")
    subset.order = order[np.isfinite(subset.merits[order])]


def _extended(subset: Subset, j: int, relevance: Array, column: Array) -> Subset:
    merit = float(subset.merits[j])
    return Subset(
        chosen=[*subset.chosen, j],
        gains=[*subset.gains, merit - subset.merit],
        merit=merit,
        relevance=subset.relevance + float(relevance[j]),
        overlap=subset.overlap + 2 * float(subset.with_it[j]) + 1.0,
        with_it=subset.with_it + np.abs(column),
        order=np.empty(0),
        merits=np.empty(0),
    )


def _flat(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64).reshape(-1)
