"""Coordinated factor analysis on held-out rows, beside GTM, self-organizing mixtures and PCA.

``python -m experiments.manifold.coordinated_held_out [--runs 20] [--quick]``
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from experiments.harness import Section, Verdict, main, mean_and_error
from experiments.recipes.rendered import render_faces
from sidelight.datasets import make_s_surface
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import CoordinatedFactorAnalysis
from sidelight.mixture import GenerativeTopographicMap, SelfOrganizingMixture

TITLE = "Coordinated factor analysis on held-out rows"
VERDICTS = {
    "S surface": Verdict(
        "agrees",
        "the reconstruction is exact with few charts, the likelihood far above that of the maps "
        "of spheres, and it falls again beyond some 36 to 49 charts; scale and noise of the "
        "source's surface are unknown, so that the figures themselves cannot be the same",
    ),
    "Images": Verdict(
        "cannot be had",
        "the face images are not public; of our rendered ones only the order of the methods can "
        "be compared, and it is the same",
    ),
    "Maps": Verdict("no published figure", "the source has pictures only"),
}

NUMBERS = (9, 16, 25, 36, 49, 64, 81)

# Verbeek (2004), figures 5.5 and 5.6: reconstruction error and log-likelihood of test rows for
# CFA, GTM and SOMM by the number of components, and for PCA.
S_ERROR = {
    9: ("0.00", "0.31", "0.42"),
    16: ("0.00", "0.18", "0.27"),
    25: ("0.00", "0.12", "0.18"),
    36: ("0.00", "0.08", "0.14"),
    49: ("0.00", "0.09", "0.11"),
    64: ("0.00", "0.06", "0.08"),
    81: ("0.00", "0.04", "0.07"),
}
S_LIKELIHOOD = {
    9: ("0.19", "-1.82", "-1.92"),
    16: ("0.65", "-1.60", "-1.80"),
    25: ("0.73", "-1.53", "-1.68"),
    36: ("0.74", "-1.45", "-1.56"),
    49: ("0.56", "-1.39", "-1.47"),
    64: ("0.30", "-1.35", "-1.39"),
    81: ("0.01", "-1.34", "-1.34"),
}
FACE_ERROR = {
    9: ("7.0", "9.3", "9.3"),
    16: ("6.2", "8.1", "8.2"),
    25: ("5.9", "7.3", "7.4"),
    36: ("5.4", "6.8", "6.7"),
    49: ("5.4", "6.4", "6.2"),
}
FACE_LIKELIHOOD = {
    9: ("-2.40", "-3.688", "-3.682"),
    16: ("-2.33", "-3.662", "-3.632"),
    25: ("-2.29", "-3.644", "-3.591"),
    36: ("-2.26", "-3.634", "-3.553"),
    49: ("-2.26", "-3.625", "-3.521"),
}
PCA_PRINTED = {"S": ("0.685", "-1.61"), "faces": ("10.48", "-2.998")}

Figures = dict[tuple[int, str], np.ndarray]


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", EmbeddingWarning)
    numbers = (9, 25, 81) if quick else NUMBERS
    runs = min(runs, 20)
    return [s_surface(runs, numbers), images(min(runs, 5), quick), maps()]


def methods(k: int, n_neighbors: int, seed: int) -> dict[str, Any]:
    side = math.isqrt(k)
    return {
        "CFA": CoordinatedFactorAnalysis(
            2, n_charts=k, init="lle", n_neighbors=n_neighbors, random_state=seed
        ),
        "GTM": GenerativeTopographicMap((side, side)),
        "SOMM": SelfOrganizingMixture((side, side), random_state=seed),
    }


def figures_of(model: Any, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Squared error per test row, and log-likelihood of all without the constant of the rows."""
    model.fit(train)
    again = model.inverse_transform(model.transform(test))
    error = float(np.sum((again - test) ** 2, axis=1).mean())
    constant = 0.5 * test.shape[1] * np.log(2 * np.pi)
    return error, float(np.sum(model.score_samples(test) + constant))


def measured(
    draw: Any, runs: int, numbers: tuple[int, ...], n_neighbors: int
) -> tuple[Figures, np.ndarray]:
    """Figures of every method and number of components, and of PCA, a row per run."""
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    plain = []
    for seed in range(runs):
        train, test = draw(seed)
        plain.append(figures_of(PCA(2), train, test))
        for k in numbers:
            for name, model in methods(k, n_neighbors, seed).items():
                found.setdefault((k, name), []).append(figures_of(model, train, test))
    return {key: np.array(values) for key, values in found.items()}, np.array(plain)


