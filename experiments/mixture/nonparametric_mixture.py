"""Mixtures of kernel densities: Mallapragada's chapter 4, published figures beside ours.

``python -m experiments.mixture.nonparametric_mixture [--runs 10] [--quick]``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.datasets import load_uci
from sidelight.evaluation import constraint_satisfaction, matched_macro_f1
from sidelight.exceptions import SidelightError
from sidelight.mixture import GaussianMixture, NonparametricMixture

TITLE = "Non-parametric mixtures"
VERDICTS = {
    "Shapes (figures 4.2 and 4.3)": Verdict(
        "agrees",
        "shapes that k-means and Gaussian mixtures miss are found; the source has pictures only",
    ),
    "Bandwidth at the 5th percentile (table 4.2)": Verdict(
        "differs",
        "several sets are prepared otherwise, and the source reports the best score of all starts",
    ),
    "Bandwidth chosen by constraints (table 4.5)": Verdict("differs", "as for table 4.2"),
    "Sensitivity": Verdict(
        "agrees", "there is a range of percentiles in which kernel densities win"
    ),
}

# Table 4.2: mixture of kernel densities, k-means, NJW spectral clustering; bandwidth at the 5th
# percentile, mean of 10 runs, the best of 5 starts each.
TABLE = {
    "sat": (71.29, 63.99, 50.11),
    "banana": (86.87, 76.69, 82.85),
    "bupa": (52.78, 44.55, 37.08),
    "heart": (84.08, 84.07, 82.63),
    "wdbc": (90.82, 90.92, 49.18),
    "glass": (66.25, 67.07, 68.33),
    "ionosphere": (71.54, 71.77, 50.73),
    "austra": (81.03, 82.50, 39.95),
    "house": (88.80, 88.80, 88.80),
    "digits-389": (80.93, 62.25, 58.17),
    "iris": (93.26, 89.18, 90.53),
    "letter-ijl": (58.15, 54.44, 54.98),
    "magic04": (53.90, 50.25, 52.34),
    "german": (55.58, 50.99, 58.70),
}
# Table 4.5: bandwidth chosen by n / 4 constraints, spectral clustering and mixture.
CHOSEN = {
    "ionosphere": ("69.83 (0.0)", "71.31 (0.1)"),
    "austra": ("80.63 (0.0)", "81.87 (0.1)"),
    "bupa": ("52.26 (0.0)", "53.25 (0.3)"),
    "german": ("54.69 (0.0)", "54.23 (0.0)"),
    "heart": ("73.44 (13.2)", "83.59 (0.2)"),
    "vehicle": ("31.39 (0.1)", "40.25 (2.1)"),
    "uci image": ("34.20 (4.7)", "56.62 (1.7)"),
    "texture": ("73.71 (10.7)", "95.68 (0.0)"),
}
FILES = {
    "sat": "satellite",
    "austra": "australian",
    "house": "housevotes",
    "digits-389": "pendigits",
    "letter-ijl": "letter",
    "magic04": "magic",
    "uci image": "segment",
}
# A tenth of the rows of these classes.
CLASSES = {"digits-389": ("3", "8", "9"), "letter-ijl": ("I", "J", "L")}
PERCENTILES = (1, 5, 10, 15, 20, 25, 30)
STARTS = 5

Labelled = tuple[np.ndarray, np.ndarray]


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    runs = min(runs, 10)  # as published
    most = 500 if quick else 1_000
    quickly = ("bupa", "heart", "ionosphere", "house", "iris", "letter-ijl")
    sets = {
        name: found
        for name in dict.fromkeys((*TABLE, *CHOSEN))
        if (not quick or name in quickly) and (found := load(name, most)) is not None
    }
    table = {name: sets[name] for name in TABLE if name in sets}
    chosen = {name: sets[name] for name in CHOSEN if name in sets}
    return [
        shapes(runs),
        fixed_percentile(table, runs),
        chosen_by_constraints(chosen, runs),
        sensitivity({n: s for n, s in sets.items() if n in ("heart", "wdbc", "letter-ijl")}, runs),
    ]


# ------------------------------------------------------------------ data


def load(name: str, most: int) -> Labelled | None:
    """Complete rows, standardised except for iris, or None where no source has the set."""
    try:
        data = load_uci(FILES.get(name, name))
    except SidelightError as error:
        print(f"{name} is left out: {error}")
        return None
    X, y = data.data, data.target
    kept = np.isfinite(X).all(axis=1)
    if name in CLASSES:
        kept &= np.isin(np.array(data.target_names)[y], CLASSES[name])
        most = min(most, round(kept.sum() / 10))
    X, y = thin((X[kept], y[kept]), most)
    X = X[:, X.std(axis=0) > 0]
    return (X if name == "iris" else StandardScaler().fit_transform(X)), y


def thin(found: Labelled, most: int) -> Labelled:
    X, y = found
    if len(X) <= most:
        return found
    rows = np.random.default_rng(0).choice(len(X), most, replace=False)
    return X[rows], y[rows]


# ------------------------------------------------------------------ methods


def score(y: np.ndarray, labels: np.ndarray) -> float:
    return 100 * matched_macro_f1(y, labels)


def spectral(X: np.ndarray, k: int, width: float, seed: int) -> np.ndarray:
    """Spectral clustering by Ng, Jordan and Weiss, as described in the source."""
    from scipy.linalg import eigh

    affinity = np.exp(-squareform(pdist(X, "sqeuclidean")) / (2 * width**2))
    np.fill_diagonal(affinity, 0.0)
    scale = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), 1e-300))
    n = len(X)
    vectors = eigh(scale[:, None] * affinity * scale, subset_by_index=[n - k, n - 1])[1]
    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    return KMeans(k, n_init=STARTS, random_state=seed).fit(rows).labels_


def best_of_starts(X: np.ndarray, y: np.ndarray, seed: int, **params: Any) -> tuple[float, float]:
    """Score of the start with the best objective, and the best score of all starts."""
    k = len(np.unique(y))
    fits = [
        NonparametricMixture(k, n_init=1, random_state=STARTS * seed + start, **params).fit(X)
        for start in range(STARTS)
    ]
    scores = [score(y, fit.labels_) for fit in fits]
    return scores[int(np.argmin([fit.objective_ for fit in fits]))], max(scores)


# ------------------------------------------------------------------ tables


def three_gaussians(seed: int) -> Labelled:
    y = np.repeat([0, 1, 2], 100)
    means, deviations = np.array([(0, 0), (6, 0), (8, 0)]), np.sqrt([4, 0.4, 0.4])
    noise = np.random.default_rng(seed).normal(size=(300, 2))
    return means[y] + deviations[y][:, None] * noise, y


def shapes(runs: int) -> Section:
    problems: dict[str, tuple[Callable[[int], Labelled], Any]] = {
        "two moons": (lambda seed: make_moons(300, noise=0.08, random_state=seed), "percentile"),
        "three Gaussians": (three_gaussians, 0.95),
    }
    rows = []
    for name, (make, width) in problems.items():
        methods: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
            "k-means": lambda X, k, s: KMeans(k, n_init=10, random_state=s).fit(X).labels_,
            "Gaussian mixture": lambda X, k, s: (
                GaussianMixture(k, n_init=5, random_state=s).fit(X).labels_
            ),
            "spectral": lambda X, k, s, width=width: spectral(
                X, k, np.percentile(pdist(X), 5) if isinstance(width, str) else width, s
            ),
            "kernel densities": lambda X, k, s, width=width: (
                NonparametricMixture(k, bandwidth=width, random_state=s).fit(X).labels_
            ),
        }
        found = []
        for method in methods.values():
            scores = []
            for seed in range(runs):
                X, y = make(seed)
                scores.append(score(y, method(X, len(np.unique(y)), seed)))
            found.append(mean_and_error(scores, digits=1))
        rows.append([name, *found])
    text = (
        f"Matched macro-F1 over {runs} data sets. The source shows pictures: two moons "
        "(parameters not given) against a Gaussian mixture, and three spherical Gaussians (means "
        "0, 6, 8 on a line, variances 4, 0.4, 0.4; σ = 0.95), which k-means and spectral "
        "clustering are said to miss."
    )
    header = ("data", "k-means", "Gaussian mixture", "spectral", "kernel densities")
    return Section("Shapes (figures 4.2 and 4.3)", text, header, rows)


def fixed_percentile(sets: dict[str, Labelled], runs: int) -> Section:
    rows = []
    for name, (X, y) in sets.items():
        k, published = len(np.unique(y)), TABLE[name]
        width = np.percentile(pdist(X), 5)
        random = [best_of_starts(X, y, s, init_params="dirichlet") for s in range(runs)]
        cells = [best_of_starts(X, y, s)[0] for s in range(runs)]
        means = [
            score(y, KMeans(k, n_init=STARTS, random_state=s).fit(X).labels_) for s in range(runs)
        ]
        njw = [score(y, spectral(X, k, width, s)) for s in range(min(runs, 3))]
        rows.append(
            [
                name,
                f"{len(X)} × {X.shape[1]}, {k}",
                f"{published[0]:.2f}",
                mean_and_error([own for own, _ in random], digits=1),
                mean_and_error([best for _, best in random], digits=1),
                mean_and_error(cells, digits=1),
                f"{published[1]:.2f} / {np.mean(means):.2f}",
                f"{published[2]:.2f} / {np.mean(njw):.2f}",
            ]
        )
        print(" ".join(rows[-1]))
    text = (
        f"Matched macro-F1 (which the source calls pairwise F1), {runs} runs of {STARTS} starts, "
        "bandwidth at the 5th percentile, mean ± standard error. *Random profiles* start as the "
        "source does; the start with the best objective counts, as it must where labels are not "
        "known, or the start with the best score, which is what 'only the best performance is "
        "reported' suggests. *Cells* is our default start. Rows are standardised (iris is not: so "
        "the published k-means figure is met); the source does not say, and k-means tells how near "
        "the data are: glass has a tenth feature there, the number of the row, which is sorted by "
        "class; banana is another set of that name; heart, wdbc and german have other features; "
        "digits and letters are other random tenths; larger sets are thinned to 1,000 rows (3,000 "
        "there)."
    )
    header = (
        "data",
        "n × d, k",
        "published",
        "random profiles, by objective",
        "random profiles, by score",
        "cells, by objective",
        "k-means, published / ours",
        "spectral, published / ours",
    )
    return Section("Bandwidth at the 5th percentile (table 4.2)", text, header, rows)


def mean_and_deviation(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ({np.std(values):.1f})"


def chosen_by_constraints(sets: dict[str, Labelled], runs: int) -> Section:
    rows = []
    for name, (X, y) in sets.items():
        k = len(np.unique(y))
        widths = np.percentile(pdist(X), PERCENTILES)
        candidates = [spectral(X, k, width, 0) for width in widths]
        of_spectral, of_mixture, percentiles = [], [], []
        for seed in range(runs):
            known = Constraints.sample(y, len(y) // 4, random_state=seed)
            shares = [constraint_satisfaction(known, labels) for labels in candidates]
            of_spectral.append(score(y, candidates[int(np.argmax(shares))]))
            model = NonparametricMixture(k, bandwidth="constraints", random_state=seed)
            of_mixture.append(score(y, model.fit(X, constraints=known).labels_))
            search = model.search_
            percentiles.append(
                search["percentile"][list(search["bandwidth"]).index(model.bandwidth_)]
            )
        rows.append(
            [
                name,
                CHOSEN[name][0],
                mean_and_deviation(of_spectral),
                f"{score(y, candidates[1]):.2f}",
                CHOSEN[name][1],
                mean_and_deviation(of_mixture),
                f"{np.median(percentiles):g}",
            ]
        )
        print(" ".join(rows[-1]))
    text = (
        f"Bandwidth chosen among the percentiles {', '.join(map(str, PERCENTILES))} by n / 4 "
        f"random pairs, mean (deviation) of matched macro-F1 over {runs} sets of constraints. The "
        "rows and the starts of spectral clustering stay the same over these."
    )
    header = (
        "data",
        "spectral, published",
        "spectral, ours",
        "ours at 5 %",
        "kernel densities, published",
        "ours",
        "median percentile chosen",
    )
    return Section("Bandwidth chosen by constraints (table 4.5)", text, header, rows)


def sensitivity(sets: dict[str, Labelled], runs: int) -> Section:
    curves: dict[str, dict[str, list[float]]] = {}
    for name, (X, y) in sets.items():
        k = len(np.unique(y))
        curves[name] = {"kernel densities": [], "spectral": []}
        for percentile in PERCENTILES:
            options = {"bandwidth": "percentile", "percentile": percentile}
            scores = [best_of_starts(X, y, s, **options)[0] for s in range(min(runs, 5))]
            curves[name]["kernel densities"].append(float(np.mean(scores)))
            width = np.percentile(pdist(X), percentile)
            curves[name]["spectral"].append(score(y, spectral(X, k, width, 0)))

    def picture(path: Path) -> None:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(
            1, len(curves), figsize=(3.5 * len(curves), 3.2), layout="constrained", squeeze=False
        )
        for ax, (name, of_methods) in zip(axes[0], curves.items(), strict=True):
            for method, values in of_methods.items():
                ax.plot(PERCENTILES, values, marker="o", markersize=4, label=method)
            ax.set_title(name)
            ax.set_xlabel("percentile of the distances")
        axes[0, 0].set_ylabel("matched macro-F1")
        axes[0, 0].legend(fontsize="small")
        figure.savefig(path, dpi=120, format="png")
        plt.close(figure)

    rows = [
        [f"{name}, {method}", *(f"{value:.1f}" for value in values)]
        for name, of_methods in curves.items()
        for method, values in of_methods.items()
    ]
    text = (
        "Matched macro-F1 against the percentile. The source's figure 4.4: there is a range of "
        "percentiles in which kernel densities win; for heart and letter-ijl only up to 10 %."
    )
    header = ("data, method", *(f"{percentile} %" for percentile in PERCENTILES))
    return Section("Sensitivity", text, header, rows, picture, "nonparametric_mixture_percentile")


if __name__ == "__main__":
    main("nonparametric_mixture")
