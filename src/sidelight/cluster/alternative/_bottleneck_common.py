"""The part of a clustering that is the same in all classes of what is known.

Clusters are coordinated across the known classes by means of their own. As published, the second
term of the objective is ``I(C;F)``, with the mean ``μ_c`` of all rows of a cluster: it rewards a
clustering that repeats a known split as much as any other. Adjusted for what is known, the mean of
cluster ``c`` in class ``z`` is that of the class with the effect of the cluster, ``μ_z + r_c``, or
``μ_z r_c`` for counts, and the term is what these effects explain beside the class. A clustering
that is independent of ``Z`` has the same value in both; a repeated split has none when adjusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import xlogy

from sidelight._typing import FloatArray
from sidelight.cluster.alternative._bottleneck_features import FLOOR, Family


class Baseline(Protocol):
    """Means of the features that follow from what is known alone, for some designs."""

    def expected(self, weights: FloatArray) -> FloatArray:
        """``Σ_z w_zc μ_z``, of shape (n_features, n_clusters)."""

    def against(self, effects: FloatArray) -> FloatArray:
        """``μ_z · r_c``, of shape (n_designs, n_clusters)."""


@dataclass(frozen=True)
class CellBaseline:
    """Means of the cells themselves, of shape (n_cells, n_features)."""

    means: FloatArray

    def expected(self, weights: FloatArray) -> FloatArray:
        """``Σ_z w_zc μ_z``."""
        return self.means.T @ weights

    def against(self, effects: FloatArray) -> FloatArray:
        """``μ_z · r_c``."""
        return self.means @ effects


@dataclass(frozen=True)
class Common:
    """Parameters of the coordinating term.

    Attributes
    ----------
    factors : ndarray of shape (n_features, n_clusters)
        Factors of the features in the cost of a row.
    offsets : ndarray of shape (n_designs, n_clusters)
        Costs beside them, by class.
    information : float
        What the term explains.
    """

    factors: FloatArray
    offsets: FloatArray
    information: float


def common_effects(
    family: Family, features: FloatArray, weights: FloatArray, baseline: Baseline
) -> FloatArray:
    """Effect of every cluster on top of the known classes: a difference, or a ratio of counts."""
    expected, masses = baseline.expected(weights), weights.sum(axis=0)
    if family.counts:
        some = expected > 0
        return np.divide(features, expected, where=some, out=np.ones_like(features))
    return (features - expected) / np.where(masses > 0, masses, 1.0)


def effect_factors(family: Family, effects: FloatArray) -> FloatArray:
    """Factors of the features in the cost of a row in clusters with these effects."""
    return np.log(np.maximum(effects, FLOOR)) if family.counts else 2.0 * effects


def effect_offsets(family: Family, effects: FloatArray, baseline: Baseline) -> FloatArray:
    """Costs of clusters with these effects, without the product with a row, by class."""
    if family.counts:
        return baseline.against(effects)
    return np.sum(effects**2, axis=0) + 2.0 * baseline.against(effects)


def adjusted_common(
    family: Family, features: FloatArray, weights: FloatArray, baseline: Baseline
) -> Common:
    """Parameters of the term that is adjusted for what is known.

    ``features`` are the sums of the rows of every cluster, ``weights`` their masses by class.
    """
    effects = common_effects(family, features, weights, baseline)
    if family.counts:
        information = float(np.sum(xlogy(features, np.maximum(effects, FLOOR))))
    else:
        information = float(weights.sum(axis=0) @ np.sum(effects**2, axis=0))
    return Common(
        effect_factors(family, effects), effect_offsets(family, effects, baseline), information
    )
