"""Ten million scored pairs as an indexed graph, against the usual hand-written ways.

Ours sorts the pairs, checks them (loops, repeated and contradictory pairs, scores that are not
finite, unknown ids) and makes the symmetric matrix. The peers do the matrix alone: SciPy from
positions, pandas (``read_csv`` or a frame, ``factorize``) and SciPy from ids. networkx is asked for
a twentieth of the pairs, and its time is for that.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from benchmarks.harness import Row, clock, compare, most_memory
from scipy import sparse

from sidelight import Relations
from sidelight.datasets import make_signed_graph

NETWORKX_SHARE = 20


def symmetric(i: Any, j: Any, scores: Any, n: int) -> sparse.csr_array:
    upper = sparse.coo_array((scores, (i, j)), shape=(n, n)).tocsr()
    return upper + upper.T


def by_hand(frame: pd.DataFrame) -> sparse.csr_array:
    """Pairs of ids by pandas and SciPy, without any check."""
    m = len(frame)
    codes, names = pd.factorize(pd.concat([frame["i"], frame["j"]], ignore_index=True))
    return symmetric(codes[:m], codes[m:], frame["score"].to_numpy(), len(names))


def networkx_graph(pairs: Any, scores: Any) -> Any:
    import networkx

    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(*pairs.T.tolist(), scores.tolist(), strict=True))
    return graph


def run(quick: bool) -> list[Row]:
    n, repeats = (10_000, 3) if quick else (1_000_000, 2)
    planted = make_signed_graph(n, n // 10, degree=20, random_state=0).relations
    order = np.random.default_rng(0).permutation(planted.n_edges)
    pairs, scores = planted.edges[order], planted.scores[order]
    m = len(pairs)
    words = pa.array([f"customer-{k:07d}" for k in range(n)])
    table = pa.table(
        {"i": words.take(pa.array(pairs[:, 0])), "j": words.take(pa.array(pairs[:, 1]))}
    ).append_column("score", pa.array(scores))
    frame = table.to_pandas()
    few = m // NETWORKX_SHARE
    rows = [
        compare(
            f"{m:,} pairs of positions",
            lambda: Relations(pairs, scores, n_samples=n).matrix(),
            lambda: symmetric(pairs[:, 0], pairs[:, 1], scores, n),
            peer="scipy",
            repeats=repeats,
        ),
        compare(
            f"{few:,} pairs of positions",
            lambda: Relations(pairs[:few], scores[:few], n_samples=n).matrix(),
            lambda: networkx_graph(pairs[:few], scores[:few]),
            peer="networkx",
            repeats=repeats,
        ),
        compare(
            f"{m:,} pairs of words in an Arrow table",
            lambda: Relations.from_table(table).matrix(),
            lambda: by_hand(frame),
            peer="pandas factorize + scipy",
            repeats=repeats,
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for what, written in (("positions", planted), ("words", Relations.from_table(table))):
            path = Path(folder) / f"{what}.csv"
            written.write(path)
            rows.append(
                compare(
                    f"{m:,} pairs of {what} in a CSV file",
                    lambda path=path: Relations.read(path).matrix(),
                    lambda path=path: by_hand(pd.read_csv(path)),
                    peer="pandas read_csv + factorize + scipy",
                    repeats=repeats,
                )
            )
    half = np.random.default_rng(1).permutation(n)[: n // 2]
    for what, work in (
        ("components", planted.components),
        ("half of the objects", lambda: planted.restrict(half)),
    ):
        seconds = clock(work)
        rows.append({"case": f"{m:,} edges: {what}", "seconds": seconds, "peak MB": most_memory()})
    return rows
