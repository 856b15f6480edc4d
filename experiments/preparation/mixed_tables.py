"""Mixed tables with thirty statements: what preparation brings, and whether compare chooses well.

Ten tables that were chosen before any figure was seen: seven drawn by ``make_mixed_table``, anew in
every draw, and three real ones whose columns are left as they are; six more where they are at hand.
All scores are adjusted Rand indices of the rows that no statement mentions.

``python -m experiments.preparation.mixed_tables [--runs 10] [--quick] [--keep]``
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.harness import Section, Verdict, main, mean_and_error
from experiments.preparation._tables import DRAWN, OTHERS, REAL, TRUTH, Raw, load
from sidelight import Constraints, jobs
from sidelight.cluster import KMeans, PCKMeans
from sidelight.engine import threads
from sidelight.evaluation import adjusted_rand_index
from sidelight.jobs import ClusterRequest, CompareRequest, Prepared, prepare

TITLE = "Mixed tables"
VERDICTS = {"*": Verdict("no published figure", "the comparison is ours")}

STATEMENTS = 30
MAX_RUNS = 10
TEN = (*DRAWN, *REAL)
#: What `sidelight cluster` may lose against k-means on the numbers as they are, on average, and
#: what the choice of compare may lose against the best candidate.
ALLOWED, NEAR = 0.02, 0.05

PLAIN = "k-means, numbers as they are"
BY_HAND = "PCKMeans, dummies and StandardScaler"
WITHOUT = "sidelight cluster, nothing known"
CLUSTER = "sidelight cluster"

KNOWN_K, SEVERAL_K = "k is given", "k is not known"
SEVERAL = range(2, 7)

Scores = dict[str, float]


def run(runs: int, quick: bool) -> list[Section]:
    runs = min(runs, MAX_RUNS)
    names = (*TEN[:2], TEN[-2]) if quick else (*TEN, *OTHERS)
    tasks = [(name, seed) for name in names for seed in range(runs)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        measured = list(pool.map(measure, *zip(*tasks, strict=True)))
    scores: dict[str, list[Measured]] = {}
    for (name, _), one in zip(tasks, measured, strict=True):
        if one is not None:
            scores.setdefault(name, []).append(one)
    return [
        defaults(scores, runs),
        decisions(scores, runs),
        *(choices(scores, numbers, runs) for numbers in (KNOWN_K, SEVERAL_K)),
    ]


# ------------------------------------------------------------------ one draw of one table


@dataclass(frozen=True)
class Measured:
    """Scores of one draw; for each way to say k those of the candidates and the chosen one."""

    ways: Scores
    variants: Scores
    compared: dict[str, tuple[Scores, str]]


def measure(name: str, seed: int) -> Measured | None:
    raw = load(name, seed)
    if raw is None:
        return None
    with (
        tempfile.TemporaryDirectory() as folder,
        threads(1),
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        known = raw.statements(STATEMENTS, seed)
        statements = Path(folder) / "statements.csv"
        known.write(statements)
        request = ClusterRequest(
            raw.write(Path(folder)),
            k=raw.k,
            constraints=statements,
            truth=TRUTH,
            id_column=None if raw.ids is None else raw.ids[0],
            seed=seed,
        )
        score = Score(raw, known)
        return Measured(
            ways(raw, request, score, seed),
            variants(request, score),
            {KNOWN_K: compared(request, score), SEVERAL_K: compared(request, score, SEVERAL)},
        )


class Score:
    """Agreement with the truth on rows that nothing was said about."""

    def __init__(self, raw: Raw, known: Constraints) -> None:
        self.y = raw.y
        self.free = np.setdiff1d(np.arange(len(raw.y)), known.mentioned)

    def __call__(self, labels: np.ndarray) -> float:
        return adjusted_rand_index(self.y[self.free], np.asarray(labels)[self.free])


def ways(raw: Raw, request: ClusterRequest, score: Score, seed: int) -> Scores:
    """Cluster the same table in the four ways that are compared."""
    numbers = raw.numbers()
    by_position = Constraints.sample(raw.y, STATEMENTS, random_state=seed)
    by_hand = PCKMeans(raw.k, random_state=seed).fit(raw.naive(), constraints=by_position)
    nothing = np.zeros(len(raw.y), dtype=int)  # no number, no cluster
    plain = nothing if numbers is None else KMeans(raw.k, random_state=seed).fit_predict(numbers)
    return {
        PLAIN: score(plain),
        BY_HAND: score(by_hand.labels_),
        WITHOUT: score(prepare(replace(request, constraints=None)).run().labels),
        CLUSTER: score(prepare(request).run().labels),
    }


# ------------------------------------------------------------------ decisions of the preparation


def variants(request: ClusterRequest, score: Score) -> Scores:
    """Score of the default, and how much it changes if one decision is another."""
    prepared = prepare(request)
    default = score(fitted(prepared, prepared.X))
    changed = {name: score(change(prepared)) for name, change in VARIANTS.items()}
    return {name: value - default for name, value in changed.items()}


def fitted(prepared: Prepared, X: np.ndarray) -> np.ndarray:
    """Labels of the method that was asked for on other features."""
    return prepared.estimator.fit(X, constraints=prepared.knowledge).labels_


def again(prepared: Prepared, **settings: Any) -> np.ndarray:
    """Labels of the same request with other settings."""
    return prepare(replace(prepared.request, **settings)).run().labels


def columns_of(prepared: Prepared) -> dict[str, tuple[str, np.ndarray]]:
    """Kind and features of every column that is used, by its name."""
    names = prepared.features_in
    found = {}
    for plan in prepared.preparer.plan_:
        starts = tuple(f"{plan.name}{end}" for end in ("=", " (", ":"))
        own = [j for j, one in enumerate(names) if one == plan.name or one.startswith(starts)]
        if own:
            found[plan.name] = (plan.kind, np.array(own))
    return found


def without_logarithm(prepared: Prepared) -> np.ndarray:
    logs = [plan.name for plan in prepared.preparer.plan_ if plan.log_scale]
    return again(prepared, kinds=dict.fromkeys(logs, "number"))


def more_logarithms(prepared: Prepared) -> np.ndarray:
    """Take the logarithm of all positive numbers that are more skewed than an exponential half."""
    from scipy.stats import skew

    columns = prepared.preparer.typed_columns(prepared.data)
    skewed = [
        one.name
        for one in columns
        if one.kind == "number"
        and np.nanmin(one.values) >= 0
        and len(np.unique(one.values)) > 10
        and skew(one.values, nan_policy="omit") > 1
    ]
    return again(prepared, kinds=dict.fromkeys(skewed, "log"))


def without(ending: str) -> Callable[[Prepared], np.ndarray]:
    """Leave features out whose names hold a text."""

    def change(prepared: Prepared) -> np.ndarray:
        kept = [j for j, name in enumerate(prepared.features_in) if ending not in name]
        return fitted(prepared, prepared.X[:, kept])

    return change


def linear_dates(prepared: Prepared) -> np.ndarray:
    """Leave the cycles of dates out; the trend counts as one feature."""
    X, names = prepared.X.copy(), prepared.features_in
    cycle = np.array([name.endswith((", sin)", ", cos)")) for name in names])
    trend = np.array([name.endswith("(days)") for name in names])
    X[:, trend] /= np.where(trend.any(), X[:, trend].std(axis=0), 1.0)
    return fitted(prepared, X[:, ~cycle]) if (~cycle).any() else fitted(prepared, X)


def whole_dates(prepared: Prepared) -> np.ndarray:
    """Let every part of a date count as one feature."""
    weights = {}
    for name, (kind, own) in columns_of(prepared).items():
        if kind == "date":
            parts = [prepared.features_in[j] for j in own]
            weights[name] = sum(one.endswith(("(days)", ", sin)")) for one in parts)
    return again(prepared, weights=weights)


def equal_variance(prepared: Prepared) -> np.ndarray:
    """Give every column a total variance of 1, as numbers have, whatever its levels."""
    X = prepared.X.copy()
    for kind, own in columns_of(prepared).values():
        if kind in ("yes-no", "category", "text"):
            X[:, own] /= np.sqrt(X[:, own].var(axis=0).sum())
    return fitted(prepared, X)


def times(factor: float, *kinds: str) -> Callable[[Prepared], np.ndarray]:
    """Let columns of some kinds count more or less."""

    def change(prepared: Prepared) -> np.ndarray:
        chosen = [name for name, (kind, _) in columns_of(prepared).items() if kind in kinds]
        return again(prepared, weights=dict.fromkeys(chosen, factor))

    return change


VARIANTS: Mapping[str, Callable[[Prepared], np.ndarray]] = {
    "no logarithms": without_logarithm,
    "logarithms from skewness 1": more_logarithms,
    "gaps not marked": without(" (missing)"),
    "dates without cycles": linear_dates,
    "all parts of a date count": whole_dates,
    "categories at half": times(0.5, "category", "yes-no"),
    "categories twice": times(2.0, "category", "yes-no"),
    "categories with variance 1": equal_variance,
    "texts three times": times(3.0, "text"),
    "scale robust": lambda prepared: again(prepared, scale="robust"),
    "scale range": lambda prepared: again(prepared, scale="range"),
}


# ------------------------------------------------------------------ compare


def compared(request: ClusterRequest, score: Score, numbers: Any = None) -> tuple[Scores, str]:
    """Score every candidate of compare, and say which it chose."""
    k = request.k if numbers is None else sorted({*numbers, request.k})
    asked = {name: getattr(request, name) for name in ("data", "constraints", "truth", "seed")}
    found = jobs.run(CompareRequest(**asked, id_column=request.id_column, k=k)).comparison
    return {one.title: score(one.labels) for one in found.scored}, found.best_.title


# ------------------------------------------------------------------ tables of the page


def defaults(scores: dict[str, list[Measured]], runs: int) -> Section:
    rows, gains = [], {}
    columns = (PLAIN, BY_HAND, WITHOUT, CLUSTER)
    for name, draws in scores.items():
        figures = {way: [draw.ways[way] for draw in draws] for way in columns}
        difference = np.subtract(figures[CLUSTER], figures[PLAIN])
        gains[name] = float(difference.mean())
        cells = [mean_and_error(figures[way]) for way in columns]
        rows.append([name, *cells, mean_and_error(difference)])
    ten = [gains[name] for name in gains if name in TEN]
    worst = min(gains, key=lambda name: gains[name])
    text = (
        f"Adjusted Rand index of rows that none of {STATEMENTS} statements mentions, mean ± "
        f"standard error of {runs} draws, and the difference of the last and the first. The first "
        f"{len(TEN)} tables are those that count: on them `sidelight cluster` is "
        f"{np.mean(ten):+.3f} above k-means on the numbers as they are (at least {-ALLOWED} is "
        f"asked for). Of all tables it is lowest on {worst}: {gains[worst]:+.3f}."
    )
    return Section("Default command against k-means", text, ("table", *columns, "difference"), rows)


def decisions(scores: dict[str, list[Measured]], runs: int) -> Section:
    rows = []
    for variant in VARIANTS:
        changes = {
            name: np.array([draw.variants[variant] for draw in draws])
            for name, draws in scores.items()
        }
        everywhere = np.mean([change.mean() for change in changes.values()])
        told = [
            f"{name} {change.mean():+.2f}"
            for name, change in sorted(changes.items(), key=lambda item: item[1].mean())
            if abs(change.mean()) > max(0.02, 2 * change.std(ddof=1) / np.sqrt(len(change)))
        ]
        rows.append([variant, f"{everywhere:+.3f}", ", ".join(told)])
    return Section(
        "What each decision of the preparation is worth",
        f"Change of the index if one decision is another, {STATEMENTS} statements, PCKMeans: mean "
        f"over all tables, and the tables on which it is more than 0.02 and two standard errors of "
        f"{runs} draws.",
        ("instead", "all tables", "where"),
        rows,
    )


def choices(scores: dict[str, list[Measured]], numbers: str, runs: int) -> Section:
    rows, near, cluster, chose = [], [], [], []
    for name, draws in scores.items():
        found = [draw.compared[numbers] for draw in draws]
        chosen = np.array([candidates[choice] for candidates, choice in found])
        best = np.array([max(candidates.values()) for candidates, _ in found])
        titles = {title for candidates, _ in found for title in candidates}
        means = {
            title: np.mean([candidates.get(title, 0.0) for candidates, _ in found])
            for title in sorted(titles)
        }
        top = max(means, key=lambda title: means[title])
        default = np.mean([draw.ways[CLUSTER] for draw in draws])
        short = means[top] - chosen.mean()
        if name in TEN:
            near.append(short <= NEAR)
            cluster.append(default)
            chose.append(chosen.mean())
        picks = [choice for _, choice in found]
        often = max(sorted(set(picks)), key=picks.count)
        rows.append(
            [
                name,
                mean_and_error(chosen),
                f"{often}, {picks.count(often)} of {len(picks)}",
                f"{means[top]:.3f} ({top})",
                f"{short:+.3f}",
                f"{best.mean():.3f}",
                f"{np.sum(best - chosen <= NEAR)} of {len(best)}",
                f"{default:.3f}",
            ]
        )
    text = (
        f"What `sidelight compare` chooses by {STATEMENTS} statements, {numbers}: mean ± standard "
        f"error of {runs} draws; the candidate that is best on average, and how much the choice is "
        f"short of it; the best of every draw, which only the truth knows, and in how many draws "
        f"the choice is within {NEAR} of that; and `sidelight cluster` with the right k. Of the "
        f"{len(near)} tables that count, the choice is within {NEAR} of the candidate that is best "
        f"on average on {sum(near)}; it has {np.mean(chose):.3f} on average there, `sidelight "
        f"cluster` {np.mean(cluster):.3f}."
    )
    header = ("table", "chosen", "most often", "best on average", "short of it")
    return Section(
        f"Choice of compare against its best candidate, {numbers}",
        text,
        (*header, "best of each draw", f"within {NEAR} of it", "sidelight cluster"),
        rows,
    )


if __name__ == "__main__":
    main("mixed_tables")
