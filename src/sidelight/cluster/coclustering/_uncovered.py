"""Elements that no bi-set covers: why, and clusters for some of them by their ones."""

from __future__ import annotations

import numpy as np

from sidelight._kernels.cluster.coclustering import admission
from sidelight._kernels.cluster.coclustering.concepts import unpack
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, listed, setting
from sidelight.assignment import assign
from sidelight.cluster.coclustering._grouping import Centroids, first_largest
from sidelight.cluster.coclustering._statements import TableStatements
from sidelight.exceptions import SidelightError


def likeness(ones: Array, weights: FloatArray) -> FloatArray:
    """Dice-type similarity ``|g ∩ γ| / |g ∪ γ|`` of sets to weights, shape (n_sets, n_clusters).

    Parameters
    ----------
    ones : ndarray of shape (n_sets, n_elements)
        Sets as zeros and ones.
    weights : ndarray of shape (n_elements, n_clusters)
        Weights of the elements in every cluster.
    """
    sets = ones.astype(np.float64)
    shared = sets @ (weights + (weights > 0))
    union = sets.sum(axis=1)[:, None] + weights.sum(axis=0)
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def place_left_out(
    labels: IntArray, left_out: Array, table: Array, means: Centroids, known: TableStatements
) -> IntArray:
    """Give a cluster to elements that satisfying the constraints has left without a bi-set.

    Each goes to the cluster most like its ones, with those that it belongs together with, and not
    where an element is that must be apart. Where that leaves none for some of them, all
    elements with cannot-links are assigned anew: to the clusters of the largest sum of weights that
    satisfy every cannot-link.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_rows + n_columns,)
        Clusters of the elements, -1 for none.
    left_out : ndarray of bool
        Elements to place where they have no cluster.
    table : ndarray of bool
        The ones.
    means : Centroids
        Weights of both sides.
    known : TableStatements
        What is known.
    """
    lost = np.flatnonzero((labels < 0) & left_out)
    if not len(lost):
        return labels
    n_rows = known.n_rows
    scores = np.concatenate(
        [
            likeness(table[lost[lost < n_rows]], means.columns),
            likeness(table.T[lost[lost >= n_rows] - n_rows], means.rows),
        ]
    )
    placed = labels.copy()
    free = known.vertex[lost] < 0
    if free.any():
        _, group = np.unique(known.component[lost[free]], return_inverse=True)
        of_group = np.zeros((group.max() + 1, scores.shape[1]))
        np.add.at(of_group, group.reshape(-1), scores[free])
        placed[lost[free]] = first_largest(of_group)[group.reshape(-1)]
    if not free.all():
        _place_apart(placed, lost[~free], scores[~free], means, known)
    return placed


def _place_apart(
    placed: IntArray, lost: IntArray, scores: FloatArray, means: Centroids, known: TableStatements
) -> None:
    """Place elements with cannot-links by their scores in the clusters."""
    n_vertices = len(known.edges)
    of_vertex = np.zeros((n_vertices, scores.shape[1]))
    np.add.at(of_vertex, known.vertex[lost], scores)
    home = np.full(n_vertices, -1, np.int64)
    present = (placed >= 0) & (known.vertex >= 0)
    home[known.vertex[present]] = placed[present]
    edges = unpack(known.edges, n_vertices).astype(bool)
    waiting = np.unique(known.vertex[lost])
    for vertex in waiting[np.argsort(-of_vertex[waiting].max(axis=1), kind="stable")].tolist():
        around = home[edges[vertex]]
        open_to_it = np.setdiff1d(np.arange(scores.shape[1]), around)
        if len(open_to_it):
            home[vertex] = open_to_it[of_vertex[vertex, open_to_it].argmax()]
    placed[lost] = home[known.vertex[lost]]
    if np.all(placed[lost] >= 0):
        return
    np.add.at(of_vertex, known.vertex[present], np.vstack([means.rows, means.columns])[present])
    present[lost] = True
    placed[present] = _assigned(of_vertex, edges, known.vertex[present])


def _assigned(weights: FloatArray, edges: Array, vertex: IntArray) -> IntArray:
    """Cluster of every vertex given, such that all edges between them are satisfied."""
    some, place = np.unique(vertex, return_inverse=True)
    apart = np.argwhere(np.triu(edges[np.ix_(some, some)]))
    return assign(-weights[some], apart).labels[place.reshape(-1)]


#: Largest number of partners of an element, and of elements in an error, that are named.
SHOWN = 3

NO_ONES = "it has no ones"


