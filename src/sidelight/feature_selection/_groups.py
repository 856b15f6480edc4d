"""Groups of redundant features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from sidelight._fit.moments import moments
from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError

#: Features in a group on average, as in the vocabulary of the thesis (20 words to a parent).
FEATURES_PER_GROUP = 20
#: The tree needs the distances between all features.
MAX_FEATURES = 10_000


def hierarchical_groups(rows: Any) -> Array:
    """Group the features by average linkage on ``1 - |correlation|``, about 20 to a group.

    Features that do not vary are like no other.
    """
    d = rows.shape[1]
    if d > MAX_FEATURES:
        raise SidelightError(
            f"groups='hierarchical' compares all features with each other, which {d} are too many "
            f"for (at most {MAX_FEATURES}): give the group of every feature."
        )
    n_groups = max(1, round(d / FEATURES_PER_GROUP))
    if n_groups == 1:
        return np.zeros(d, dtype=np.int64)
    distances = 1.0 - np.abs(_correlations(rows))
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), "average")
    codes = fcluster(tree, n_groups, criterion="maxclust")
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _correlations(rows: Any) -> Array:
    covariance = moments(as_rows(rows), full=True).covariance
    spread = np.sqrt(np.diag(covariance))
    scale = np.where(spread > 0, spread, np.inf)
    return np.asarray(covariance / scale[:, None] / scale)
