"""How much log-likelihood pairs have to outweigh (``penalty="auto"``)."""

from __future__ import annotations

import numpy as np

from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture._core import Parameters, em, log_joint_blocks

#: Nats that a violated pair costs at least: odds of 7 to 1 that it is right.
LEAST = 2.0

#: Plain EM, to see how far the components part; the last digits do not matter.
MAX_ITER, TOL = 20, 1e-3


def stake_of_a_row(
    source: RowSource, start: Parameters, sample_weight: Array | None = None
) -> float:
    """Half the median of the log-odds of the best component of a row against its second best.

    They are those of a mixture without constraints, and grow with the dimension: a price that does
    not is nothing beside them. A pair that costs half the usual log-odds decides about rows between
    components, and leaves the others to themselves where it is wrong
    (``experiments.mixture.pair_defaults``). In nats, at least :data:`LEAST`.
    """
    if start.components.n_components == 1:
        return LEAST
    plain = em(source, *start, sample_weight=sample_weight, max_iter=MAX_ITER, tol=TOL)
    odds = log_joint_blocks(source, plain.components, plain.log_weights, _log_odds)
    order = np.argsort(odds, kind="stable")
    below = np.cumsum(np.ones(len(odds)) if sample_weight is None else sample_weight[order])
    middle = min(int(np.searchsorted(below, below[-1] / 2)), len(odds) - 1)
    return max(0.5 * float(odds[order[middle]]), LEAST)


def _log_odds(joint: Array) -> Array:
    """Log-odds of the best component against the second best."""
    two: Array = np.partition(joint, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]
