"""Discriminative mixtures: Law's tables of clustering under constraints, published beside ours.

``python -m experiments.mixture.discriminative_mixture [--runs 10] [--quick]``
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from experiments.harness import Data, Section, Verdict, main, mean_and_error, uci_or_none
from sidelight import Constraints
from sidelight.cluster import MPCKMeans, PCKMeans
from sidelight.datasets import make_four_gaussians
from sidelight.evaluation import (
    class_weighted_f,
    clustering_accuracy,
    normalized_mutual_information,
)
from sidelight.mixture import DiscriminativeMixture, ProjectedDiscriminativeMixture

TITLE = "Mixtures with a constraint-violation loss"
VERDICTS = {
    "Four Gaussians, two must-links (figures 5.3 and 5.4)": Verdict("agrees"),
    "All labels and none (tables 5.2 and 5.3)": Verdict(
        "agrees", "where the preparation of the data is the same"
    ),
    "Do more constraints help?": Verdict(
        "agrees", "gains on most sets, and dips where classes overlap, as in the source"
    ),
    "* (tables 5.4 to 5.9)": Verdict(
        "differs",
        "the source reports one draw of constraints and 15 starts; ours is the mean of several "
        "draws, and lower with few constraints",
    ),
    "Two rings (figure 5.15)": Verdict("agrees"),
}

LEVELS = (1, 2, 3, 5, 10, 15)
VALIDATED = (1, 5, 15)  # levels at which prices are validated, a dozen fits each
STARTS = 15
FIRST_SEED = 100  # the default price was settled with the draws before


@dataclass(frozen=True)
class Published:
    """What the thesis reports for one set, as F and NMI.

    ``levels``: per cent of constraints to the proposed method, its validated price, the chunklet
    mixture (Shental, combined) and MPCK-means (Basu, best penalty by ground truth).
    """

    dimensions: int
    ceiling: tuple[float, float]
    free: tuple[float, float]
    levels: dict[int, tuple[tuple[float, float], float, tuple[float, float], tuple[float, float]]]


PUBLISHED = {
    "ionosphere": Published(10, (0.8519, 0.400), (0.652, 0.066), {
        1: ((0.812, 0.285), 3.2e2, (0.651, 0.046), (0.720, 0.138)),
        2: ((0.755, 0.175), 3.2e2, (0.651, 0.046), (0.721, 0.140)),
        3: ((0.724, 0.130), 3.2e3, (0.651, 0.032), (0.715, 0.132)),
        5: ((0.823, 0.367), 3.2e1, (0.650, 0.034), (0.710, 0.126)),
        10: ((0.821, 0.354), 3.2e1, (0.647, 0.027), (0.696, 0.111)),
        15: ((0.841, 0.388), 3.2e1, (0.643, 0.032), (0.676, 0.094)),
    }),
    "wdbc": Published(14, (0.9645, 0.804), (0.685, 0.005), {
        1: ((0.677, 0.175), 1.0e2, (0.672, 0.141), (0.907, 0.551)),
        2: ((0.913, 0.636), 3.2e2, (0.671, 0.151), (0.909, 0.556)),
        3: ((0.924, 0.668), 3.2e1, (0.678, 0.002), (0.909, 0.556)),
        5: ((0.879, 0.509), 3.2e1, (0.894, 0.574), (0.875, 0.444)),
        10: ((0.939, 0.688), 1.0e2, (0.795, 0.376), (0.851, 0.383)),
        15: ((0.972, 0.825), 3.2e1, (0.930, 0.685), (0.913, 0.560)),
    }),
    "heart": Published(9, (0.8550, 0.401), (0.590, 0.024), {
        1: ((0.762, 0.205), 3.2e2, (0.590, 0.024), (0.830, 0.339)),
        2: ((0.762, 0.205), 1.0e2, (0.594, 0.026), (0.830, 0.339)),
        3: ((0.762, 0.205), 1.0e2, (0.594, 0.027), (0.549, 0.012)),
        5: ((0.838, 0.366), 3.2e2, (0.594, 0.027), (0.838, 0.364)),
        10: ((0.713, 0.132), 1.0e2, (0.612, 0.037), (0.834, 0.359)),
        15: ((0.819, 0.327), 1.0e3, (0.609, 0.034), (0.830, 0.342)),
    }),
    "australian": Published(15, (0.8613, 0.438), (0.523, 0.001), {
        1: ((0.546, 0.000), 3.2e4, (0.601, 0.025), (0.537, 0.003)),
        2: ((0.616, 0.058), 3.2e2, (0.523, 0.001), (0.586, 0.021)),
        3: ((0.640, 0.069), 3.2e2, (0.523, 0.001), (0.571, 0.013)),
        5: ((0.796, 0.269), 1.0e3, (0.613, 0.000), (0.848, 0.409)),
        10: ((0.840, 0.363), 1.0e2, (0.855, 0.426), (0.855, 0.430)),
        15: ((0.851, 0.395), 3.2e3, (0.861, 0.440), (0.848, 0.407)),
    }),
    "vehicle": Published(16, (0.7869, 0.585), (0.510, 0.250), {
        1: ((0.506, 0.218), 1.0e3, (0.487, 0.185), (0.420, 0.115)),
        2: ((0.737, 0.562), 1.0e3, (0.517, 0.261), (0.418, 0.114)),
        3: ((0.523, 0.257), 3.2e3, (0.383, 0.070), (0.419, 0.113)),
        5: ((0.443, 0.132), 3.2e1, (0.475, 0.214), (0.420, 0.113)),
        10: ((0.473, 0.164), 1.0e5, (0.378, 0.069), (0.433, 0.117)),
        15: ((0.562, 0.237), 3.2e3, (0.392, 0.064), (0.425, 0.114)),
    }),
    "segment": Published(10, (0.8445, 0.776), (0.581, 0.523), {
        1: ((0.714, 0.672), 1.0e2, (0.712, 0.685), (0.711, 0.704)),
        2: ((0.721, 0.709), 1.0e4, (0.711, 0.683), (0.623, 0.577)),
        3: ((0.695, 0.621), 3.2e5, (0.715, 0.689), (0.648, 0.638)),
        5: ((0.772, 0.721), 1.0e3, (0.713, 0.689), (0.645, 0.628)),
        10: ((0.667, 0.571), 1.0e5, (0.692, 0.640), (0.638, 0.613)),
        15: ((0.739, 0.692), 3.2e4, (0.717, 0.689), (0.467, 0.395)),
    }),
    "satellite": Published(36, (0.8382, 0.717), (0.715, 0.628), {
        1: ((0.711, 0.605), 3.2e2, (0.716, 0.632), (0.714, 0.614)),
        2: ((0.719, 0.637), 3.2e1, (0.715, 0.630), (0.713, 0.613)),
        3: ((0.712, 0.585), 1.0e3, (0.715, 0.630), (0.716, 0.614)),
        5: ((0.733, 0.624), 3.2e2, (0.719, 0.638), (0.715, 0.611)),
        10: ((0.795, 0.658), 3.2e2, (0.718, 0.637), (0.719, 0.612)),
        15: ((0.796, 0.658), 1.0e4, (0.719, 0.638), (0.703, 0.610)),
    }),
    "optdigits": Published(42, (0.9516, 0.891), (0.755, 0.745), {
        1: ((0.790, 0.743), 1.0e3, (0.781, 0.779), (0.814, 0.757)),
        2: ((0.747, 0.710), 1.0e6, (0.756, 0.745), (0.815, 0.760)),
        3: ((0.827, 0.790), 1.0e3, (0.754, 0.744), (0.815, 0.755)),
        5: ((0.731, 0.707), 3.2e1, (0.779, 0.765), (0.725, 0.711)),
        10: ((0.875, 0.813), 1.0e3, (0.780, 0.765), (0.737, 0.715)),
        15: ((0.874, 0.790), 1.0e3, (0.760, 0.746), (0.803, 0.749)),
    }),
}  # fmt: skip

#: Columns with codes of more than two categories, which become indicators.
NOMINAL = {"heart": (2, 6, 12), "australian": (3, 4, 5, 11)}
LARGE = ("segment", "satellite", "optdigits")


def run(runs: int, quick: bool) -> list[Section]:
    draws = min(runs, 10)
    # The two largest sets take hours: only when many runs are asked for.
    largest = ("satellite", "optdigits") if runs < 5 else ()
    names = ("ionosphere",) if quick else tuple(name for name in PUBLISHED if name not in largest)
    levels = (5, 15) if quick else LEVELS
    return [
        illustration(10 if not quick else draws),
        unconstrained(names),
        *tables(names, levels, draws, quick),
        rings(7 if not quick else draws),
    ]


# ------------------------------------------------------------------ data as in the thesis


@cache
def load(name: str) -> Data | None:
    """Load a set and prepare it as table 5.2 says, or None where no source has it."""
    loaded = uci_or_none(name)
    if loaded is None:
        return None
    X = np.asarray(loaded.data, dtype=float)
    X = X[:, X.std(axis=0) > 0] if name == "segment" else X
    if name in NOMINAL:
        X = indicators_and_half_deviations(X, NOMINAL[name])
    elif name in ("wdbc", "vehicle", "segment"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    if name != "satellite":
        X = PCA(PUBLISHED[name].dimensions).fit_transform(X)
    return Data(name, X, loaded.target)


def indicators_and_half_deviations(X: np.ndarray, nominal: tuple[int, ...]) -> np.ndarray:
    """Categories as indicators; all other columns with standard deviation one half."""
    columns = []
    for place, column in enumerate(X.T):
        if place in nominal:
            columns += [column == value for value in np.unique(column)]
        else:
            columns.append(column / (2 * column.std()))
    return np.column_stack(columns).astype(float)


def scores(data: Data, labels: np.ndarray) -> tuple[float, float]:
    """F of the thesis (5.34) and NMI (5.35)."""
    return class_weighted_f(data.y, labels), normalized_mutual_information(data.y, labels)


def both(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.3f}/{pair[1]:.3f}"


def fit(model: Any, data: Data, known: Constraints) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # starts that lose a component are part of the protocol
        return model.fit(data.X, constraints=known)


# ------------------------------------------------------------------ four Gaussians, two must-links


def illustration(draws: int) -> Section:
    methods: dict[str, Any] = {
        "PCKMeans, penalty 10": partial(PCKMeans, 2, penalty=10.0),
        "PCKMeans, penalty 1000": partial(PCKMeans, 2, penalty=1000.0),
        "MPCKMeans": partial(MPCKMeans, 2),
        **{
            f"DiscriminativeMixture, λ = {price}": partial(
                DiscriminativeMixture, 2, penalty=price, n_init=STARTS
            )
            for price in (50.0, 250.0, 500.0)
        },
        "DiscriminativeMixture, default λ": partial(DiscriminativeMixture, 2),
        "ProjectedDiscriminativeMixture, 1 direction, λ = 250": partial(
            ProjectedDiscriminativeMixture, 2, n_directions=1, penalty=250.0, n_init=STARTS
        ),
    }
    expected = {
        "PCKMeans, penalty 10": "top/bottom, both links violated",
        "PCKMeans, penalty 1000": "top/bottom, two points flipped",
        "MPCKMeans": "top/bottom, points flipped (Basu)",
        "DiscriminativeMixture, λ = 50.0": "top/bottom, both links violated",
        "DiscriminativeMixture, λ = 250.0": "left/right, almost perfect",
        "DiscriminativeMixture, λ = 500.0": "–",
        "DiscriminativeMixture, default λ": "–",
        "ProjectedDiscriminativeMixture, 1 direction, λ = 250": "close to the x-axis",
    }
    rows = []
    for name, make in methods.items():
        accuracy, violated = [], []
        for seed in range(draws):
            data = make_four_gaussians(random_state=seed)
            wanted = Data("four", data.data, data.target)
            model = fit(make(random_state=seed), wanted, data.constraints)
            accuracy.append(clustering_accuracy(data.target, model.labels_))
            violated.append(model.n_violations_)
        rows.append(
            [
                name,
                expected[name],
                mean_and_error(accuracy),
                f"{np.mean(np.array(accuracy) > 0.95):.0%}",
                f"{np.mean(violated):.1f}",
            ]
        )
    text = (
        "400 points around (±2, ±8), two must-links that ask for left against right (Law 2006, "
        f"5.6.1); {draws} data sets, {STARTS} starts where not the default. λ is log-likelihood "
        "per violated constraint: with the divergence in units of log 2 the wanted solution has "
        "the higher objective from λ ≈ 240 on, which is where the thesis' λ = 250 lies."
    )
    header = ("method", "reported", "agreement with left/right", "found", "links violated")
    return Section("Four Gaussians, two must-links (figures 5.3 and 5.4)", text, header, rows)


# ------------------------------------------------------------------ the tables


def unconstrained(names: tuple[str, ...]) -> Section:
    rows = []
    for name in names:
        data = load(name)
        if data is None:
            continue
        none = Constraints(n_samples=len(data.y))
        model = fit(DiscriminativeMixture(data.k, n_init=STARTS, random_state=0), data, none)
        supervised = LinearDiscriminantAnalysis().fit(data.X, data.y).predict(data.X)
        published = PUBLISHED[name]
        rows.append(
            [
                name,
                both(published.ceiling),
                both(scores(data, supervised)),
                both(published.free),
                both(scores(data, model.labels_)),
                f"{model.score(data.X) * len(data.y):.4g}",
            ]
        )
    text = (
        "F/NMI. The ceiling is a Gaussian with common covariance per class, fitted to all labels; "
        "where ours differs, so does the preparation of the data. Sets of table 5.2 that are not "
        "at hand: dermatology, mfeat-fou, German credit in its numeric form, script, texture, "
        "ethnicity, the newsgroups."
    )
    header = (
        "data",
        "ceiling, published",
        "ceiling, ours",
        "no constraints, published",
        "no constraints, ours",
        "log-likelihood, ours",
    )
    return Section("All labels and none (tables 5.2 and 5.3)", text, header, rows)


@dataclass(frozen=True)
class Outcome:
    """Scores of one set: per level, (draws, 2) arrays of F and NMI, and prices."""

    name: str
    levels: tuple[int, ...]
    default: list[np.ndarray]
    validated: list[np.ndarray]
    prices: list[list[float]]


def tables(
    names: tuple[str, ...], levels: tuple[int, ...], draws: int, quick: bool
) -> list[Section]:
    outcomes = []
    for name in names:
        data = load(name)
        if data is None:
            continue
        large = name in LARGE
        some = tuple(level for level in levels if level in (1, 5, 15)) if large else levels
        n_draws = min(draws, 3) if large else draws
        outcomes.append(measure(data, some, n_draws, starts=5 if quick else STARTS))
    return [*map(section, outcomes), more_constraints(outcomes)]


def measure(data: Data, levels: tuple[int, ...], draws: int, starts: int) -> Outcome:
    default, validated, prices = [], [], []
    for level in levels:
        of_default, of_validated, of_level = [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + draws):
            known = Constraints.sample(
                data.y, protocol="level", level=level / 100, random_state=seed
            )
            model = fit(
                DiscriminativeMixture(data.k, n_init=starts, random_state=seed), data, known
            )
            of_default.append(scores(data, model.labels_))
            if data.name not in LARGE and level in VALIDATED:
                chosen = DiscriminativeMixture(
                    data.k, penalty="validate", n_init=5, random_state=seed
                )
                model = fit(chosen, data, known)
                of_validated.append(scores(data, model.labels_))
                of_level.append(model.penalty_)
        default.append(np.array(of_default))
        validated.append(np.array(of_validated))
        prices.append(of_level)
    return Outcome(data.name, levels, default, validated, prices)


def more_constraints(outcomes: list[Outcome]) -> Section:
    """Whether more constraints help: the fewest against the most, draw by draw."""
    rows = []
    for outcome in outcomes:
        levels = PUBLISHED[outcome.name].levels
        first, last = outcome.levels[0], outcome.levels[-1]
        cells = []
        for values in (outcome.default, outcome.validated):
            gains = values[-1] - values[0] if len(values[0]) else np.empty((0, 2))
            cells.append(
                f"{mean_and_error(gains[:, 0])} ({np.sum(gains[:, 0] > 0)} of {len(gains)})"
            )
        published = levels[last][0][0] - levels[first][0][0]
        rows.append([outcome.name, f"{first} to {last} %", f"{published:+.3f}", *cells])
    text = (
        "F with the most constraints less F with the fewest: published (one draw), and ours, mean "
        "± standard error and how many draws gained. Where classes overlap, as on heart, some true "
        "pairs lie on the wrong side of any boundary of this kind, and at a high price a boundary "
        "that keeps these wins over one that separates the classes. That is not for want of "
        "starts: 60 ended where 15 did in five of six draws on heart. The source reports such "
        "dips, too, and prices by validation do not avoid them."
    )
    header = ("data", "constraints", "published", "ours, default λ", "ours, validated λ")
    return Section("Do more constraints help?", text, header, rows)


def section(outcome: Outcome) -> Section:
    published = PUBLISHED[outcome.name]
    data, draws = load(outcome.name), len(outcome.default[0])
    assert data is not None
    rows = []
    for place, level in enumerate(outcome.levels):
        proposed, price, shental, basu = published.levels[level]
        rows.append(
            [
                f"{level} % ({round(level * len(data.y) / 100)})",
                f"{both(proposed)} (λ = {price:g})",
                both(shental),
                both(basu),
                spread(outcome.default[place]),
                spread(outcome.validated[place]),
                f"{np.median(outcome.prices[place]):.2g}" if outcome.prices[place] else "–",
            ]
        )
    text = (
        "F/NMI of all rows. Published: one draw of constraints, prices by validation, 15 starts; "
        f"Basu's penalty by ground truth. Ours: mean ± standard error of {draws} draws of random "
        "pairs, cumulative over the levels; with the default price, and with prices by validation "
        "from 5 starts each. The limit of 15 nats per row was settled by the scores of 5, 15, 30 "
        "and 60 on heart, australian, wdbc and ionosphere with other draws, which flatters it "
        "there; a validated price has seen no label. There are many local optima: on australian, "
        "vehicle and segment mostly one of 15 starts reaches the best, and a better objective is "
        "not always a better partition."
    )
    header = (
        "constraints",
        "proposed, published",
        "Shental, published",
        "Basu, published",
        "ours, default λ",
        "ours, validated λ",
        "median λ",
    )
    return Section(
        f"{outcome.name} (tables 5.4 to 5.9)",
        text,
        header,
        rows,
        picture=lambda path: draw(path, outcome),
        picture_name=f"discriminative_{outcome.name}",
    )


def spread(values: np.ndarray) -> str:
    if len(values) == 0:
        return "–"
    return f"{mean_and_error(values[:, 0])} / {mean_and_error(values[:, 1])}"


def draw(path: Path, outcome: Outcome) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    published = PUBLISHED[outcome.name]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for side, (axis, title) in enumerate(zip(axes, ("F", "NMI"), strict=True)):
        for values, label in (
            (outcome.default, "ours, default λ"),
            (outcome.validated, "ours, validated λ"),
        ):
            shown = [
                (n, level) for n, level in zip(outcome.levels, values, strict=True) if len(level)
            ]
            if not shown:
                continue
            means = [level[:, side].mean() for _, level in shown]
            errors = [level[:, side].std() / np.sqrt(len(level)) for _, level in shown]
            axis.errorbar([n for n, _ in shown], means, errors, marker="o", label=label)
        for place, label in ((0, "proposed"), (2, "Shental"), (3, "Basu")):
            figures: list[Any] = [published.levels[level][place] for level in outcome.levels]
            axis.plot(
                outcome.levels,
                [pair[side] for pair in figures],
                "--",
                marker="x",
                label=f"{label}, published",
                alpha=0.7,
            )
        axis.axhline(published.ceiling[side], color="0.4", linestyle="-.", label="all labels")
        axis.set(title=title, xlabel="constraints, % of rows")
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.suptitle(outcome.name)
    figure.savefig(path, dpi=120, format="png")
    plt.close(figure)


# ------------------------------------------------------------------ two rings


def rings(draws: int) -> Section:
    """Kernel PCA in front of the projection: rings of one data set after the other."""
    found: dict[str, list[float]] = {"projected": [], "spectral": []}
    violated = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        radius = np.repeat([0.3, 0.6], 100) + 0.03 * rng.normal(size=200)
        angle = rng.uniform(0, 2 * np.pi, size=200)
        X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        y = np.repeat([0, 1], 100)
        gamma = 1 / (2 * np.percentile(pdist(X), 20) ** 2)
        features = KernelPCA(20, kernel="rbf", gamma=gamma).fit_transform(X)
        known = Constraints.sample(y, 60, random_state=seed)
        model = ProjectedDiscriminativeMixture(2, penalty=100.0, n_init=STARTS, random_state=seed)
        data = Data("rings", features, y)
        found["projected"].append(clustering_accuracy(y, fit(model, data, known).labels_))
        violated.append(model.n_violations_)
        spectral = SpectralClustering(2, gamma=gamma, random_state=seed).fit_predict(X)
        found["spectral"].append(clustering_accuracy(y, spectral))
    rows = [
        [
            "kernel PCA (20), ProjectedDiscriminativeMixture (2)",
            "100 %",
            mean_and_error(found["projected"]),
            f"{np.mean(violated):.1f}",
        ],
        ["spectral clustering, same kernel", "fails", mean_and_error(found["spectral"]), "–"],
    ]
    text = (
        f"200 points in two rings, 60 random pairs, λ = 100; {draws} data sets. The rings of the "
        "source are not published; these have radii 0.3 and 0.6 and radial noise 0.03."
    )
    header = ("method", "reported", "accuracy", "violated")
    return Section("Two rings (figure 5.15)", text, header, rows)


if __name__ == "__main__":
    main("discriminative_mixture")
