"""Incremental landmark Isomap: a stream from 200 to 5,000 rows, 40 landmarks (Law 2006, 3.3.2).

``python -m experiments.manifold.landmark_stream [--quick]``
"""

from __future__ import annotations

import copy
import statistics
import time
import warnings

import numpy as np

from experiments.harness import Section, Verdict, main
from experiments.manifold.incremental_isomap import rows_of
from sidelight.evaluation import embedding_error, residual_variance
from sidelight.exceptions import EmbeddingWarning
from sidelight.graphs import distance_graph, geodesics
from sidelight.manifold import IncrementalIsomap, LandmarkIsomap

TITLE = "Incremental landmark Isomap"
VERDICTS = {
    "Seconds of all updates": Verdict(
        "agrees",
        "a small part of the batch side, though not as small: the published batch seconds are "
        "partly those of swapping memory",
    ),
    "Seconds of one more row": Verdict("agrees"),
    "Quality of the map": Verdict("no published figure", "the source shows pictures only"),
}

START, LANDMARKS = 200, 40

# Law 2006, tables 3.3 and 3.4: seconds of all updates, and of one run, Swiss roll and S-curve.
SECONDS = {
    "Swiss roll": {"graph": (8745.7, 6.6), "geodesics": (824.3, 38.9), "coordinates": (None, 61.9)},
    "S-curve": {"graph": (8692.7, 7.1), "geodesics": (879.9, 39.2), "coordinates": (None, 63.4)},
}
ONE_ROW = {500: (0.14, 0.01), 2000: (1.56, 0.02), 3500: (11.90, 0.03), 5000: (168.01, 0.05)}


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", EmbeddingWarning)
    n = 1000 if quick else 5000
    streams = {name: follow(name, n) for name in SECONDS}
    return [
        seconds(streams),
        one_row(streams["Swiss roll"]),
        quality(streams),
    ]


def follow(name: str, n: int) -> dict[str, dict]:
    """Stream the rows one by one, with the batch steps timed at every hundredth."""
    X = rows_of(name, n, 0)
    every = 100
    model = IncrementalIsomap(n_neighbors=6, n_landmarks=LANDMARKS, random_state=0).fit(X[:START])
    batch = {"graph": 0.0, "geodesics": 0.0}
    single: dict[int, tuple[float, float]] = {}
    errors = []
    for now in range(START + 1, n + 1):
        model.partial_fit(X[now - 1 : now])
        if now % every:
            continue
        started = time.perf_counter()
        graph = distance_graph(X[:now], n_neighbors=6)
        between = time.perf_counter()
        geodesics(graph, model.landmarks_)
        ended = time.perf_counter()
        batch["graph"] += every * (between - started)
        batch["geodesics"] += every * (ended - between)
        errors.append(embedding_error(copy.deepcopy(model).refine().embedding_, model.embedding_))
        if now in ONE_ROW:
            ours = statistics.mean(update.seconds for update in model.updates_[-every:])
            single[now] = ended - started, ours
    updates = model.updates_[1:]
    ours = {
        "graph": sum(update.neighbor_seconds for update in updates),
        "geodesics": sum(update.geodesic_seconds for update in updates),
        "coordinates": sum(update.coordinate_seconds for update in updates),
    }
    return {
        "batch": batch,
        "ours": ours,
        "single": single,
        "errors": errors,
        "map": quality_of(model, X),
    }


def quality_of(model: IncrementalIsomap, X: np.ndarray) -> dict[str, float]:
    """Residual variance of the geodesics from the landmarks, of this map and of the batch map."""
    fitted = LandmarkIsomap(n_neighbors=6, n_landmarks=LANDMARKS, random_state=0).fit(X)
    chosen = np.arange(0, len(X), max(len(X) // 1000, 1))
    lengths = geodesics(distance_graph(X, n_neighbors=6), chosen)[:, chosen]
    return {
        "stream": residual_variance(lengths, model.embedding_[chosen]),
        "batch": residual_variance(lengths, fitted.embedding_[chosen]),
    }


def seconds(streams: dict[str, dict[str, dict]]) -> Section:
    rows = []
    for name, found in streams.items():
        for step, (again, ours) in SECONDS[name].items():
            mine, mine_again = found["ours"][step], found["batch"].get(step)
            ratio = "–" if again is None else f"{ours / again:.4f}"
            my_ratio = "–" if mine_again is None else f"{mine / mine_again:.4f}"
            rows.append(
                (
                    name,
                    step,
                    "–" if again is None else str(again),
                    str(ours),
                    ratio,
                    "–" if mine_again is None else f"{mine_again:.1f}",
                    f"{mine:.2f}",
                    my_ratio,
                )
            )
    return Section(
        "Seconds of all updates",
        "From 200 rows on, one by one, 40 landmarks among the first 200. Batch: graph and shortest "
        "paths from the landmarks again after every row (timed at every hundredth).",
        (
            "set",
            "step",
            "batch",
            "incremental",
            "ratio",
            "our batch",
            "our incremental",
            "our ratio",
        ),
        rows,
    )


def one_row(found: dict[str, dict]) -> Section:
    rows = []
    for n, (again, ours) in ONE_ROW.items():
        mine = found["single"].get(n)
        shown = ("–", "–") if mine is None else tuple(f"{value:.4f}" for value in mine)
        rows.append((str(n), str(again), str(ours), *shown))
    return Section(
        "Seconds of one more row",
        "Swiss roll; our batch side is the graph and the geodesics alone.",
        ("rows", "batch", "incremental", "our batch", "our incremental"),
        rows,
    )


def quality(streams: dict[str, dict[str, dict]]) -> Section:
    rows = [
        (
            name,
            f"{100 * statistics.median(found['errors']):.3f}",
            f"{100 * max(found['errors']):.2f}",
            f"{found['map']['stream']:.4f}",
            f"{found['map']['batch']:.4f}",
        )
        for name, found in streams.items()
    ]
    return Section(
        "Quality of the map",
        "`E_n` between the map after one Ritz step per row and that of the exact singular vectors, "
        "in percent; residual variance of geodesics between rows at the end, beside that of the "
        "batch method.",
        ("set", "median E_n", "largest E_n", "residual variance", "of LandmarkIsomap"),
        rows,
    )


if __name__ == "__main__":
    main("landmark_stream")
