"""SemiBoost beside the learners that it wraps and its competitors: tables 3.1 to 3.3 of the thesis.

``python -m experiments.semi_supervised.semiboost [--runs 20] [--quick]``

The protocol: a set is cut in halves at random; one half is the training set, of which 10 rows are
labeled (at least one of each class), the other half is the test set. Columns are standardized by
the training half, except pixels, which have one unit. Significant is a paired t-test over the runs
at 95 %.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import ttest_rel
from sklearn.ensemble import AdaBoostClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from experiments.harness import Section, Verdict, main, uci_or_none
from experiments.recipes.topics import make_topics
from sidelight.datasets import make_rings
from sidelight.semi_supervised import (
    TSVM,
    LapSVM,
    LowDensitySeparation,
    SemiBoostClassifier,
)

TITLE = "SemiBoost and its competitors"

N_LABELED = 10
RUNS = 20

#: Sets whose columns are pixels of one image.
PIXELS = ("optdigits", "satellite", "digits")

#: Classes of table 3.1 by their place among the sorted classes; published accuracies of
#: DS, SB-DS, J48, SB-J48, SVM, SB-SVM, TSVM, ILDS, LapSVM ("-": no convergence in 20 hours).
PUBLISHED_31: dict[str, tuple[str, tuple[int, int], tuple[float, ...]]] = {
    "austra": (
        "australian",
        (0, 1),
        (60.39, 73.46, 60.12, 73.36, 65.64, 71.36, 73.38, 66.00, 74.38),
    ),
    "heart": ("heart", (0, 1), (68.26, 79.48, 67.67, 78.78, 70.59, 79.00, 77.63, 77.11, 77.96)),
    "wdbc": ("wdbc", (0, 1), (79.47, 88.98, 75.95, 89.82, 75.74, 88.82, 86.40, 85.07, 91.07)),
    "vehicle": ("vehicle", (0, 2), (60.48, 69.31, 60.89, 70.25, 78.28, 72.29, 63.62, 66.28, 71.38)),
    "texture": (
        "texture",
        (1, 2),
        (95.67, 98.90, 89.46, 98.50, 98.44, 99.91, np.nan, 98.38, 99.11),
    ),
    "image": ("segment", (0, 1), (89.64, 100.0, 87.03, 99.79, 99.92, 100.0, 91.91, 100.0, 99.95)),
    "optdigits": (
        "optdigits",
        (2, 4),
        (65.91, 93.22, 65.59, 93.33, 90.31, 96.35, 92.34, 96.40, 98.34),
    ),
    "sat": ("satellite", (0, 5), (82.77, 85.99, 83.80, 86.55, 99.13, 87.71, np.nan, 94.20, 99.12)),
}
COLUMNS_31 = ("DS", "SB-DS", "J48", "SB-J48", "SVM", "SB-SVM", "TSVM", "ILDS", "LapSVM")

#: Rows small, AdaBoost small, SemiBoost, large, AdaBoost large for the stump and the tree.
PUBLISHED_32 = {
    ("stump", "austra"): (60.39, 62.55, 73.46, 79.36, 81.70),
    ("stump", "bupa"): (54.94, 56.45, 55.78, 57.71, 68.44),
    ("stump", "wdbc"): (79.47, 70.02, 88.98, 90.42, 94.44),
    ("stump", "optdigits"): (65.91, 63.20, 93.22, 90.26, 99.98),
    ("J48", "austra"): (60.12, 60.68, 73.36, 79.97, 82.42),
    ("J48", "bupa"): (54.97, 55.09, 54.74, 62.49, 66.21),
    ("J48", "wdbc"): (75.95, 68.86, 89.82, 92.68, 94.96),
    ("J48", "optdigits"): (65.59, 61.40, 93.33, 97.18, 98.97),
}
SETS_32 = {
    "austra": ("australian", (0, 1)),
    "bupa": ("bupa", (0, 1)),
    "wdbc": ("wdbc", (0, 1)),
    "optdigits": ("optdigits", (2, 4)),
}

#: Means over the ten pairs of newsgroups of table 3.3.
PUBLISHED_33 = (51.99, 86.61, 52.82, 77.04, 70.74, 74.74, 80.52, 55.35, 71.11)

VERDICTS = {
    "Table 3.1: inductive accuracy": Verdict(
        "differs",
        "the laboratory's versions of the sets are not public, and our learners begin higher; "
        "SemiBoost as printed ends near the published figure on most sets",
    ),
    "Table 3.1: who beats whom": Verdict(
        "differs",
        "as published weak learners gain and a linear SVM does not, but the printed settings gain "
        "on fewer sets; with the neighbor graph of our defaults stumps gain on most and lose on "
        "none",
    ),
    "Table 3.2: against AdaBoost": Verdict(
        "differs",
        "as published AdaBoost on ten labels does not help; SemiBoost as printed helps where "
        "classes are clusters (wdbc, optdigits), and not on austra, where our stump begins higher",
    ),
    "Table 3.3: text": Verdict(
        "differs",
        "the order of stump, SVM, LapSVM, TSVM and SemiBoost is the published one on the drawn "
        "corpus; low-density separation fails in the thesis and is best here, since drawn topics "
        "have a gap between them",
    ),
    "Rings (figure 3.4)": Verdict("agrees", "with the prototype; the thesis has pictures only"),
    "Figures 3.5 to 3.14": Verdict(
        "agrees",
        "in kind: unlabeled rows raise the accuracy, margins grow, the objective and the step "
        "sizes decay; narrow widths are better here than those advised",
    ),
}


# ------------------------------------------------------------------ the protocol


@dataclass(frozen=True)
class Split:
    """Rows of a training half with few labels (-1 elsewhere), and of a test half."""

    X: Any
    y: np.ndarray
    truth: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def labeled(self) -> np.ndarray:
        return np.flatnonzero(self.y >= 0)


def draw(
    X: Any, y: np.ndarray, seed: int, n_labeled: int = N_LABELED, *, scaled: bool = True
) -> Split:
    """Cut the rows in halves, and label some rows of the first, of each class at least one."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    first = [rng.choice(np.flatnonzero(y[train] == code)) for code in (0, 1)]
    others = rng.permutation(np.setdiff1d(np.arange(len(train)), first))[: n_labeled - 2]
    labels = np.full(len(train), -1)
    chosen = np.concatenate([first, others])
    labels[chosen] = y[train][chosen]
    if sparse.issparse(X) or not scaled:
        return Split(X[train], labels, y[train], X[test], y[test])
    scaler = StandardScaler().fit(X[train])
    return Split(scaler.transform(X[train]), labels, y[train], scaler.transform(X[test]), y[test])


