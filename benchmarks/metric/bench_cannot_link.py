"""CannotLinkMetric beside support vector machines on the explicit features of the pairs.

Rows are binary, like records of words (frequencies fall like a power of the rank); pairs are
random. The same objective on both sides. libsvm gets the squared inner products of the differences,
pairs and their mirror images at half the price each, so that it finds no bias. liblinear gets the
products of all pairs of their entries and, as it wants two classes, a row of zeros in the other
one, which costs nothing. Both are timed with the features or the kernel that they need;
``their solver`` is what they take once they have them. The large cases have no peer here: the
features of 50,000 pairs of 100 words take 11 GB, their kernel 80 GB.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from sidelight import Constraints
from sidelight.metric import CannotLinkMetric

N_FEATURES = 10_000
LARGE_SECONDS = 60.0
LIMIT = 1 / 20
TOL = 1e-3


def records(n: int, words: int, seed: int = 0) -> Any:
    """Rows of about so many words out of 10,000."""
    rng = np.random.default_rng(seed)
    share = np.arange(20.0, N_FEATURES + 20) ** -0.8
    places = rng.choice(N_FEATURES, size=n * words, p=share / share.sum())
    counts = sparse.coo_array(
        (np.ones(n * words), (np.repeat(np.arange(n), words), places)), (n, N_FEATURES)
    )
    found = sparse.csr_array(counts)
    found.data[:] = 1.0
    return found


def random_pairs(n: int, n_pairs: int, seed: int = 1) -> Constraints:
    drawn = np.random.default_rng(seed).integers(n, size=(2 * n_pairs, 2))
    pairs = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:n_pairs]
    return Constraints(cannot_link=pairs[chosen], n_samples=n)


def differences(X: Any, known: Constraints) -> Any:
    return X[known.cannot_link[:, 0]] - X[known.cannot_link[:, 1]]


@dataclass
class Machine:
    """A support vector machine that was fitted, and how long its solver took."""

    found: SVC | LinearSVC
    seconds: float


def fitted(machine: Any, features: Any, sign: np.ndarray) -> Machine:
    return Machine(machine, clock(lambda: machine.fit(features, sign)))


def kernel_machine(X: Any, known: Constraints) -> Machine:
    gaps = differences(X, known)
    inner = (gaps @ gaps.T).toarray() ** 2
    mirrored = np.block([[inner, -inner], [-inner, inner]])
    sign = np.repeat([1, -1], len(inner))
    return fitted(SVC(C=0.5, kernel="precomputed", tol=TOL, cache_size=1000), mirrored, sign)


def linear_machine(X: Any, known: Constraints) -> Machine:
    gaps = sparse.csr_array(differences(X, known))
    gaps.eliminate_zeros()
    codes, values = [], []
    for p in range(gaps.shape[0]):
        places = gaps.indices[gaps.indptr[p] : gaps.indptr[p + 1]].astype(np.int64)
        entries = gaps.data[gaps.indptr[p] : gaps.indptr[p + 1]]
        i, j = np.triu_indices(len(places))
        low, high = np.minimum(places[i], places[j]), np.maximum(places[i], places[j])
        codes.append(low * N_FEATURES + high)
        values.append(entries[i] * entries[j] * np.where(i == j, 1.0, np.sqrt(2.0)))
    used, columns = np.unique(np.concatenate(codes), return_inverse=True)
    ends = np.cumsum([0, *(len(c) for c in codes)])
    indptr = np.append(ends, ends[-1])  # the last row is empty
    shape = (len(codes) + 1, len(used))
    features = sparse.csr_matrix((np.concatenate(values), columns, indptr), shape)
    machine = LinearSVC(C=1.0, loss="hinge", fit_intercept=False, tol=TOL, max_iter=1000)
    return fitted(machine, features, np.append(np.ones(len(codes)), -1.0))


def run(quick: bool) -> list[Row]:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # liblinear's limit of rounds
        for words in (20, 1000):  # compile both ways to exact products
            CannotLinkMetric().fit(records(50, words), constraints=random_pairs(50, 100))
        if quick:
            rows = [large_case(2500, 5000, 100)]
            return [*rows, beside(kernel_machine, 2500, 1000, 20)]
        rows = [large_case(5000, 50_000, 20), large_case(5000, 50_000, 100)]
        for words, n_pairs in ((20, 6000), (100, 6000)):
            rows.append(beside(kernel_machine, 3000, n_pairs, words))
        for words, n_pairs in ((20, 6000), (100, 1500)):  # more would need several GB
            rows.append(beside(linear_machine, 3000, n_pairs, words))
    return rows


def large_case(n: int, n_pairs: int, words: int) -> Row:
    X, known = records(n, words), random_pairs(n, n_pairs)
    model = CannotLinkMetric(tol=TOL, random_state=0)
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, constraints=known)
    return {
        "case": f"{n_pairs:,} pairs of {n:,} rows, {words} words of {N_FEATURES:,}, one core",
        "seconds": time.perf_counter() - wall,
        "seconds of the processor": time.process_time() - processor,
        "at most": LARGE_SECONDS,
        "duality gap": model.gap_,
        "pairs with a weight": int(np.count_nonzero(model.dual_variables_)),
    }


PEERS = {
    kernel_machine: "libsvm, kernel of the differences",
    linear_machine: "liblinear, explicit features",
}


def beside(machine: Callable[..., Machine], n: int, n_pairs: int, words: int) -> Row:
    X, known = records(n, words), random_pairs(n, n_pairs)
    model = CannotLinkMetric(tol=TOL, random_state=0)
    found: list[Machine] = []
    row = compare(
        f"{n_pairs:,} pairs of {n:,} rows, {words} words of {N_FEATURES:,}",
        lambda: model.fit(X, constraints=known),
        lambda: found.append(machine(X, known)),
        peer=PEERS[machine],
        limit=LIMIT,
        repeats=2,
    )
    solver = min(machine.seconds for machine in found)
    return {
        **row,
        "their solver": solver,
        "ours / their solver": row["ours"] / solver,
        # Without slack both objectives are half of ‖A‖² at the optimum.
        "our ‖A‖²": 2 * model.objective_,
        "their ‖A‖²": squared_norm(found[0].found),
    }


def squared_norm(machine: Any) -> float:
    """``‖A‖²``: for a kernel machine whose margins are 1 it is the sum of the weights."""
    if isinstance(machine, SVC):
        return float(np.abs(machine.dual_coef_).sum())
    return float(np.sum(machine.coef_**2))
