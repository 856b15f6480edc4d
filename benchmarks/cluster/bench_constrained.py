"""Constrained k-means: what constraints add to k-means, and side by side with peers.

- PCKMeans with 10,000 constraints against our KMeans, same centres, same iterations: at most 1.3x.
- PCKMeans and COPKMeans on digits with 500 random constraints against the package
  ``active-semi-supervised-clustering``, same centres: at least 100x faster per iteration, and an
  objective (same formula, same weight) that is no worse; its failures count as failures.
- Share of fits that fail on feasible constraints, with ``htcopkmeans`` too where it is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare
from sklearn.datasets import load_digits, load_iris

from sidelight import Constraints
from sidelight.cluster import COPKMeans, KMeans, PCKMeans
from sidelight.exceptions import SidelightError

PEER = "active-semi-supervised-clustering"


def run(quick: bool) -> list[Row]:
    return [overhead(quick), digits("PCKMeans", quick), digits("COPKMeans", quick), *failing(quick)]


# ------------------------------------------------------------------ constraints on a million rows


def overhead(quick: bool) -> Row:
    """PCKMeans with constraints against KMeans without, same centres and iterations."""
    n, d, k, m, n_iter = (200_000 if quick else 1_000_000), 32, 50, 10_000, 20
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = (3 * rng.normal(size=(k, d))[y] + 2 * rng.normal(size=(n, d))).astype(np.float32)
    known = half_and_half(y, m, rng)
    loop = {"init": X[rng.choice(n, k, replace=False)], "max_iter": n_iter, "tol": 0.0}
    plain, listening = KMeans(k, **loop), PCKMeans(k, **loop)
    few = half_and_half(y[:5000], 100, rng)
    PCKMeans(k, **{**loop, "max_iter": 1}).fit(X[:5000], constraints=few)  # compile first
    row = compare(
        f"PCKMeans, {m:,} constraints, n={n:,}, d={d}, k={k}, float32, {n_iter} iterations",
        lambda: listening.fit(X, constraints=known),
        lambda: plain.fit(X),
        peer="our KMeans without constraints",
        limit=1.3,
        repeats=5,
    )
    assert plain.n_iter_ == listening.n_iter_ == n_iter
    return row


def half_and_half(y: np.ndarray, m: int, rng: np.random.Generator) -> Constraints:
    """Draw half must-links and half cannot-links, true to the classes."""
    order = np.argsort(y, kind="stable")
    place = rng.integers(len(y) - 1, size=2 * m)
    neighbours = np.column_stack([order[place], order[place + 1]])
    must_link = neighbours[y[neighbours[:, 0]] == y[neighbours[:, 1]]][: m // 2]
    pairs = rng.integers(len(y), size=(2 * m, 2))
    cannot_link = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]][: m - m // 2]
    return Constraints(must_link, cannot_link, n_samples=len(y))


# ------------------------------------------------------------------ digits, side by side


def with_given_centers(cls: Any, centers: np.ndarray) -> Any:
    """Let a peer start at given centres, and count its iterations."""

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


def digits(name: str, quick: bool) -> Row:
    """Time per iteration and objective on digits with 500 constraints, several draws."""
    from active_semi_clustering.semi_supervised import pairwise_constraints as peers

    X, y = load_digits(return_X_y=True)
    weight = float(X.var(axis=0).sum())
    cls, peer_cls = {"PCKMeans": PCKMeans, "COPKMeans": COPKMeans}[name], getattr(peers, name)
    params, peer_params = ({"penalty": weight}, {"w": weight}) if cls is PCKMeans else ({}, {})
    times, their_times, gaps, best_gaps = [], [], [], []
    n_draws = 2 if quick else 5
    for seed in range(n_draws):
        known = entailed(Constraints.sample(y, 500, random_state=seed))
        centers = X[np.random.default_rng(seed).choice(len(X), 10, replace=False)]
        model = cls(10, init=centers, random_state=seed, **params)
        model.fit(X, constraints=known)  # compile first
        fits = [clock(lambda: model.fit(X, constraints=known)) for _ in range(5)]  # noqa: B023
        times.append(min(fits) / model.n_iter_)
        # It visits rows in another random order every time and hardly ever stands still: we compare
        # after as many iterations as we need.
        peer = with_given_centers(peer_cls, centers)(
            n_clusters=10, max_iter=model.n_iter_, **peer_params
        )
        seconds = fit_peer(peer, X, known, seed)
        their_times.append(seconds / max(peer.n_iterations, 1))
        if hasattr(peer, "labels_"):
            theirs = objective(X, peer.labels_, known, weight)
            gaps.append(objective(X, model.labels_, known, weight) / theirs)
            ten_starts = cls(10, random_state=seed, **params).fit(X, constraints=known)
            best_gaps.append(objective(X, ten_starts.labels_, known, weight) / theirs)
    return {
        "case": f"{name} on digits, 500 constraints, per iteration",
        "peer": PEER,
        "ours": float(np.median(times)),
        "theirs": float(np.median(their_times)),
        "ratio": float(np.median(times) / np.median(their_times)),
        "limit": 0.01,
        "objective, ours / theirs": ", ".join(f"{gap:.4f}" for gap in gaps),
        "our default of ten starts / theirs": ", ".join(f"{gap:.4f}" for gap in best_gaps),
        "failures of the peer": f"{n_draws - len(gaps)} of {n_draws}",
    }


def entailed(known: Constraints) -> Constraints:
    """State every pair that follows: the peer penalises these, so we do too."""
    closure = known.closure()
    return Constraints(
        closure.must_link_pairs(), closure.cannot_link_pairs(), n_samples=known.n_samples
    )


def fit_peer(peer: Any, X: np.ndarray, known: Constraints, seed: int) -> float:
    """Seconds of the peer's fit; without labels if it failed, in whatever way."""
    np.random.seed(seed)  # noqa: NPY002  the peer draws from the global state
    links = {"ml": known.must_link.tolist(), "cl": known.cannot_link.tolist()}
    started = time.perf_counter()
    try:
        peer.fit(X, **links)
    except Exception as error:
        print(f"The peer failed: {type(error).__name__}")
    return time.perf_counter() - started


