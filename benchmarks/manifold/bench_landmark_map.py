"""A stream of rows into a landmark map: time and peak memory as it grows.

Blocks of 100 rows of a Swiss roll, 7 neighbors, in a process of its own whose peak memory counts.
``one row more`` is the mean of the last block.
"""

from __future__ import annotations

import time
import warnings

from benchmarks.harness import Row, apart, most_memory
from sklearn.datasets import make_swiss_roll

from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import IncrementalIsomap


def run(quick: bool) -> list[Row]:
    return landmarks(1_000 if quick else 20_000, 50 if quick else 500)


def landmarks(n: int, m: int) -> list[Row]:
    found = apart(stream_landmarks, n, m)
    return [{"rows": done, "landmarks": m, **facts} for done, facts in found]


def stream_landmarks(n: int, m: int) -> list[tuple[int, dict[str, float]]]:
    """Stream rows in blocks of 100; seconds and peak memory of this process as it goes on."""
    warnings.simplefilter("ignore", EmbeddingWarning)
    X = make_swiss_roll(n, random_state=0)[0]
    model = IncrementalIsomap(n_neighbors=7, n_landmarks=m, random_state=0)
    started = time.perf_counter()
    found = []
    for first in range(0, n, 100):
        model.partial_fit(X[first : first + 100])
        done = first + 100
        if done % (n // 5) == 0:
            peak = most_memory() / 1024
            seconds = time.perf_counter() - started
            update = model.updates_[-1]
            found.append(
                (
                    done,
                    {
                        "stream (s)": seconds,
                        "one row more (ms)": 10 * update.seconds,
                        "peak memory (GB)": peak,
                        "limit (GB)": 2.0,
                    },
                )
            )
    return found
