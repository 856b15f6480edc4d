"""Which pairs are worth asking: five strategies with the same budget, against random pairs.

``python -m experiments.active.active_selection [--runs 50] [--quick]``
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.harness import Data, Section, Verdict, main, mean_and_error, uci_or_none
from sidelight import cluster
from sidelight.active import ActiveClusterer, Answers, LabelOracle
from sidelight.evaluation import pairwise_f1
from sidelight.exceptions import ConstraintWarning

TITLE = "Active selection of pairs"
VERDICTS = {
    "*questions bring": Verdict(
        "no published figure",
        "the strategies are published on other data and scores; the comparison is ours",
    ),
}
BUDGET = 100
STRATEGIES = ("random", "explore-consolidate", "min-max", "npu", "cobras")
SETS = ("iris", "wine", "digits(3,8,9)", "ionosphere")
CLUSTERERS = [name for name in ("PCKMeans", "MPCKMeans") if name in cluster.__all__]


def load(name: str) -> Data | None:
    """Load a set, or None where no source has it; standardised but for the pixels of digits."""
    loaded = uci_or_none(name.split("(")[0])
    if loaded is None:
        return None
    if name.startswith("digits"):
        chosen = np.isin(loaded.target, [3, 8, 9])
        return Data(name, loaded.data[chosen], loaded.target[chosen])
    return Data(name, StandardScaler().fit_transform(loaded.data), loaded.target)


@dataclass(frozen=True)
class Curve:
    """Scores of one strategy on one set, (looks, runs) each, and how firmly answers are placed."""

    strategy: str
    questions: np.ndarray
    f1: np.ndarray
    held_out: np.ndarray
    firmness: np.ndarray


def run(runs: int, quick: bool) -> list[Section]:
    sets = [data for data in map(load, SETS[:1] if quick else SETS) if data is not None]
    sections = []
    for clusterer in CLUSTERERS:
        curves = {
            data.name: [measure(data, clusterer, s, runs) for s in STRATEGIES] for data in sets
        }
        sections.append(report(clusterer, curves, runs))
    return sections


def measure(data: Data, clusterer: str, strategy: str, runs: int) -> Curve:
    f1, held_out, firm, questions = [], [], [], np.empty(0)
    for seed in range(runs):
        estimator = getattr(cluster, clusterer)(data.k, n_init=3, random_state=seed)
        model = ActiveClusterer(estimator, strategy, BUDGET, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            model.fit(data.X, oracle=LabelOracle(data.y))
        f1.append([pairwise_f1(data.y, labels) for _, labels in model.history_])
        held_out.append(held_out_scores(data.y, model.history_, model.answers_))
        firm.append(firmness(data.X, model.labels_, model.answers_))
        questions = np.array([n for n, _ in model.history_])
    print(f"{clusterer} {data.name} {strategy}: {np.mean(f1, axis=0)[-1]:.3f}", flush=True)
    return Curve(strategy, questions, np.transpose(f1), np.transpose(held_out), np.array(firm))


def held_out_scores(y: np.ndarray, history: list[Any], answers: Answers) -> list[float]:
    """Scores on the rows that no answer has mentioned by then."""
    scores = []
    for n, labels in history:
        free = np.ones(len(y), bool)
        for entry in answers.entries[: _place_of_question(answers, n)]:
            free[[entry.i, entry.j]] = False
        scores.append(pairwise_f1(y[free], labels[free]))
    return scores


def firmness(X: np.ndarray, labels: np.ndarray, answers: Answers) -> float:
    """Per cent by which the sum of squares rises when all rows asked about change the cluster.

    Answers that say which rows belong together leave open which cluster they belong to: that is up
    to the rows. Near 0 they do not tell. Only two clusters have one way to change.
    """
    if len(np.unique(labels)) != 2:
        return float("nan")
    asked = np.unique([(entry.i, entry.j) for entry in answers])
    changed = labels.copy()
    changed[asked] = 1 - changed[asked]
    return 100 * (sum_of_squares(X, changed) / sum_of_squares(X, labels) - 1)


def sum_of_squares(X: np.ndarray, labels: np.ndarray) -> float:
    parts = (X[labels == h] for h in np.unique(labels))
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def _place_of_question(answers: Answers, n: int) -> int:
    """Number of entries up to the n-th question, what was inferred since included."""
    asked = np.cumsum([not entry.inferred for entry in answers])
    return int(np.searchsorted(asked, n, side="right")) if n else 0


def report(clusterer: str, curves: dict[str, list[Curve]], runs: int) -> Section:
    rows = [
        [name, curve.strategy, *cells(curve, of_set[0])]
        for name, of_set in curves.items()
        for curve in of_set
    ]
    text = (
        f"Pairwise F1 of {clusterer} (three starts per fit) over all rows after "
        f"{BUDGET // 2} and {BUDGET} questions, mean ± standard error of {runs} runs; the last but "
        "one column is the mean paired difference to random pairs over all looks, with its error, "
        "and the last scores only rows that no answer mentions. Standardised data; digits as they "
        f"are. {verdict(curves)}"
    )
    header = (
        "data",
        "strategy",
        f"F1 at {BUDGET // 2}",
        f"F1 at {BUDGET}",
        "better than random by",
        f"F1 at {BUDGET}, unmentioned rows",
    )
    return Section(
        f"{clusterer}: what {BUDGET} questions bring",
        text,
        header,
        rows,
        picture=lambda path: draw(path, clusterer, curves),
        picture_name=f"active_selection_{clusterer.lower()}",
    )


def advantage(curve: Curve, random: Curve) -> np.ndarray:
    """Mean difference to random pairs over the looks after the first answers, per run."""
    return (curve.f1[1:] - random.f1[1:]).mean(axis=0)


def cells(curve: Curve, random: Curve) -> list[str]:
    half = len(curve.questions) // 2
    gained = "" if curve is random else mean_and_error(advantage(curve, random))
    return [
        mean_and_error(curve.f1[half]),
        mean_and_error(curve.f1[-1]),
        gained,
        mean_and_error(curve.held_out[-1]),
    ]


def verdict(curves: dict[str, list[Curve]]) -> str:
    """Say where asking well does not beat asking at random, and what the data contribute."""
    short = []
    for name, (random, *others) in curves.items():
        for curve in others:
            lost = {
                "over all looks": advantage(curve, random),
                "at the end": curve.f1[-1] - random.f1[-1],
            }
            where = [when for when, gained in lost.items() if gained.mean() <= 0]
            if where:
                reason = why(curve, random)
                short.append(f"{curve.strategy} on {name} ({' and '.join(where)}{reason})")
    if not short:
        return "Every strategy beats random pairs on every set."
    return f"Random pairs are not beaten by {'; by '.join(short)}."


def why(curve: Curve, random: Curve) -> str:
    """Say how it is on unmentioned rows, and whether the data tell where answered rows belong."""
    held_out = f"{curve.held_out[-1].mean():.3f} against {random.held_out[-1].mean():.3f}"
    ours, theirs = np.median(curve.firmness), np.median(random.firmness)
    if not ours < theirs / 2:  # more than two clusters, or not the reason
        return f"; on unmentioned rows {held_out}"
    return (
        f"; on unmentioned rows {held_out}. If all rows asked about changed cluster, the sum of "
        f"squares would rise by {ours:.1f} % in the median, with random pairs by {theirs:.1f} %: "
        "uncertain rows of both classes lie between the clusters, so that the answers say which of "
        "them belong together, but hardly anything says to which cluster, and where they end in "
        "the wrong one all pairs with the other rows are wrong"
    )


def draw(path: Path, clusterer: str, curves: dict[str, list[Curve]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(curves), figsize=(3.6 * len(curves), 3.6), layout="constrained", squeeze=False
    )
    for axis, (name, of_set) in zip(axes[0], curves.items(), strict=True):
        for curve in of_set:
            error = curve.f1.std(axis=1) / np.sqrt(curve.f1.shape[1])
            style = {"color": "0.5", "linestyle": "--"} if curve.strategy == "random" else {}
            axis.errorbar(
                curve.questions, curve.f1.mean(axis=1), error, label=curve.strategy, **style
            )
        axis.set(title=name, xlabel="questions")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("pairwise F1")
    axes[0, 0].legend(fontsize=8)
    figure.suptitle(f"{clusterer}: the same number of questions, asked in five ways")
    figure.savefig(path, dpi=120, format="png")
    plt.close(figure)


if __name__ == "__main__":
    main("active_selection")