def explain_uncovered(
    covered: Array, found_covered: Array, removed: Array, table: Array, known: TableStatements
) -> dict[int, str]:
    """Reasons of all elements that are in no cluster, by element.

    Parameters
    ----------
    covered : ndarray of bool, shape (n_rows + n_columns,)
        Elements with a cluster.
    found_covered : ndarray of bool
        Elements of some bi-set that satisfies everything, whether or not a cluster took it.
    removed : ndarray of bool, shape (5, n_rows + n_columns)
        Elements of bi-sets that each kind of constraint removed.
    table : ndarray of bool
        The ones.
    known : TableStatements
        What is known.
    """
    ones = np.concatenate([table.sum(axis=1), table.sum(axis=0)])
    reasons = {}
    for element in np.flatnonzero(~covered).tolist():
        if ones[element] == 0:
            reasons[element] = NO_ONES
        elif found_covered[element]:
            reasons[element] = (
                f"{_apart(element, known)}: every cluster that could take its bi-sets has one that "
                "must be apart"
            )
        else:
            reasons[element] = _responsible(element, removed[:, element], known)
    return reasons


def _responsible(element: int, removed: Array, known: TableStatements) -> str:
    """The statement that left no bi-set for an element."""
    partners = np.flatnonzero(known.component == known.component[element])
    if len(partners) > 1 and not removed.any():
        return f"{_together(element, partners, known)}: they have no ones in common"
    found = []
    if removed[admission.MUST_LINK]:
        text = "the must-links"
        if len(partners) > 1:
            text = _together(element, partners, known)
        found.append(text)
    if removed[admission.CANNOT_LINK]:
        found.append(
            _apart(element, known) if known.vertex[element] >= 0 else "the cannot-links of others"
        )
    for kind, side, order in (
        (admission.ROW_ORDER, "rows", known.row_order),
        (admission.COLUMN_ORDER, "columns", known.column_order),
    ):
        if removed[kind] and order is not None:
            found.append(f"the order of the {side} ({order.bounds_text})")
    if not found:
        return f"no bi-set has {setting('min_rows')} rows and {setting('min_columns')} columns"
    return f"{listed(found)} removed every bi-set that covers it"


def _together(element: int, partners: IntArray, known: TableStatements) -> str:
    others = [known.name(other) for other in partners.tolist() if other != element]
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"the must-link with {', '.join(others[:SHOWN])}{more}"


def _apart(element: int, known: TableStatements) -> str:
    edges = known.conflicts
    mine = known.component[element]
    others = np.concatenate([edges[edges[:, 0] == mine, 1], edges[edges[:, 1] == mine, 0]])
    names = [known.name(int(np.argmax(known.component == other))) for other in others[:SHOWN]]
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f"the cannot-link with {', '.join(names)}{more}"


def check_all_covered(reasons: dict[int, str], known: TableStatements) -> None:
    """Raise if an element with a cannot-link is in no cluster: it need not be apart from it."""
    lost = [
        element
        for element, reason in reasons.items()
        if known.vertex[element] >= 0 and reason != NO_ONES
    ]
    if not lost:
        return
    shown = "; ".join(f"{known.name(element)}: {reasons[element]}" for element in lost[:SHOWN])
    more = f" (and {len(lost) - SHOWN} more)" if len(lost) > SHOWN else ""
    raise SidelightError(
        f"There is no solution: {counted(len(lost), 'element')} with a cannot-link would be in no "
        f"cluster. {shown}{more}. Remove one of these statements, widen the gaps of an order, or "
        f"ask for smaller bi-sets or more clusters."
    )


def split_by_side(reasons: dict[int, str], n_rows: int) -> tuple[dict[int, str], dict[int, str]]:
    """Reasons by position, of rows and of columns."""
    rows = {element: text for element, text in reasons.items() if element < n_rows}
    columns = {element - n_rows: text for element, text in reasons.items() if element >= n_rows}
    return rows, columns


def warning_of(reasons: dict[int, str], known: TableStatements) -> str:
    """Warning text about elements that have ones but are in no cluster; empty if there are none."""
    lost = [element for element in reasons if reasons[element] != NO_ONES]
    if not lost:
        return ""
    shown = "; ".join(f"{known.name(element)}: {reasons[element]}" for element in lost[:SHOWN])
    more = f"; and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    return (
        f"{counted(len(lost), 'row or column', 'rows and columns')} in no cluster (label -1), "
        f"since no bi-set covers them. {shown}{more}."
    )
