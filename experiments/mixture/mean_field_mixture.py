"""Mixtures under violation penalties by mean field: chapter 5 of the book beside ours.

``python -m experiments.mixture.mean_field_mixture [--runs 50] [--quick]``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.harness import Section, Verdict, main, mean_and_error
from experiments.recipes.clouds import make_gap_clouds
from sidelight import Constraints
from sidelight.cluster import MPCKMeans, PCKMeans
from sidelight.evaluation import class_weighted_f
from sidelight.exceptions import ConstraintWarning
from sidelight.mixture import ChunkletMixture, MeanFieldMixture, PenalizedMixture

TITLE = "Violation penalties by mean field"
VERDICTS = {
    "Four clouds (table 5.1)": Verdict(
        "agrees", "within the spread of draws; the source reports one draw per cell"
    ),
    "With wrong pairs": Verdict(
        "differs",
        "mean field with wrong pairs reaches about .90 where the source prints .995 for one draw",
    ),
    "A mosaic of textures (table 5.4)": Verdict(
        "cannot be had",
        "textures and noise of the image are not public; it is rebuilt after its description",
    ),
}

# Table 5.1, the toy: per cent of the rows -> F-score (apparently one draw each).
TOY = {
    "ChunkletMixture": {1: 0.540, 5: 0.560, 10: 0.560, 15: 0.580, 30: 0.535, 50: 1.0},
    "PCKMeans": {1: 0.540, 5: 0.545, 10: 0.535, 15: 0.590, 30: 0.535, 50: 1.0},
    "PenalizedMixture, pairs": {1: 0.535, 5: 0.545, 10: 0.55, 15: 0.53, 30: 0.535, 50: 1.0},
    "MeanFieldMixture": {1: 1.0, 5: 1.0, 10: 0.995, 15: 0.995, 30: 0.995, 50: 0.995},
}
# Table 5.4, the Mondrian image.
MONDRIAN = {
    "ChunkletMixture": {1: 0.830, 5: 0.831, 10: 0.840, 15: 0.829},
    "MPCKMeans": {1: 0.761, 5: 0.801, 10: 0.821, 15: 0.776},
    "PenalizedMixture, pairs": {1: 0.799, 5: 0.785, 10: 0.772, 15: 0.8165},
    "MeanFieldMixture": {1: 0.772, 5: 0.829, 10: 0.972, 15: 0.98},
}


def mean_field(k: int, weight: Any, seed: int) -> MeanFieldMixture:
    """The pairs are right, and trusted as in the source."""
    return MeanFieldMixture(k, penalty=1000.0, constrained_weight=weight, random_state=seed)


Learner = Callable[[int, int], Any]
MAKERS: dict[str, Learner] = {
    "ChunkletMixture": lambda k, seed: ChunkletMixture(k, random_state=seed, inference="forest"),
    "PCKMeans": lambda k, seed: PCKMeans(k, random_state=seed),
    "MPCKMeans": lambda k, seed: MPCKMeans(k, random_state=seed),
    "PenalizedMixture, pairs": lambda k, seed: PenalizedMixture(
        k, penalty=np.inf, random_state=seed
    ),
    "MeanFieldMixture": lambda k, seed: mean_field(k, "auto", seed),
    "MeanFieldMixture, η = 1": lambda k, seed: mean_field(k, 1.0, seed),
    "MeanFieldMixture, η = 30": lambda k, seed: mean_field(k, 30.0, seed),
}


def run(runs: int, quick: bool) -> list[Section]:
    sections = [toy(runs), noisy(runs)]
    if not quick:
        sections.append(mondrian(max(runs // 10, 2)))
    return sections


def fit(name: str, k: int, seed: int, X: np.ndarray, known: Constraints) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ConstraintWarning)
        part = disjoint(known, seed) if name.endswith("pairs") else known
        return MAKERS[name](k, seed).fit(X, constraints=part)


def disjoint(known: Constraints, seed: int) -> Constraints:
    """Drop pairs until no row is in two: the source's hard PPC with parts of at most two rows."""
    pairs = np.concatenate([known.must_link, known.cannot_link])
    must = np.arange(len(pairs)) < len(known.must_link)
    used: set[int] = set()
    kept = []
    for place in np.random.default_rng(seed).permutation(len(pairs)):
        ends = {int(row) for row in pairs[place]}
        if not ends & used:
            used |= ends
            kept.append(place)
    chosen = np.zeros(len(pairs), dtype=bool)
    chosen[kept] = True
    return Constraints(pairs[chosen & must], pairs[chosen & ~must], n_samples=known.n_samples)


