"""Correlation clustering on planted partitions, and a consensus of partitions.

``python -m experiments.relational.correlation [--runs 10] [--quick]``

Chapter 13 of the book has theorems and no experiments. The programme is that of its methods: a
planted partition of five clusters with all pairs scored +1 or -1, a share of them flipped; what
each method costs beside the bound, how well it finds the planted clusters, and how long it takes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight import Relations
from sidelight.cluster import KMeans
from sidelight.datasets import make_signed_graph
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import SidelightError
from sidelight.relational import ConsensusClustering, CorrelationClustering

TITLE = "Correlation clustering of planted partitions"
N_CLUSTERS = 5
#: Methods, and the largest number of objects that each is run on.
METHODS = {
    "pivot": 2_000,
    "balls": 2_000,
    "local": 2_000,
    "lp": 100,
    "lp-pivot": 100,
    "four-approximation": 100,
    "exact": 100,
    "auto": 2_000,
}

VERDICTS = {
    "Planted partitions*": Verdict("no published figure"),
    "Stars": Verdict(
        "better",
        "the printed loop tests a radius only where a node enters, and joins the whole star: 66 of "
        "a bound of 6 for 12 leaves and 300 of 12.5 for 25; tested within the intervals, as the "
        "lemma asks, it costs 12 and 25",
    ),
    "Consensus of 20 k-means runs": Verdict("no published figure"),
}


def run(runs: int, quick: bool) -> list[Section]:
    """All tables; ``quick`` leaves out large graphs."""
    sizes = (20, 50) if quick else (20, 50, 100, 500, 2_000)
    planted = [planted_partitions(n, 0.12, min(runs, 10)) for n in sizes]
    noisy = planted_partitions(50, 0.3, min(runs, 10))
    return [*planted, noisy, stars(), consensus(min(runs, 5))]


def planted_partitions(n: int, flip: float, runs: int) -> Section:
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in METHODS}
    found["planted"], found["trivial"] = [], []
    runs = runs if n <= 100 else min(runs, 3)
    for seed in range(runs):
        relations, target = make_signed_graph(n, N_CLUSTERS, flip=flip, random_state=seed)
        fitted = _fits(relations, n, exactly=flip < 0.2)
        bound = max(model.lower_bound_ for model, _ in fitted.values())
        for name, (model, seconds) in fitted.items():
            found[name].append(
                (
                    model.objective_ / bound,
                    model.gap_,
                    adjusted_rand_index(target, model.labels_),
                    seconds,
                )
            )
        for name, cost in (
            ("planted", _cost(relations, target)),
            ("trivial", min(_cost(relations, target * 0), _cost(relations, np.arange(n)))),
        ):
            found[name].append((cost / bound, np.nan, np.nan, np.nan))
    rows = [
        [name, *(mean_and_error([figures[i] for figures in values]) for i in range(4))]
        for name, values in found.items()
        if values
    ]
    return Section(
        f"Planted partitions of {n:,} objects, {flip:.0%} flipped",
        f"{runs} graphs; costs in units of the best bound, which may be below the optimum.",
        ("method", "cost / bound", "own gap", "adjusted Rand index", "seconds"),
        rows,
    )


def _fits(relations: Relations, n: int, *, exactly: bool) -> dict[str, tuple[Any, float]]:
    fitted = {}
    for name, largest in METHODS.items():
        if n > largest or (name == "exact" and not exactly):
            continue
        start = time.perf_counter()
        try:
            model = CorrelationClustering(name, random_state=0).fit(relations)
        except SidelightError as error:
            print(f"{name} at n={n}: {error}")
            continue
        fitted[name] = (model, time.perf_counter() - start)
    return fitted


def _cost(relations: Relations, labels: np.ndarray) -> float:
    same = labels[relations.edges[:, 0]] == labels[relations.edges[:, 1]]
    return float(np.maximum(np.where(same, -relations.scores, relations.scores), 0.0).sum())


def stars() -> Section:
    """A hub that is like every leaf, and leaves that are unlike each other."""
    rows = []
    for leaves in (12, 25):
        scores = -np.ones((leaves + 1, leaves + 1))
        scores[0], scores[:, 0] = 1.0, 1.0
        np.fill_diagonal(scores, 0.0)
        lp = CorrelationClustering("lp", random_state=0).fit(scores)
        exact = CorrelationClustering("exact").fit(scores)
        printed = leaves * (leaves - 1) / 2
        rows.append(
            [
                str(leaves),
                f"{lp.lower_bound_:g}",
                f"{printed:g}",
                f"{lp.objective_:g}",
                f"{exact.objective_:g}",
            ]
        )
    return Section(
        "Stars",
        "The loop as printed costs all pairs of leaves. The bound is that of the LP, rounded up to "
        "the next whole number, since all scores are whole.",
        ("leaves", "bound", "printed loop", "region growing and local search", "optimum"),
        rows,
    )


def consensus(runs: int) -> Section:
    rows = []
    for name, load in (("wine", load_wine), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        X, k = (scale(X), 3) if name == "wine" else (X, 10)
        figures = []
        for seed in range(runs):
            partitions = np.column_stack(
                [
                    KMeans(k, n_init=1, random_state=100 * seed + start).fit(X).labels_
                    for start in range(20)
                ]
            )
            start = time.perf_counter()
            model = ConsensusClustering(random_state=seed).fit(partitions)
            seconds = time.perf_counter() - start
            inputs = [adjusted_rand_index(y, column) for column in partitions.T]
            figures.append(
                (
                    model.objective_ / model.lower_bound_,
                    float(np.mean(inputs)),
                    adjusted_rand_index(y, model.labels_),
                    seconds,
                )
            )
        rows.append([name, *(mean_and_error([f[i] for f in figures]) for i in range(4))])
    return Section(
        "Consensus of 20 k-means runs",
        "Every run from one random start; the consensus finds the number of clusters by itself.",
        ("data", "cost / bound", "mean ARI of the runs", "ARI of the consensus", "seconds"),
        rows,
    )


if __name__ == "__main__":
    main("correlation")
