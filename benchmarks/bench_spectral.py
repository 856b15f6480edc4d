"""Spectral clustering: side by side with scikit-learn on the same graph of neighbours.

scikit-learn's usual solver factorises the Laplacian, which fills up for graphs of many dimensions;
its LOBPCG, the fastest of its solvers here, is the peer. Both cluster the same similarity matrix,
and the normalised cuts are printed beside the times.
"""

from __future__ import annotations

import resource
import warnings

import numpy as np
from benchmarks.harness import Row, clock, compare
from sklearn.cluster import SpectralClustering as Peer
from sklearn.datasets import make_blobs

from sidelight import Constraints
from sidelight.cluster import ConstrainedSpectralClustering, SpectralClustering
from sidelight.graphs import cut_values, neighbor_graph


def run(quick: bool) -> list[Row]:
    n = 10_000 if quick else 100_000
    X, y = make_blobs(n, n_features=10, centers=10, cluster_std=3.0, random_state=0)
    W = neighbor_graph(X, 10)
    return [
        against_scikit_learn(W, n),
        with_constraints(W, y),
        landmarks(100_000 if quick else 10**6),
    ]


def against_scikit_learn(W: object, n: int) -> Row:
    model = SpectralClustering(10, graph="precomputed", random_state=0)
    peer = Peer(10, affinity="precomputed", eigen_solver="lobpcg", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = compare(
            f"n={n:,}, d=10, k=10, 10 neighbours",
            lambda: model.fit(W),
            lambda: peer.fit(W),
            peer="scikit-learn, lobpcg",
            limit=0.5,
            repeats=1 if n > 20_000 else 2,
        )
    return {
        **row,
        "our normalised cut": cut_values(W, model.labels_).normalized_cut,
        "their normalised cut": cut_values(W, peer.labels_).normalized_cut,
    }


def with_constraints(W: object, y: np.ndarray) -> Row:
    known = Constraints.sample(y, len(y) // 100, random_state=0)
    plain = SpectralClustering(10, graph="precomputed", random_state=0)
    told = ConstrainedSpectralClustering(10, graph="precomputed", random_state=0)
    return compare(
        f"with {known.n_constraints:,} constraints",
        lambda: told.fit(W, constraints=known),
        lambda: plain.fit(W),
        peer="ours without",
        limit=1.5,
        repeats=2,
    )


def landmarks(n: int) -> Row:
    X, _ = make_blobs(n, n_features=10, centers=10, cluster_std=3.0, random_state=0)
    model = SpectralClustering(10, graph="landmarks", n_landmarks=200, n_init=1, random_state=0)
    seconds = clock(lambda: model.fit(X.astype(np.float32)))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"case": f"landmarks, n={n:,}, d=10, k=10", "seconds": seconds, "gigabytes": gigabytes}
