"""EM on cells of a tree: shared responsibilities, speed and likelihood beside EM on all rows.

``python -m experiments.mixture.accelerated_mixture [--runs 20] [--quick]``
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.cluster import KMeans
from sidelight.datasets import make_separated_gaussians
from sidelight.engine import as_rows
from sidelight.mixture import AcceleratedMixture, GaussianMixture, GreedyMixture
from sidelight.mixture._core import em
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.mixture.growing._cells import CellGaussians, CellTree

TITLE = "Accelerated EM"
VERDICTS = {
    "Shared responsibilities": Verdict(
        "agrees",
        "the loss is never negative and largest for coarse partitions; the source has a picture "
        "only",
    ),
    "Against EM": Verdict(
        "agrees",
        "the likelihood is that of EM to the third digit, and the gain grows with the number of "
        "rows",
    ),
    "Against greedy EM": Verdict(
        "agrees", "both are close to the generating mixture, as in the picture of the source"
    ),
    "Time against rows": Verdict("no published figure"),
}

N_TEST = 1000

# Our specification's check of figure 3.12 (five sets each): negative log-likelihood per test point
# of the generating mixture, EM, accelerated EM, and rows x iterations of EM over those of cells.
DEFAULT = {"n": 10_000, "k": 10, "d": 2, "c": 3.0}
CHECKED: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "n=10,000, k=10, D=2, c=3": ({}, (2.063, 2.306, 2.305, 8)),
    "n=30,000": ({"n": 30_000}, (2.059, 2.525, 2.525, 40)),
    "n=1,000": ({"n": 1_000}, (2.047, 2.475, 2.477, 1.2)),
    "D=4": ({"d": 4}, (1.770, 2.383, 2.382, 48)),
    "k=20": ({"k": 20}, (2.825, 3.356, 3.356, 14)),
    "c=1": ({"c": 1.0}, (1.953, 2.102, 2.107, 6)),
}

# Its check of figure 3.11: what the posterior of the mean of a cell loses beside the best one.
LOSSES = {1: 9.6e4, 4: 3.7e4, 16: 1.1e4, 32: 640.0, 128: 90.0, 1861: 3.0}


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    runs = min(runs, 20)
    return [
        shared_responsibilities(min(runs, 3 if quick else 20)),
        against_em(min(runs, 2) if quick else runs),
        against_greedy(min(runs, 2) if quick else min(runs, 10), quick),
        growth((10_000, 30_000) if quick else (10_000, 30_000, 100_000, 300_000, 1_000_000)),
    ]


# ------------------------------------------------------------------ figure 3.11


def shared_responsibilities(runs: int) -> Section:
    levels = (1, 4, 16, 32, 128, 512, 2048)
    losses = np.array([centroid_losses(levels, seed) for seed in range(runs)])
    assert losses.min() > -1e-6  # the best shared responsibilities are the best
    rows = [
        [
            str(n),
            f"{LOSSES[n]:,.0f}" if n in LOSSES else "–",
            mean_and_error(losses[:, position], digits=0 if n < 512 else 1),
            f"{losses[:, position].min():.2g}",
        ]
        for position, n in enumerate(levels)
    ]
    text = (
        "Sum over all rows of ``KL(q_A || p(s | x))`` for responsibilities at the mean of each "
        "cell, minus that for the best shared responsibilities; 5,000 rows, k=20, D=10, c=2. The "
        "source has a picture: always positive, largest for coarse partitions. The check is that "
        "of our specification."
    )
    header = ("cells at least", "check", "ours", "smallest of all runs")
    return Section("Shared responsibilities", text, header, rows)


def centroid_losses(levels: tuple[int, ...], seed: int) -> list[float]:
    X = make_separated_gaussians(
        5000, n_components=20, n_features=10, separation=2.0, random_state=seed
    ).data
    components, log_weights = kmeans_start(X, 20, seed)
    cells = CellGaussians.of(components)
    losses = []
    for n in levels:
        tree = CellTree(X, np.ones(len(X)), full=True)
        leaves = tree.partition(n)
        average = cells.log_density(cells.features(tree.cells(leaves))) + log_weights
        at_mean = components.log_density(components.features(tree.means[leaves])) + log_weights
        best, centroid = log_softmax(average, axis=1), log_softmax(at_mean, axis=1)
        bounds = [
            tree.weights[leaves] @ np.sum(np.exp(q) * (average - q), axis=1)
            for q in (best, centroid)
        ]
        losses.append(float(bounds[0] - bounds[1]))
    return losses


# ------------------------------------------------------------------ figure 3.12


def kmeans_start(X: np.ndarray, k: int, seed: int) -> tuple[GaussianComponents, np.ndarray]:
    """Mixture of the clusters of k-means."""
    labels = KMeans(k, n_init=1, random_state=seed).fit(X).labels_
    counts = np.bincount(labels, minlength=k)
    d = X.shape[1]
    covariances = [
        np.cov(X[labels == s].T, bias=True) if counts[s] > 2 * d else np.cov(X.T, bias=True)
        for s in range(k)
    ]
    components = GaussianComponents(
        means=np.array([X[labels == s].mean(axis=0) for s in range(k)]),
        covariances=np.array(covariances) + 1e-6 * np.eye(d),
        kind="full",
        origin=X.mean(axis=0),
        reg_covar=1e-6,
    )
    return components, np.log(np.maximum(counts, 1) / counts.sum())


def public(components: GaussianComponents, log_weights: np.ndarray) -> dict[str, Any]:
    weights = np.exp(log_weights)
    return {
        "weights_init": weights / weights.sum(),
        "means_init": components.means,
        "precisions_init": components.precisions,
    }


def one_set(n: int, k: int, d: int, c: float, seed: int) -> tuple[float, ...]:
    """Test losses of truth, EM and accelerated EM; ratios of work and of seconds; iterations."""
    data = make_separated_gaussians(
        n + N_TEST, n_components=k, n_features=d, separation=c, random_state=seed
    )
    X, test = data.data[:n], data.data[n:]
    components, log_weights = kmeans_start(X, k, seed)
    started = time.process_time()
    plain = em(as_rows(X), components, log_weights, max_iter=500)
    middle = time.process_time()
    model = AcceleratedMixture(k, **public(components, log_weights)).fit(X)
    ended = time.process_time()
    of_plain = -em(as_rows(test), plain.components, plain.log_weights, max_iter=1).history[0]
    work = float(np.mean(model.search_["n_cells"])) * model.n_iter_
    return (
        -data.extras["log_density"][n:].mean(),
        -of_plain,
        -model.score(test),
        n * plain.n_iter / work,
        (middle - started) / (ended - middle),
        plain.n_iter,
        model.n_iter_,
    )


def against_em(runs: int) -> Section:
    rows = []
    for name, (changes, check) in CHECKED.items():
        problem = {**DEFAULT, **changes}
        found = np.array([one_set(**problem, seed=seed) for seed in range(runs)])
        rows.append(
            [
                name,
                "{:.3f} / {:.3f} / {:.3f}".format(*check[:3]),
                *(mean_and_error(found[:, column]) for column in range(3)),
                f"{check[3]:g}",
                *(f"{np.median(found[:, column]):.1f}" for column in (3, 4)),
                *(f"{found[:, column].mean():.0f}" for column in (5, 6)),
            ]
        )
    header = (
        "problem",
        "check: truth / EM / cells",
        "truth",
        "EM",
        "cells",
        "less work: check",
        "ours",
        "less time",
        "iterations: EM",
        "cells",
    )
    text = (
        "Negative log-likelihood per test point from the same start by k-means; work is rows (or "
        "cells) times iterations, time is processor seconds of the whole fit with the labels of "
        "all rows, both as medians of EM / accelerated EM. The source has pictures: speed grows "
        "with the rows and the separation, the likelihood is slightly worse. The sets are drawn "
        "anew, so levels differ from the check; differences between the methods are what to "
        "compare."
    )
    return Section("Against EM", text, header, rows)


# ------------------------------------------------------------------ figure 3.13


def against_greedy(runs: int, quick: bool) -> Section:
    rows = []
    problems = list(CHECKED)[:1] if quick else list(CHECKED)
    for name in problems:
        problem = {**DEFAULT, **CHECKED[name][0]}
        found = np.array([greedy_set(**problem, seed=seed) for seed in range(runs)])
        rows.append(
            [
                name,
                *(mean_and_error(found[:, column]) for column in range(3)),
                f"{np.median(found[:, 3]):.1f}",
                f"{found[:, 4].mean():.1f}",
                f"{found[:, 5].mean():.1f}",
            ]
        )
    header = (
        "problem",
        "truth",
        "greedy",
        "greedy on cells",
        "less time",
        "components",
        "on cells",
    )
    text = (
        "Negative log-likelihood per test point of greedy EM on all rows and of accelerated EM "
        "with a greedy start on the first cells. The source has pictures: both very close to the "
        "generating mixture. Less time: processor seconds, median of the ratios. Components: how "
        "many were found."
    )
    return Section("Against greedy EM", text, header, rows)


def greedy_set(n: int, k: int, d: int, c: float, seed: int) -> tuple[float, ...]:
    data = make_separated_gaussians(
        n + N_TEST, n_components=k, n_features=d, separation=c, random_state=seed
    )
    X, test = data.data[:n], data.data[n:]
    started = time.process_time()
    plain = GreedyMixture(k, random_state=seed).fit(X)
    middle = time.process_time()
    model = AcceleratedMixture(k, init_params="greedy", random_state=seed).fit(X)
    ended = time.process_time()
    return (
        -data.extras["log_density"][n:].mean(),
        -plain.score(test),
        -model.score(test),
        (middle - started) / (ended - middle),
        len(plain.weights_),
        len(model.weights_),
    )


# ------------------------------------------------------------------ growth


def growth(sizes: tuple[int, ...]) -> Section:
    """Processor seconds for more and more rows of one mixture."""
    k, d = 20, 4
    seconds: dict[str, list[float]] = {"EM": [], "accelerated EM": []}
    rows = []
    for n in sizes:
        X = make_separated_gaussians(
            n, n_components=k, n_features=d, separation=1.0, random_state=0
        ).data
        start = public(*kmeans_start(X[:5000], k, 0))
        models = {
            "EM": GaussianMixture(k, max_iter=500, **start),
            "accelerated EM": AcceleratedMixture(k, **start),
        }
        for name, model in models.items():
            started = time.process_time()
            model.fit(X)
            seconds[name].append(time.process_time() - started)
        cells = models["accelerated EM"]
        rows.append(
            [
                f"{n:,}",
                *(f"{times[-1]:.2f}" for times in seconds.values()),
                *(f"{model.score(X):.4f}" for model in models.values()),
                f"{-cells.objective_:.4f}",
                str(cells.n_cells_),
            ]
        )
    header = ("rows", *seconds, "EM: L", "accelerated EM: L", "F", "cells")
    text = (
        f"Processor seconds of our own EM on all rows and on cells; k={k}, D={d}, c=1, the same "
        "start (k-means on 5,000 rows), log-likelihood per row. The number of cells does not grow "
        "with the rows."
    )

    def picture(path: Path) -> None:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        for (name, times), style in zip(seconds.items(), ("-o", "--s"), strict=True):
            ax.loglog(sizes, times, style, label=name)
        ax.set_xlabel("rows")
        ax.set_ylabel("processor seconds")
        ax.legend()
        figure.savefig(path, dpi=120, format="png")
        plt.close(figure)

    return Section("Time against rows", text, header, rows, picture, "accelerated_mixture_time")


if __name__ == "__main__":
    main("accelerated_mixture")
