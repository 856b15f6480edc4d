"""Self-organizing mixture on the unit square: unfolding, and its objective beside Kohonen's map.

``python -m experiments.mixture.som_unit_square [--runs 50] [--quick]``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.harness import Section, Verdict, main
from sidelight.mixture import KohonenMap, SelfOrganizingMixture
from sidelight.mixture.som._families import SharedSphericalComponents
from sidelight.mixture.som._grid import Grid
from sidelight.mixture.som._steps import ConstrainedEM, NodeParameters

TITLE = "Self-organizing mixture on the unit square"
VERDICTS = {
    "Objective and penalty": Verdict(
        "agrees",
        "in F and in the penalty within about the printed standard deviations, and in the "
        "observation that the two maps hardly differ",
    ),
    "Sparse search for winners": Verdict(
        "agrees", "one candidate beside the winner so far does as well as all nodes"
    ),
    "Unfolding": Verdict("agrees", "the grid opens from the center without twists"),
}

N = 500

# Verbeek (2004), figure 4.4: mean and standard deviation over 50 sets of F and the penalty of the
# self-organizing mixture (SOMM) and of Kohonen's map (KSOM). By number of nodes and axes.
PRINTED = {
    (10,): ((725.0, 16.0), (728.1, 13.1), (99.5, 5.9), (108.2, 7.6)),
    (25,): ((751.1, 14.1), (758.2, 12.8), (120.2, 5.5), (124.1, 6.3)),
    (100,): ((840.0, 15.0), (848.7, 12.7), (119.6, 5.7), (124.6, 4.4)),
    (3, 3): ((730.0, 9.0), (731.6, 9.0), (115.9, 2.6), (115.0, 2.8)),
    (5, 5): ((753.2, 8.6), (754.3, 8.4), (133.9, 3.1), (135.4, 3.8)),
    (10, 10): ((797.7, 9.7), (801.9, 8.4), (149.7, 4.3), (153.9, 4.1)),
}

# The printed values are only possible without the constant -(D/2) log 2π of every row.
CONSTANT = N * np.log(2 * np.pi)

UNFOLDING = (0.03, 0.05, 0.1, 0.2, 0.4, 0.8)


def run(runs: int, quick: bool) -> list[Section]:
    shapes = [shape for shape in PRINTED if not quick or np.prod(shape) <= 25]
    return [objective_table(shapes, runs), sparse_table(min(runs, 8)), unfolding()]


def square(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(N, 2))


def objective_table(shapes: list[tuple[int, ...]], runs: int) -> Section:
    rows = []
    away = []
    for shape in shapes:
        figures = np.array([both_maps(shape, seed) for seed in range(runs)])
        row = [" x ".join(map(str, shape))]
        for number, (mean, spread) in enumerate(PRINTED[shape]):
            ours = figures[:, number]
            deviation = ours.std(ddof=1) if runs > 1 else 0.0
            row.append(f"{mean:.1f} ± {spread:.1f} / {ours.mean():.1f} ± {deviation:.1f}")
            away.append(abs(ours.mean() - mean) / spread)
        iterations = f"{figures[:, 4].mean():.0f}", f"{figures[:, 5].mean():.0f}"
        rows.append([*row, *iterations])
    text = (
        f"{N} rows uniform on the unit square, spherical Gaussians with one variance and equal "
        "weights, neighborhoods that shrink by the factor 1.1 after convergence (of Kohonen's map "
        "also after 1,000 passes) until the median winner holds 80 % of its own. Printed / ours, "
        f"mean ± standard deviation of 50 and of {runs} sets, without the constant of the Gaussian "
        "density, which the printed figures leave out. F of Kohonen's map is that of its means "
        f"with the variance that fits them best. Our means are {np.mean(away):.2f} printed "
        f"standard deviations away on average, {max(away):.2f} at most."
    )
    header = (
        "nodes",
        "F, SOMM",
        "F, KSOM",
        "penalty, SOMM",
        "penalty, KSOM",
        "our iterations, SOMM",
        "our passes, KSOM",
    )
    return Section("Objective and penalty", text, header, rows)


def both_maps(shape: tuple[int, ...], seed: int) -> tuple[float, ...]:
    """F of both maps, penalty of both, iterations of both."""
    X = square(seed)
    som = SelfOrganizingMixture(shape).fit(X)
    kohonen = KohonenMap(shape, n_epochs=None, max_iter=1000).fit(X)
    bound, penalty = measured(X, kohonen.means_, float(som.covariances_[0]), shape)
    return (
        CONSTANT - N * som.objective_,
        CONSTANT + bound,
        som.neighborhood_divergence_,
        penalty,
        som.n_iter_,
        kohonen.n_iter_,
    )


def measured(
    X: np.ndarray, means: np.ndarray, variance: float, shape: tuple[int, ...]
) -> tuple[float, float]:
    """F and penalty of given means, with the best winners and the variance of these."""
    grid = Grid(shape)
    k = grid.n_nodes
    stage = grid.neighborhood(grid.rate_of_mass(0.8))
    steps = ConstrainedEM([X], np.ones(len(X)))
    for _ in range(10):
        components = SharedSphericalComponents(
            means=means, covariances=np.full(k, variance), kind="spherical", origin=X.mean(axis=0)
        )
        parameters = NodeParameters((components,), np.full(k, -np.log(k)))
        found = steps.e_step(parameters, stage)
        squares = ((X[:, None] - means) ** 2).sum(axis=2)
        variance = float((stage.shares[found.winners] * squares).sum() / X.size)
    return found.bound, steps.log_likelihood(parameters) - found.bound


def sparse_table(runs: int) -> Section:
    printed = {(25,): (757.7, 758.0, 757.6), (5, 5): (744.3, 743.4, 744.3)}
    rows = []
    for shape, checked in printed.items():
        figures = np.array(
            [
                [
                    CONSTANT - N * SelfOrganizingMixture(shape, n_candidates=n).fit(X).objective_
                    for n in (None, 1, 3)
                ]
                for X in map(square, range(runs))
            ]
        )
        cells = [
            f"{check:.1f} / {ours:.1f}"
            for check, ours in zip(checked, figures.mean(axis=0), strict=True)
        ]
        rows.append([" x ".join(map(str, shape)), *cells])
    text = (
        "F with all nodes as candidates, and with the winner so far and the one or three nodes of "
        f"largest density only: our specification's check (8 sets) / ours ({runs} sets). The "
        "source says that one candidate works remarkably well, without a figure."
    )
    return Section(
        "Sparse search for winners", text, ("nodes", "all", "1 candidate", "3 candidates"), rows
    )


def unfolding() -> Section:
    X = square(1)
    maps = [SelfOrganizingMixture((7, 7), winner_mass=mass).fit(X) for mass in UNFOLDING]
    line = [SelfOrganizingMixture((50,), winner_mass=mass).fit(X) for mass in UNFOLDING]
    rows = [
        [
            f"{mass:.2f}",
            "no" if twisted(one.means_) else "yes",
            f"{one.topographic_error_:.1%}",
            f"{np.ptp(one.means_, axis=0).prod():.2f}",
            f"{curve.quantization_error_:.3f}",
        ]
        for mass, one, curve in zip(UNFOLDING, maps, line, strict=True)
    ]

    def picture(path: Path) -> None:
        draw(X, maps, line, path)

    text = (
        "A grid of 7 x 7 nodes and a line of 50 while the winner's share of its neighborhood grows "
        "(figures 4.2 and 4.3 of the source, which are pictures)."
    )
    header = (
        "winner's share",
        "cells all turned the same way",
        "topographic error",
        "area of the grid's box",
        "quantization error of the line",
    )
    return Section("Unfolding", text, header, rows, picture, "som_unit_square_unfolding")


def twisted(means: np.ndarray) -> bool:
    """Whether two cells of the grid are turned differently."""
    corner = means.reshape(7, 7, 2)
    across, up = np.diff(corner, axis=1)[:-1], np.diff(corner, axis=0)[:, :-1]
    turned = np.sign(across[..., 0] * up[..., 1] - across[..., 1] * up[..., 0])
    return bool(len(np.unique(turned)) > 1)


def draw(
    X: np.ndarray,
    maps: list[SelfOrganizingMixture],
    line: list[SelfOrganizingMixture],
    path: Path,
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from sidelight.display import MapDisplay

    figure, axes = plt.subplots(2, len(maps), figsize=(2.2 * len(maps), 4.8), layout="constrained")
    for row, models in zip(axes, (maps, line), strict=True):
        for ax, model, mass in zip(row, models, UNFOLDING, strict=True):
            MapDisplay.from_estimator(model, X, kind="grid", ax=ax)
            ax.set(title=f"winner's share {mass:.2f}", xlabel="", ylabel="", aspect="equal")
            ax.set_xticks([])
            ax.set_yticks([])
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(__file__).stem)
