"""Images of two objects from the same directions: each predicted from the other.

``python -m experiments.manifold.coordinated_objects [--runs 2] [--quick]``
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from experiments.harness import Section, Verdict, main
from experiments.manifold.coordinated_views import mixture_error
from experiments.recipes.rendered import render_objects
from sidelight.constraints import Correspondences
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import CoordinatedViews

TITLE = "Views of two objects"
VERDICTS = {
    "Prediction of the other object": Verdict(
        "agrees",
        "in kind: with few correspondences coordinated charts have a fraction of the error of the "
        "mixture of factor analyzers; the toys of the source are not public, so that the figures "
        "themselves cannot be compared",
    ),
}

# Verbeek (2004), figure 5.17: error of coordinated charts / mixture of factor analyzers by the
# number of charts and the share of linked images in percent.
SHARES = (2, 5, 10, 20, 50)
PRINTED = {
    1: ("4.87/6.47", "4.64/6.47", "4.21/6.42", "4.04/6.42", "3.89/6.32"),
    10: ("2.31/8.16", "1.99/5.25", "1.78/3.74", "1.54/2.51", "1.47/1.74"),
    20: ("1.44/7.21", "1.18/4.89", "1.08/4.29", "0.93/2.55", "0.84/1.02"),
    30: ("1.15/7.14", "0.96/4.71", "0.84/3.35", "0.73/2.40", "0.64/1.07"),
    40: ("1.51/7.06", "0.74/4.20", "0.68/2.71", "0.66/2.26", "0.64/0.86"),
    50: ("2.32/7.94", "0.73/4.30", "0.54/3.27", "0.50/2.34", "0.44/0.72"),
    60: ("1.49/7.36", "0.55/4.55", "0.59/2.95", "0.46/1.78", "0.36/0.89"),
}
N_COORDINATES = 3


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", EmbeddingWarning)
    runs = min(runs, 1 if quick else 2)
    numbers = (1, 10, 30) if quick else (1, 10, 30, 50)
    shares = (5, 20) if quick else SHARES
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    started = time.perf_counter()
    facts = ""
    for seed in range(runs):
        train, test, facts = draw(seed, quick)
        n = len(train[0])
        for share in shares:
            m = max(n * share // 100, N_COORDINATES + 1)
            known = Correspondences([(i, i) for i in range(m)], [n, n])
            for k in numbers:
                errors = both_errors(train, test, known, k, seed)
                found.setdefault((k, share), []).append(errors)
    rows = [
        [
            str(k),
            *(f"{PRINTED[k][SHARES.index(share)]} · {shown(found[k, share])}" for share in shares),
        ]
        for k in numbers
    ]
    text = (
        f"{facts} Coordinated charts with three coordinates / mixtures of factor analyzers with "
        "missing blocks: squared error per coordinate in both directions, coordinates scaled to "
        f"the mean variance 1 of a view; means of {runs} runs, where the source has six. Printed "
        f"(in units of the source) · ours. All fits took {time.perf_counter() - started:.0f} s."
    )
    header = ("charts", *(f"{share} % linked" for share in shares))
    return [Section("Prediction of the other object", text, header, rows)]


def draw(seed: int, quick: bool) -> tuple[list[np.ndarray], list[np.ndarray], str]:
    """Principal components of the images: training and test rows of both objects."""
    grid = (72, 18) if quick else (100, 25)
    sample = render_objects(*grid, random_state=seed)
    order = np.random.default_rng(seed).permutation(sample.n_samples)
    n_train = sample.n_samples * 4 // 5
    train, test = [], []
    explained = []
    for images in sample.views:
        pca = PCA(60 if quick else 100, random_state=0).fit(images[order[:n_train]])
        rows = pca.transform(images[order])
        rows /= np.sqrt(rows.var(axis=0).mean())
        train.append(rows[:n_train])
        test.append(rows[n_train:])
        explained.append(pca.explained_variance_ratio_.sum())
    facts = (
        f"Two rendered clouds of points from {grid[0]} longitudes and {grid[1]} latitudes, 32 x 32 "
        f"pixels, of which {pca.n_components_} principal components keep {min(explained):.0%} of "
        f"the variance; {n_train} images of each to train, {len(test[0])} pairs to test."
    )
    return train, test, facts


def both_errors(
    train: list[np.ndarray], test: list[np.ndarray], known: Correspondences, k: int, seed: int
) -> tuple[float, float]:
    model = CoordinatedViews(N_COORDINATES, n_charts=k, random_state=seed)
    model.fit(train, correspondences=known)
    ours = sum(
        float(np.mean((model.predict(test[source], source, 1 - source) - test[1 - source]) ** 2))
        for source in (0, 1)
    )
    return ours, mixture_error(train, test, known, N_COORDINATES, k, seed)


def shown(values: list[tuple[float, float]]) -> str:
    ours, theirs = np.mean(values, axis=0)
    return f"{ours:.2f}/{theirs:.2f}"


if __name__ == "__main__":
    main(Path(__file__).stem)
