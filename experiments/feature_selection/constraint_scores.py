"""Scores of features and projections from pairs: the comparison that Hamad's lecture asks for.

``python -m experiments.feature_selection.constraint_scores [--runs 10] [--quick]``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.datasets import load_uci
from sidelight.evaluation import clustering_accuracy
from sidelight.exceptions import ConstraintWarning
from sidelight.feature_selection import (
    ConstraintScore,
    FisherScore,
    ForwardConstraintSelector,
    LaplacianScore,
    VarianceScore,
)
from sidelight.manifold import ChunkletLDA, ConstrainedLPP, ConstrainedPCA

TITLE = "Constraint scores and constrained projections"
VERDICTS = {
    "Features kept, then k-means": Verdict(
        "no published figure", "the lecture describes the comparison without tables"
    ),
    "How much the ranking depends on the pairs": Verdict(
        "agrees",
        "the score that includes the Laplacian depends less on the pairs drawn, as its authors say",
    ),
    "How many pairs": Verdict("agrees", "with the check of the specification"),
    "Projections, then k-means": Verdict(
        "differs",
        "constrained PCA with a large weight drops directions of negative value here; on wine "
        "and wdbc keeping them is better",
    ),
}

SETS = ("iris", "wine", "wdbc", "ionosphere", "sonar", "segment", "digits 3, 8")
NOISE = 30
MAX_ROWS = 600

#: Methods that see the pairs, by the names of the lecture and of Kalakech et al. (2011).
FROM_PAIRS: dict[str, Callable[[Any], Any]] = {
    "C1 ratio": lambda n: ConstraintScore(n),
    "C2 difference": lambda n: ConstraintScore(n, criterion="difference"),
    "C3 locality": lambda n: ConstraintScore(n, criterion="locality"),
    "C4 Laplacian x ratio": lambda n: ConstraintScore(n, criterion="laplacian*constraint"),
    "forward search": lambda n: ForwardConstraintSelector(n),
}
WITHOUT: dict[str, Callable[[Any], Any]] = {
    "variance": lambda n: VarianceScore(n),
    "Laplacian": lambda n: LaplacianScore(n),
}


@dataclass(frozen=True)
class Table:
    X: np.ndarray
    y: np.ndarray


def load(name: str) -> Table:
    """At most 600 rows of a set, every feature that varies scaled to [0, 1]."""
    if name.startswith("digits"):
        digits = load_uci("digits")
        classes = digits.target_names
        wanted = [list(map(str, classes)).index(c) for c in ("3", "8")]
        rows = np.isin(digits.target, wanted)
        X, y = digits.data[rows], digits.target[rows]
    else:
        data = load_uci(name)
        X, y = data.data, data.target
    if len(X) > MAX_ROWS:
        rows = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
        X, y = X[rows], y[rows]
    X = X[:, X.std(axis=0) > 0]
    return Table(MinMaxScaler().fit_transform(X), y)


def with_noise(table: Table, seed: int) -> Table:
    """As many as 30 more features, uniform between 0 and 1, that say nothing."""
    noise = np.random.default_rng(seed).uniform(size=(len(table.X), NOISE))
    return Table(np.hstack([table.X, noise]), table.y)


def accuracy(X: np.ndarray, y: np.ndarray, seed: int, rows: Any = slice(None)) -> float:
    labels = KMeans(len(np.unique(y)), n_init=10, random_state=seed).fit(X).labels_
    return 100 * float(clustering_accuracy(y[rows], labels[rows]))


def concordance(rankings: np.ndarray) -> float:
    """Kendall's coefficient: 1 where all rankings (rows) agree, 0 where they are unrelated."""
    n_rankings, n_features = rankings.shape
    sums = rankings.sum(axis=0)
    spread = np.sum((sums - sums.mean()) ** 2)
    return float(12 * spread / (n_rankings**2 * (n_features**3 - n_features)))


# ------------------------------------------------------------------ sections


def run(runs: int, quick: bool) -> list[Section]:
    runs = min(runs, 10)
    sets = SETS[:3] if quick else SETS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        return [
            half_of_the_features(sets, runs),
            stability(sets, runs),
            number_of_pairs(runs, quick),
            projections(sets[:4], runs),
        ]


