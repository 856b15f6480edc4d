"""Fits of the peers for constrained k-means, each called through :func:`benchmarks.harness.apart`.

Nothing here runs in our process: one of these packages, once imported, makes NumPy raise on every
underflow for as long as the process lives.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Pairs as the peers take them.
Links = tuple[list[list[int]], list[list[int]]]


@dataclass(frozen=True)
class PeerFit:
    """Seconds of a fit, with its labels; None if it failed, in whatever way."""

    seconds: float
    labels: np.ndarray | None
    n_iter: int = 1
    inertia: float = float("nan")


def active_semi(
    name: str, X: np.ndarray, links: Links, seed: int, centers: np.ndarray | None, **params: Any
) -> PeerFit:
    """Fit an estimator of ``active-semi-supervised-clustering``, from given centers if any."""
    from active_semi_clustering.semi_supervised import pairwise_constraints

    cls = getattr(pairwise_constraints, name)
    peer = cls(**params) if centers is None else with_given_centers(cls, centers)(**params)
    np.random.seed(seed)  # noqa: NPY002  the peer draws from the global state
    started = time.perf_counter()
    try:
        peer.fit(X, ml=links[0], cl=links[1])
    except Exception as error:
        print(f"The peer failed: {type(error).__name__}")
    seconds = time.perf_counter() - started
    labels = getattr(peer, "labels_", None)
    return PeerFit(seconds, labels, max(getattr(peer, "n_iterations", 1), 1))


def with_given_centers(cls: Any, centers: np.ndarray) -> Any:
    """Let a peer start at given centers, and count its iterations."""

    class Peer(cls):  # type: ignore[misc]
        n_iterations = 0

        def _init_cluster_centers(self, X: np.ndarray) -> np.ndarray:
            return centers.copy()

        def _initialize_cluster_centers(self, X: np.ndarray, neighborhoods: Any) -> np.ndarray:
            return centers.copy()

        def _get_cluster_centers(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
            self.n_iterations += 1
            return super()._get_cluster_centers(X, labels)

    return Peer


def htcopkmeans(X: np.ndarray, links: Links, seed: int, k: int) -> PeerFit:
    """Fit COP-KMeans of ``htcopkmeans``; an ImportError where it is not installed."""
    from htcopkmeans.cop_kmeans import cop_kmeans

    random.seed(seed)
    started = time.perf_counter()
    labels, _ = cop_kmeans(X.tolist(), k, *links, max_iter=10)
    return PeerFit(time.perf_counter() - started, None if labels is None else np.array(labels))


def kmeans_constrained(X: np.ndarray, k: int, low: int, high: int, **params: Any) -> PeerFit:
    """Fit ``k-means-constrained`` with sizes between ``low`` and ``high``."""
    from k_means_constrained import KMeansConstrained

    peer = KMeansConstrained(k, size_min=low, size_max=high, n_jobs=1, **params)
    started = time.perf_counter()
    peer.fit(X)
    seconds = time.perf_counter() - started
    return PeerFit(seconds, peer.labels_, int(peer.n_iter_), float(peer.inertia_))


def sized_labels(X: np.ndarray, centers: np.ndarray, low: int, high: int) -> np.ndarray:
    """Labels that ``k-means-constrained`` gives at fixed centers."""
    from k_means_constrained.k_means_constrained_ import _labels_constrained

    labels: np.ndarray
    labels, _ = _labels_constrained(X, centers, low, high, distances=np.empty(len(X)))
    return labels
