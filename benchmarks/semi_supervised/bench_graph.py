"""Classes on a graph beside scikit-learn's label propagation, on the same graph of neighbors.

Rows of ten classes that overlap, ten labels of each. Both sides get the same symmetric matrix of
10 nearest neighbors, so that only the search for the classes is timed.

- Harmonic function: scikit-learn's LabelPropagation iterates towards the same solution;
  ``error`` is the largest difference of a probability from that of a dense factorization, where
  there are few enough rows for one, else from ours at ``tol=1e-12``. It is run to its own stop, and
  to a stop that is as strict as needed for our error.
- LabelSpreading solves another problem on the same graph; both accuracies are shown.
- Large: seconds and megabytes of whole fits, the search for neighbors included, which
  scikit-learn would have to repeat; its LabelPropagation with ``kernel="knn"`` runs beside it.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare, most_memory
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from sidelight.graphs import neighbor_graph
from sidelight.semi_supervised import HarmonicClassifier, MinCutClassifier, SpectralGraphTransducer

PEER = "scikit-learn"
N_CLASSES = 10


def run(quick: bool) -> list[Row]:
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of iterations that we limit
        for n in (1000,) if quick else (1000, 3000, 10_000):
            rows += _same_graph(n)
        n = 5000 if quick else 100_000
        for name in ("HarmonicClassifier", "MinCutClassifier", "SpectralGraphTransducer"):
            rows.append(_whole_fit(n, name))
    return rows


def make_case(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, classes, and labels of ten rows per class."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=n)
    X = 2.2 * rng.normal(size=(N_CLASSES, 8))[y] + rng.normal(size=(n, 8))
    known = np.full(n, -1)
    for code in range(N_CLASSES):
        known[np.flatnonzero(y == code)[:10]] = code
    return X, y, known


def _same_graph(n: int) -> list[Row]:
    X, y, known = make_case(n)
    W = neighbor_graph(X, 10)
    free = known < 0
    exact = _exact(W, known)

    def theirs(cls: Any, **params: Any) -> Any:
        graph = sparse.csr_matrix(W)
        return cls(kernel=lambda X, Y: graph, max_iter=100_000, **params).fit(X, known)

    def ours() -> Any:
        return HarmonicClassifier(graph="precomputed", class_shares="free").fit(W, known)

    mine = ours()
    rows = []
    for tol in (1e-3, 1e-6):
        peer = theirs(LabelPropagation, tol=tol)
        row = compare(
            f"harmonic function, {n:,} rows",
            ours,
            lambda tol=tol: theirs(LabelPropagation, tol=tol),
            peer=f"LabelPropagation, tol={tol:g}",
            limit=1.0,
            error=float(np.abs(mine.label_distributions_ - exact).max()),
        )
        row["their error"] = float(np.abs(peer.label_distributions_ - exact).max())
        row["accuracy"] = float(np.mean(mine.transduction_[free] == y[free]))
        row["their accuracy"] = float(np.mean(peer.transduction_[free] == y[free]))
        rows.append(row)
    peer = theirs(LabelSpreading)
    default = HarmonicClassifier(graph="precomputed").fit(W, known)
    row = compare(
        f"default beside spreading, {n:,} rows",
        lambda: HarmonicClassifier(graph="precomputed").fit(W, known),
        lambda: theirs(LabelSpreading),
        peer="LabelSpreading",
    )
    row["accuracy"] = float(np.mean(default.transduction_[free] == y[free]))
    row["their accuracy"] = float(np.mean(peer.transduction_[free] == y[free]))
    return [*rows, row]


def _exact(W: sparse.csr_array, known: np.ndarray) -> np.ndarray:
    """The harmonic function by a dense solver, or by ours where that takes too much."""
    if len(known) > 4000:
        strict = HarmonicClassifier(graph="precomputed", class_shares="free", tol=1e-12)
        return strict.fit(W, known).label_distributions_
    labeled, free = known >= 0, known < 0
    dense = W.toarray()
    L = np.diag(dense.sum(axis=1)) - dense
    f = np.zeros((len(known), N_CLASSES))
    f[labeled] = np.eye(N_CLASSES)[known[labeled]]
    f[free] = np.linalg.solve(L[np.ix_(free, free)], dense[np.ix_(free, labeled)] @ f[labeled])
    return f


def _whole_fit(n: int, name: str) -> Row:
    seconds, memory, accuracy = _measure(n, name)
    row: Row = {"case": f"{name}, fit on {n:,} rows of 8 features", "seconds": seconds}
    row |= {"MB beyond the rows": memory, "accuracy": accuracy}
    if name != "HarmonicClassifier":
        return row
    names = ("LabelPropagation seconds", "its MB", "its accuracy")
    return row | dict(zip(names, _measure(n, "LabelPropagation"), strict=True))


def _measure(n: int, name: str) -> tuple[float, float, float]:
    """Measure in a new process, whose peak memory is that of this fit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measured, n, name).result()


def _measured(n: int, name: str) -> tuple[float, float, float]:
    """Seconds, megabytes and accuracy of a fit, in a process that has compiled what it needs."""
    models = {
        "HarmonicClassifier": lambda: HarmonicClassifier(),
        "MinCutClassifier": lambda: MinCutClassifier(class_shares="free"),
        "SpectralGraphTransducer": lambda: SpectralGraphTransducer(random_state=0),
        "LabelPropagation": lambda: LabelPropagation(kernel="knn", n_neighbors=10),
    }
    warnings.simplefilter("ignore")
    small = make_case(500)
    models[name]().fit(small[0], small[2])
    X, y, known = make_case(n)
    before = most_memory()
    model = models[name]()
    seconds = clock(lambda: model.fit(X, known))
    free = known < 0
    return seconds, most_memory() - before, float(np.mean(model.transduction_[free] == y[free]))