# ------------------------------------------------------------------ the toy


def toy(runs: int) -> Section:
    names = [*TOY, "MeanFieldMixture, η = 1", "MeanFieldMixture, η = 30"]
    amounts = list(TOY["PCKMeans"])
    found: dict[str, dict[int, list[float]]] = {}
    for name in names:
        found[name] = {
            amount: [toy_score(name, amount, seed) for seed in range(runs)] for amount in amounts
        }
    rows = [
        [
            name,
            *(
                (f"{TOY[name][a]:.3f} / " if name in TOY else "– / ")
                + mean_and_error(found[name][a], digits=2)
                for a in amounts
            ),
        ]
        for name in names
    ]
    text = (
        "F-score weighted by classes, published / ours, at constraints for so many per cent of the "
        f"200 rows; published apparently one draw per cell, ours mean ± standard error of {runs}. "
        "Clouds at (±1, ±1.5) of standard deviation 0.35; random pairs; labels by the mixture or "
        "the centres alone. The weight η of MeanFieldMixture is chosen from 1 to 300 on held-out "
        "pairs (on all pairs below 60). The first method is the chapter's GMM-Sh; ours starts once "
        "from random labels that comply, which may be why it does better than published. The third "
        "is hard PPC with parts cut down to pairs. A "
        "perfect score from two pairs (1 %) is luck of the draw: some draws say nothing about the "
        "split, or what both splits satisfy."
    )
    header = ("method", *(f"{amount} %" for amount in amounts))
    return Section(
        "Four clouds (table 5.1)",
        text,
        header,
        rows,
        picture=lambda path: draw(path, found, amounts),
        picture_name="mean_field_mixture_toy",
    )


def toy_score(name: str, amount: int, seed: int) -> float:
    data = make_gap_clouds(random_state=seed)
    X, y = data.data, data.target
    known = Constraints.sample(y, 2 * amount, random_state=seed)
    return float(class_weighted_f(y, fit(name, 2, seed, X, known).predict(X)))


def draw(path: Path, found: dict[str, dict[int, list[float]]], amounts: list[int]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for name, scores in found.items():
        means = [np.mean(scores[amount]) for amount in amounts]
        errors = [np.std(scores[amount]) / np.sqrt(len(scores[amount])) for amount in amounts]
        axis.errorbar(amounts, means, errors, marker="o", label=name)
    axis.set(xscale="log", xticks=amounts, xlabel="constraints, % of the rows", ylabel="F-score")
    axis.set_xticklabels([str(amount) for amount in amounts])
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=120, format="png")
    plt.close(figure)


