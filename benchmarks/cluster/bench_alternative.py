"""Clusters beside known splits: against sparse products, and against the plain base clusterer.

- Conditional information bottleneck on sparse counts, annealed: seconds of one restart and of the
  whole fit, and the time of an iteration over that of two sparse products, ``X @ (d, k)`` and
  ``X.T @ (n, k)``: at most 3x. ``accuracy`` is that of the planted clusters beside the known ones.
- Conditional ensembles against their base clusterer on the whole table: no slower, wanted for
  known classes of any clarity. Where they are much clearer than the wanted clusters the base has
  an easy task on all rows and the local models a harder one, so that nothing is gained.
"""

from __future__ import annotations

import numpy as np
from benchmarks.harness import Row, clock, compare
from scipy import sparse

from sidelight.cluster import CondEns, ConditionalInformationBottleneck, KMeans
from sidelight.cluster.alternative._annealing import critical_temperature, one_hot
from sidelight.cluster.alternative._bottleneck_cells import CellModel
from sidelight.cluster.alternative._bottleneck_features import prepare_items
from sidelight.constraints import Constraints
from sidelight.evaluation import clustering_accuracy

K, KNOWN = 5, 4

#: Distance of the known classes: as clear as the wanted clusters, and three times as clear. In the
#: second case k-means on all rows finds the known classes within few iterations.
SPREADS = {2: "as clear as the wanted clusters", 6: "three times as clear"}


def run(quick: bool) -> list[Row]:
    shape = (4_000, 2_000) if quick else (20_000, 5_000)
    n = 20_000 if quick else 200_000
    return [*counts(*shape), *(ensembles(n, spread) for spread in SPREADS)]


def documents(n: int, d: int) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
    """Counts with two independent sets of topics, of which the first, the clearer one, is known."""
    rng = np.random.default_rng(0)
    words = rng.permutation(1 / np.arange(1, d + 1))
    known, wanted = np.zeros((KNOWN, d)), np.zeros((K, d))
    known[:, : d // 2] = rng.dirichlet(np.full(d // 2, 0.05), KNOWN)
    wanted[:, d // 2 :] = rng.dirichlet(np.full(d - d // 2, 0.05), K)
    z, y = rng.integers(0, KNOWN, n), rng.integers(0, K, n)
    lengths = 5 + rng.poisson(80, n)
    rows, columns = [], []
    for one in range(KNOWN):
        for other in range(K):
            here = np.flatnonzero((z == one) & (y == other))
            shares = 0.4 * words / words.sum() + 0.45 * known[one] + 0.15 * wanted[other]
            columns.append(rng.choice(d, size=lengths[here].sum(), p=shares / shares.sum()))
            rows.append(np.repeat(here, lengths[here]))
    ones = np.ones(lengths.sum())
    X = sparse.csr_matrix((ones, (np.concatenate(rows), np.concatenate(columns))), shape=(n, d))
    X.sum_duplicates()
    return X, z, y


def counts(n: int, d: int) -> list[Row]:
    X, z, y = documents(n, d)
    rows: list[Row] = []
    for variant in ("default", "published"):
        options = {"features": "multinomial", "variant": variant, "random_state": 0}
        ConditionalInformationBottleneck(K, n_init=1, max_iter=3, **options).fit(X, known=z)
        one = ConditionalInformationBottleneck(K, n_init=1, **options)
        whole = ConditionalInformationBottleneck(K, **options)
        case = f"n={n:,}, d={d:,}, {X.nnz:,} entries, k={K}, {variant}"
        rows.append(
            {
                "case": case,
                "one restart": clock(lambda: one.fit(X, known=z)),  # noqa: B023
                "iterations": one.n_iter_,
                "ten restarts": clock(lambda: whole.fit(X, known=z)),  # noqa: B023
                "accuracy": clustering_accuracy(y, whole.labels_),
                "accuracy to the known": clustering_accuracy(z, whole.labels_),
            }
        )
    return [*rows, *iterations(X, z)]


def iterations(X: sparse.csr_matrix, z: np.ndarray) -> list[Row]:
    """One step of annealing beside the two products that it cannot do without."""
    items = prepare_items(X, "multinomial", "uniform", Constraints(n_samples=X.shape[0]))
    rng = np.random.default_rng(0)
    tables, q = rng.random((X.shape[1], K)), rng.dirichlet(np.ones(K), X.shape[0])
    columns = items.rows.T

    def products() -> None:
        for _ in range(10):
            _ = items.rows @ tables
            _ = columns @ q

    rows = []
    for adjusted in (True, False):
        model = CellModel(items, z, coordination=0.3, adjusted=adjusted)
        critical_temperature(model, np.random.RandomState(0))  # everything is loaded
        start = model.sums(one_hot(z[model.order] % K, K))

        def steps(model: CellModel = model, start: object = start) -> None:
            for _ in range(10):
                model.costs(model.fit(start))
                model.sums(q)

        variant = "default" if adjusted else "published"
        rows.append(
            compare(
                f"n={X.shape[0]:,}, d={X.shape[1]:,}, {variant}, 10 iterations",
                *(steps, products),
                peer="two sparse products",
                limit=3.0,
                repeats=5,
            )
        )
    return rows


def ensembles(n: int, spread: int) -> Row:
    """Conditional ensembles of k-means, one run each, beside k-means on the whole table."""
    rng = np.random.default_rng(0)
    z, y = rng.integers(0, KNOWN, n), rng.integers(0, K, n)
    X = rng.standard_normal((n, 20))
    X += spread * rng.standard_normal((KNOWN, 20))[z] + 2 * rng.standard_normal((K, 20))[y]
    base = KMeans(K, n_init=5, random_state=0)
    ensemble = CondEns(K, estimator=base, n_init=1, random_state=0)
    base.fit(X[:2_000])
    ensemble.fit(X[:2_000], known=z[:2_000])  # compile first
    row = compare(
        f"conditional ensembles, n={n:,}, d=20, k={K}, {KNOWN} known classes, {SPREADS[spread]}",
        lambda: ensemble.fit(X, known=z),
        lambda: base.fit(X),
        peer="the base, our KMeans, on all rows",
        limit=1.0,
    )
    return {**row, "accuracy": clustering_accuracy(y, ensemble.labels_)}
