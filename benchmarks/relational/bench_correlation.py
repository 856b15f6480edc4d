"""Correlation clustering beside what scored pairs are usually clustered with.

- Large: a planted sparse graph, 10^6 nodes and 10^7 edges with 10 % of the signs flipped; seconds
  and peak memory of the whole fit, the gap, and the cost of the best of 100 pivot clusterings.
- The package ``correlation-clustering`` (simulated annealing) on the same small signed graphs:
  cost and seconds. It needs an upper limit on the number of clusters, and gets the true one + 2.
- Duplicates: records in blocks, of which all pairs are scored by a noisy classifier. Pairwise F1 of
  the partition and seconds, beside the connected components above a threshold of the probability
  with which Splink ends, and the centroid-linkage clusters in components with which dedupe ends,
  and average linkage beside it. For all, the best of five thresholds is chosen by the truth, which
  nobody has; ours has no threshold. Pairs that no block holds count as unlike for dedupe, and for
  us with ``absent="auto"``; ``absent=0`` does not count them.
- Consensus of 20 k-means runs on digits, and of 20 noisy partitions of 10^6 objects: cost beside
  the best of the given partitions, which is all that one can choose without a consensus.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, most_memory
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics.cluster import pair_confusion_matrix

from sidelight import Relations
from sidelight.datasets import make_signed_graph
from sidelight.relational import ConsensusClustering, CorrelationClustering

PEER = "correlation-clustering 2.0.0"
THRESHOLDS = (0.5, 0.7, 0.9, 0.95, 0.99)


def run(quick: bool) -> list[Row]:
    rows = [_in_new_process(_large, 20_000 if quick else 1_000_000)]
    for n, k in ((40, 3),) if quick else ((40, 3), (100, 4)):
        rows.append(_beside_annealing(n, k))
    for noise in (1.0, 2.0, 3.0) if quick else (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        rows.append(_duplicates(2000 if quick else 20_000, noise))
    rows.append(_digits())
    rows.append(_in_new_process(_many_objects, 20_000 if quick else 1_000_000))
    return rows


def _in_new_process(work: Any, *args: Any) -> Row:
    """Measure in a new process, whose peak memory is that of this fit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        row: Row = process.submit(work, *args).result()
    return row


def _large(n: int) -> Row:
    small, _ = make_signed_graph(500, 25, degree=20, random_state=1)
    CorrelationClustering(random_state=0).fit(small)  # compiles
    graph, _ = make_signed_graph(
        n, n // 20, degree=20, inside=0.45, flip=0.1, strength=2.0, random_state=0
    )
    model = CorrelationClustering(random_state=0)
    seconds = clock(lambda: model.fit(graph))
    memory = most_memory()
    pivots = CorrelationClustering("pivot", n_init=100, random_state=0)
    pivot_seconds = clock(lambda: pivots.fit(graph))
    return {
        "case": f"planted, {n:,} nodes, {graph.n_edges:,} edges",
        "seconds": seconds,
        "peak MB": memory,
        "cost": model.objective_,
        "gap": model.gap_,
        "best of 100 pivots": pivots.objective_,
        "their seconds": pivot_seconds,
    }


def _beside_annealing(n: int, k: int) -> Row:
    graph, _ = make_signed_graph(n, k, flip=0.12, random_state=0)
    model = CorrelationClustering(random_state=0).fit(graph)
    seconds = clock(lambda: CorrelationClustering(random_state=0).fit(graph))
    row: Row = {
        "case": f"all signs of {n} objects, {k} planted clusters, 12 % flipped",
        "peer": PEER,
        "ours": seconds,
        "theirs": float("nan"),
        "ratio": float("nan"),
        "cost": model.objective_,
        "gap": model.gap_,
        "their cost": "not installed",
    }
    try:
        from correlation_clustering.correlation import cluster_correlation_search
    except ImportError:
        return row
    network = graph.to_networkx()
    found: list[Any] = []
    row["theirs"] = clock(
        lambda: found.append(
            cluster_correlation_search(network, s=k + 3, rng=np.random.default_rng(0))
        )
    )
    labels = np.empty(n, dtype=int)
    for number, members in enumerate(found[0][0]):
        labels[list(members)] = number
    row["ratio"] = seconds / row["theirs"]
    row["their cost"] = cost_of(graph, labels)
    return row


def cost_of(graph: Relations, labels: np.ndarray) -> float:
    """Sum of the scores that disagree with a partition."""
    same = labels[graph.edges[:, 0]] == labels[graph.edges[:, 1]]
    return float(np.abs(graph.scores[same == (graph.scores < 0)]).sum())