def noisy(runs: int) -> Section:
    """A fifth of the pairs of the 50 % set says the opposite."""
    scores: dict[str, list[float]] = {"λ = 1000": [], "λ = log 4": [], "hard": []}
    for seed in range(runs):
        data = make_gap_clouds(random_state=seed)
        X, y = data.data, data.target
        known = Constraints.sample(y, 100, random_state=seed).flip(0.2, random_state=seed)
        for name, penalty in (("λ = 1000", 1000.0), ("λ = log 4", float(np.log(4)))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = MeanFieldMixture(
                    2, penalty=penalty, constrained_weight="auto", random_state=seed
                )
                model.fit(X, constraints=known)
            scores[name].append(float(class_weighted_f(y, model.predict(X))))
        if known.contradiction() is None and known.feasibility(2):
            model = fit("ChunkletMixture", 2, seed, X, known)
            scores["hard"].append(float(class_weighted_f(y, model.predict(X))))
    rows = [
        ["MeanFieldMixture, λ = 1000", "0.995", mean_and_error(scores["λ = 1000"])],
        ["MeanFieldMixture, λ = log 4", "–", mean_and_error(scores["λ = log 4"])],
        [
            f"ChunkletMixture (possible in {len(scores['hard'])} of {runs} draws)",
            "at best 0.835",
            mean_and_error(scores["hard"]),
        ],
    ]
    text = (
        "100 pairs on the toy, 20 % of them flipped, η chosen; log 4 is the logarithm of the odds "
        "that a pair is right. Where wrong pairs contradict right ones, a method that satisfies "
        "everything refuses."
    )
    return Section("With wrong pairs", text, ("method", "published", "ours"), rows)


# ------------------------------------------------------------------ Mondrian


def mondrian_image(seed: int, n_sites: int = 45) -> tuple[np.ndarray, np.ndarray]:
    """A mosaic of three oriented textures and two noisy grey levels, 24 features at every site."""
    rng = np.random.default_rng(seed)
    side = 5 * n_sites + 12
    across, down = np.meshgrid(np.arange(side), np.arange(side))
    waves = [
        np.sin(2 * np.pi * (across * np.cos(a) + down * np.sin(a)) / 4)
        for a in (0, np.pi / 4, np.pi / 2)
    ]
    grey = [np.full((side, side), level) for level in (-0.25, 0.25)]
    layers = [layer + rng.normal(0, 2.0, (side, side)) for layer in (*waves, *grey)]
    segment = np.zeros((side, side), dtype=int)
    third = side // 3
    segment[:third, third:] = 1
    segment[third:, :third] = 2
    segment[third : 2 * third, third:] = 3
    segment[2 * third :, third:] = 4
    image = np.choose(segment, layers)
    corners = 5 * np.arange(n_sites) + 6
    rows, columns = (grid.ravel() for grid in np.meshgrid(corners, corners, indexing="ij"))
    return site_features(image, rows, columns), segment[rows, columns]


def site_features(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Grey-level histograms of 12 bins and 12 mean Gabor energies around every site."""
    from scipy.ndimage import gaussian_filter, uniform_filter

    edges = np.quantile(image, np.linspace(0, 1, 13))
    bins = np.clip(np.searchsorted(edges, image) - 1, 0, 11)
    features = [uniform_filter((bins == b).astype(float), 11) for b in range(12)]
    across, down = np.meshgrid(np.arange(image.shape[1]), np.arange(image.shape[0]))
    for angle in np.arange(4) * np.pi / 4:
        for wavelength in (2, 4, 8):
            phase = 2 * np.pi * (across * np.cos(angle) + down * np.sin(angle)) / wavelength
            real = gaussian_filter(image * np.cos(phase), wavelength / 2)
            imaginary = gaussian_filter(image * np.sin(phase), wavelength / 2)
            features.append(uniform_filter(np.hypot(real, imaginary), 11))
    stacked = np.array([feature[rows, columns] for feature in features]).T
    # The bins of a histogram add up to 1: the last one says nothing new.
    stacked = np.delete(stacked, 11, axis=1)
    return (stacked - stacked.mean(axis=0)) / stacked.std(axis=0)


def mondrian(runs: int) -> Section:
    names = list(MONDRIAN)
    amounts = (1, 5, 10, 15)
    scores: dict[tuple[str, int], list[float]] = {}
    for seed in range(runs):
        X, y = mondrian_image(seed)
        for amount in amounts:
            known = Constraints.sample(y, round(amount * len(y) / 100), random_state=seed)
            for name in names:
                maker = "MeanFieldMixture, η = 1" if name == "MeanFieldMixture" else name
                found = class_weighted_f(y, fit(maker, 5, seed, X, known).predict(X))
                scores.setdefault((name, amount), []).append(float(found))
    rows = [
        [
            name,
            *(
                f"{MONDRIAN[name][a]:.3f} / {mean_and_error(scores[name, a], digits=2)}"
                for a in amounts
            ),
        ]
        for name in names
    ]
    text = (
        "Published / ours, F-score. The image is rebuilt after its description (three textures, "
        "two noisy grey levels, features of histograms and Gabor energies) on 45 x 45 sites, not "
        f"101 x 101, with other textures and noise: the levels cannot agree, {runs} images. "
        "MeanFieldMixture with η = 1, as its choice takes many fits."
    )
    header = ("method", *(f"{amount} %" for amount in amounts))
    return Section("A mosaic of textures (table 5.4)", text, header, rows)


if __name__ == "__main__":
    main("mean_field_mixture")
