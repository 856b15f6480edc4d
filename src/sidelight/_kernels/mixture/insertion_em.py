"""Loops under the search for a further component of a mixture."""

from __future__ import annotations

import math

from sidelight._kernels import kernel
from sidelight._typing import Array

#: exp of less than this is nothing beside 1 in double precision.
NOTHING = -38.0


@kernel
def join_rows(log_odds: Array, weights: Array, gains: Array) -> None:
    """Turn log-odds of new components into weighted responsibilities, in place.

    ``gains`` of every column rises by the weighted sum of ``log(1 + odds)``.
    """
    n_rows, n_candidates = log_odds.shape
    for n in range(n_rows):
        weight = weights[n]
        for c in range(n_candidates):
            odds = log_odds[n, c]
            if odds > 0.0:
                rest = math.exp(-odds) if odds < -NOTHING else 0.0
                gains[c] += weight * (odds + math.log1p(rest))
                log_odds[n, c] = weight / (1.0 + rest)
            else:
                part = math.exp(odds) if odds > NOTHING else 0.0
                gains[c] += weight * math.log1p(part)
                log_odds[n, c] = weight * part / (1.0 + part)