def objective(X: np.ndarray, labels: np.ndarray, known: Constraints, weight: float) -> float:
    """Half the sum of squares to the means, plus the weight of every violated pair."""
    spread = sum(
        ((X[labels == h] - X[labels == h].mean(axis=0)) ** 2).sum() for h in np.unique(labels)
    )
    return 0.5 * spread + weight * known.violations(labels).n


# ------------------------------------------------------------------ failures on feasible input


def failing(quick: bool) -> list[Row]:
    """Share of single fits on iris that fail although the constraints can be satisfied."""
    X, y = load_iris(return_X_y=True)
    contestants: dict[str, Callable[[np.ndarray, int, Constraints], Any]] = {
        "ours": lambda X, seed, known: labels_of_ours("auto", X, seed, known),
        "ours, variant='published'": lambda X, seed, known: labels_of_ours(
            "published", X, seed, known
        ),
        PEER: labels_of_peer,
    }
    try:
        import htcopkmeans  # noqa: F401
    except ImportError:
        print("htcopkmeans is not installed and left out.")
    else:
        contestants["htcopkmeans"] = labels_of_htcopkmeans
    rows = []
    for m in (50, 100, 200):
        draws = [Constraints.sample(y, m, random_state=seed) for seed in range(5 if quick else 20)]
        shares = {}
        for name, labels_of in contestants.items():
            outcomes = [labels_of(X, seed, known) for seed, known in enumerate(draws)]
            failed = [
                labels is None or known.violations(labels).n > 0
                for labels, known in zip(outcomes, draws, strict=True)
            ]
            shares[f"failures: {name}"] = f"{np.mean(failed):.0%}"
        rows.append({"case": f"COP-KMeans, iris, {m} feasible constraints, one start", **shares})
    return rows


def labels_of_ours(variant: str, X: np.ndarray, seed: int, known: Constraints) -> Any:
    model = COPKMeans(3, variant=variant, init="random", n_init=1, random_state=seed)
    try:
        return model.fit(X, constraints=known).labels_
    except SidelightError:
        return None


def labels_of_peer(X: np.ndarray, seed: int, known: Constraints) -> Any:
    from active_semi_clustering.semi_supervised.pairwise_constraints import COPKMeans as Peer

    peer = Peer(n_clusters=3, max_iter=10)
    fit_peer(peer, X, known, seed)
    return getattr(peer, "labels_", None)


def labels_of_htcopkmeans(X: np.ndarray, seed: int, known: Constraints) -> Any:
    import random

    from htcopkmeans.cop_kmeans import cop_kmeans

    random.seed(seed)
    pairs = known.must_link.tolist(), known.cannot_link.tolist()
    return cop_kmeans(X.tolist(), 3, *pairs, max_iter=10)[0]
