"""Isomap that grows by a row against Isomap fitted again, and how its time grows with the rows.

One row more (neighbors, geodesics, coordinates) against scikit-learn's ``Isomap`` of all rows, and
against our own geodesics and eigenvectors of the same graph found anew. ``geodesic error`` is the
largest relative difference from a fresh computation with SciPy. The thesis' protocol (Law 2006,
section 3.3.1): from 100 to 1,500 rows of a Swiss roll with 6 neighbors, seconds of all geodesic
updates against geodesics computed anew after every row (in the thesis 53.2 against 1,618.5 seconds,
a ratio of 0.0329), by SciPy's Dijkstra and by our own. The growth table has milliseconds per row.
"""

from __future__ import annotations

import statistics
import warnings

import numpy as np
from benchmarks.harness import Row, clock
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap as Peer

from sidelight.engine import get_threads, threads
from sidelight.exceptions import EmbeddingWarning
from sidelight.graphs import geodesics
from sidelight.manifold import IncrementalIsomap
from sidelight.manifold.spectral._frame import squared_distance_frame


def run(quick: bool) -> list[Row]:
    warnings.simplefilter("ignore", EmbeddingWarning)
    IncrementalIsomap(n_neighbors=7).fit(roll(120)).partial_fit(roll(140)[120:])  # compile first
    rows = one_row_more(500 if quick else 2_000, 10 if quick else 40, limited=not quick)
    rows += protocol(300 if quick else 1_500, 20 if quick else 50, limited=not quick)
    for n in (500, 1_000) if quick else (1_000, 2_000, 5_000, 10_000):
        rows.append(growth(n, 10 if n < 10_000 else 5))
    return rows


def roll(n: int, seed: int = 0) -> np.ndarray:
    return np.asarray(make_swiss_roll(n, random_state=seed)[0])


def one_row_more(n: int, repeats: int, *, limited: bool) -> list[Row]:
    X = roll(n + repeats + 5)
    model = IncrementalIsomap(n_neighbors=7).fit(X[:n])
    for row in X[n : n + 5]:
        model.partial_fit(row[None])
    ours, fresh, theirs = [], [], []
    for number, row in enumerate(X[n + 5 :]):
        ours.append(clock(lambda row=row: model.partial_fit(row[None])))
        if number % 10 == 0:  # by turns, so that a busy moment of the machine hits all
            graph = model.graph()
            fresh.append(clock(lambda g=graph: squared_distance_frame(geodesics(g), 2)))
            rows = X[: model.n_samples_seen_]
            theirs.append(clock(lambda rows=rows: Peer(n_neighbors=7).fit(rows)))
    mine = statistics.mean(ours)
    error = geodesic_error(model)
    return [
        {
            "case": f"one row more, n={n:,}, k=7",
            "peer": peer,
            "ours": mine,
            "theirs": min(seconds),
            "ratio": mine / min(seconds),
            **({"limit": limit} if limited else {}),
            "geodesic error": error,
        }
        for peer, seconds, limit in (
            ("scikit-learn, fitted again", theirs, 1 / 20),
            ("our geodesics and eigenvectors anew", fresh, 1 / 5),
        )
    ]


def geodesic_error(model: IncrementalIsomap) -> float:
    wanted = dijkstra(model.graph())
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(model.geodesics() - wanted) / wanted))


def protocol(n: int, every: int, *, limited: bool) -> list[Row]:
    """Geodesics of the whole stream; those computed anew are timed at every so many rows."""
    X = roll(n)
    model = IncrementalIsomap(n_neighbors=6).fit(X[:100])
    ways = {
        "SciPy's Dijkstra after every row": (1, dijkstra),
        "our geodesics anew after every row, one thread": (1, geodesics),
        "our geodesics anew after every row, all threads": (get_threads(), geodesics),
    }
    anew = dict.fromkeys(ways, 0.0)
    error = 0.0
    for number, row in enumerate(X[100:], 1):
        model.partial_fit(row[None])
        if number % every == 0:
            graph = model.graph()
            for way, (n_threads, search) in ways.items():
                with threads(n_threads):
                    anew[way] += every * clock(lambda graph=graph, search=search: search(graph))
            error = max(error, geodesic_error(model))
    ours = sum(update.geodesic_seconds for update in model.updates_[1:])
    return [
        {
            "case": f"geodesics of all rows from 100 to {n:,}, k=6",
            "peer": way,
            "ours": ours,
            "theirs": seconds,
            "ratio": ours / seconds,
            **({"limit": 53.2 / 1618.5} if limited and "SciPy" in way else {}),
            "geodesic error": error,
        }
        for way, seconds in anew.items()
    ]


def growth(n: int, steps: int) -> Row:
    X = roll(n + steps + 2)
    model = IncrementalIsomap(n_neighbors=7)
    first = clock(lambda: model.fit(X[:n]))
    for row in X[n:]:
        model.partial_fit(row[None])
    last = model.updates_[3:]

    def milliseconds(name: str) -> float:
        return 1e3 * statistics.mean(getattr(update, name) for update in last)

    return {
        "rows": n,
        "fit (s)": first,
        "one row more (ms)": milliseconds("seconds"),
        "neighbors (ms)": milliseconds("neighbor_seconds"),
        "geodesics (ms)": milliseconds("geodesic_seconds"),
        "coordinates (ms)": milliseconds("coordinate_seconds"),
        "pairs changed": statistics.mean(u.pairs_invalidated + u.pairs_shortened for u in last),
        "all pairs": n * (n - 1) // 2,
    }
