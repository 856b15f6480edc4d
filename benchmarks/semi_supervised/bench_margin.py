"""TSVM beside one LinearSVC, and LapSVM without a matrix between rows beside the published system.

- TSVM: documents of two topics as tf-idf rows, 40 of them labeled. It trains some dozen machines
  on the way; the peer trains one of the same loss on the same rows, with the pseudo-labels as
  classes. One row per final cost of unlabeled rows.
- LapSVM: the same graph, penalties and kernel on both sides, solved in the space of the columns
  and by the dense system of all rows. The largest difference of the decision values is beside the
  times. The last row is the sparse solver alone on ten times as many rows: no peer fits there.
"""

from __future__ import annotations

import numpy as np
from benchmarks.harness import Row, clock, compare
from scipy import sparse
from sklearn.svm import LinearSVC

from sidelight.semi_supervised import TSVM, LapSVM

TSVM_LIMIT = 20
LAPSVM_LIMIT = 1 / 10


def run(quick: bool) -> list[Row]:
    n = 4000 if quick else 20_000
    rows = [tsvm_row(n, factor) for factor in (1.0, 50.0)]
    n = 3000 if quick else 5000
    rows += [lapsvm_row(n, "linear"), lapsvm_row(n, "rbf")]
    rows += [large_row(10 * n, "linear"), large_row(10 * n, "rbf")]
    return rows


# ------------------------------------------------------------------ TSVM


def tsvm_row(n: int, factor: float) -> Row:
    """``factor``: cost of all unlabeled rows beside that of all labeled ones."""
    X, y = two_topics(n, 5000)
    labels = np.full(n, -1)
    known = np.random.default_rng(0).permutation(n)[:40]
    labels[known] = y[known]
    cost = TSVM(C_unlabeled=0.0).fit(X, labels).C_
    model = TSVM(C_unlabeled=factor * cost * 40 / (n - 40))
    model.fit(X, labels)  # compile first
    signs = labels.copy()
    signs[labels < 0] = model.pseudo_labels_[:, 0] > 0
    costs = np.where(labels < 0, model.C_unlabeled_ / model.C_, 1.0)

    def theirs() -> None:
        LinearSVC(C=model.C_).fit(X, signs, sample_weight=costs)

    free = labels < 0
    alone = TSVM(C_unlabeled=0.0).fit(X, labels).score(X[free], y[free])
    return compare(
        f"TSVM, {n:,} x 5,000 sparse, {factor:g} times the cost of the labels",
        lambda: model.fit(X, labels),
        theirs,
        peer="one LinearSVC",
        limit=TSVM_LIMIT,
        trainings=model.n_iter_,
        swaps=model.n_swaps_,
        accuracy=f"{model.score(X[free], y[free]):.3f} (labels alone {alone:.3f})",
    )


def two_topics(
    n: int, d: int, words: int = 60, seed: int = 0
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Tf-idf rows of length 1; words are more or less frequent in either topic."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    base = 1 / (np.arange(d) + 10.0)
    drawn = np.empty((n, words), dtype=np.int64)
    for topic in (0, 1):
        share = base * np.exp(0.35 * rng.normal(size=d))
        members = np.flatnonzero(y == topic)
        drawn[members] = rng.choice(d, size=(len(members), words), p=share / share.sum())
    indptr = np.arange(0, n * words + 1, words)
    counts = sparse.csr_matrix((np.ones(n * words), drawn.ravel(), indptr), shape=(n, d))
    counts.sum_duplicates()
    counts.data = 1 + np.log(counts.data)
    documents = np.maximum(np.bincount(counts.indices, minlength=d), 1)
    weighted = sparse.csr_matrix(counts @ sparse.diags(np.log(n / documents)))
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).reshape(-1))
    return sparse.csr_matrix(sparse.diags(1 / lengths) @ weighted), y


# ------------------------------------------------------------------ LapSVM


def rings(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two rings in ten dimensions, five labels of each."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1 + y + 0.1 * rng.normal(size=n)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X = np.hstack([plane, 0.1 * rng.normal(size=(n, 8))])
    labels = np.where(np.arange(n) < 10, y, -1)
    return X, y, labels


def lapsvm_row(n: int, kernel: str) -> Row:
    X, y, labels = rings(n)
    params = {"kernel": kernel, "gamma": 1.0, "gamma_I": 100.0 * n, "random_state": 0}
    primal, dense = LapSVM(solver="primal", **params), LapSVM(solver="dense", **params)
    primal.fit(X, labels)
    few = 300  # rows that are all landmarks: the kernel is exact, and so are both solvers
    pair = [model.fit(X[:few], labels[:few]).decision_function(X) for model in (primal, dense)]
    difference = float(np.abs(pair[0] - pair[1]).max())
    row = compare(
        f"LapSVM, {n:,} x 10, {kernel}",
        lambda: primal.fit(X, labels),
        lambda: dense.fit(X, labels),
        peer="the dense system",
        limit=LAPSVM_LIMIT,
        repeats=2,
    )
    both = f"{primal.score(X, y):.3f} / {dense.score(X, y):.3f}"
    return {**row, "accuracy, ours / theirs": both, f"difference on {few} rows": difference}


def large_row(n: int, kernel: str) -> Row:
    X, y, labels = rings(n)
    model = LapSVM(kernel=kernel, gamma=1.0, gamma_I=100.0 * n, solver="primal", random_state=0)
    seconds = clock(lambda: model.fit(X, labels))
    case = f"LapSVM, {n:,} x 10, {kernel}, without a peer"
    return {"case": case, "ours": seconds, "accuracy": model.score(X, y)}