def half_of_the_features(sets: tuple[str, ...], runs: int) -> Section:
    rows = []
    for name in sets:
        plain = load(name)
        n = len(plain.X)
        found: dict[str, list[float]] = {}
        for seed in range(runs):
            table = with_noise(plain, seed)
            half = plain.X.shape[1]
            known = Constraints.sample(plain.y, n // 2, random_state=seed)
            found.setdefault("all", []).append(accuracy(table.X, table.y, seed))
            for method, make in WITHOUT.items():
                Z = make(half).fit_transform(table.X)
                found.setdefault(method, []).append(accuracy(Z, table.y, seed))
            for method, make in FROM_PAIRS.items():
                Z = make(half).fit(table.X, constraints=known).transform(table.X)
                found.setdefault(method, []).append(accuracy(Z, table.y, seed))
            Z = FisherScore(half).fit(table.X, table.y).transform(table.X)
            found.setdefault("Fisher, all labels", []).append(accuracy(Z, table.y, seed))
        clean = accuracy(plain.X, plain.y, 0)
        rows.append(
            [
                f"{name} ({plain.X.shape[1]})",
                f"{clean:.1f}",
                *(mean_and_error(values, digits=1) for values in found.values()),
            ]
        )
    text = (
        f"Each set with {NOISE} features of noise more; as many features as it really has (in "
        "brackets) are kept (forward search: at most). Accuracy (percent) of k-means with 10 "
        f"starts on them, features scaled to [0, 1], n/2 random pairs, {runs} draws (mean ± "
        f"standard error); of larger sets {MAX_ROWS} rows. The lecture has no tables; this is the "
        'comparison that it describes. "Without noise" is k-means on the true features. Where '
        "noise costs k-means most (iris, wine, segment), scores that see the pairs win much of it "
        "back; variance prefers the noise. On ionosphere only the forward search gains, which "
        "keeps few features; the classes of sonar are not clusters of any features."
    )
    header = (
        "data",
        "without noise",
        "all",
        *WITHOUT,
        *FROM_PAIRS,
        "Fisher, all labels",
    )
    return Section("Features kept, then k-means", text, header, rows)


def stability(sets: tuple[str, ...], runs: int) -> Section:
    rows = []
    scores = [name for name in FROM_PAIRS if name.startswith("C")]
    for name in sets:
        table = load(name)
        fisher = FisherScore().fit(table.X, table.y).ranking_
        cells = []
        for method in scores:
            rankings = np.array(
                [
                    FROM_PAIRS[method](None)
                    .fit(table.X, constraints=Constraints.sample(table.y, 20, random_state=seed))
                    .ranking_
                    for seed in range(runs)
                ]
            )
            likeness = np.mean([spearmanr(ranking, fisher).statistic for ranking in rankings])
            cells.append(f"{concordance(rankings):.2f} / {likeness:.2f}")
        rows.append([name, *cells])
    text = (
        f"Kendall's concordance of the rankings from {runs} draws of only 20 pairs / their mean "
        "rank correlation with the Fisher score of all labels. Kalakech et al. (2011) propose C4 "
        "because it depends less on which pairs were drawn: the Laplacian score in it is the same "
        "for all draws. Here it is steadier than C1 on all sets but iris and nearer to Fisher's "
        "ranking on all but sonar, where neighbours follow other things than the classes. C2 sees "
        "the spread of the features, also after scaling to [0, 1]."
    )
    return Section("How much the ranking depends on the pairs", text, ("data", *scores), rows)


def number_of_pairs(runs: int, quick: bool) -> Section:
    sets = ("wine", "wdbc") if quick else ("wine", "wdbc", "ionosphere", "segment")
    numbers = (10, 60, 240) if quick else (10, 20, 40, 60, 120, 240, 480)
    scores = [name for name in FROM_PAIRS if name.startswith("C")]
    curves: dict[str, dict[str, list[float]]] = {}
    rows = []
    for name in sets:
        table = load(name)
        fisher = FisherScore().fit(table.X, table.y).ranking_
        curves[name] = {}
        for method in scores:
            values = []
            for number in numbers:
                likeness = []
                for seed in range(runs):
                    known = Constraints.sample(table.y, number, random_state=seed)
                    model = FROM_PAIRS[method](None).fit(table.X, constraints=known)
                    likeness.append(spearmanr(model.ranking_, fisher).statistic)
                values.append(float(np.mean(likeness)))
            curves[name][method] = values
            rows.append([name, method, *(f"{value:.2f}" for value in values)])

    def picture(path: Path) -> None:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(
            1, len(sets), figsize=(3.2 * len(sets), 3.2), sharey=True, layout="constrained"
        )
        for ax, name in zip(axes, sets, strict=True):
            for method, values in curves[name].items():
                ax.plot(numbers, values, "o-", markersize=3, label=method)
            ax.set(xscale="log", title=name, xlabel="pairs")
        axes[0].set_ylabel("rank correlation with Fisher")
        axes[-1].legend(fontsize=7)
        figure.savefig(path, dpi=130, format="png")
        plt.close(figure)

    text = (
        f"Mean rank correlation with the Fisher score of all labels, {runs} draws. When the scores "
        "were specified, 60 pairs on wine gave 0.87 for C1."
    )
    header = ("data", "score", *map(str, numbers))
    return Section(
        "How many pairs", text, header, rows, picture=picture, picture_name="constraint_scores"
    )


PROJECTIONS: dict[str, Callable[[int], Any]] = {
    "PCA": lambda k: PCA(k),
    "constrained PCA, β = 1": lambda k: ConstrainedPCA(k),
    "constrained PCA, β = 20": lambda k: ConstrainedPCA(k, penalty=(20, 1)),
    "constrained LPP": lambda k: ConstrainedLPP(k),
    "chunklet LDA": lambda k: ChunkletLDA(k),
}

#: Constrained PCA when it was specified, five draws of n/4, n/2 and n pairs, β = 1 and 20.
SPECIFIED = {
    "iris": ((83.6, 83.2, 83.2), (94.0, 92.8, 92.8)),
    "wine": ((95.5, 96.2, 96.2), (92.1, 94.8, 95.8)),
    "wdbc": ((91.7, 91.7, 91.6), (92.0, 86.5, 91.8)),
}


def projections(sets: tuple[str, ...], runs: int) -> Section:
    rows = []
    for name in sets:
        table = load(name)
        X, k = StandardScaler().fit_transform(table.X), len(np.unique(table.y))
        for part, divisor in enumerate((4, 2, 1)):
            found: dict[str, list[tuple[float, float]]] = {method: [] for method in PROJECTIONS}
            for seed in range(runs):
                known = Constraints.sample(table.y, len(X) // divisor, random_state=seed)
                free = np.setdiff1d(np.arange(len(X)), known.mentioned)
                for method, make in PROJECTIONS.items():
                    model = make(k)
                    asked = {} if method == "PCA" else {"constraints": known}
                    Z = model.fit(X, **asked).transform(X)
                    found[method].append(
                        (accuracy(Z, table.y, seed), accuracy(Z, table.y, seed, free))
                    )
            cells = []
            for method, values in found.items():
                both = np.mean(values, axis=0)
                cell = f"{both[0]:.1f} / {both[1]:.1f}"
                if name in SPECIFIED and "β" in method:
                    cell += f" ({SPECIFIED[name]['20' in method][part]:.1f})"
                cells.append(cell)
            rows.append([name, ("n/4", "n/2", "n")[part], *cells])
    text = (
        "k-means with 10 starts after a projection to as many dimensions as there are classes, "
        f"standardised features, {runs} draws: accuracy in percent of all rows / of those in no "
        "pair. In brackets what was measured when constrained PCA was specified (all rows). The "
        "published β = 20 is a gain on iris and ionosphere and a loss on wine and wdbc: it has to "
        "be chosen on pairs that were held out. Only directions in which the rows spread more than "
        "must-links do are kept, with a warning: on wine often one of three, which costs more than "
        "the figures in brackets, where all three were taken. LPP gives every direction the same "
        "spread, also those that only neighbours care about."
    )
    return Section("Projections, then k-means", text, ("data", "pairs", *PROJECTIONS), rows)


if __name__ == "__main__":
    main("constraint_scores")
