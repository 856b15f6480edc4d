"""Clusters beside a known split: chapter 11 on made data, published figures beside ours.

``python -m experiments.cluster.non_redundant [--runs 50] [--quick]``
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.harness import Section, Verdict, main, mean_and_error
from experiments.recipes.clusterings import make_several_clusterings, make_two_clusterings
from sidelight.cluster import CondEns, ConditionalInformationBottleneck, InformationBottleneck
from sidelight.datasets import Dataset
from sidelight.evaluation import clustering_accuracy
from sidelight.mixture import MultinomialMixture

TITLE = "Clusters beside a known split"
VERDICTS = {
    "Two orthogonal clusterings": Verdict(
        "differs",
        "annealing is ahead of the sequential search by about the published margins, but compiled "
        "the latter is no longer slower; from k = 4 on the ensembles are farther ahead of the "
        "published objective, and our default is level with them",
    ),
    "Clusterings that are not orthogonal": Verdict(
        "agrees",
        "at small α the ensembles are ahead of the published objective, by somewhat less; our "
        "default, which the source does not have, is ahead of both",
    ),
    "Three clusterings one after the other": Verdict(
        "agrees",
        "the product is the faster one and as accurate at all starts; the regression is better "
        "than published, and differs from start to start",
    ),
}

N = 800


def bottleneck(k: int, seed: int, **params: Any) -> Any:
    return ConditionalInformationBottleneck(
        k, features="multinomial", n_init=1, random_state=seed, **params
    )


#: Name in the tables to the clusterer for k clusters and a seed; one start each.
METHODS: dict[str, Callable[[int, int], Any]] = {
    "daCCIB": lambda k, seed: bottleneck(k, seed, variant="published"),
    "seqCCIB": lambda k, seed: bottleneck(k, seed, variant="published", method="sequential"),
    "CondEns-kmeans": lambda k, seed: CondEns(k, variant="published", n_init=1, random_state=seed),
    "CondEns-EM": lambda k, seed: CondEns(
        k,
        variant="published",
        estimator=MultinomialMixture(k, n_init=1),
        n_init=1,
        random_state=seed,
    ),
    "CondEns-IB": lambda k, seed: CondEns(
        k,
        variant="published",
        estimator=InformationBottleneck(k, n_init=1),
        n_init=1,
        random_state=seed,
    ),
    "adjusted": lambda k, seed: bottleneck(k, seed),
}

# Constrained Clustering, section 11.5.3: by k, daCCIB over seqCCIB and CondEns-EM over daCCIB.
PUBLISHED_SEQUENTIAL = {2: "–", 3: "+28.8%", 4: "+10.0%", 5: "+7.6%"}
PUBLISHED_ENSEMBLE = {2: "+8.0%", 3: "-8.7%", 4: "+5.3%", 5: "+5.4%"}
# CondEns-EM over daCCIB at orthogonality 0.25.
PUBLISHED_OBLIQUE = {2: "+34.36%", 3: "+29.05%", 4: "+26.22%"}
PUBLISHED_SUCCESSIVE = {"product": ("0.9300", "0.36 s"), "regression": ("0.7300", "64.42 s")}


def run(runs: int, quick: bool) -> list[Section]:
    sets = 2 if quick else max(runs // 5, 1)
    return [
        orthogonal(range(2, 4) if quick else range(2, 6), sets),
        oblique((0.25, 1.0) if quick else (0.1, 0.25, 0.5, 0.75, 1.0), sets),
        successive(2 if quick else 5),
    ]


def scores(method: str, data: Dataset, k: int, starts: int) -> np.ndarray:
    """Accuracy to the wanted and to the known clustering, and seconds, for every start."""
    known = data.extras["known"]
    found = []
    for seed in range(starts):
        model = METHODS[method](k, seed)
        started = time.perf_counter()
        labels = model.fit(data.data, known=known).labels_
        seconds = time.perf_counter() - started
        found.append(
            (
                clustering_accuracy(data.target, labels),
                clustering_accuracy(known, labels),
                seconds,
            )
        )
    return np.array(found)


def over(one: np.ndarray, other: np.ndarray) -> str:
    """By how much the mean of one method is above that of another."""
    return f"{100 * (one.mean() / other.mean() - 1):+.1f}%"


def orthogonal(numbers: range, sets: int) -> Section:
    rows = []
    for k in numbers:
        by_method = {}
        for method in METHODS:
            by_method[method] = np.concatenate(
                [
                    scores(method, make_two_clusterings(N, n_clusters=k, random_state=seed), k, 5)
                    for seed in range(sets)
                ]
            )
        wanted = {method: found[:, 0] for method, found in by_method.items()}
        for method, found in by_method.items():
            rows.append(
                [
                    *(str(k), method, mean_and_error(found[:, 0])),
                    *(mean_and_error(found[:, 1]), f"{np.median(found[:, 2]):.3f}"),
                    *("", ""),
                ]
            )
        rows[-6][5:] = over(wanted["daCCIB"], wanted["seqCCIB"]), PUBLISHED_SEQUENTIAL[k]
        rows[-3][5:] = over(wanted["CondEns-EM"], wanted["daCCIB"]), PUBLISHED_ENSEMBLE[k]
    text = (
        f"{N} rows, orthogonality 1, {sets} data sets of 100 draws with 5 starts each (published: "
        "50 sets and 10 starts, number of draws not given). Accuracy (best matching) to the wanted "
        "and to the known clustering, mean ± standard error, and seconds of one start. The line of "
        "daCCIB compares it with seqCCIB, that of CondEns-EM with daCCIB; published are these two "
        "ratios only, and that seqCCIB takes 10x, 19x, 27x the time of daCCIB (k = 3, 4, 5). "
        "daCCIB and seqCCIB maximize the published objective; the last line is our default."
    )
    header = ("k", "method", "wanted", "known", "seconds", "ratio of wanted", "published")
    return Section("Two orthogonal clusterings", text, header, rows)


def oblique(alphas: tuple[float, ...], sets: int) -> Section:
    rows = []
    compared = ("daCCIB", "CondEns-EM", "adjusted")
    for k in (2, 3, 4):
        for alpha in alphas:
            found = {}
            for method in compared:
                found[method] = np.concatenate(
                    [
                        scores(
                            method,
                            make_two_clusterings(
                                N, n_clusters=k, orthogonality=alpha, random_state=seed
                            ),
                            k,
                            3,
                        )
                        for seed in range(sets)
                    ]
                )
            wanted = {method: found[method][:, 0] for method in compared}
            rows.append(
                [
                    *(str(k), f"{alpha:g}"),
                    *(mean_and_error(wanted[method]) for method in compared),
                    over(wanted["CondEns-EM"], wanted["daCCIB"]),
                    PUBLISHED_OBLIQUE[k] if alpha == 0.25 else "",
                    f"{found['daCCIB'][:, 1].mean():.2f}, {found['adjusted'][:, 1].mean():.2f}",
                ]
            )
    text = (
        "The second count shows the wanted clustering with weight α and the known one with 1 - α. "
        f"Accuracy to the wanted clustering, {sets} data sets of 100 draws with 3 starts each. At "
        "small α daCCIB repeats the known clustering (last column: accuracy to the known one of "
        "daCCIB and of our default): its second term, I(C;F), rewards the clearest clustering of "
        "all. Our default takes the effect of the known classes out of that term."
    )
    header = (
        *("k", "α", "daCCIB", "CondEns-EM", "adjusted"),
        *("EM over daCCIB", "published", "accuracy to the known"),
    )
    return Section("Clusterings that are not orthogonal", text, header, rows)


def successive(starts: int) -> Section:
    """The third clustering where two are known: product of their classes, or a regression."""
    data = make_several_clusterings(200, random_state=0)
    known = {"A": data.extras["clusterings"][:, 0], "B": data.extras["clusterings"][:, 1]}
    rows = []
    for known_as in ("product", "regression"):
        for variant in ("published", "default"):
            found = []
            for seed in range(starts):
                model = ConditionalInformationBottleneck(
                    3, known_as=known_as, variant=variant, n_init=1, random_state=seed
                )
                started = time.perf_counter()
                labels = model.fit(data.data, known=known).labels_
                found.append(
                    (clustering_accuracy(data.target, labels), time.perf_counter() - started)
                )
            accuracy, seconds = np.array(found).T
            figure, clock = PUBLISHED_SUCCESSIVE[known_as]
            rows.append(
                [
                    *(known_as, variant, f"{accuracy.mean():.4f}", f"{accuracy.max():.4f}"),
                    *(f"{accuracy.min():.4f}", f"{np.median(seconds):.3f} s"),
                    *((figure, clock) if variant == "published" else ("", "")),
                ]
            )
    text = (
        "200 rows, 8, 8 and 4 binary features for three clusterings into 3, of which the first two "
        f"are known; accuracy to the third, {starts} starts. The source gives mean, best and "
        "worst, which are all the same. How its features were drawn is not said: ours are flipped "
        "with probability 0.1, on which at most about 0.9 can be had."
    )
    header = (
        *("known splits", "variant", "mean", "best", "worst", "seconds"),
        *("published", "published time"),
    )
    return Section("Three clusterings one after the other", text, header, rows)


if __name__ == "__main__":
    main("non_redundant")
