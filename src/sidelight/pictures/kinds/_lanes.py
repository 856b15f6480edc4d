"""Lanes as plain data: spans along an order, a lane for every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidelight.pictures.kinds._picture import Picture


@dataclass(frozen=True)
class Span:
    """A run of neighboring places in a lane.

    Attributes
    ----------
    lane : int
        Number of its lane.
    start, end : int
        First place, and the one behind the last.
    color : int
        Number of its color, -1 for grey.
    title : str
        What it says when the pointer rests on it.
    mark : str
        What a mark at its start says; no mark where that is empty.
    """

    lane: int
    start: int
    end: int
    color: int
    title: str
    mark: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lanes(Picture):
    """Spans along an order.

    Attributes
    ----------
    names : sequence of str
        Names of the lanes, from the top.
    spans : sequence of Span
        The spans, in the order of their starts.
    length : int
        Number of places.
    places : sequence of str
        Names of all places; empty where they have none.
    """

    names: Sequence[str]
    spans: Sequence[Span]
    length: int
    places: Sequence[str] = ()
    css: str = "lanes"
    size: tuple[int, int] = (1180, 80)
