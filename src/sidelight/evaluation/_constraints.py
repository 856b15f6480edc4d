"""How much of what is known a partition respects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import IntArray
from sidelight.constraints.inner import by_row
from sidelight.evaluation._contingency import count_codes, encode_labels
from sidelight.evaluation._pairs import count_pairs
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints


@dataclass(frozen=True)
class Satisfaction:
    """Pairs that are known, and how many of them a partition respects.

    Attributes
    ----------
    must_link, cannot_link : int
        Known pairs of each kind.
    must_link_kept, cannot_link_kept : int
        Those that the partition respects.
    """

    must_link: int
    must_link_kept: int
    cannot_link: int
    cannot_link_kept: int

    def __add__(self, other: Satisfaction) -> Satisfaction:
        return Satisfaction(
            self.must_link + other.must_link,
            self.must_link_kept + other.must_link_kept,
            self.cannot_link + other.cannot_link,
            self.cannot_link_kept + other.cannot_link_kept,
        )

    def __sub__(self, other: Satisfaction) -> Satisfaction:
        return Satisfaction(
            self.must_link - other.must_link,
            self.must_link_kept - other.must_link_kept,
            self.cannot_link - other.cannot_link,
            self.cannot_link_kept - other.cannot_link_kept,
        )

    @property
    def must_link_share(self) -> float:
        """Share of the must-links that are respected; NaN if there are none."""
        return self.must_link_kept / self.must_link if self.must_link else np.nan

    @property
    def cannot_link_share(self) -> float:
        """Share of the cannot-links that are respected; NaN if there are none."""
        return self.cannot_link_kept / self.cannot_link if self.cannot_link else np.nan

    def score(self, balanced: bool) -> float:
        """Share of all pairs, or the mean of the two shares; NaN if nothing is known."""
        if balanced:
            return mean_of_known(self.must_link_share, self.cannot_link_share)
        known = self.must_link + self.cannot_link
        return (self.must_link_kept + self.cannot_link_kept) / known if known else np.nan


def mean_of_known(*values: float) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    known = [value for value in values if not np.isnan(value)]
    return float(sum(known) / len(known)) if known else np.nan


def constraint_satisfaction(
    constraints: Constraints, labels: Any, *, balanced: bool = False
) -> float:
    r"""Share of the known pairs that a partition respects.

    .. math:: \xi(y) = \frac{|\{(i, j) \in ML : y_i = y_j\}| + |\{(i, j) \in CL : y_i \ne y_j\}|}
              {|ML| + |CL|}

    Mallapragada, section 4.4. Partial labels count through the pairs they stand for (same class:
    must-link, different classes: cannot-link), groups through the pairs inside them; these are
    counted, never listed. With all pairs given it is the Rand index.

    Parameters
    ----------
    constraints : Constraints
        What is known.
    labels : array-like of shape (n_samples,)
        Cluster of each row. A row without one (-1, NaN, None, "") is a cluster of its own.
    balanced : bool, default=False
        Average the share of the must-links and that of the cannot-links. With many classes most
        random pairs are cannot-links, which a partition into many small clusters respects for
        free; the balanced score does not fall for that. If one kind is absent the other counts
        alone.

    Returns
    -------
    float
        Between 0 and 1; NaN if nothing is known.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.evaluation import constraint_satisfaction
    >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3), (2, 3)], n_samples=4)
    >>> constraint_satisfaction(known, [0, 1, 2, 3])
    0.75
    >>> constraint_satisfaction(known, [0, 1, 2, 3], balanced=True)
    0.5
    """
    return satisfaction(constraints, labels).score(balanced)


def satisfaction(constraints: Constraints, labels: Any) -> Satisfaction:
    """Count the known pairs of each kind and those that a partition respects."""
    given = by_row(labels, constraints.row_index, constraints.n_samples, "labels")
    clusters = own_cluster_for_unknown(encode_labels(given))
    if len(clusters) != constraints.n_samples:
        raise SidelightError(
            f"There are {len(clusters)} labels, but the constraints are about "
            f"{constraints.n_samples} rows."
        )
    total = _stated(constraints, clusters)
    if constraints.labels is not None:
        total += _through_labels(constraints.labels, clusters)
    if constraints.groups is not None:
        inside = _through_labels(constraints.groups, clusters)
        total += Satisfaction(inside.must_link, inside.must_link_kept, 0, 0)
    return total


def held_out_satisfaction(
    train: Constraints, held_out: Constraints, labels: Any, known: Constraints
) -> Satisfaction:
    """Count what a partition respects of that which was held out of ``known``.

    A held-out label also speaks about its row and the rows whose labels were used: with few
    labels most of what it says is there.
    """
    kept = satisfaction(held_out, labels)
    if known.labels is None or train.labels is None or held_out.labels is None:
        return kept
    clusters = own_cluster_for_unknown(encode_labels(labels))
    used = np.where(train.labels >= 0, known.labels, -1)
    held = np.where((held_out.labels >= 0) & (train.labels < 0), known.labels, -1)
    either = np.where((used >= 0) | (held >= 0), known.labels, -1)
    across = (
        _through_labels(either, clusters)
        - _through_labels(used, clusters)
        - _through_labels(held, clusters)
    )
    return kept + across


def own_cluster_for_unknown(codes: IntArray) -> IntArray:
    """Replace the code -1 by fresh codes, one for each row."""
    unknown = np.flatnonzero(codes < 0)
    if len(unknown) == 0:
        return codes
    codes = codes.copy()
    codes[unknown] = codes.max() + 1 + np.arange(len(unknown))
    return codes


def _stated(constraints: Constraints, clusters: IntArray) -> Satisfaction:
    must, cannot = constraints.must_link, constraints.cannot_link
    joined = clusters[must[:, 0]] == clusters[must[:, 1]]
    separated = clusters[cannot[:, 0]] != clusters[cannot[:, 1]]
    return Satisfaction(len(must), int(joined.sum()), len(cannot), int(separated.sum()))


def _through_labels(known: IntArray, clusters: IntArray) -> Satisfaction:
    if not np.any(known >= 0):
        return Satisfaction(0, 0, 0, 0)
    pairs = count_pairs(count_codes(known, clusters))
    return Satisfaction(
        must_link=pairs.together + pairs.split,
        must_link_kept=pairs.together,
        cannot_link=pairs.joined + pairs.apart,
        cannot_link_kept=pairs.apart,
    )
