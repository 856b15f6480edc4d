"""SemiBoost with decision stumps: beside plain NumPy, with all similarities, with a million rows.

Two overlapping classes in ten features (for neighbors in twenty, which follow five directions and
some noise), 20 labels, 20 rounds; the learner is scikit-learn's tree of depth 1 on both sides.
There is no packaged peer. The other sides are the algorithm of figure 3.3 (Mallapragada 2010) in
NumPy, with the same width, weights and learner: once with every formula as it is printed, sums over
``S_ij exp(H_j - H_i)``, and once with the exponentials taken out of the sums, two products of a
matrix and a vector per round. Similarities are part of the time of both. The largest difference of
the values of the ensembles is printed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from benchmarks.harness import Row, apart, clock, compare, most_memory
from sklearn.metrics import pairwise_distances
from sklearn.tree import DecisionTreeClassifier

from sidelight.graphs import neighbor_graph, percentile_distance
from sidelight.semi_supervised import SemiBoostClassifier

N_ROUNDS, N_LABELED = 20, 20


def run(quick: bool) -> list[Row]:
    rows = [beside_numpy(4000, printed) for printed in (True, False)]
    rows.append(all_similarities(2000 if quick else 10_000))
    rows.append(apart(neighbors, 20_000 if quick else 1_000_000))
    return rows


def make_rows(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, their classes, and the known ones."""
    rng = np.random.default_rng(0)
    y = np.arange(n + N_LABELED) % 2
    X = rng.normal(size=(len(y), d))
    X[:, :3] += 2.0 * y[:, None]
    return X, y, np.where(np.arange(len(y)) < N_LABELED, y, -1)


def beside_numpy(n: int, printed: bool) -> Row:
    X, _, known = make_rows(n)
    ours = SemiBoostClassifier(similarity="rbf", n_estimators=N_ROUNDS, random_state=0)
    values = ours.fit(X, known).decision_function(X[N_LABELED:])  # compile first
    theirs = partial(transcription, X, known, printed)
    difference = float(np.abs(values - theirs()).max() / np.abs(values).max())
    return compare(
        f"SemiBoost, all similarities, {n:,} unlabeled rows, {N_ROUNDS} rounds",
        lambda: ours.fit(X, known),
        theirs,
        peer="NumPy, formulas as printed" if printed else "NumPy, two products per round",
        limit=1 / 5 if printed else 1.0,
        repeats=3,
        **{"largest difference": difference},
    )


def transcription(X: np.ndarray, known: np.ndarray, printed: bool) -> np.ndarray:
    """Values of the ensemble on the unlabeled rows, by NumPy alone."""
    sigma = percentile_distance(X, 15)
    S = np.exp(-(pairwise_distances(X) ** 2) / sigma**2)
    U, L = np.flatnonzero(known < 0), np.flatnonzero(known >= 0)
    S_uu, S_ul, y = S[np.ix_(U, U)], S[np.ix_(U, L)], 2.0 * known[L] - 1
    a, b, C = S_ul @ (y > 0), S_ul @ (y < 0), len(L) / len(U)
    H = np.zeros(len(U))
    for _ in range(N_ROUNDS):
        if printed:
            p = a * np.exp(-2 * H) + C / 2 * np.sum(S_uu * np.exp(H[None] - H[:, None]), axis=1)
            q = b * np.exp(2 * H) + C / 2 * np.sum(S_uu * np.exp(H[:, None] - H[None]), axis=1)
        else:
            e = np.exp(H)
            p, q = a / e**2 + C / 2 * (S_uu @ e) / e, b * e**2 + C / 2 * e * (S_uu @ (1 / e))
        w = np.abs(p - q)
        weights = np.concatenate([np.ones(len(L)), w * 0.1 * len(U) / w.sum()])
        labels = np.concatenate([y, np.sign(p - q)])
        stump = DecisionTreeClassifier(max_depth=1, random_state=0)
        h = stump.fit(np.concatenate([X[L], X[U]]), labels, weights).predict(X[U])
        agree, against = np.where(h > 0, p, q).sum(), np.where(h > 0, q, p).sum()
        alpha = np.log(agree / against) / 4
        if alpha <= 0:
            break
        H += alpha * h
    return H


def all_similarities(n: int) -> Row:
    X, y, known = make_rows(n)
    model = SemiBoostClassifier(similarity="rbf", n_estimators=N_ROUNDS, random_state=0)
    model.fit(X[:200], known[:200])  # compile first
    seconds = min(clock(lambda: model.fit(X, known)) for _ in range(3))
    return scale_row("all similarities", n, seconds, model, X, y)


def neighbors(n: int) -> Row:
    """A fit with a graph of neighbors, in a process whose memory is its own."""
    flat, y, known = make_rows(n, 5)
    rng = np.random.default_rng(1)
    directions = np.linalg.qr(rng.normal(size=(20, 5)))[0]
    X = flat @ directions.T + 0.05 * rng.normal(size=(len(flat), 20))
    model = SemiBoostClassifier(similarity="knn", n_estimators=N_ROUNDS, random_state=0)
    model.fit(X[:200], known[:200])  # compile first
    seconds = clock(lambda: model.fit(X, known))
    row = scale_row("10 neighbors", n, seconds, model, X, y)
    row["the graph alone"] = clock(lambda: neighbor_graph(X, 10, sigma=1.0))
    return row


def scale_row(kind: str, n: int, seconds: float, model: Any, X: np.ndarray, y: np.ndarray) -> Row:
    return {
        "case": f"SemiBoost, {kind}, {n:,} unlabeled rows x {X.shape[1]}, {model.n_iter_} rounds",
        "seconds": seconds,
        "the graph alone": 0.0,
        "GB at most": most_memory() / 1024,
        "accuracy": float(np.mean(model.predict(X) == y)),
    }
