"""Several splits of the same rows: one against another, and the groups of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.constraints import Constraints, KnownSplits
from sidelight.evaluation import similarity_to_splits
from sidelight.pictures._rows import run_of_labels
from sidelight.pictures._run import Partition
from sidelight.pictures.clusters._map import cluster_map
from sidelight.pictures.kinds._cells import Cells, shares_of_rows
from sidelight.pictures.kinds._points import Points

#: Numbers are written into tables of at most so many cells.
MAX_WRITTEN = 200
#: Colored parts of a column of numbers.
PARTS = 5


def known_partitions(known: KnownSplits) -> list[tuple[str, Partition]]:
    """Known splits as groups, with their names; numbers in parts of equal size."""
    return [(column.name, _partition(column.values, column.classes)) for column in known.columns()]


def _partition(values: Array, classes: Array | None) -> Partition:
    if classes is not None:
        return Partition(values, tuple(map(str, classes.tolist())))
    edges = np.unique(np.quantile(values, np.arange(1, PARTS) / PARTS))
    codes = np.searchsorted(edges, values, side="right")
    used, codes = np.unique(codes, return_inverse=True)
    names = [_part(edges, int(part)) for part in used]
    return Partition(codes.reshape(-1).astype(np.int64), tuple(names))


def _part(edges: Array, part: int) -> str:
    if part == 0:
        return f"below {edges[0]:.4g}"
    if part == len(edges):
        return f"{edges[-1]:.4g} and more"
    return f"{edges[part - 1]:.4g} to {edges[part]:.4g}"


def split_maps(
    X: Any,
    known: KnownSplits,
    found: Sequence[Any],
    constraints: Constraints | None = None,
    feature_names: Sequence[str] | None = None,
    features: Sequence[Any] | None = None,
    like: Any = None,
) -> tuple[Points, ...]:
    """The same map of the rows for every known split in classes and every one that was found.

    The parameters are those of ``SplitsDisplay.from_estimators``, with the clusters found.
    """
    splits = {
        name: classes[codes].astype(str)
        for name, codes, classes in zip(
            known.split_names, known.codes.T, known.class_names, strict=True
        )
    }
    splits |= {f"alternative {number}": one for number, one in enumerate(found, start=1)}
    maps = []
    for name, labels in splits.items():
        run = run_of_labels(X, labels, constraints, feature_names)
        maps.append(cluster_map(run, like=like, features=features).headed(name))
    return tuple(maps)


def contingency(known: KnownSplits, labels: Array) -> Cells:
    """Rows that the classes of a known split and clusters have in common.

    Parameters
    ----------
    known : KnownSplits
        One split in classes.
    labels : ndarray of shape (n_samples,)
        Cluster of every row.
    """
    (similarity,) = similarity_to_splits(labels, known)
    clusters, codes = np.unique(labels, return_inverse=True)
    classes = known.class_names[0]
    shape = (len(classes), len(clusters))
    flat = np.ravel_multi_index((known.codes[:, 0], codes.reshape(-1)), shape)
    counts = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)
    return shares_of_rows(
        counts,
        ([str(name) for name in classes.tolist()], [str(name) for name in clusters.tolist()]),
        ("cluster", similarity.name),
        title=f"{similarity.name} by cluster",
        write=counts.size <= MAX_WRITTEN,
        note=f"variation of information {similarity.variation_of_information:.3f} of "
        f"{similarity.largest:.3f}, NMI {similarity.nmi:.3f}",
    )
