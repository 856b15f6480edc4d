"""Random data for property tests: knowledge, labelings, graphs, tables, problems to solve."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sidelight import Constraints, Relations

if TYPE_CHECKING:
    import pandas as pd

    from sidelight.relational.correlation._graph import SignedGraph

#: Every seed that NumPy takes.
SEEDS = st.integers(0, 2**32 - 1)

Pairs = list[tuple[int, int]]


def different(element: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[int, int]]:
    """Pairs of two different elements."""
    return st.tuples(element, element).filter(lambda pair: pair[0] != pair[1])


# Knowledge


class Stated(NamedTuple):
    """What constraints are made from."""

    n: int
    must_link: Pairs
    cannot_link: Pairs
    labels: list[int] | None
    groups: list[int] | None

    def constraints(self) -> Constraints:
        return Constraints(
            self.must_link,
            self.cannot_link,
            n_samples=self.n,
            labels=self.labels,
            groups=self.groups,
        )


@st.composite
def stated(
    draw: st.DrawFn, max_rows: int = 12, max_pairs: int = 10, classes: bool = True
) -> Stated:
    """Statements about a few rows, which may contradict each other."""
    n = draw(st.integers(2, max_rows))
    row = st.integers(0, n - 1)
    must_link = draw(st.lists(st.tuples(row, row), max_size=max_pairs))
    cannot_link = draw(st.lists(different(row), max_size=max_pairs))
    codes = st.one_of(
        st.none(), st.lists(st.sampled_from([-1, -1, -1, 0, 1, 2]), min_size=n, max_size=n)
    )
    labels = draw(codes) if classes else None
    groups = draw(codes) if classes else None
    return Stated(n, must_link, cannot_link, labels, groups)


@st.composite
def constraints_to_write(draw: st.DrawFn) -> Constraints:
    """Constraints with any kind of ids, labels, groups and weights."""
    words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
    n = draw(st.integers(2, 6))
    kinds_of_ids = st.one_of(
        st.none(),
        st.lists(words, min_size=n, max_size=n, unique=True),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n, unique=True),
        st.permutations([("x", 1), ("x", 2), 3, "four", 5.5, ("y", 1)]).map(lambda p: p[:n]),
    )
    ids = draw(kinds_of_ids)
    pairs = st.lists(different(st.integers(0, n - 1)), max_size=5)
    must_link, cannot_link = draw(pairs), draw(pairs)
    name = (lambda p: p) if ids is None else (lambda p: (ids[p[0]], ids[p[1]]))
    weight = st.floats(1e-300, 1e300)
    classes = st.one_of(
        st.none(),
        st.lists(st.one_of(st.none(), words), min_size=n, max_size=n),
        st.lists(st.integers(-1, 3), min_size=n, max_size=n),
    )
    return Constraints(
        [name(p) for p in must_link],
        [name(p) for p in cannot_link],
        n_samples=n,
        ids=ids,
        must_link_weight=[draw(weight) for _ in must_link],
        cannot_link_weight=[draw(weight) for _ in cannot_link],
        labels=draw(classes),
        groups=draw(classes),
    )


@st.composite
def class_knowledge(draw: st.DrawFn) -> Constraints:
    """Labels, pairs and groups that follow from two or three classes, two labels of each."""
    n = draw(st.integers(6, 24))
    n_classes = draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    truth = rng.integers(n_classes, size=n)
    truth[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)
    labels = np.where(rng.uniform(size=n) < draw(st.floats(0.2, 1.0)), truth, -1)
    labels[: 2 * n_classes] = truth[: 2 * n_classes]
    pairs = rng.integers(n, size=(draw(st.integers(0, 25)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    groups = np.where(rng.uniform(size=n) < draw(st.floats(0, 0.5)), truth * 10 + n % 3, -1)
    groups[: 2 * n_classes] = -1
    return Constraints(pairs[same], pairs[~same], labels=labels, groups=groups, n_samples=n)


@st.composite
def pairs_and_rows(draw: st.DrawFn) -> tuple[Constraints, np.ndarray]:
    """At least one pair of each kind, and rows with or without ties."""
    n, d = draw(st.integers(4, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(SEEDS))
    X = (
        rng.integers(-3, 4, size=(n, d)).astype(float)
        if draw(st.booleans())
        else rng.normal(size=(n, d))
    )
    possible = np.column_stack(np.triu_indices(n, k=1))
    chosen = possible[rng.permutation(len(possible))[: rng.integers(2, 9)]]
    cut = rng.integers(1, len(chosen))
    return Constraints(chosen[:cut], chosen[cut:], n_samples=n), X


@st.composite
def pairs_and_labels(draw: st.DrawFn) -> tuple[Pairs, Pairs, list[int]]:
    """Must-links, cannot-links and the clusters of the rows."""
    n = draw(st.integers(3, 9))
    pairs = list(itertools.combinations(range(n), 2))
    kinds = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(pairs), max_size=len(pairs)))
    must = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 1]
    cannot = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == -1]
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return must, cannot, labels


@st.composite
def view_links(draw: st.DrawFn) -> tuple[list[int], np.ndarray]:
    """Sizes of views, and links (view, row, view, row) between their rows."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=4))
    views = st.integers(0, len(sizes) - 1)
    links = []
    for _ in range(draw(st.integers(0, 12))):
        a, b = draw(views), draw(views)
        links.append((a, draw(st.integers(0, sizes[a] - 1)), b, draw(st.integers(0, sizes[b] - 1))))
    return sizes, np.array(links, dtype=int).reshape(-1, 4)