def make_records(n: int, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Candidate pairs of records, their probabilities to be the same, and the true entities.

    Entities have one to eight records. Blocks hold three entities each; a tenth of the records is
    in a second block. The score of a pair is +-2 with Gaussian noise, and its
    probability is the true one for scores of this noise and share of matches.
    """
    rng = np.random.default_rng(0)
    entity = np.repeat(np.arange(n), rng.integers(1, 9, size=n))[:n]
    block = entity // 3
    second = np.where(rng.random(n) < 0.1, rng.integers(block[-1] + 1, size=n), -1)
    pairs = []
    members = [*np.split(np.arange(n), np.flatnonzero(np.diff(block)) + 1)]
    for number, inside in enumerate(members):
        both = np.concatenate([inside, np.flatnonzero(second == number)])
        first, other = np.triu_indices(len(both), 1)
        pairs.append(np.column_stack([both[first], both[other]]))
    edges = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    same = entity[edges[:, 0]] == entity[edges[:, 1]]
    scores = np.where(same, 2.0, -2.0) + noise * rng.normal(size=len(edges))
    prior = np.log(same.mean() / (1 - same.mean()))
    probability = 1 / (1 + np.exp(-(4 * scores / noise**2 + prior)))
    return edges, np.clip(probability, 1e-6, 1 - 1e-6), entity


def _duplicates(n: int, noise: float) -> Row:
    edges, probability, entity = make_records(n, noise)
    graph = Relations(edges, np.log(probability / (1 - probability)), n_samples=n)
    # Pairs that no block holds have been ruled out: dedupe counts them as unlike, and so do we.
    ours = CorrelationClustering(absent="auto", random_state=0)
    row: Row = {
        "case": f"{n:,} records, {len(edges):,} scored pairs, noise {noise:g}",
        "seconds": clock(lambda: ours.fit(graph)),
        "gap": ours.gap_,
        "F1": pair_f1(entity, ours.labels_),
        "F1, absent=0": pair_f1(entity, CorrelationClustering(random_state=0).fit(graph).labels_),
    }
    linkages = {name: partial(linked, method=name) for name in ("centroid", "average")}
    for name, cut in {"components": components_above, **linkages}.items():
        scores = [pair_f1(entity, cut(edges, probability, n, t)) for t in THRESHOLDS]
        best = int(np.argmax(scores))
        row[f"{name} seconds"] = clock(partial(cut, edges, probability, n, THRESHOLDS[best]))
        row[f"{name} F1 at 0.5"] = scores[0]
        row[f"{name} best F1"] = scores[best]
    return row


def pair_f1(truth: np.ndarray, labels: np.ndarray) -> float:
    """F1 of the pairs that a partition joins."""
    (_, wrong), (missed, right) = pair_confusion_matrix(truth, labels)
    return float(2 * right / (2 * right + wrong + missed))


def components_above(
    edges: np.ndarray, probability: np.ndarray, n: int, threshold: float
) -> np.ndarray:
    """Connected components of the pairs above a threshold, as Splink clusters."""
    kept = edges[probability >= threshold]
    matrix = sparse.coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), (n, n))
    labels: np.ndarray = connected_components(matrix, directed=False)[1]
    return labels


def linked(
    edges: np.ndarray, probability: np.ndarray, n: int, threshold: float, *, method: str
) -> np.ndarray:
    """Clusters of every component of likely pairs by a linkage: dedupe takes "centroid"."""
    component = components_above(edges, probability, n, 0.5)
    matrix = sparse.coo_array((probability, (edges[:, 0], edges[:, 1])), (n, n)).tocsr()
    matrix = (matrix + matrix.T).tocsr()
    labels = np.arange(n)
    order = np.argsort(component, kind="stable")
    for nodes in np.split(order, np.flatnonzero(np.diff(component[order])) + 1):
        if len(nodes) > 1:
            distances = 1 - matrix[nodes][:, nodes].toarray()
            np.fill_diagonal(distances, 0.0)
            tree = linkage(squareform(distances, checks=False), method)
            labels[nodes] = nodes[fcluster(tree, 1 - threshold, "distance") - 1]
    return labels


def _digits() -> Row:
    X = load_digits().data
    runs = np.column_stack(
        [KMeans(10, n_init=1, random_state=seed).fit_predict(X) for seed in range(20)]
    )
    ConsensusClustering(random_state=0).fit(runs[:200])
    return _consensus_row("20 k-means runs on digits", runs)


def _many_objects(n: int) -> Row:
    rng = np.random.default_rng(0)
    y = rng.integers(30, size=n)
    moved = rng.random((n, 20)) < 0.2
    partitions = np.where(moved, rng.integers(30, size=moved.shape), y[:, None]).astype(np.int32)
    ConsensusClustering(2, random_state=0).fit(partitions[:3000])
    row = _consensus_row(f"20 partitions of {n:,} objects, 20 % moved", partitions)
    row["peak MB"] = most_memory()
    return row


def _consensus_row(case: str, partitions: np.ndarray) -> Row:
    model = ConsensusClustering(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = clock(lambda: model.fit(partitions))
    return {
        "case": f"consensus of {case}",
        "seconds": seconds,
        "cost": model.objective_,
        "best given": float(model.input_costs_.min()),
        "gap": model.gap_,
    }
