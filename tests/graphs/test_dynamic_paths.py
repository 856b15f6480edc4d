"""Shortest paths of a changing graph against a fresh computation, after every change."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import make_swiss_roll
from tests.graphs.indices import with_small_indices
from tests.strategies import SEEDS

from sidelight import engine
from sidelight._kernels.manifold.dynamic_paths import invalid_pairs
from sidelight.graphs import DynamicPathTrees, DynamicShortestPaths, distance_graph

NOTHING = -9999


def fresh_distances(graph: sparse.csr_array) -> np.ndarray:
    """All distances of a graph; SciPy would drop edges of length 0 from dense matrices only."""
    return dijkstra(with_small_indices(graph), directed=True)


def assert_exact(paths: DynamicShortestPaths) -> None:
    """Assert that distances are those of a fresh computation, and that predecessors fit them."""
    graph = paths.graph
    wanted = fresh_distances(graph)
    found = paths.distances
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert_fitting(paths.predecessors, found, graph, np.arange(len(found)))


def assert_fitting(
    before: np.ndarray, found: np.ndarray, graph: sparse.csr_array, sources: np.ndarray
) -> None:
    """Assert ``g[i, p] + w[p, j] = g[i, j]`` for predecessors ``p``, over edges that exist."""
    n = found.shape[1]
    lengths = np.full((n, n), np.inf)
    ends = np.repeat(np.arange(n), np.diff(graph.indptr))
    lengths[ends, graph.indices] = graph.data
    reached = np.isfinite(found)
    reached[np.arange(len(sources)), sources] = False
    np.testing.assert_array_equal(before >= 0, reached)
    i, j = np.nonzero(reached)
    p = before[i, j]
    np.testing.assert_allclose(found[i, p] + lengths[p, j], found[i, j], rtol=1e-10, atol=1e-12)


class Walk:
    """A random sequence of changes, with lengths of few values so that ties abound."""

    def __init__(self, seed: int, longest: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.longest = longest  # 0: any real number

    def length(self) -> float:
        if self.longest == 0:
            return float(self.rng.uniform())
        return float(self.rng.integers(0, self.longest + 1))

    def start(self, n: int = 7) -> sparse.csr_array:
        edges = {
            (i, j): self.length() for i in range(n) for j in range(i) if self.rng.uniform() < 0.4
        }
        return as_graph(edges, n)

    def step(self, paths: DynamicShortestPaths | DynamicPathTrees, kept: int = 0) -> str:
        """Make one change; the first vertices, ``kept`` of them, stay."""
        n = paths.n_vertices
        kind = self.rng.choice(["add", "remove", "edge", "edges", "contract"])
        if kind == "add" or n < kept + 3:
            ends = np.flatnonzero(self.rng.uniform(size=n) < 3 / max(n, 1))
            paths.add_vertex({int(end): self.length() for end in ends})
            return "add"
        if kind in ("remove", "contract"):
            others = np.arange(n)
            if kept:
                others = np.setdiff1d(others, paths.sources)
            vertex = int(self.rng.choice(others))
            (paths.remove_vertex if kind == "remove" else paths.contract_vertex)(vertex)
            return str(kind)
        many = 1 if kind == "edge" else min(6, n * (n - 1) // 2)
        codes = self.rng.choice(n * (n - 1) // 2, many, replace=False)
        first, second = (side[codes] for side in np.triu_indices(n, 1))
        lengths = [self.length() if self.rng.uniform() < 0.6 else np.inf for _ in codes]
        paths.change_edges(np.column_stack([first, second]), lengths)
        return str(kind)


def as_graph(edges: dict[tuple[int, int], float], n: int) -> sparse.csr_array:
    both = [*edges.items(), *(((j, i), w) for (i, j), w in edges.items())]
    both.sort()
    ends = [i for (i, _), _ in both]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
    return sparse.csr_array(
        ([w for _, w in both], np.array([j for (_, j), _ in both], dtype=int), indptr), shape=(n, n)
    )


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, longest=st.sampled_from([0, 1, 2, 5]))
def test_any_sequence_of_changes_is_exact(seed: int, longest: int) -> None:
    walk = Walk(seed, longest)
    paths = DynamicShortestPaths(walk.start())
    assert_exact(paths)
    for _ in range(12):
        walk.step(paths)
        assert_exact(paths)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, longest=st.sampled_from([0, 1, 2, 5]))
def test_trees_are_exact_after_any_sequence_of_changes(seed: int, longest: int) -> None:
    walk = Walk(seed, longest)
    trees = DynamicPathTrees(walk.start(8), sources=[1, 4, 6])
    for _ in range(12):
        walk.step(trees, kept=3)
        graph = trees.graph
        wanted = dijkstra(with_small_indices(graph), directed=True, indices=trees.sources)
        np.testing.assert_allclose(trees.distances, wanted, rtol=1e-12, atol=1e-12)
        assert_fitting(trees.predecessors, trees.distances, graph, trees.sources)
        assert_trees(trees)


def assert_trees(trees: DynamicPathTrees) -> None:
    """Assert that all predecessors lead back to the source."""
    for source, tree in zip(trees.sources, trees.predecessors, strict=True):
        at = np.arange(trees.n_vertices)
        for _ in range(trees.n_vertices):
            at = np.where(tree[at] >= 0, tree[at], at)
        reached = tree >= 0
        assert np.all(at[reached] == source)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_paths_over_edges_without_length_end(seed: int) -> None:
    walk = Walk(seed, 1)
    paths = DynamicShortestPaths(walk.start(9))
    for _ in range(6):
        walk.step(paths)
    for i in range(paths.n_vertices):
        for j in range(paths.n_vertices):
            path = paths.path(i, j)
            if np.isinf(paths.distances[i, j]):
                assert path == []
                continue
            assert (path[0], path[-1]) == (i, j)
            total = sum(paths.lengths(list(itertools.pairwise(path))))
            assert total == pytest.approx(paths.distances[i, j])


@pytest.mark.parametrize("seed", range(3))
def test_order_of_elimination_does_not_matter(seed: int) -> None:
    X = make_swiss_roll(120, random_state=seed)[0]
    graph = distance_graph(X, n_neighbors=5)
    results = []
    for by_degree in (True, False):
        paths = DynamicShortestPaths(graph)
        pairs, lengths = paths._graph.edges_of(7)
        invalid = invalid_pairs(paths._paths, paths.n_vertices, pairs, lengths, -1)
        paths._graph.set(pairs[:3], np.full(3, np.inf))
        longer = paths._recompute(invalid, by_degree)
        assert_exact(paths)
        results.append((longer, paths.distances.copy()))
    assert results[0][0] == results[1][0] > 0
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-13)


def test_many_changes_at_once_are_the_same_as_one_by_one() -> None:
    graph = distance_graph(make_swiss_roll(90, random_state=5)[0], n_neighbors=6)
    at_once, one_by_one = DynamicShortestPaths(graph), DynamicShortestPaths(graph)
    ends = np.repeat(np.arange(90), np.diff(graph.indptr))
    pairs = np.column_stack([ends, graph.indices])[ends < graph.indices][:150]
    lengths = at_once.lengths(pairs) * np.random.default_rng(0).uniform(0.5, 2, len(pairs))
    lengths[::9] = np.inf
    old = at_once.distances.copy()
    change = at_once.change_edges(pairs, lengths)
    for pair, length in zip(pairs, lengths, strict=True):
        one_by_one.change_edges([pair], [length])
    assert_exact(at_once)
    np.testing.assert_allclose(at_once.distances, one_by_one.distances, rtol=1e-12)
    assert change.lengthened == np.count_nonzero(np.triu(at_once.distances > old * (1 + 1e-9)))
    assert change.shortened == np.count_nonzero(np.triu(at_once.distances * (1 + 1e-9) < old))


def test_adding_shortens_and_removing_lengthens_only() -> None:
    X = make_swiss_roll(80, random_state=0)[0]
    paths = DynamicShortestPaths(distance_graph(X, n_neighbors=5))
    old = paths.distances.copy()
    added = paths.add_vertex({3: 1.0, 40: 1.5, 70: 2.0})
    assert np.all(paths.distances[:80, :80] <= old)
    assert added.shortened == np.count_nonzero(np.triu(paths.distances[:80, :80] < old))
    removed = paths.remove_vertex(80)
    assert removed.lengthened == added.shortened
    np.testing.assert_allclose(paths.distances, old, rtol=1e-12)
    edge = int(paths.graph.indices[0])
    before = float(paths.lengths([(0, edge)])[0])
    paths.change_edge(0, edge, None)
    assert np.all(paths.distances >= old * (1 - 1e-12))
    paths.change_edge(0, edge, before)
    np.testing.assert_allclose(paths.distances, old, rtol=1e-12)


@pytest.mark.parametrize("make", [DynamicShortestPaths, lambda g: DynamicPathTrees(g, range(10))])
def test_increase_and_its_inverse_restore_the_distances(make: Callable[..., object]) -> None:
    graph = distance_graph(make_swiss_roll(100, random_state=1)[0], n_neighbors=6)
    paths = make(graph)
    old = paths.distances.copy()
    pairs = np.array([(0, graph[[0]].indices[0]), (50, graph[[50]].indices[1])])
    lengths = np.array([graph[i, j] for i, j in pairs])
    paths.change_edges(pairs, 10 * lengths)
    assert np.any(paths.distances > old)
    paths.change_edges(pairs, lengths)
    np.testing.assert_allclose(paths.distances, old, rtol=1e-12)


def test_contraction_keeps_all_distances_of_the_rest() -> None:
    graph = distance_graph(make_swiss_roll(90, random_state=2)[0], n_neighbors=6)
    paths = DynamicShortestPaths(graph)
    names = np.arange(90)
    old = paths.distances.copy()
    for vertex in (5, 70, 0, 33, 12):
        paths.contract_vertex(vertex)
        names[vertex] = names[len(names) - 1]
        names = names[:-1]
        np.testing.assert_allclose(paths.distances, old[np.ix_(names, names)], rtol=1e-12)
        assert_exact(paths)


def test_contraction_keeps_landmark_distances() -> None:
    graph = distance_graph(make_swiss_roll(150, random_state=2)[0], n_neighbors=6)
    trees = DynamicPathTrees(graph, range(12))
    names = np.arange(150)
    old = trees.distances.copy()
    for vertex in (50, 70, 20, 33, 100, 149 - 5):
        trees.contract_vertex(vertex)
        names[vertex] = names[len(names) - 1]
        names = names[:-1]
        np.testing.assert_array_equal(trees.distances, old[:, names])
    wanted = dijkstra(with_small_indices(trees.graph), indices=trees.sources)
    np.testing.assert_allclose(trees.distances, wanted, rtol=1e-12)
    with pytest.raises(ValueError, match="is a source"):
        trees.contract_vertex(3)


def test_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.graphs._dynamic_paths.ROWS_FOR_THREADS", 1)
    monkeypatch.setattr("sidelight.graphs._path_trees.SIZE_FOR_THREADS", 1)
    graph = distance_graph(make_swiss_roll(60, random_state=2)[0], n_neighbors=5)
    results = []
    for number in (1, 3):
        walk = Walk(3, 0)
        paths, trees = DynamicShortestPaths(graph), DynamicPathTrees(graph, [1, 8, 30])
        with engine.threads(number):
            for _ in range(15):
                walk.step(paths)
            for _ in range(15):
                walk.step(trees, kept=3)
        results.append((paths.distances.copy(), trees.distances.copy()))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_state_survives_a_pickle() -> None:
    walk = Walk(4, 0)
    paths: DynamicShortestPaths = DynamicShortestPaths(walk.start(20))
    trees = DynamicPathTrees(walk.start(20), [0, 1])
    for original in (paths, trees):
        original.add_vertex({3: 0.2})
        copy = pickle.loads(pickle.dumps(original))
        np.testing.assert_array_equal(copy.distances, original.distances)
        for one in (original, copy):
            one.add_vertex({5: 0.1, 20: 0.3})
            one.remove_vertex(7)
        np.testing.assert_array_equal(copy.distances, original.distances)
        np.testing.assert_array_equal(copy.predecessors, original.predecessors)


def test_begins_with_nothing() -> None:
    paths = DynamicShortestPaths()
    assert paths.add_vertex({}).vertex == 0
    assert paths.add_vertex([(0, 2.0)]).vertex == 1
    assert paths.distances.tolist() == [[0, 2], [2, 0]]
    paths.remove_vertex(0)
    paths.remove_vertex(0)
    assert paths.n_vertices == 0


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda p: p.change_edge(0, 0, 1.0), "two different vertices"),
        (lambda p: p.change_edge(0, 9, 1.0), "vertices 0 to 3"),
        (lambda p: p.change_edge(0, 1, -1.0), "not below 0"),
        (lambda p: p.change_edge(0, 1, np.nan), "not below 0"),
        (lambda p: p.add_vertex({7: 1.0}), "vertices 0 to"),
        (lambda p: p.remove_vertex(4), "0 to 3, got 4"),
        (lambda p: p.change_edges([(0, 1), (1, 0)], [1, 2]), "once at a time"),
        (lambda p: p.change_edges([(0, 1)], [1, 2]), "1 edges, but 2 lengths"),
    ],
)
def test_bad_changes_are_refused_and_change_nothing(
    act: Callable[[DynamicShortestPaths], object], words: str
) -> None:
    paths = DynamicShortestPaths(as_graph({(0, 1): 1.0, (1, 2): 1.0, (2, 3): 0.5}, 4))
    before = paths.distances.copy()
    with pytest.raises(ValueError, match=words):
        act(paths)
    np.testing.assert_array_equal(paths.distances, before)
    assert paths.n_vertices == 4


def test_directed_graphs_are_refused() -> None:
    with pytest.raises(ValueError, match="symmetric"):
        DynamicShortestPaths(sparse.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])))
