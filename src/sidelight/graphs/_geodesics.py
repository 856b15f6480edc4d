"""Lengths of shortest paths over a graph, from some vertices or from all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.manifold.dijkstra import shortest_paths
from sidelight._progress import stage_progress, wait_for
from sidelight._typing import Array
from sidelight.engine import get_threads
from sidelight.engine.inner import one_thread_blas

#: Sources of one block: between blocks Ctrl-C is heard.
BLOCK_SOURCES = 64


def geodesics(
    graph: Any,
    sources: Any = None,
    *,
    out: Array | None = None,
    predecessors: Array | None = None,
) -> Array:
    """Lengths of the shortest paths from vertices of a graph to all others.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Lengths of the edges, both ways, none below 0; stored zeros are edges without length.
    sources : array of int, default=None
        Vertices to start from; all by default.
    out : ndarray of float64, shape (n_sources, n), default=None
        Array that takes the lengths.
    predecessors : ndarray of int32, shape (n_sources, n), default=None
        Array that takes the vertex before each vertex on its path; -9999 for the source and for
        what is not reached.

    Returns
    -------
    lengths : ndarray of shape (n_sources, n)
        Infinite where no path leads.

    Examples
    --------
    >>> from sidelight.graphs import distance_graph, geodesics
    >>> geodesics(distance_graph([[0.0], [1.0], [3.0]], n_neighbors=1))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    edges = sparse.csr_array(graph)
    n = edges.shape[0]
    starts = np.arange(n) if sources is None else np.asarray(sources, dtype=np.int64)
    lengths = np.empty((len(starts), n)) if out is None else out
    trees = np.empty((0, 0), np.int32) if predecessors is None else predecessors
    indptr, indices = edges.indptr.astype(np.int64), edges.indices.astype(np.int64)
    weights = edges.data.astype(np.float64, copy=False)

    def run(first: int) -> None:
        part = slice(first, first + BLOCK_SOURCES)
        shortest_paths(indptr, indices, weights, starts[part], lengths[part], trees[part])

    blocks = range(0, len(starts), BLOCK_SOURCES)
    with stage_progress("Shortest paths", len(blocks)) as progress:
        run_blocks(run, blocks, progress.step)
    return lengths


def run_blocks(
    run: Callable[[int], None], blocks: Sequence[int], step: Callable[[], None] = lambda: None
) -> None:
    """Run a function of blocks on threads; it writes where no other block does.

    ``step`` is called after every block, of which Ctrl-C stops the next.
    """
    workers = min(get_threads(), max(len(blocks), 1))
    if workers == 1:
        for block in blocks:
            run(block)
            step()
        return
    pending: deque[Future[None]] = deque()
    with ThreadPoolExecutor(workers, "sidelight", initializer=one_thread_blas.cover) as pool:
        try:
            for block in blocks:
                pending.append(pool.submit(run, block))
                if len(pending) >= 2 * workers:
                    wait_for(pending.popleft())
                    step()
            while pending:
                wait_for(pending.popleft())
                step()
        finally:
            for future in pending:
                future.cancel()
