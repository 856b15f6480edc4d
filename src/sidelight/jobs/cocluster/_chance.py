"""What chance makes of a table: co-clusters of the same table with its columns shuffled.

A method that looks for dense blocks finds some in any table, and measures look good on blocks that
were looked for. In a table whose columns are shuffled, each by itself, every column keeps its ones
and has nothing to do with the others. The same method finds co-clusters in several such tables:
where their tau is as large as that of the table, chance does as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import hypergeom
from sklearn.base import clone

from sidelight._words import counted
from sidelight.evaluation import goodman_kruskal_tau
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.jobs.cocluster._facts import Cocluster

#: Shuffled tables: a table without any structure is above all of them in one of 20 cases.
N_SHUFFLED = 19
#: Most cells of a table for which they are clustered; and for methods that list bi-sets, of
#: which shuffled columns may have very many.
MAX_CELLS, MAX_CELLS_OF_CONCEPTS = 20_000, 2_000
#: Probability under which chance explains the ones of a co-cluster.
SIGNIFICANCE = 0.05


def chance_tau(estimator: Any, X: Any) -> tuple[float, ...]:
    """Goodman-Kruskal's tau of co-clusters of shuffled tables, ascending; empty for large tables.

    Parameters
    ----------
    estimator : CDKMeans or InformationCoclustering
        The fitted estimator, whose parameters count.
    X : array or CSR matrix of shape (n_rows, n_columns)
        The zeros and ones.
    """
    has_concepts = getattr(estimator, "n_concepts_", None) is not None
    if X.shape[0] * X.shape[1] > (MAX_CELLS_OF_CONCEPTS if has_concepts else MAX_CELLS):
        return ()
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(N_SHUFFLED):
        shuffled = rng.permuted(table, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about tables that nobody gave
            try:
                other = clone(estimator).fit(shuffled)
            except (SidelightError, ValueError):  # as when shuffling leaves no large bi-set
                continue
        tau = goodman_kruskal_tau(shuffled, other.labels_, other.column_labels_)
        found.append(float(np.nan_to_num(tau)))
    return tuple(sorted(found))


def doubts(tau: float, by_chance: Sequence[float], coclusters: Sequence[Cocluster]) -> list[str]:
    """Sentences about what is hardly different from chance.

    Parameters
    ----------
    tau : float
        Goodman-Kruskal's tau of the co-clusters.
    by_chance : sequence of float
        The same of shuffled tables, ascending.
    coclusters : sequence of Cocluster
        The co-clusters.
    """
    found = []
    if by_chance and not tau > by_chance[-1]:
        found.append(
            f"Chance does as well: Goodman-Kruskal tau is {tau:.3f}, and {by_chance[0]:.3f} to "
            f"{by_chance[-1]:.3f} in {counted(len(by_chance), 'table')} of the same columns, "
            "shuffled."
        )
    for one in coclusters:
        if is_doubtful(one):
            found.append(
                f"Ones do not set co-cluster {one.number} apart: {one.density:.0%} of its cells, "
                f"and {one.elsewhere:.0%} of those of its columns in other rows."
            )
    return found


def is_doubtful(one: Cocluster) -> bool:
    """Whether chance explains how many ones a co-cluster has more than its columns elsewhere.

    The rows were chosen for their ones, which is not counted: what fails is no co-cluster at all.
    """
    inside, outside = one.n_rows * one.n_columns, one.n_others * one.n_columns
    if not inside or not outside:
        return False
    ones, others = round(one.density * inside), round(one.elsewhere * outside)
    chance = hypergeom.sf(ones - 1, inside + outside, ones + others, inside)
    return bool(chance > SIGNIFICANCE)
