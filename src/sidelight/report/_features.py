"""How the clusters differ, feature by feature.

For cluster ``c`` and feature ``f`` with overall mean ``m_f`` and standard deviation ``s_f`` the
table holds the mean ``m_cf`` and is shaded by ``(m_cf - m_f) / s_f``. Features are ranked by the
share of their variance that lies between the clusters,
``η²_f = Σ_c n_c (m_cf - m_f)² / (n s_f²)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.moments import moments
from sidelight.engine import RowSource
from sidelight.pictures.inner import Partition

SHOW_ALL = 30
SHOW_TOP = 20
_CONSIDERED = 2_000  # of very many features only those that vary most are compared

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMeans:
    """Means by cluster of the features worth showing.

    Attributes
    ----------
    features : ndarray of shape (n_shown,)
        Columns of the data; in their order if all are shown, else the most telling first.
    overall, deviation, share : ndarray of shape (n_shown,)
        Overall mean and standard deviation, and share of the variance that lies between the
        clusters.
    means, difference : ndarray of shape (n_shown, n_clusters)
        Mean by cluster, and its distance from the overall mean in standard deviations.
    """

    features: npt.NDArray[np.int64]
    overall: Array
    deviation: Array
    share: Array
    means: Array
    difference: Array


def feature_means(source: RowSource, clusters: Partition) -> FeatureMeans:
    """Compute the means of the features that the clusters differ in, in two passes over the rows.

    Rows in no cluster count for the overall mean only.
    """
    found = moments(source)
    overall, variance = found.mean, found.variances
    considered = np.arange(source.n_features)
    if len(considered) > _CONSIDERED:
        considered = np.sort(np.argsort(-variance, kind="stable")[:_CONSIDERED])
    sums = _sums_by_cluster(source, clusters, considered, overall[considered])
    sizes = clusters.sizes[:, None]
    from_mean = sums / np.maximum(sizes, 1)
    variance = variance[considered]
    varies = variance > 0.0
    between = (sizes * from_mean**2).sum(axis=0)
    share = np.divide(between, source.n_rows * variance, out=np.zeros_like(between), where=varies)
    deviation = np.where(varies, np.sqrt(variance), 1.0)
    shown = np.arange(len(considered))
    if source.n_features > SHOW_ALL:
        shown = np.argsort(-share, kind="stable")[:SHOW_TOP]
    return FeatureMeans(
        features=considered[shown],
        overall=overall[considered[shown]],
        deviation=np.sqrt(variance[shown]),
        share=np.clip(share[shown], 0.0, 1.0),
        means=(from_mean + overall[considered])[:, shown].T,
        difference=np.where(varies, from_mean / deviation, 0.0)[:, shown].T,
    )


def _sums_by_cluster(
    source: RowSource,
    clusters: Partition,
    features: npt.NDArray[np.int64],
    overall: Array,
) -> Array:
    """Add up, by cluster, the rows' differences from the overall mean."""
    n_clusters = len(clusters.names)

    def add(block: Any, codes: npt.NDArray[np.int64]) -> tuple[tuple[Array], tuple[()]]:
        inside = np.flatnonzero(codes >= 0)
        member = sparse.csr_array(
            (np.ones(len(inside)), (codes[inside], inside)), shape=(n_clusters, len(codes))
        )
        if sparse.issparse(block):
            sums = (member @ block[:, features].astype(np.float64)).toarray()
            return (sums - np.outer(member.sum(axis=1), overall),), ()
        return (member @ (block[:, features].astype(np.float64) - overall),), ()

    (sums,), _ = source.map_reduce(add, aligned=(clusters.codes,))
    return np.asarray(sums, dtype=np.float64)
