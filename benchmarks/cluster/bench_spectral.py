"""Spectral clustering: side by side with scikit-learn on the same graph of neighbours.

scikit-learn's usual solver factorises the Laplacian, which fills up for graphs of many dimensions;
its LOBPCG and its algebraic multigrid are the peers. All cluster the same similarity matrix, and
the normalised cuts are printed beside the times. Rows spread evenly over a square are the hard
case: the eigenvalues lie so close together that Lanczos iterations stall.

BLAS has one thread on both sides: on a busy machine its threads wait for each other, and the peers,
which leave it as it is, then take six times as long.
"""

from __future__ import annotations

import resource
import warnings

import numpy as np
from benchmarks.harness import Row, apart, clock, compare
from sklearn.cluster import SpectralClustering as Peer
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from sidelight import Constraints
from sidelight.cluster import SignedSpectralClustering, SpectralClustering
from sidelight.evaluation import adjusted_rand_index
from sidelight.graphs import cut_values, neighbor_graph


def run(quick: bool) -> list[Row]:
    n = 10_000 if quick else 100_000
    X, y = make_blobs(n, n_features=10, centers=10, cluster_std=3.0, random_state=0)
    W = neighbor_graph(X, 10)
    square = neighbor_graph(np.random.default_rng(0).uniform(size=(n, 2)), 10)
    SpectralClustering(10, graph="precomputed").fit(neighbor_graph(X[:2000], 10))  # compile first
    return [
        against_scikit_learn(W, f"n={n:,}, d=10, k=10, 10 neighbours", "lobpcg", n, 0.5),
        against_scikit_learn(W, f"n={n:,}, d=10, k=10, 10 neighbours", "amg", n, 0.5),
        against_scikit_learn(square, f"n={n:,} in a square, k=10, 10 neighbours", "amg", n),
        with_constraints(W, y),
        landmarks(100_000 if quick else 10**6),
    ]


def against_scikit_learn(
    W: object, case: str, solver: str, n: int, limit: float | None = None
) -> Row:
    model = SpectralClustering(10, graph="precomputed", random_state=0)
    peer = Peer(10, affinity="precomputed", eigen_solver=solver, random_state=0)
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        row = compare(
            case,
            lambda: model.fit(W),
            lambda: peer.fit(W),
            peer=f"scikit-learn, {solver}",
            limit=limit,
            repeats=3,
        )
    return {
        **row,
        "our normalised cut": cut_values(W, model.labels_).normalized_cut,
        "their normalised cut": cut_values(W, peer.labels_).normalized_cut,
    }


def with_constraints(W: object, y: np.ndarray) -> Row:
    known = Constraints.sample(y, len(y) // 100, random_state=0)
    plain = SpectralClustering(10, graph="precomputed", random_state=0)
    signed = SignedSpectralClustering(10, graph="precomputed", random_state=0)
    return compare(
        f"with {known.n_pairs:,} constraints",
        lambda: signed.fit(W, constraints=known),
        lambda: plain.fit(W),
        peer="ours without",
        limit=1.5,
        repeats=3,
    )


def landmarks(n: int) -> Row:
    """In a process of its own, whose largest memory is that of this work alone."""
    seconds, gigabytes, cut = apart(fit_landmarks, n)
    return {
        "case": f"landmarks, n={n:,}, d=10, k=10",
        "seconds": seconds,
        "largest memory, GB": gigabytes,
        "limit, GB": 8.0,
        "agreement with the truth (ARI)": cut,
    }


def fit_landmarks(n: int) -> tuple[float, float, float]:
    X, y = make_blobs(n, n_features=10, centers=10, cluster_std=3.0, random_state=0)
    rows = X.astype(np.float32)
    del X
    model = SpectralClustering(10, graph="landmarks", n_landmarks=200, n_init=1, random_state=0)
    seconds = clock(lambda: model.fit(rows))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, gigabytes, adjusted_rand_index(y, model.labels_)
