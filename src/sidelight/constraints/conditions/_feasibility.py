"""Whether clusters can meet all conditions, each alone and all together."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import worded
from sidelight.constraints.conditions._given import number_text
from sidelight.exceptions import InfeasibleConstraints

#: Seconds to find out whether conditions that overlap can be met together.
TIME_LIMIT = 20.0


def too_many(name: str, m: Any, have: int, least: IntArray) -> InfeasibleConstraints:
    """Error about a condition that needs more rows than have its property."""
    k, need = len(least), int(least.sum())
    if np.ndim(m):
        needs = f"{k} clusters with {number_text(m)} of {name!r} need"
        remedy = f"ask for {need - have} fewer in all"
    else:
        needs = f"{k} clusters with at least {m} of {name!r} each need"
        fewer = have // int(m)
        options = [f"at most {have // k} per cluster"] if have >= k else []
        if fewer:
            options.append(worded(f"at most n_clusters={fewer}", f"at most -k {fewer}"))
        remedy = f"ask for {' or '.join(options)}" if options else "drop the condition"
    return InfeasibleConstraints(
        f"{needs} at least {need} rows with it (there {'is' if have == 1 else 'are'} {have}): "
        f"{remedy}.",
        k=k,
        sufficient_k=None if np.ndim(m) else have // int(m) or None,
    )


def joint_feasible(members: Array, least: IntArray) -> bool:
    """Whether whole rows of every combination of properties can be divided as they have to be."""
    needed = np.flatnonzero(least.any(axis=1))
    if np.count_nonzero(members[:, needed].sum(axis=1) > 1) == 0:
        return True
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    kinds, numbers = np.unique(members[:, needed], axis=0, return_counts=True)
    (n_kinds, n_conditions), k = kinds.shape, least.shape[1]
    once = sparse.kron(sparse.identity(n_kinds), np.ones(k))
    holds = sparse.kron(kinds.T.astype(np.float64), sparse.identity(k))
    solved = milp(
        np.zeros(n_kinds * k),
        constraints=[
            LinearConstraint(once.tocsr(), -np.inf, numbers),
            LinearConstraint(holds.tocsr(), least[needed].reshape(n_conditions * k), np.inf),
        ],
        bounds=Bounds(0, np.repeat(numbers, k)),
        integrality=np.ones(n_kinds * k),
        options={"time_limit": TIME_LIMIT},
    )
    return bool(solved.status != 2)
