"""Does knowledge help on rows that nothing was said about? Every method, the same knowledge.

Ten data sets, raw and standardized, at most ``ROWS`` rows each. Pairs are drawn from seven tenths
of the rows, more pairs contain fewer, and a share of them is wrong; the score is the adjusted Rand
index of the other three tenths. Methods that take labels only are told the classes of as many rows
as there are pairs. Rows that were transformed or whose features were selected go through k-means;
projections have as many dimensions as there are classes.

``python -m experiments.does_knowledge_help --runs 20 [--quick] [--keep]``
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from experiments.harness import Data, Section, Verdict, main, mean_and_error, uci_or_none
from sidelight import Constraints, catalog
from sidelight.active import ActiveClusterer, LabelOracle
from sidelight.cluster import KMeans
from sidelight.engine import threads
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import SidelightError

TITLE = "Does knowledge help"
VERDICTS = {"*": Verdict("no published figure", "the comparison is ours")}
SETS = (
    "iris",
    "wine",
    "wdbc",
    "digits",
    "ionosphere",
    "vehicle",
    "glass",
    "sonar",
    "satellite",
    "vowel",
)
ROWS = 200
SCALINGS = ("raw", "standardized")
#: Share of the rows that may be mentioned; the others are scored.
MENTIONED = 0.7
#: Methods for other data than these: documents, directions, counts, categories.
OTHER_DATA = {
    "feedback-clustering",
    "bernoulli-mixture",
    "categorical-mixture",
    "multinomial-mixture",
    "von-mises-fisher-mixture",
}
#: Methods that take half a second or more per fit run fewer draws, and none in a quick run.
SLOW = {
    "discriminative-mixture",
    "feature-saliency-mixture",
    "nonparametric-mixture",
    "projected-discriminative-mixture",
}
SLOW_RUNS = 5

BUDGET = 60
STRATEGIES = ("random", "explore-consolidate", "min-max", "npu", "cobras")
ACTIVE_CLUSTERERS = ("pckmeans", "mpckmeans")


@dataclass(frozen=True)
class Level:
    """How much is known, in pairs per row, and the share of it that is wrong."""

    pairs: float
    wrong: float = 0.0

    def __str__(self) -> str:
        if self.pairs == 0:
            return "nothing"
        amount = {0.2: "n/5", 0.5: "n/2", 1.0: "n"}[self.pairs]
        return f"{amount} pairs" + (f", {self.wrong:.0%} wrong" if self.wrong else "")


LEVELS = (Level(0), Level(0.2), Level(0.5), Level(1), Level(0.5, 0.1), Level(0.5, 0.2))
CORRECT = [number for number, level in enumerate(LEVELS) if level.pairs and not level.wrong]

#: Scores (levels, runs) of every method on every set and scaling.
Scores = dict[tuple[str, str, str], np.ndarray]


def run(runs: int, quick: bool) -> list[Section]:
    sets = SETS[:2] if quick else SETS
    names = [name for name in methods() if not (quick and name in SLOW)]
    tasks = [
        (method, name, scaling, min(runs, SLOW_RUNS) if method in SLOW else runs)
        for method in names
        for name in sets
        for scaling in SCALINGS
    ]
    questions = [
        (clusterer, strategy, name, runs)
        for clusterer in ACTIVE_CLUSTERERS
        for name in sets
        for strategy in STRATEGIES
    ]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        measured = pool.map(measure, *zip(*tasks, strict=True))
        asked = pool.map(ask, *zip(*questions, strict=True))
        scores = {
            task[:3]: result
            for task, result in zip(tasks, measured, strict=True)
            if result is not None
        }
        gains = {
            question[:3]: result
            for question, result in zip(questions, asked, strict=True)
            if result is not None
        }
    return [
        *(summary(scores, names, scaling, runs) for scaling in SCALINGS),
        losses(scores),
        active(gains, runs),
    ]


def methods() -> list[str]:
    """Names of the methods that take pairs or labels of rows like these.

    Classifiers need labels of every class, and are compared in experiments of their own.
    """
    useful = {"must-link", "cannot-link", "labels"}
    return [
        method.name
        for method in catalog.methods()
        if useful & set(method.tags.knowledge)
        and method.name not in OTHER_DATA
        and method.tags.kind != "classifier"
    ]


# ------------------------------------------------------------------ one method on one set


def load(name: str, scaling: str) -> Data | None:
    """Load at most ``ROWS`` rows of a set, or None where no source has it."""
    loaded = uci_or_none(name)
    if loaded is None:
        return None
    y = np.unique(np.asarray(loaded.target), return_inverse=True)[1]
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
    X, y = np.asarray(loaded.data, dtype=np.float64)[rows], y[rows]
    X = X[:, X.std(axis=0) > 0]
    return Data(name, StandardScaler().fit_transform(X) if scaling != "raw" else X, y)


def measure(method: str, name: str, scaling: str, runs: int) -> np.ndarray | None:
    """Score one method at every level, (levels, runs); NaN where it refuses the knowledge."""
    data = load(name, scaling)
    if data is None:
        return None
    scores = np.full((len(LEVELS), runs), np.nan)
    with threads(1), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(runs):
            draw = Draw(data.y, seed)
            for number, level in enumerate(LEVELS):
                labels = cluster(method, data, draw.knowledge(level, method), seed)
                if labels is not None:
                    scored = draw.unmentioned
                    scores[number, seed] = adjusted_rand_index(data.y[scored], labels[scored])
    print(f"{method} {name} {scaling}: {np.nanmean(scores, axis=1).round(2)}", flush=True)
    return scores


class Draw:
    """Rows of which something is said, and what."""

    def __init__(self, y: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        known = order[: int(MENTIONED * len(y))]
        self.y = y
        self.unmentioned = order[len(known) :]
        first = rng.integers(len(known), size=len(y))
        second = (first + rng.integers(1, len(known), size=len(y))) % len(known)
        self.pairs = np.column_stack([known[first], known[second]])
        self.rows = known
        self.wrong = rng.random(len(y))
        self.other = rng.integers(1, max(y.max() + 1, 2), size=len(y))

    def knowledge(self, level: Level, method: str) -> Constraints | None:
        """Return what the method takes of this much knowledge."""
        takes = catalog.get(method).tags.knowledge
        n = len(self.y)
        m = int(level.pairs * n)
        if m == 0:
            return None
        wrong = self.wrong < level.wrong
        if not {"must-link", "cannot-link"} & set(takes):
            rows = self.rows[:m]
            labels = np.full(n, -1)
            labels[rows] = np.where(
                wrong[rows], (self.y[rows] + self.other[rows]) % (self.y.max() + 1), self.y[rows]
            )
            return Constraints(labels=labels, n_samples=n)
        pairs = self.pairs[:m]
        together = (self.y[pairs[:, 0]] == self.y[pairs[:, 1]]) != wrong[:m]
        return Constraints(
            pairs[together] if "must-link" in takes else None,
            pairs[~together] if "cannot-link" in takes else None,
            n_samples=n,
        )


def cluster(method: str, data: Data, known: Constraints | None, seed: int) -> np.ndarray | None:
    """Return the labels at the defaults of the method; None if it refuses the knowledge."""
    found = catalog.get(method)
    params = inspect.signature(found.cls).parameters
    given: dict[str, Any] = {"random_state": seed} if "random_state" in params else {}
    if found.tags.kind == "clusterer":
        given[found.size_parameter] = data.k
    if found.family == "manifold":  # two dimensions are for pictures
        given[found.size_parameter] = min(data.k, data.X.shape[1])
    if found.tags.kind == "selector" and found.size_parameter in params:
        given[found.size_parameter] = max(data.X.shape[1] // 2, 1)
    model = found.cls(**given)
    k_means = KMeans(data.k, random_state=seed)
    try:
        if found.tags.kind == "clusterer":
            return np.asarray(model.fit(data.X, constraints=known).labels_)
        if known is None:
            return k_means.fit(data.X).labels_
        return k_means.fit(model.fit(data.X, constraints=known).transform(data.X)).labels_
    except SidelightError:
        return None


# ------------------------------------------------------------------ tables


def summary(scores: Scores, names: Sequence[str], scaling: str, runs: int) -> Section:
    rows = []
    for method in names:
        of_method = [
            result
            for (name, _, scaled), result in scores.items()
            if (name, scaled) == (method, scaling)
        ]
        if not of_method:
            continue
        means = np.nanmean([np.nanmean(result, axis=1) for result in of_method], axis=0)
        worse = sum(any(is_worse(result, level) for level in CORRECT) for result in of_method)
        figures = ("–" if np.isnan(mean) else f"{mean:.2f}" for mean in means)
        rows.append([method, *figures, f"{worse} of {len(of_method)}"])
    sets = sorted({name for _, name, _ in scores})
    slow = f" ({SLOW_RUNS} for {', '.join(sorted(SLOW & set(names)))})" if SLOW & set(names) else ""
    return Section(
        f"All methods, {scaling} columns",
        f"Adjusted Rand index on rows that nothing was said about, mean over {len(sets)} sets "
        f"({', '.join(sets)}; at most {ROWS} rows) and {runs} draws{slow}; – where the method "
        "refuses. The last column counts the sets on which correct knowledge, however much, gives "
        "a mean that is more than two standard errors (of the paired difference) below the same "
        "method without any.",
        ("method", *map(str, LEVELS), "worse than nothing"),
        rows,
        picture=lambda path: draw_gains(path, scores, names, scaling),
        picture_name=f"does_knowledge_help_{scaling}",
    )


def difference(result: np.ndarray, level: int) -> np.ndarray:
    """Paired differences to no knowledge, without the draws that the method refuses."""
    gained = result[level] - result[0]
    return gained[~np.isnan(gained)]


def is_worse(result: np.ndarray, level: int) -> bool:
    gained = difference(result, level)
    if len(gained) < 2:
        return False
    return bool(gained.mean() < -2 * gained.std(ddof=1) / np.sqrt(len(gained)) - 1e-9)


def losses(scores: Scores) -> Section:
    rows = [
        [method, name, scaling, str(LEVELS[level]), mean_and_error(difference(result, level))]
        for (method, name, scaling), result in scores.items()
        for level in CORRECT
        if is_worse(result, level)
    ]
    return Section(
        "Where correct knowledge makes it worse",
        "Every set and amount at which correct pairs or labels lower the score by more than two "
        "standard errors.",
        ("method", "data", "columns", "known", "difference to nothing"),
        rows,
    )


def draw_gains(path: Path, scores: Scores, names: Iterable[str], scaling: str) -> None:
    """Draw what n correct pairs bring on every set, a row per method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [name for name in names if any(key[0] == name for key in scores)]
    figure, axis = plt.subplots(figsize=(8, 0.6 + 0.26 * len(shown)), layout="constrained")
    for place, method in enumerate(shown[::-1]):
        gains = [
            difference(result, CORRECT[-1]).mean()
            for (name, _, scaled), result in scores.items()
            if (name, scaled) == (method, scaling) and len(difference(result, CORRECT[-1]))
        ]
        axis.plot(gains, np.full(len(gains), place), "o", color="#4477aa", ms=4, alpha=0.7)
        if gains:
            axis.plot([np.mean(gains)], [place], "|", color="#ee6677", ms=12, mew=2)
    axis.axvline(0, color="0.6", lw=0.8)
    axis.set(
        yticks=range(len(shown)),
        yticklabels=shown[::-1],
        xlabel=f"gain in ARI by n pairs, one dot per set (red: mean), {scaling}",
    )
    axis.tick_params(labelsize=7)
    figure.savefig(path, dpi=90)
    plt.close(figure)