Maker = Callable[[int], Any]


def alone(learner: Maker) -> Callable[[Split, int], float]:
    """Accuracy of a learner that sees the labeled rows only."""

    def accuracy(split: Split, seed: int) -> float:
        rows = split.labeled
        model = learner(seed).fit(split.X[rows], split.y[rows])
        return float(np.mean(model.predict(split.X_test) == split.y_test))

    return accuracy


def with_all(learner: Maker) -> Callable[[Split, int], float]:
    """Accuracy of a classifier that sees labeled and unlabeled rows."""

    def accuracy(split: Split, seed: int) -> float:
        model = learner(seed).fit(split.X, split.y)
        return float(np.mean(model.predict(split.X_test) == split.y_test))

    return accuracy


def fully_labeled(learner: Maker) -> Callable[[Split, int], float]:
    """Accuracy of a learner that sees all labels of the training half."""

    def accuracy(split: Split, seed: int) -> float:
        model = learner(seed).fit(split.X, split.truth)
        return float(np.mean(model.predict(split.X_test) == split.y_test))

    return accuracy


def stump(seed: int) -> Any:
    return DecisionTreeClassifier(max_depth=1, random_state=seed)


def tree(seed: int) -> Any:
    return DecisionTreeClassifier(random_state=seed)


def svm(seed: int) -> Any:
    return LinearSVC(random_state=seed)


def semiboost(learner: Maker, **params: Any) -> Maker:
    """SemiBoost as printed: 10 rounds, a weighted draw of a tenth of the unlabeled rows."""
    printed: dict[str, Any] = {
        "n_estimators": 10,
        "similarity": "rbf",
        "sampling": "weighted",
        "percentile": 10.0,
    }
    printed |= params
    return lambda seed: SemiBoostClassifier(learner(seed), random_state=seed, **printed)


def defaults(learner: Maker, **params: Any) -> Maker:
    """SemiBoost with our defaults."""
    return lambda seed: SemiBoostClassifier(learner(seed), random_state=seed, **params)