def s_surface(runs: int, numbers: tuple[int, ...]) -> Section:
    def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rows = make_s_surface(1200, random_state=seed).data
        return rows[:600], rows[600:]

    found, plain = measured(draw, runs, numbers, 12)
    rows = table_rows(found, numbers, S_ERROR, S_LIKELIHOOD, scales=(1.0, 1e-3), digits=(3, 2))
    text = (
        f"600 training and 600 test rows, {runs} splits: squared error of the reconstruction per "
        "test row, and log-likelihood of the test rows in thousands, without the constant of the "
        "rows (as in the source). Printed / ours. No noise; noise variances do not fall below "
        "1e-4 of the variance of their column; start by locally linear embedding with 12 "
        "neighbors. PCA: "
        + pca_words("S", plain, (1.0, 1e-3))
        + ". The source's surface has another scale: its PCA error is 0.685."
    )
    return Section("S surface", text, HEADER, rows)


def images(runs: int, quick: bool) -> Section:
    size = 12 if quick else 20
    n_train, n_test = (400, 200) if quick else (1500, 500)

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rows = render_faces(n_train + n_test, size=size, noise=0.02, random_state=seed).data
        return rows[:n_train], rows[n_train:]

    numbers = (9, 25) if quick else tuple(FACE_ERROR)
    found, plain = measured(draw, runs, numbers, 14)
    rows = table_rows(
        found, numbers, FACE_ERROR, FACE_LIKELIHOOD, scales=(1.0, 1e-3), digits=(2, 1)
    )
    text = (
        f"Rendered faces of {size} x {size} pixels under two angles of pose and one of light, gray "
        f"levels from 0 to 1 with noise of 0.02; {n_train} training and {n_test} test images, "
        f"{runs} splits, where the source has 1,500 and 500 photographs of 40 x 40 pixels. Printed "
        "(error in 1e5, log-likelihood in 1e6) / ours (error per image, log-likelihood in "
        "thousands). PCA: " + pca_words("faces", plain, (1.0, 1e-3)) + "."
    )
    return Section("Images", text, HEADER, rows)


HEADER = (
    "k",
    "error, CFA",
    "error, GTM",
    "error, SOMM",
    "log-likelihood, CFA",
    "log-likelihood, GTM",
    "log-likelihood, SOMM",
)


def table_rows(
    found: Figures,
    numbers: tuple[int, ...],
    errors: dict[int, tuple[str, ...]],
    likelihoods: dict[int, tuple[str, ...]],
    *,
    scales: tuple[float, float],
    digits: tuple[int, int],
) -> list[list[str]]:
    rows = []
    for k in numbers:
        row = [str(k)]
        for column, printed in enumerate((errors, likelihoods)):
            for position, name in enumerate(("CFA", "GTM", "SOMM")):
                ours = mean_and_error(
                    found[k, name][:, column].tolist(), digits=digits[column], scale=scales[column]
                )
                row.append(f"{printed[k][position]} / {ours}")
        rows.append(row)
    return rows


def pca_words(name: str, plain: np.ndarray, scales: tuple[float, float]) -> str:
    error, likelihood = PCA_PRINTED[name]
    return (
        f"error {error} / {mean_and_error(plain[:, 0].tolist(), digits=3, scale=scales[0])}, "
        f"log-likelihood {likelihood} / "
        f"{mean_and_error(plain[:, 1].tolist(), digits=2, scale=scales[1])}"
    )


def maps() -> Section:
    """The map of the S surface with a grid, and the grid in space (figure 5.3)."""
    S = make_s_surface(1000, random_state=0)
    model = CoordinatedFactorAnalysis(2, n_charts=10, random_state=0).fit(S.data)

    def draw(path: Path) -> None:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(9, 4), layout="constrained")
        left = figure.add_subplot(1, 2, 1)
        left.scatter(*model.embedding_.T, c=S.coordinates[:, 0], s=5)
        right = figure.add_subplot(1, 2, 2, projection="3d")
        right.scatter(*S.data.T, c=S.coordinates[:, 0], s=2)
        low, high = np.quantile(model.embedding_, [0.02, 0.98], axis=0)
        for axis in (0, 1):
            for value in np.linspace(low[axis], high[axis], 9):
                line = np.empty((60, 2))
                line[:, axis] = value
                line[:, 1 - axis] = np.linspace(low[1 - axis], high[1 - axis], 60)
                left.plot(*line.T, color="0.4", lw=0.6)
                right.plot(*model.inverse_transform(line).T, color="0.2", lw=0.8)
        figure.savefig(path, dpi=90)
        plt.close(figure)

    again = model.inverse_transform(model.embedding_)
    error = float(np.sum((again - S.data) ** 2, axis=1).mean())
    text = (
        "The S surface with ten charts (figure 5.3): coordinates with a rectangular grid, colored "
        f"by the true arc length, and the grid mapped back into space. Squared error per row "
        f"{error:.4f}."
    )
    return Section("Maps", text, picture=draw, picture_name="coordinated_s_surface")


if __name__ == "__main__":
    main(Path(__file__).stem)
