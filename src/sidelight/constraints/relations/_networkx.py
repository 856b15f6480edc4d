"""Relations from and to graphs of networkx, and of anything with the same methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.relations._edges import Edges, canonical_edges
from sidelight.exceptions import SidelightError, UnknownIds
from sidelight.io.inner import alike_hint


def is_graph(given: Any) -> bool:
    """Whether something has the methods of a networkx graph."""
    return all(hasattr(given, name) for name in ("nodes", "edges", "is_directed", "adj"))


def nodes_of(graph: Any) -> list[Any]:
    """Nodes in the order of the graph."""
    if not is_graph(graph):
        raise SidelightError(f"A networkx graph is needed, got {type(graph).__name__}.")
    return list(graph.nodes)


def edges_of_graph(graph: Any, index: RowIndex, weight: str | None, duplicates: str) -> Edges:
    """Edges of a graph between the objects of the index."""
    data: Any = 1 if weight is None else weight
    # networkx counts edges without the attribute as 1.
    listed = list(graph.edges(data=data, default=1)) if weight is not None else list(graph.edges())
    nodes = dict.fromkeys([*graph.nodes])
    values = np.fromiter(nodes, object, len(nodes))
    if index.ids.dtype != object:
        values = canonical.as_ids(values) if len(values) else np.empty(0, index.ids.dtype)
    places = index.positions(values)
    _check_known_nodes(list(nodes), places, index)
    place = dict(zip(nodes, places.tolist(), strict=True))
    pairs = np.array([(place[edge[0]], place[edge[1]]) for edge in listed], np.int64)
    pairs = pairs.reshape(-1, 2)
    scores = np.ones(len(listed)) if weight is None else _weights(listed, weight)
    if getattr(graph, "is_multigraph", lambda: False)() and duplicates == "refuse":
        _check_no_parallel_edges(graph, pairs, index)
    edges = canonical_edges(pairs, scores, max(len(index.ids), 1), index.ids, duplicates)
    if not graph.is_directed():
        return edges
    # Both directions of a link with the same score are one edge, as in a symmetric matrix.
    return edges._replace(notes=tuple(n for n in edges.notes if "the same score" not in n))


def _check_known_nodes(nodes: list[Any], places: Any, index: RowIndex) -> None:
    unknown = [node for node, place in zip(nodes, places.tolist(), strict=True) if place < 0]
    if unknown:
        shown = ", ".join(repr(node) for node in unknown[:5]) + ", ..." * (len(unknown) > 5)
        raise UnknownIds(
            f"The graph has the node{'s' * (len(unknown) > 1)} {shown}, not among the "
            f"{len(index.ids)} ids; remove what is not in the data from the graph, or correct the "
            f"ids.{alike_hint(unknown[0], index.ids.tolist())}",
            ids=unknown,
        )


def _weights(listed: list[Any], weight: str) -> FloatArray:
    values = [edge[-1] for edge in listed]
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        first = next(edge for edge in listed if not _is_number(edge[-1]))
        raise SidelightError(
            f"The {weight!r} of the edge {first[0]!r} - {first[1]!r} is {first[-1]!r}, which is "
            "not a number; name another attribute with weight=, or weight=None to count every "
            "edge as 1."
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _check_no_parallel_edges(graph: Any, pairs: Any, index: RowIndex) -> None:
    """Raise if there are parallel edges: whether they add up is for the caller to decide."""
    ends = pairs if graph.is_directed() else np.sort(pairs, axis=1)
    different, counts = np.unique(ends, axis=0, return_counts=True)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        named = " - ".join(canonical.name_rows(different[twice[0]], index.ids))
        raise SidelightError(
            f"The multigraph has {counts[twice[0]]} edges {named}; say what becomes of parallel "
            'edges: duplicates="sum", "mean", "max" or "min".'
        )


def to_networkx(relations: Any) -> Any:
    """Graph with the objects as nodes and the scores as weights."""
    try:
        import networkx
    except ImportError as error:
        raise SidelightError("to_networkx() needs networkx: pip install networkx.") from error
    names = list(range(relations.n_samples)) if relations.ids is None else relations.ids.tolist()
    graph = networkx.Graph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from(
        (names[i], names[j], score)
        for (i, j), score in zip(relations.edges.tolist(), relations.scores.tolist(), strict=True)
    )
    return graph