def contestants(linear: bool = False) -> dict[str, Callable[[Split, int], float]]:
    """The columns of tables 3.1 and 3.3, and what is beside them here."""
    kernel: dict[str, Any] = {"kernel": "linear"} if linear else {}
    similarity = {"similarity": "linear"} if linear else {}
    return {
        "DS": alone(stump),
        "SB-DS": with_all(semiboost(stump, **similarity)),
        "J48": alone(tree),
        "SB-J48": with_all(semiboost(tree, **similarity)),
        "SVM": alone(svm),
        "SB-SVM": with_all(semiboost(svm, **similarity)),
        "TSVM": with_all(lambda seed: TSVM(kernel="linear")),
        "ILDS": with_all(lambda seed: LowDensitySeparation()),
        "LapSVM": with_all(lambda seed: LapSVM(**kernel)),
        "SB-DS, defaults": with_all(defaults(stump)),
        "SB-SVM, defaults": with_all(defaults(svm)),
        "self-training": with_all(lambda seed: SelfTrainingClassifier(tree(seed))),
        "label spreading": with_all(lambda seed: LabelSpreading(kernel="knn", max_iter=200)),
    }


def accuracies(
    X: Any,
    y: np.ndarray,
    runs: int,
    columns: Mapping[str, Callable[[Split, int], float]],
    n_labeled: int = N_LABELED,
    *,
    scaled: bool = True,
) -> dict[str, np.ndarray]:
    """Per cent on the test half of every contestant, run by run on the same draws."""
    found: dict[str, list[float]] = {name: [] for name in columns}
    for seed in range(runs):
        split = draw(X, y, seed, n_labeled, scaled=scaled)
        for name, accuracy in columns.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # few iterations of peers, parts without labels
                found[name].append(100 * accuracy(split, seed))
    return {name: np.array(values) for name, values in found.items()}


