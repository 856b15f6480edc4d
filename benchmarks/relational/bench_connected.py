"""Connected clusters beside PySAL's regionalization, k-means, and at a million nodes.

- Areas of a lattice and of a random planar graph with planted regions. spopt's Skater,
  RegionKMeansHeuristic and WardSpatial get the same attributes and the same neighbors; the sums of
  squared distances to the means of the regions (``objective``) are computed here for both sides.
  spopt's labels are checked for the number of regions.
- NetScan beside k-means on the stand-in of chapter 12: attributes in ten dimensions on a block
  graph, both with ten restarts; accuracy by majority.
- NetScan at a million nodes and five million edges, with default parameters.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np
from benchmarks.harness import Row, apart, clock
from sklearn.cluster import KMeans

from sidelight import Relations
from sidelight.datasets import make_areas, make_attributed_graph
from sidelight.relational import ConnectedKMeans, NetScan

PEER = "spopt"
#: spopt's methods, with the largest ratio of times that we want.
PEERS = {"Skater": 0.05, "RegionKMeansHeuristic": 0.05, "WardSpatial": 1.0}
N_REGIONS = 20
#: Methods whose time grows with the square of the areas, and takes minutes for 5,000 of them.
MAX_AREAS = {"Skater": 2000, "RegionKMeansHeuristic": 1000}


def run(quick: bool) -> list[Row]:
    rows = []
    n = 400 if quick else 5000
    for layout in ("lattice", "planar"):
        for peer, limit in PEERS.items():
            rows.append(_beside_spopt(min(n, MAX_AREAS.get(peer, n)), layout, peer, limit))
    rows += [_stand_in(separation, 3 if quick else 20) for separation in (1.5, 2.0, 2.5)]
    rows.append(_million(20_000 if quick else 1_000_000))
    return rows


def _beside_spopt(n: int, layout: str, peer: str, limit: float) -> Row:
    areas = make_areas(
        n, layout=layout, n_clusters=N_REGIONS, n_features=3, separation=1.0, random_state=0
    )
    model = ConnectedKMeans(N_REGIONS, random_state=0)
    model.fit(areas.X, relations=areas.relations)  # compiles
    seconds = min(clock(lambda: model.fit(areas.X, relations=areas.relations)) for _ in range(3))
    row: Row = {
        "case": f"{N_REGIONS} regions of {n:,} areas, {layout}, beside {peer}",
        "peer": PEER,
        "ours": seconds,
    }
    if importlib.util.find_spec("spopt") is None:
        missing = "spopt is not installed: pip install sidelight[bench]"
        return {**row, "objective": model.objective_, "missing": missing}
    theirs, labels = apart(_spopt, peer, areas.X, areas.relations.edges, areas.coordinates)
    row |= {"theirs": theirs, "ratio": seconds / theirs, "limit": limit}
    row |= {"objective": model.objective_, "their objective": _within(areas.X, labels)}
    return {**row, "their regions": len(np.unique(labels))}


def _spopt(peer: str, X: np.ndarray, edges: np.ndarray, places: np.ndarray) -> tuple[float, Any]:
    """Seconds of the solver alone, and labels."""
    import warnings

    import geopandas
    import libpysal
    from spopt import region

    warnings.simplefilter("ignore")
    neighbors: dict[int, list[int]] = {i: [] for i in range(len(X))}
    for i, j in edges.tolist():
        neighbors[i].append(j)
        neighbors[j].append(i)
    weights = libpysal.weights.W(neighbors, silence_warnings=True)
    names = [f"a{feature}" for feature in range(X.shape[1])]
    points = geopandas.points_from_xy(places[:, 0], places[:, 1])
    table = geopandas.GeoDataFrame(dict(zip(names, X.T, strict=True)), geometry=points)
    if peer == "Skater":
        solver = region.Skater(table, weights, names, n_clusters=N_REGIONS, floor=1)
    elif peer == "WardSpatial":
        solver = region.WardSpatial(table, weights, names, n_clusters=N_REGIONS)
    else:
        solver = region.RegionKMeansHeuristic(X, N_REGIONS, weights, seed=0)
    started = time.perf_counter()
    solver.solve()
    return time.perf_counter() - started, np.asarray(solver.labels_)


def _within(X: np.ndarray, labels: np.ndarray) -> float:
    """Sum of squared distances to the means of the clusters."""
    groups = (X[labels == j] for j in np.unique(labels))
    return float(sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in groups))


def _stand_in(separation: float, runs: int) -> Row:
    ours, theirs = [], []
    seconds = their_seconds = 0.0
    for seed in range(runs):
        X, relations, y = make_attributed_graph(separation, random_state=seed)
        scan, kmeans = NetScan(3, random_state=seed), KMeans(3, n_init=10, random_state=seed)
        seconds += clock(lambda: scan.fit(X, relations=relations))  # noqa: B023
        their_seconds += clock(lambda: kmeans.fit(X))  # noqa: B023
        ours.append(_accuracy(y, scan.labels_))
        theirs.append(_accuracy(y, kmeans.labels_))
    return {
        "case": f"3 blocks of 100 nodes, separation {separation}, {runs} draws",
        "seconds of NetScan": seconds / runs,
        "seconds of k-means": their_seconds / runs,
        "accuracy of NetScan": float(np.mean(ours)),
        "accuracy of k-means": float(np.mean(theirs)),
    }


def _accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    """Share of rows in the class that is most frequent in their cluster."""
    found = sum(int(np.bincount(y[labels == j]).max()) for j in np.unique(labels))
    return found / len(y)


def _million(n: int) -> Row:
    X, relations, y = _block_graph(n)
    model = NetScan(8, random_state=0)
    seconds = clock(lambda: model.fit(X, relations=relations))
    return {
        "case": f"NetScan, {n:,} nodes of {X.shape[1]} attributes, {relations.n_edges:,} edges",
        "seconds": seconds,
        "wanted": 120.0,
        "restarts": model.n_init,
        "accuracy": _accuracy(y, model.labels_),
    }


def _block_graph(n: int, k: int = 8, d: int = 10) -> tuple[np.ndarray, Relations, np.ndarray]:
    """Gaussian attributes; of five edges per node nine in ten are inside of its block.

    A path through every block, and from block to block, makes blocks and graph connected.
    """
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, k, n))
    X = 2.0 * np.eye(k, d)[y] + rng.normal(size=(n, d))
    first = rng.integers(0, n, 4 * n)
    starts = np.searchsorted(y, np.arange(k + 1))
    sizes = np.diff(starts)
    inside = starts[y[first]] + (rng.random(4 * n) * sizes[y[first]]).astype(np.int64)
    second = np.where(rng.random(4 * n) < 0.9, inside, rng.integers(0, n, 4 * n))
    path = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    edges = np.concatenate([np.column_stack([first, second]), path])
    # Numbers of the nodes must not tell the blocks.
    order = rng.permutation(n)
    where = np.empty(n, np.int64)
    where[order] = np.arange(n)
    return X[order], Relations(where[edges], n_samples=n, duplicates="max"), y[order]
