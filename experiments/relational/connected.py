"""Joint clustering of attributes and relations: chapter 12, what is published beside ours.

``python -m experiments.relational.connected [--runs 20] [--quick]``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.datasets import make_attributed_graph
from sidelight.relational import ConnectedKCenter, ConnectedKMeans, NetScan

TITLE = "Connected clusters"
VERDICTS = {
    "Table 12.1: communities of researchers": Verdict(
        "cannot be had",
        "the co-author graph and its keywords are not public; attributes on a block graph stand in",
    ),
    "NetScan on the stand-in": Verdict(
        "no published figure",
        "the order of the methods is that of the chapter: NetScan above k-means",
    ),
    "Algorithm 2 on a chain of overlapping clusters": Verdict(
        "differs",
        "the chapter claims a radius of at most 3 r for any number of clusters; it holds for two",
    ),
}

#: Correct researchers of table 12.1, out of 1786.
PUBLISHED = {"k-means": 1414, "NetScan": 1602}
SEPARATIONS = (1.5, 2.0, 2.5)
N_STARTS = 10

METHODS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda seed: KMeans(3, n_init=N_STARTS, random_state=seed),
    "NetScan": lambda seed: NetScan(3, n_init=N_STARTS, random_state=seed),
    "NetScan, one start": lambda seed: NetScan(3, n_init=1, random_state=seed),
    "NetScan, center nodes": lambda seed: NetScan(
        3, centers="nodes", n_init=N_STARTS, random_state=seed
    ),
    "NetScan, printed rounds": lambda seed: NetScan(
        3, growth="rounds", n_init=N_STARTS, random_state=seed
    ),
    "ConnectedKMeans": lambda seed: ConnectedKMeans(3, random_state=seed),
    "ConnectedKMeans, not refined": lambda seed: ConnectedKMeans(
        3, refine=False, n_init=N_STARTS, random_state=seed
    ),
}


def run(runs: int, quick: bool) -> list[Section]:
    return [_published(), _stand_in(runs), _chain()]


def _published() -> Section:
    return Section(
        "Table 12.1: communities of researchers",
        "1786 researchers in three communities with tf-idf keywords and co-authors; clusters are "
        "labeled by majority, mean of 20 runs. Only the published figures.",
        ("method", "correct", "accuracy"),
        [[name, str(n), f"{n / 1786:.3f}"] for name, n in PUBLISHED.items()],
    )


def _stand_in(runs: int) -> Section:
    rows = []
    for name, make in METHODS.items():
        row = [name]
        for separation in SEPARATIONS:
            scores = []
            for seed in range(runs):
                X, relations, y = make_attributed_graph(separation, random_state=seed)
                known = {} if name == "k-means" else {"relations": relations}
                scores.append(_accuracy(y, make(seed).fit(X, **known).labels_))
            row.append(mean_and_error(scores))
        rows.append(row)
    return Section(
        "NetScan on the stand-in",
        "Gaussian attributes in ten dimensions on a block graph of 3 x 100 nodes, every block "
        f"connected; accuracy by majority with {N_STARTS} restarts, at three separations of the "
        f"centers, mean of {runs} draws.",
        ("method", *(f"separation {separation}" for separation in SEPARATIONS)),
        rows,
    )


def _accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    found = sum(int(np.bincount(y[labels == j]).max()) for j in np.unique(labels))
    return found / len(y)


def _chain() -> Section:
    """The path-like tree on which Algorithm 2 passes one label on and on."""
    from sidelight.relational.connected._connected_kcenter import disjoint
    from sidelight.relational.connected._graph import connection_graph
    from sidelight.relational.connected._nodes import Nodes

    rows = []
    for k in range(2, 7):
        X = np.arange(2.0 * k)[:, None]
        edges = [(0, 1)]
        for i in range(1, k):
            edges += [(2 * i - 1, 2 * i), (2 * i - 1, 2 * i + 1)]
        nodes = Nodes(X, connection_graph(edges, len(X), X), False)
        labels, centers = disjoint(nodes, np.arange(0, 2 * k, 2), 1.0)
        literal = float(np.abs(X[:, 0] - X[centers[labels], 0]).max())
        model = ConnectedKCenter(k, method="exact", random_state=0).fit(X, relations=edges)
        figures = (3.0, literal, 2.0 * k - 1, model.radius_, model.lower_bound_)
        rows.append([str(k), *(f"{figure:g}" for figure in figures)])
    return Section(
        "Algorithm 2 on a chain of overlapping clusters",
        "Radius in units of the radius r of the relaxation, for which 1 is possible.",
        ("clusters", "claimed bound", "Algorithm 2", "proven bound", "ours", "lower bound"),
        rows,
    )


if __name__ == "__main__":
    main("connected")