@cache
def two_classes(name: str, classes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows of two classes of a set, named by their places among the sorted classes."""
    found = uci_or_none(name)
    if found is None:
        return None
    codes = np.unique(found.target, return_inverse=True)[1]
    kept = np.isin(codes, classes)
    return np.asarray(found.data)[kept], (codes[kept] == classes[1]).astype(int)


def beside(published: float, values: np.ndarray) -> str:
    """A published figure and ours."""
    before = "–" if np.isnan(published) else f"{published:.1f}"
    return f"{before} / {values.mean():.1f} ({values.std(ddof=1):.1f})"


def is_better(one: np.ndarray, other: np.ndarray) -> int:
    """1 where the first is significantly better in a paired t-test at 95 %, -1 where worse."""
    if np.allclose(one, other):
        return 0
    test = ttest_rel(one, other)
    return int(np.sign(test.statistic)) if test.pvalue < 0.05 else 0


# ------------------------------------------------------------------ tables


def table_31(runs: int, quick: bool) -> list[Section]:
    names = ("heart", "wdbc") if quick else tuple(PUBLISHED_31)
    columns = contestants()
    measured: dict[str, dict[str, np.ndarray]] = {}
    rows = []
    for name in names:
        source, classes, published = PUBLISHED_31[name]
        data = two_classes(source, classes)
        if data is None:
            continue
        measured[name] = accuracies(*data, runs, columns, scaled=source not in PIXELS)
        figures = dict(zip(COLUMNS_31, published, strict=True))
        cells = [beside(figures.get(c, np.nan), measured[name][c]) for c in columns]
        rows.append([name, *cells])
    return [
        Section(
            "Table 3.1: inductive accuracy",
            f"{N_LABELED} labels, half and half, {runs} runs: published / ours (standard "
            "deviation), per cent. SB as printed: 10 rounds, a weighted draw of a tenth of the "
            "unlabeled rows, width at the 10th percentile; with our defaults at the end, beside "
            "scikit-learn's self-training (of the tree) and label spreading.",
            ("set", *columns),
            rows,
        ),
        _wins(measured),
    ]


#: First is compared with second; published wins and losses over 16 sets.
DUELS = {
    ("SB-DS", "DS"): "12 better",
    ("SB-J48", "J48"): "13 better, 1 worse",
    ("SB-SVM", "SVM"): "7 better, 3 worse",
    ("SB-SVM", "TSVM"): "10 better",
    ("SB-SVM", "LapSVM"): "3 better, 3 worse",
    ("SB-DS", "LapSVM"): "2 better, 1 worse",
    ("SB-DS, defaults", "DS"): "–",
    ("SB-SVM, defaults", "SVM"): "–",
    ("TSVM", "SVM"): "–",
    ("LapSVM", "SVM"): "–",
    ("ILDS", "SVM"): "–",
    ("self-training", "J48"): "–",
}


def _wins(measured: Mapping[str, Mapping[str, np.ndarray]]) -> Section:
    rows = []
    for (first, second), published in DUELS.items():
        signs = [is_better(found[first], found[second]) for found in measured.values()]
        gain = np.mean([(found[first] - found[second]).mean() for found in measured.values()])
        worst = min((found[first] - found[second]).mean() for found in measured.values())
        rows.append(
            [
                f"{first} against {second}",
                published,
                f"{signs.count(1)} better, {signs.count(-1)} worse of {len(signs)}",
                f"{gain:+.1f}",
                f"{worst:+.1f}",
            ]
        )
    return Section(
        "Table 3.1: who beats whom",
        "Number of sets on which the first is significantly better or worse (paired t-test, 95 "
        "%), the mean difference over the sets in per cent, and the worst of them.",
        ("pair", "published, of 16 sets", "ours", "mean difference", "worst set"),
        rows,
    )


def table_32(runs: int, quick: bool) -> Section:
    rows = []
    for label, learner in (("stump", stump), ("J48", tree)):
        columns: dict[str, Callable[[Split, int], float]] = {
            "small": alone(learner),
            "AdaBoost small": alone(boosted(learner)),
            "SemiBoost": with_all(semiboost(learner)),
            "large": fully_labeled(learner),
            "AdaBoost large": fully_labeled(boosted(learner)),
        }
        for name in ("wdbc",) if quick else tuple(SETS_32):
            data = two_classes(*SETS_32[name])
            if data is None:
                continue
            found = accuracies(*data, runs, columns, scaled=SETS_32[name][0] not in PIXELS)
            published = PUBLISHED_32[label, name]
            cells = [beside(p, found[c]) for p, c in zip(published, columns, strict=True)]
            rows.append([label, name, *cells])
    return Section(
        "Table 3.2: against AdaBoost",
        f"Small: {N_LABELED} labels; large: all of the training half. Published / ours (standard "
        "deviation), per cent.",
        ("learner", "set", "small", "AdaBoost small", "SemiBoost", "large", "AdaBoost large"),
        rows,
    )


def boosted(learner: Maker) -> Maker:
    return lambda seed: AdaBoostClassifier(learner(seed), n_estimators=50, random_state=seed)


def table_33(runs: int, quick: bool) -> Section:
    columns = contestants(linear=True)
    rows = []
    for share in (0.3,) if quick else (0.2, 0.3, 0.4):
        corpus = make_topics(
            500 if quick else 2000,
            n_words=1000 if quick else 4000,
            topic_share=share,
            random_state=0,
        )
        X = TfidfTransformer().fit_transform(corpus.data).tocsr()
        found = accuracies(X, corpus.target, min(runs, 5) if quick else runs, columns, n_labeled=4)
        rows.append([f"{share:.0%} topic words", *(f"{found[c].mean():.1f}" for c in columns)])
    published = dict(zip(COLUMNS_31, PUBLISHED_33, strict=True))
    shown = [f"{published[c]:.1f}" if c in published else "–" for c in columns]
    rows.insert(0, ["newsgroups, mean of the ten published pairs", *shown])
    return Section(
        "Table 3.3: text",
        "Two labeled documents of each of two topics, tf-idf, rows of length 1, linear kernel as "
        "similarity. A drawn corpus of two topics stands in for the newsgroups; its words of a "
        "topic are a share of the words of a document.",
        ("corpus", *columns),
        rows,
    )


def rings(runs: int, quick: bool) -> Section:
    settings: dict[str, Maker] = {
        "stump alone": stump,
        "printed: weighted draw, 10th percentile, 20 rounds": semiboost(stump, n_estimators=20),
        "all rows by weight, 2nd percentile, C / 10, 60 rounds": ours_for_rings(),
    }
    found: dict[str, list[float]] = {name: [] for name in settings}
    for seed in range(runs):
        data = make_rings(
            100 if quick else 500, radii=(1, 2), noise=0.15, near_distance=None, random_state=seed
        )
        rng = np.random.default_rng(seed)
        labels = np.full(len(data.target), -1)
        for code in (0, 1):
            chosen = rng.permutation(np.flatnonzero(data.target == code))[:10]
            labels[chosen] = code
        free = labels < 0
        for name, maker in settings.items():
            known = labels >= 0
            model = maker(seed)
            if name == "stump alone":
                model.fit(data.data[known], labels[known])
            else:
                model.fit(data.data, labels)
            found[name].append(100 * np.mean(model.predict(data.data[free]) == data.target[free]))
    specified = ("59", "63 to 67", "91")
    rows = [
        [name, there, f"{np.mean(values):.1f} ({np.std(values, ddof=1):.1f})"]
        for (name, values), there in zip(found.items(), specified, strict=True)
    ]
    return Section(
        "Rings (figure 3.4)",
        "Two rings of 500 rows, 10 labels each, accuracy on the unlabeled rows in per cent. The "
        "thesis shows pictures only; the figures beside ours are those of the prototype behind "
        "our specification, of one draw.",
        ("settings", "prototype", "ours"),
        rows,
    )


def ours_for_rings() -> Maker:
    n_labeled, n_rows = 20, 1000
    return lambda seed: SemiBoostClassifier(
        "stump",
        n_estimators=60,
        similarity="rbf",
        sampling="weight",
        percentile=2.0,
        unlabeled_weight=n_labeled / (n_rows - n_labeled) / 10,
        random_state=seed,
    )


# ------------------------------------------------------------------ figures


def figures(runs: int, quick: bool) -> Section:
    """Accuracy against the share of unlabeled rows, the width, and the rounds."""
    data = two_classes("digits", (2, 4))
    assert data is not None
    shares = (0.0, 0.5, 1.0) if quick else (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    widths = (5, 20, 80) if quick else (5, 10, 15, 20, 40, 60, 80, 100)
    by_share = {share: _with_share(data, share, runs) for share in shares}
    by_width = {
        width: accuracies(*data, runs, {"SB": with_all(semiboost(stump, percentile=float(width)))})[
            "SB"
        ].mean()
        for width in widths
    }
    model = _one_fit(data)
    rows = [
        ["accuracy by share of unlabeled rows", _series(by_share)],
        ["accuracy by percentile of the width", _series(by_width)],
        ["objective, rounds 0, 1, 5, 10, 20", _at(model.history_, (0, 1, 5, 10, 20))],
        ["mean margin, rounds 1, 5, 10, 20", _at(model.mean_margins_, (0, 4, 9, 19))],
        ["step size, rounds 1, 5, 10, 20", _at(model.estimator_weights_, (0, 4, 9, 19))],
    ]

    def picture(path: Path) -> None:
        _draw(path, by_share, by_width, model)

    return Section(
        "Figures 3.5 to 3.14",
        "Digits 2 and 4, stumps. The thesis: accuracy rises with the unlabeled rows that are "
        "added, is stable in the width with 10 to 20 per cent advised, margins grow with the "
        "rounds, the objective decays exponentially, and step sizes are negligible after some 20 "
        "rounds.",
        ("what", "ours"),
        rows,
        picture,
        "semiboost_figures",
    )


def _with_share(data: tuple[np.ndarray, np.ndarray], share: float, runs: int) -> float:
    found = []
    for seed in range(runs):
        split = draw(*data, seed, scaled=False)
        rng = np.random.default_rng(seed)
        free = rng.permutation(np.flatnonzero(split.y < 0))
        kept = np.concatenate([split.labeled, free[: int(share * len(free))]])
        model = semiboost(stump, n_estimators=20)(seed).fit(split.X[kept], split.y[kept])
        found.append(100 * np.mean(model.predict(split.X_test) == split.y_test))
    return float(np.mean(found))


def _one_fit(data: tuple[np.ndarray, np.ndarray]) -> Any:
    split = draw(*data, 0, scaled=False)
    return semiboost(stump, n_estimators=20)(0).fit(split.X, split.y)


def _series(values: Mapping[Any, float]) -> str:
    return ", ".join(f"{key:g}: {value:.1f}" for key, value in values.items())


def _at(values: Sequence[float], places: Sequence[int]) -> str:
    return ", ".join(f"{values[place]:.3g}" for place in places if place < len(values))


def _draw(path: Path, by_share: Any, by_width: Any, model: Any) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(13, 3), layout="constrained")
    for ax, values, label in (
        (axes[0], by_share, "share of unlabeled rows"),
        (axes[1], by_width, "percentile of the width"),
    ):
        ax.plot(list(values), list(values.values()), "o-")
        ax.set(xlabel=label, ylabel="accuracy, %")
    axes[2].semilogy(model.history_, "o-")
    axes[2].set(xlabel="round", ylabel="objective")
    axes[3].plot(np.arange(1, len(model.mean_margins_) + 1), model.mean_margins_, "o-")
    axes[3].set(xlabel="round", ylabel="mean margin")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def run(runs: int, quick: bool) -> list[Section]:
    runs = min(runs, RUNS)
    return [
        *table_31(runs, quick),
        table_32(runs, quick),
        table_33(runs, quick),
        rings(runs, quick),
        figures(runs, quick),
    ]


if __name__ == "__main__":
    main("semiboost")