# ------------------------------------------------------------------ which pairs


def ask(clusterer: str, strategy: str, name: str, runs: int) -> np.ndarray | None:
    """Score rows that the learner never sees, after questions about the others."""
    data = load(name, "standardized")
    if data is None:
        return None
    scores = []
    with threads(1), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(runs):
            order = np.random.default_rng(seed).permutation(len(data.y))
            seen, unseen = np.split(order, [int(MENTIONED * len(order))])
            estimator = catalog.get(clusterer).cls(data.k, random_state=seed)
            model = ActiveClusterer(estimator, strategy, BUDGET, random_state=seed)
            model.fit(data.X[seen], oracle=LabelOracle(data.y[seen]))
            scores.append(adjusted_rand_index(data.y[unseen], model.predict(data.X[unseen])))
    print(f"{clusterer} {strategy} {name}: {np.mean(scores):.3f}", flush=True)
    return np.array(scores)


def active(gains: dict[tuple[str, str, str], np.ndarray], runs: int) -> Section:
    rows = []
    for clusterer in ACTIVE_CLUSTERERS:
        sets = [name for of, strategy, name in gains if (of, strategy) == (clusterer, "random")]
        for strategy in STRATEGIES:
            differences = {
                name: gains[clusterer, strategy, name] - gains[clusterer, "random", name]
                for name in sets
            }
            error = {
                name: gained.std(ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else np.inf
                for name, gained in differences.items()
            }
            better = [name for name in sets if differences[name].mean() > 2 * error[name]]
            worse = [name for name in sets if differences[name].mean() < -2 * error[name]]
            mean = np.mean([gains[clusterer, strategy, name].mean() for name in sets])
            figures = [str(len(sets)), f"{mean:.3f}", ", ".join(better), ", ".join(worse)]
            rows.append([clusterer, strategy, *figures])
    return Section(
        "Asked pairs against random pairs, on rows that were never seen",
        f"Adjusted Rand index of `predict` on three tenths of the rows after {BUDGET} questions "
        f"about the others, standardized, mean over the sets and {runs} draws; sets on which the "
        "strategy is better or worse than random pairs by more than two standard errors of the "
        "paired difference.",
        ("clusterer", "strategy", "sets", "ARI", "better than random on", "worse than random on"),
        rows,
    )


if __name__ == "__main__":
    main("does_knowledge_help")
