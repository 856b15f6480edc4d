"""Pairs that labels, groups and stated links amount to, in a number that can be worked with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array
from sidelight.constraints._constraints import Constraints
from sidelight.constraints.algebra._canonical import StatedPairs
from sidelight.constraints.algebra._operations import statements_of

#: Labels and groups give at most about this many pairs of each kind.
MAX_PAIRS = 50_000


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows that belong together, and pairs that do not."""

    together: Array
    together_weight: Array
    apart: Array
    apart_weight: Array

    @property
    def n_together(self) -> int:
        """Number of pairs that belong together."""
        return len(self.together)

    @property
    def n_apart(self) -> int:
        """Number of pairs that do not."""
        return len(self.apart)


def known_pairs(known: Constraints) -> Pairs:
    """Stated pairs, and those of labeled and grouped rows.

    Parameters
    ----------
    known : Constraints
        What is known.

    Returns
    -------
    Pairs
        Of labels and groups all pairs where they are few (50,000), else each row with some others,
        evenly spread and always the same.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.constraints import known_pairs
    >>> known_pairs(Constraints.from_labels([0, 0, 1, -1])).apart
    array([[0, 2],
           [1, 2]])
    """
    together, apart = [known.must_link], [known.cannot_link]
    for codes, tells_apart in ((known.labels, True), (known.groups, False)):
        if codes is not None:
            same, different = _pairs_of_codes(codes)
            together.append(same)
            if tells_apart:
                apart.append(different)
    joined, parted = np.concatenate(together), np.concatenate(apart)
    return Pairs(
        together=joined,
        together_weight=_weights(known.must_link_weight, len(joined)),
        apart=parted,
        apart_weight=_weights(known.cannot_link_weight, len(parted)),
    )


def without_weights(known: Constraints) -> Constraints:
    """The same statements, all pairs of weight 1.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.constraints import without_weights
    >>> without_weights(Constraints([(0, 1)], must_link_weight=3, n_samples=2)).must_link_weight
    array([1.])
    """
    if np.all(known.must_link_weight == 1) and np.all(known.cannot_link_weight == 1):
        return known
    must_link, cannot_link = StatedPairs(known.must_link), StatedPairs(known.cannot_link)
    stated = statements_of(known)._replace(must_link=must_link, cannot_link=cannot_link)
    return known._derive(stated)


def _weights(stated: Array, total: int) -> Array:
    return np.concatenate([stated, np.ones(total - len(stated))])


def _pairs_of_codes(codes: Array) -> tuple[Array, Array]:
    known = np.flatnonzero(codes >= 0)
    n = len(known)
    if n < 2:
        return np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)
    if n * (n - 1) // 2 <= MAX_PAIRS:
        first, second = np.triu_indices(n, 1)
    else:  # every row with rows at distances that spread over all of them
        steps = np.unique(np.linspace(1, n // 2, max(MAX_PAIRS // n, 2)).astype(np.int64))
        first = np.tile(np.arange(n), len(steps))
        second = (first + np.repeat(steps, n)) % n
    same = codes[known[first]] == codes[known[second]]
    pairs = np.column_stack([known[first], known[second]])
    return pairs[same], pairs[~same]
