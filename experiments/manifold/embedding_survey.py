"""Seven embeddings of three surfaces, as surveyed and as we find them; and links that repair one.

``python -m experiments.manifold.embedding_survey [--runs 5] [--quick]``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from experiments.harness import Section, Verdict, main, mean_and_error
from experiments.recipes.manifolds import make_paraboloid
from sidelight import Constraints
from sidelight.datasets import make_s_surface, make_swiss_roll
from sidelight.evaluation import linear_recovery
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import (
    Isomap,
    KernelPCA,
    LaplacianEigenmap,
    LocallyLinearEmbedding,
    SammonMapping,
)

TITLE = "Survey of embeddings"
VERDICTS = {
    "Parabolic surface, 2 wide": Verdict(
        "differs",
        "Isomap and LLE recover it as published; but of a surface as flat as this so do all "
        "others, in their first two coordinates; the source does not give its extent",
    ),
    "Parabolic surface, 4 wide": Verdict(
        "differs",
        "as published but for the Laplacian eigenmap and LLE, which recover two thirds",
    ),
    "Swiss roll": Verdict(
        "differs",
        "as published but for the Laplacian eigenmap: its first coordinates are waves along the "
        "roll, and the height is in none of the three",
    ),
    "S-curve": Verdict(
        "differs",
        "as published, but PCA and Sammon, which fold the curve, explain most of the variance too",
    ),
    "Cannot-links between sheets, *": Verdict(
        "no published figure",
        "a link cuts the edges beside it too, so that rows that no link names are repaired; but a "
        "single edge that is left leads all paths astray",
    ),
}

N_NEIGHBORS = 12


def wide_paraboloid(n: int, random_state: int) -> Any:
    """The paraboloid over a square twice as wide, on which the height varies most."""
    sample = make_paraboloid(n, random_state=random_state)
    return replace(sample, data=sample.data * [2.0, 2.0, 4.0])


#: Surfaces of Law 2006, section 2.10, all of 2,000 rows there, and the column of what is published.
SURFACES: dict[str, tuple[Callable[..., Any], int]] = {
    "Parabolic surface, 2 wide": (make_paraboloid, 0),
    "Parabolic surface, 4 wide": (wide_paraboloid, 0),
    "Swiss roll": (make_swiss_roll, 1),
    "S-curve": (make_s_surface, 2),
}

#: Three coordinates of every method: those that the source looks at are the first two, or the
#: second and third.
METHODS: dict[str, Callable[[], Any]] = {
    "PCA": lambda: PCA(3),
    "Sammon, from PCA": lambda: SammonMapping(),
    "kernel PCA, degree 2": lambda: KernelPCA(3, kernel="polynomial", degree=2, gamma=1.0),
    "Isomap": lambda: Isomap(3, n_neighbors=N_NEIGHBORS),
    "LLE": lambda: LocallyLinearEmbedding(3, n_neighbors=N_NEIGHBORS),
    "Laplacian eigenmap": lambda: LaplacianEigenmap(3, n_neighbors=N_NEIGHBORS),
}

#: What the source says of each method and surface, with the coordinates it shows.
PUBLISHED = {
    "PCA": ("fails", "fails", "fails"),
    "Sammon, from PCA": ("fails", "fails", "fails"),
    "kernel PCA, degree 2": ("recovers, 2 and 3", "fails", "fails"),
    "Isomap": ("recovers", "recovers", "recovers"),
    "LLE": ("recovers", "recovers", "recovers"),
    "Laplacian eigenmap": ("recovers, 2 and 3", "recovers, 2 and 3", "recovers, 1 and 2"),
}


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", EmbeddingWarning)
    n = 800 if quick else 2000
    runs = min(runs, 2 if quick else 5)
    sections = [survey(name, n, runs) for name in SURFACES]
    return [*sections, *(repaired(800, k, runs) for k in (15, 20, 30))]


def survey(name: str, n: int, runs: int) -> Section:
    """One surface by all methods: share of the true coordinates that is linear in the map."""
    surface, place = SURFACES[name]
    figures: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    maps: dict[str, np.ndarray] = {}
    for seed in range(runs):
        sample = surface(n, random_state=seed)
        for method, make in METHODS.items():
            Z = make().fit_transform(sample.data)
            first = linear_recovery(sample.coordinates, Z[:, :2])
            second = linear_recovery(sample.coordinates, Z[:, 1:3]) if Z.shape[1] > 2 else np.nan
            figures[method].append((first, second))
            if seed == 0:
                maps[method] = Z
    colors = surface(n, random_state=0).coordinates[:, 0]
    rows = [
        [
            method,
            PUBLISHED[method][place],
            mean_and_error([one for one, _ in found], digits=2),
            mean_and_error([two for _, two in found], digits=2),
        ]
        for method, found in figures.items()
    ]
    return Section(
        name,
        f"{n:,} rows, {runs} draws, {N_NEIGHBORS} neighbors. Share of the variance of the true "
        "coordinates that a linear map of two coordinates of the embedding explains; the source "
        "judges by eye.",
        ["method", "published", "coordinates 1 and 2", "coordinates 2 and 3"],
        rows,
        lambda path: draw(path, maps, colors),
        f"embedding_survey_{list(SURFACES).index(name)}",
    )


def draw(path: Path, maps: dict[str, np.ndarray], colors: np.ndarray) -> None:
    """The maps of one surface side by side, colored by the first true coordinate."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    for axis, (method, Z) in zip(axes.ravel(), maps.items(), strict=True):
        axis.scatter(Z[:, 0], Z[:, 1], c=colors, s=3, cmap="viridis")
        axis.set(title=method, xticks=[], yticks=[])
    figure.savefig(path, dpi=110)
    plt.close(figure)


