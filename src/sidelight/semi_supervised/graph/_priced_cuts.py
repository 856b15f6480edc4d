"""Minimum cuts with a price for every unlabeled row of a class, by which classes have shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.semi_supervised.graph._flow import (
    FlowEdges,
    cut_by_isolation,
    cut_in_two,
    improve_by_swaps,
    rows_of_two,
    separate,
)

#: Of several classes, one gives another at least this share of the unlabeled rows at a time.
LEAST_MOVE = 0.005


@dataclass(frozen=True)
class PricedCut:
    """Classes of all rows, the prices at which they are cheap, and the cost on the way.

    Attributes
    ----------
    classes : ndarray of shape (n,)
        Codes of the classes.
    prices : ndarray of shape (n_classes,)
        What an unlabeled row costs in each class; the smallest is 0.
    history : list of float
        Weight of the cut, and the prices, after every round over the pairs of classes.
    """

    classes: IntArray
    prices: Array
    history: list[float]


def minimum_cut(edges: FlowEdges, n_classes: int) -> PricedCut:
    """Minimum cut without prices, and for several classes one that no swap makes lighter."""
    prices = np.zeros(n_classes)
    if n_classes == 2:
        classes = cut_in_two(edges)
        return PricedCut(classes, prices, [edges.cut(classes)])
    start = cut_by_isolation(edges, n_classes)
    return PricedCut(*_swapped(edges, start, prices))


def cut_with_shares(edges: FlowEdges, shares: Array) -> PricedCut:
    """Cut with prices at which the unlabeled rows have these shares, or nearly.

    Several classes begin with the cut without prices. A class with too many rows gives some to one
    with too few, at a price that is found for the two; then, with all prices as they are, rows are
    swapped until nothing gets cheaper. That is repeated while there are two classes with which it
    comes nearer to the shares.
    """
    n_classes, n_free = len(shares), int(np.sum(edges.labels < 0))
    if n_classes == 2:
        classes, price = cut_in_two_with_share(edges, float(shares[1]) * n_free)
        prices = np.array([max(-price, 0.0), max(price, 0.0)])
        return PricedCut(classes, prices, [edges.cost(classes, prices)])
    best: PricedCut | None = minimum_cut(edges, n_classes)
    while best is not None:
        found, best = best, _nearer_cut(edges, best, shares)
    return found


def share_error(edges: FlowEdges, classes: IntArray, shares: Array) -> float:
    """Share of the unlabeled rows that would have to change its class to have these shares."""
    counts = np.bincount(classes[edges.labels < 0], minlength=len(shares))
    return float(np.abs(counts / max(counts.sum(), 1) - shares).sum() / 2)


def cut_in_two_with_share(edges: FlowEdges, wanted: float) -> tuple[IntArray, float]:
    """Cut of two classes with a price for class 1 at which it has ``wanted`` unlabeled rows.

    The higher the price, the fewer rows: their sets are nested (parametric cuts). Two cuts, one
    with too few rows and one with too many, cost the same at one price. Either something is
    cheaper there, with a number of rows between theirs, or both are minimum cuts, and there is
    none between them at any price: then the one nearer to the wanted number is taken.

    Returns
    -------
    classes : ndarray of shape (n,)
        Classes 0 and 1.
    price : float
        A price at which ``cut + price × rows in class 1`` is least.
    """
    free = edges.labels < 0
    few, many = (np.where(free, code, edges.labels) for code in (0, 1))
    low, high, price = 0, int(free.sum()), 0.0
    while low < high:
        price = (edges.cut(few) - edges.cut(many)) / (high - low)
        between = False
        inside, outside, _ = separate(edges, 1, price)
        for classes in (inside.astype(np.int64), 1 - outside.astype(np.int64)):
            count = int(classes[free].sum())
            if not low < count < high:
                continue
            between = True
            if count <= wanted:
                few, low = classes, count
            if count >= wanted:
                many, high = classes, count
        if not between:
            break
    return (few if wanted - low <= high - wanted else many), price


def _nearer_cut(edges: FlowEdges, cut: PricedCut, shares: Array) -> PricedCut | None:
    """A cut nearer to the shares, after other prices of two classes; None if no two give one."""
    counts = np.bincount(cut.classes[edges.labels < 0], minlength=len(shares))
    surplus = counts - shares * counts.sum()
    error = share_error(edges, cut.classes, shares)
    for move, pair in _possible_moves(surplus, LEAST_MOVE * counts.sum()):
        ends = list(pair)
        rows, two = rows_of_two(edges, cut.classes, pair)
        codes, price = cut_in_two_with_share(two, float(counts[ends[1]] + move))
        classes, prices = cut.classes.copy(), cut.prices.copy()
        classes[rows] = np.asarray(pair)[codes]
        prices[ends] = prices[ends].mean() + np.array([-0.5, 0.5]) * price
        found = PricedCut(*_swapped(edges, classes, prices - prices.min()))
        if share_error(edges, found.classes, shares) < error - 1e-9:
            return found
    return None


def _possible_moves(surplus: Array, least: float) -> list[tuple[float, tuple[int, int]]]:
    """Numbers of rows that one class could give to another, and the two; the largest first."""
    giving, taking = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    moves = [
        (float(min(surplus[i], -surplus[j])), (int(i), int(j))) for i in giving for j in taking
    ]
    return sorted((move for move in moves if move[0] >= least), reverse=True)


def _swapped(
    edges: FlowEdges, classes: IntArray, prices: Array
) -> tuple[IntArray, Array, list[float]]:
    classes, history = improve_by_swaps(edges, classes, prices)
    return classes, prices, history
