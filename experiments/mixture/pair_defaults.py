"""What a violated pair should cost: the defaults of PenalizedMixture and MeanFieldMixture.

``python -m experiments.mixture.pair_defaults [--runs 50] [--quick]``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.harness import Data, Section, Verdict, main, mean_and_error, uci_or_none
from sidelight import Constraints
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import ConstraintWarning
from sidelight.mixture import GaussianMixture, MeanFieldMixture, PenalizedMixture

TITLE = "What a violated pair should cost"
VERDICTS = {
    "*": Verdict("no published figure", "the sources give no rule; this is how ours was chosen")
}

#: Fixed prices in nats (our defaults before), and multiples of what "auto" takes.
FIXED = (6.0, 1000.0)
MULTIPLES = (0.5, 1.0, 2.0)

DIMENSIONS = (2, 5, 18, 30, 60)
NOISE = (0.0, 0.05, 0.2)
#: Pairs per row.
AMOUNTS = (0.1, 0.5, 1.0)

Fit = Callable[[Data, Constraints, float | str, int], Any]


def penalized(data: Data, known: Constraints, nats: float | str, seed: int) -> Any:
    price = nats if isinstance(nats, str) else nats / 2
    return PenalizedMixture(data.k, penalty=price, random_state=seed).fit(data.X, constraints=known)


def mean_field(data: Data, known: Constraints, nats: float | str, seed: int) -> Any:
    return MeanFieldMixture(data.k, penalty=nats, random_state=seed).fit(data.X, constraints=known)


METHODS: dict[str, tuple[Fit, float]] = {
    "PenalizedMixture": (penalized, 2.0),
    "MeanFieldMixture": (mean_field, 1.0),
}


def run(runs: int, quick: bool) -> list[Section]:
    sections = []
    for name in METHODS:
        figures = collect(name, runs, quick)
        sections.append(table(name, figures, 0, runs))
        sections.append(table(name, figures, 1, runs))
    return sections


def sets(seed: int, quick: bool) -> Iterator[Data]:
    for d in DIMENSIONS[::2] if quick else DIMENSIONS:
        yield Data(f"{d} dimensions", *clouds(d, 600, seed))
    for name in () if quick else ("wine", "vehicle", "ionosphere", "sonar"):
        found = uci_or_none(name)
        if found is not None:
            yield Data(name, np.asarray(found.data, dtype=float), found.target)


def clouds(d: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping Gaussians of different shapes; their distance is that in any dimension."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = rng.normal(size=(3, d)) * 2.5 / np.sqrt(d)
    shapes = np.eye(d) + 0.5 * rng.normal(size=(3, d, d)) / np.sqrt(d)
    return np.einsum("nij,nj->ni", shapes[y], rng.normal(size=(n, d))) + means[y], y


def collect(name: str, runs: int, quick: bool) -> dict[tuple[str, float, float], np.ndarray]:
    """ARI on rows in no pair and violated share, shape (runs, prices and plain, 2)."""
    found: dict[tuple[str, float, float], list[np.ndarray]] = {}
    for seed in range(runs):
        for data in sets(seed, quick):
            for noise in NOISE[::2] if quick else NOISE:
                for amount in AMOUNTS[1:2] if quick else AMOUNTS:
                    key = (data.name, noise, amount)
                    found.setdefault(key, []).append(compare(name, data, noise, amount, seed))
    return {key: np.array(values) for key, values in found.items()}


def compare(name: str, data: Data, noise: float, amount: float, seed: int) -> np.ndarray:
    fit, unit = METHODS[name]
    n_pairs = int(amount * len(data.y))
    known = Constraints.sample(data.y, n_pairs, random_state=seed).flip(noise, random_state=seed)
    free = np.ones(len(data.y), dtype=bool)
    free[known.must_link] = free[known.cannot_link] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ConstraintWarning)
        plain = GaussianMixture(data.k, random_state=seed).fit(data.X)
        automatic = fit(data, known, "auto", seed)
        nats = unit * automatic.penalty_
        prices = [*FIXED, *(multiple * nats for multiple in MULTIPLES if multiple != 1.0)]
        models = [fit(data, known, price, seed) for price in prices]
    models.insert(len(FIXED) + MULTIPLES.index(1.0), automatic)
    return np.array(
        [
            [
                adjusted_rand_index(data.y[free], model.predict(data.X[free])),
                known.violations(model.labels_).n / n_pairs,
            ]
            for model in [plain, *models]
        ]
    )


def table(
    name: str, figures: dict[tuple[str, float, float], np.ndarray], which: int, runs: int
) -> Section:
    header = (
        "data",
        "wrong",
        "pairs per row",
        "no pairs",
        *(f"{price:g} nats" for price in FIXED),
        *("auto" if multiple == 1.0 else f"{multiple:g} auto" for multiple in MULTIPLES),
    )
    rows = [
        [
            data,
            f"{noise:.0%}",
            f"{amount:g}",
            *(
                mean_and_error(values[:, place, which], digits=2)
                for place in range(len(header) - 3)
            ),
        ]
        for (data, noise, amount), values in figures.items()
    ]
    of_all = np.concatenate(list(figures.values()))[:, :, which].mean(axis=0)
    rows.append(["mean", "", "", *(f"{value:.2f}" for value in of_all)])
    what = ("Adjusted Rand index on the rows in no pair", "Share of the stated pairs violated")[
        which
    ]
    text = (
        f"{what}, mean ± standard error of {runs} draws. Three overlapping Gaussians of different "
        "shapes, and sets of UCI where they are at hand; a price in nats for a violated pair. "
        '"auto" is half the median log-odds of the best component of a row against its second '
        "best, in a mixture without pairs."
    )
    title = ("on rows in no pair", "pairs violated")[which]
    return Section(f"{name}: {title}", text, header, rows)


if __name__ == "__main__":
    main("pair_defaults")