# Labelings


@st.composite
def labelings(
    draw: st.DrawFn, number: int = 2, max_rows: int = 12, n_clusters: int = 5
) -> tuple[np.ndarray, ...]:
    """Several labelings of the same rows."""
    n = draw(st.integers(1, max_rows))
    label = st.integers(0, n_clusters - 1)
    return tuple(np.array(draw(st.lists(label, min_size=n, max_size=n))) for _ in range(number))


# Graphs


@st.composite
def edge_lists(draw: st.DrawFn, max_nodes: int = 7) -> tuple[int, np.ndarray]:
    """A number of nodes and some of the possible edges, sorted."""
    n = draw(st.integers(1, max_nodes))
    possible = list(itertools.combinations(range(n), 2))
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    return n, np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)


@st.composite
def merged_graphs(draw: st.DrawFn) -> tuple[int, Pairs, Pairs]:
    """A number of nodes, edges, and pairs of nodes to merge one after the other."""
    n = draw(st.integers(2, 12))
    pairs = list(itertools.combinations(range(n), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=len(pairs)))
    merges = draw(st.lists(st.sampled_from(pairs), max_size=n))
    return n, edges, merges


#: Scores that are exact in every file format, and some that are not short.
EDGE_SCORES = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0),
)
#: Names that come back from a file as they were: not trimmed, and no text marked as such.
NAMES = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda word: word == word.strip() and not word.startswith("'")
)


@st.composite
def relations(
    draw: st.DrawFn, max_nodes: int = 9, min_edges: int = 0, named: bool = True
) -> Relations:
    """Signed graphs with positions, whole numbers or words as ids."""
    n = draw(st.integers(2, max_nodes))
    ids = None
    if named:
        ids = draw(
            st.one_of(
                st.none(),
                st.lists(st.integers(-50, 50), min_size=n, max_size=n, unique=True),
                st.lists(NAMES, min_size=n, max_size=n, unique=True),
            )
        )
    possible = list(itertools.combinations(range(n), 2))
    chosen = draw(st.lists(st.sampled_from(possible), min_size=min_edges, unique=True))
    values = draw(st.lists(EDGE_SCORES, min_size=len(chosen), max_size=len(chosen)))
    flipped = [(j, i) if draw(st.booleans()) else (i, j) for i, j in chosen]
    pairs = np.array(flipped, np.int64).reshape(-1, 2)
    if ids is None:
        return Relations(pairs, values, n_samples=n)
    return Relations([(ids[i], ids[j]) for i, j in flipped], values, ids=ids)


@st.composite
def signed_graphs(draw: st.DrawFn, max_nodes: int = 8) -> SignedGraph:
    """Problems of correlation clustering, with must-links, conflicts and sources."""
    from tests.relational.correlation.enumerate import random_graph

    return random_graph(
        draw(st.integers(0, 10**6)),
        draw(st.integers(1, max_nodes)),
        density=draw(st.sampled_from([0.3, 0.6, 1.0])),
        absent=draw(st.sampled_from([0.0, 0.3, 1.0])),
        unit=draw(st.booleans()),
        n_must=draw(st.integers(0, 2)),
        n_cannot=draw(st.integers(0, 3)),
        n_sources=draw(st.sampled_from([0, 1, 2, 4])),
    )


