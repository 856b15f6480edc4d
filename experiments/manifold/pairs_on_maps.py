"""Do pairs help a map, on rows that no pair names?

``python -m experiments.manifold.pairs_on_maps [--runs 10] [--quick]``

Pairs are drawn among a random half of the rows and scores are those of the other half, the same at
every number of pairs.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from experiments.harness import Data, Section, Verdict, main, mean_and_error
from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import (
    IncrementalIsomap,
    Isomap,
    LandmarkIsomap,
    LaplacianEigenmap,
    LocallyLinearEmbedding,
)

TITLE = "Do pairs help a map?"
VERDICTS = {"*": Verdict("no published figure")}

METHODS = (Isomap, LandmarkIsomap, IncrementalIsomap, LaplacianEigenmap, LocallyLinearEmbedding)
#: Pairs per row.
SHARES = (0.0, 0.1, 0.25, 0.5)


def sets(quick: bool) -> list[Data]:
    found = [
        Data(name, StandardScaler().fit_transform(loaded.data), loaded.target)
        for name, loaded in (
            ("iris", load_iris()),
            ("wine", load_wine()),
            ("breast cancer", load_breast_cancer()),
        )
    ]
    digits = load_digits()
    return found if quick else [*found, Data("digits", digits.data[:900], digits.target[:900])]


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", EmbeddingWarning)
    runs = 2 if quick else min(runs, 10)
    return [one_set(data, runs) for data in sets(quick)]


def one_set(data: Data, runs: int) -> Section:
    rows = []
    for method in METHODS:
        scores = np.array([one_run(method, data, seed) for seed in range(runs)])
        cells = [
            f"{mean_and_error(scores[:, at, 0], digits=2)} / "
            f"{mean_and_error(scores[:, at, 1], digits=2)}"
            for at in range(len(SHARES))
        ]
        rows.append((method.__name__, *cells))
    n = len(data.X)
    return Section(
        data.name,
        f"{n} rows, maps of 2 coordinates with 10 neighbors. Adjusted Rand index of k-means on the "
        "map / accuracy of the 5 nearest rows on it, of the rows that no pair can name.",
        ["map", *(f"{round(share * n)} pairs" for share in SHARES)],
        rows,
    )


def one_run(method: type, data: Data, seed: int) -> list[tuple[float, float]]:
    """Both scores of the rows that are not told about, for every number of pairs."""
    rng = np.random.default_rng(seed)
    told, free = np.array_split(rng.permutation(len(data.X)), 2)
    params = {"random_state": seed} if "random_state" in method().get_params() else {}
    found = []
    for share in SHARES:
        known = pairs_among(told, data.y, round(share * len(data.X)), seed)
        places = method(2, **params).fit(data.X, constraints=known).embedding_
        labels = KMeans(data.k, random_state=seed).fit(places).labels_
        one, other = free[::2], free[1::2]
        near = KNeighborsClassifier(5).fit(places[one], data.y[one])
        found.append(
            (
                adjusted_rand_index(data.y[free], labels[free]),
                float(near.score(places[other], data.y[other])),
            )
        )
    return found


def pairs_among(told: np.ndarray, y: np.ndarray, n_pairs: int, seed: int) -> Constraints:
    """True pairs of some rows, as constraints of all."""
    if not n_pairs:
        return Constraints(n_samples=len(y))
    drawn = Constraints.sample(y[told], n_pairs, random_state=seed)
    return Constraints(told[drawn.must_link], told[drawn.cannot_link], n_samples=len(y))


if __name__ == "__main__":
    main("pairs_on_maps")