def repaired(n: int, k: int, runs: int) -> Section:
    """A roll with so many neighbors that its sheets touch, and links that keep them apart."""
    numbers = (0, 5, 10, 20, 40, 80, 160)
    figures = np.empty((runs, len(numbers), 3))
    for seed in range(runs):
        sample = make_swiss_roll(n, random_state=seed)
        graph = sparse.coo_array(Isomap(n_neighbors=k).fit(sample.data).graph_)
        along = np.abs(sample.coordinates[graph.row, 0] - sample.coordinates[graph.col, 0])
        across = np.flatnonzero((along > 3 * graph.data) & (graph.row < graph.col))
        drawn = np.random.default_rng(seed).permutation(across)
        for column, number in enumerate(numbers):
            chosen = drawn[:number]
            links = np.column_stack([graph.row, graph.col])[chosen]
            known = Constraints(cannot_link=links if len(links) else None, n_samples=n)
            model = Isomap(n_neighbors=k).fit(sample.data, constraints=known)
            left = sparse.coo_array(model.graph_)
            gone = ~np.isin(graph.row * n + graph.col, left.row * n + left.col)
            unnamed = np.setdiff1d(np.arange(n), links)
            figures[seed, column] = (
                linear_recovery(sample.coordinates[unnamed], model.embedding_[unnamed]),
                np.count_nonzero(gone[across]) / max(len(across), 1),
                np.count_nonzero(gone & (along <= 3 * graph.data)) / 2,
            )
    rows = [
        [
            str(number),
            mean_and_error(figures[:, column, 0], digits=2),
            mean_and_error(figures[:, column, 1], digits=2),
            mean_and_error(figures[:, column, 2], digits=1),
        ]
        for column, number in enumerate(numbers)
    ]
    return Section(
        f"Cannot-links between sheets, {k} neighbors",
        f"Isomap of a Swiss roll of {n:,} rows with {k} neighbors, so many that edges lead from "
        f"sheet to sheet; {runs} draws. Cannot-links are drawn from these edges and cut those "
        "beside them too. Recovery is that of the rows that no link names.",
        ["cannot-links", "recovery", "edges across that were cut", "edges along that were cut"],
        rows,
    )


if __name__ == "__main__":
    main("embedding_survey")