@st.composite
def fields(draw: st.DrawFn, largest: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges, soft and hard couplings, and potentials of a field, some labels not allowed."""
    n = draw(st.integers(1, largest))
    k = draw(st.integers(1, 4 if n <= 6 else 3))
    rng = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=int).reshape(-1, 2)
    edges = pairs[rng.rand(len(pairs)) < draw(st.sampled_from([0.1, 0.3, 0.6, 1.0]))]
    flip = rng.rand(len(edges)) < 0.5
    edges[flip] = edges[flip][:, ::-1]
    coupling = rng.randn(len(edges)) * draw(st.sampled_from([0.5, 3.0, 800.0]))
    coupling[rng.rand(len(edges)) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = -np.inf
    logphi = rng.randn(n, k) * draw(st.sampled_from([1.0, 30.0, 1000.0]))
    clamped = rng.rand(n) < draw(st.sampled_from([0.0, 0.3]))
    for i in np.flatnonzero(clamped):
        keep = rng.randint(k)
        logphi[i, np.arange(k) != keep] = -np.inf
    return edges, coupling, logphi


# Tables

#: Rows of rounded numbers, so that some are equal.
ROWS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(4, 40), st.integers(1, 4)),
    elements=st.floats(-100, 100).map(lambda value: round(value, 3)),
)
#: 0/1 tables.
BINARY_TABLES = hnp.arrays(
    np.int64,
    st.tuples(st.integers(2, 8), st.integers(2, 8)),
    elements=st.integers(0, 1),
)
#: Tables of counts.
COUNT_TABLES = hnp.arrays(
    np.float64, st.tuples(st.integers(3, 9), st.integers(3, 9)), elements=st.integers(0, 5)
)


@st.composite
def tables_with_pairs(draw: st.DrawFn) -> tuple[np.ndarray, Constraints, Constraints]:
    """A 0/1 table, and pairs of its rows and of its columns that a partition satisfies."""
    table = draw(BINARY_TABLES)
    sides = []
    for n in table.shape:
        truth = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
        pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=5))
        pairs = [(i, j) for i, j in pairs if i != j]
        sides.append(
            Constraints(
                [(i, j) for i, j in pairs if truth[i] == truth[j]] or None,
                [(i, j) for i, j in pairs if truth[i] != truth[j]] or None,
                n_samples=n,
            )
        )
    return table, sides[0], sides[1]


@st.composite
def coclustered_tables(draw: st.DrawFn) -> tuple[np.ndarray, list[int], list[int]]:
    """Counts that are not all zero, and clusters of rows and columns."""
    n, d = draw(st.integers(2, 8)), draw(st.integers(2, 8))
    counts = hnp.arrays(np.int64, (n, d), elements=st.integers(0, 3))
    table = draw(counts.filter(lambda table: table.any()))
    rows = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    columns = draw(st.lists(st.integers(0, 2), min_size=d, max_size=d))
    return table, rows, columns


#: Words that separators, escapes and marks of published tables occur in.
CITIES = ["Rome", "a, b", "a", "b", "{a, b}", "*", "missing", "x\\y", "é;ü", "a-b"]


@st.composite
def mixed_tables(draw: st.DrawFn, most_rows: int = 60) -> pd.DataFrame:
    """Tables with ties, gaps, dates, words with separators in them, and extreme numbers."""
    import pandas as pd

    n = draw(st.integers(1, most_rows))
    rng = np.random.default_rng(draw(SEEDS))
    made: dict[str, Any] = {
        "age": rng.integers(18, 18 + draw(st.sampled_from([1, 5, 60])), n),
        "size, cm": np.round(rng.normal(170, 10, n), 1),
        "share": rng.uniform(-1, 1, n) * 10.0 ** draw(st.sampled_from([-9, 0, 9])),
        "float32": rng.normal(size=n).astype(np.float32),
        "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.integers(0, 9, n)),
        "city": rng.choice(CITIES, n),
        "word": np.where(rng.uniform(size=n) < 0.1, None, rng.choice(list("uvw"), n)),
        "yes": rng.uniform(size=n) < 0.2,
        "joined": pd.Timestamp("2020-02-28") + pd.to_timedelta(rng.integers(0, 800, n), "D"),
        "same": np.full(n, 7),
    }
    names = draw(st.lists(st.sampled_from(list(made)), min_size=1, max_size=5, unique=True))
    return pd.DataFrame({name: made[name] for name in names})


@st.composite
def published_tables(draw: st.DrawFn) -> dict[str, list[str]]:
    """Tables of two quasi-identifiers and one sensitive column."""
    n = draw(st.integers(1, 25))

    def column(values: list[str]) -> list[str]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    return {
        "age": column(["20-29", "30-39", "*"]),
        "zip": column(["1", "2"]),
        "ill": column(["flu", "cold", "hiv", "none"]),
    }


#: Names of people that are nearly alike.
PEOPLE = st.lists(
    st.sampled_from(["wei", "wang", "wan", "w", "a", "ansari", "anssari", "martha", "marhta"]),
    min_size=1,
    max_size=4,
).map(" ".join)


# Problems to solve


@st.composite
def assignments(
    draw: st.DrawFn, max_nodes: int = 6, max_clusters: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    """Costs of the clusters for every node, and cannot-links between nodes."""
    n, edges = draw(edge_lists(max_nodes))
    k = draw(st.integers(1, max_clusters))
    rng = np.random.default_rng(draw(SEEDS))
    # Whole numbers make ties; some clusters are not allowed.
    cost = draw(
        st.sampled_from([rng.normal(size=(n, k)), rng.integers(0, 4, (n, k)).astype(float)])
    )
    if draw(st.booleans()):
        cost[rng.random((n, k)) < 0.15] = np.inf
    return cost, edges


@st.composite
def balanced_assignments(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Costs, labels of some rows, and a minimum size that is possible."""
    k = draw(st.integers(1, 5))
    n = draw(st.integers(k, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sampled = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    labels = np.where(sampled, rng.integers(0, draw(st.integers(1, k)), n), -1)
    return rng.random((n, k)), labels, draw(st.integers(0, n // k))
