"""CannotLinkMetric beside support vector machines on the explicit features of the pairs.

Rows are binary, like records of words (frequencies fall like a power of the rank); pairs are
random. The same objective on both sides: pairs and their mirror images at half the price each, so
that the machine has no bias. libsvm gets the squared inner products of the differences, liblinear
the products of all pairs of their entries. The large
cases have no peer here: the features of 50,000 pairs of 100 words take 30 GB, their kernel 80 GB.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.harness import Row, compare
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


def kernel_machine(X: Any, known: Constraints) -> SVC:
    gaps = differences(X, known)
    inner = (gaps @ gaps.T).toarray() ** 2
    mirrored = np.block([[inner, -inner], [-inner, inner]])
    sign = np.repeat([1, -1], len(inner))
    return SVC(C=0.5, kernel="precomputed", tol=TOL, cache_size=1000).fit(mirrored, sign)


def linear_machine(X: Any, known: Constraints) -> LinearSVC:
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
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in codes])])
    features = sparse.csr_matrix((np.concatenate(values), columns, indptr), (len(codes), len(used)))
    sign = np.repeat([1, -1], len(codes))
    machine = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=TOL, max_iter=1000)
    return machine.fit(sparse.vstack([features, -features]).tocsr(), sign)


def run(quick: bool) -> list[Row]:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # liblinear's limit of rounds
        CannotLinkMetric().fit(records(50, 20), constraints=random_pairs(50, 100))  # compile
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
        "pairs with a weight": int(np.count_nonzero(model.dual_coef_)),
    }


PEERS = {
    kernel_machine: "libsvm, kernel of the differences",
    linear_machine: "liblinear, explicit features",
}


def beside(machine: Callable[..., Any], n: int, n_pairs: int, words: int) -> Row:
    X, known = records(n, words), random_pairs(n, n_pairs)
    model = CannotLinkMetric(tol=TOL, random_state=0)
    found: list[Any] = []
    row = compare(
        f"{n_pairs:,} pairs of {n:,} rows, {words} words of {N_FEATURES:,}",
        lambda: model.fit(X, constraints=known),
        lambda: found.append(machine(X, known)),
        peer=PEERS[machine],
        limit=LIMIT,
        repeats=1,
    )
    # Without slack both objectives are half of ‖A‖² at the optimum.
    return {**row, "our ‖A‖²": 2 * model.objective_, "their ‖A‖²": squared_norm(found[0])}


def squared_norm(machine: Any) -> float:
    """``‖A‖²``: for a kernel machine whose margins are 1 it is the sum of the weights."""
    if isinstance(machine, SVC):
        return float(np.abs(machine.dual_coef_).sum())
    return float(np.sum(machine.coef_**2))
