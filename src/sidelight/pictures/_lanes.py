"""Lanes as plain data: spans along an order, a lane for every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
class Lanes:
    """Spans along an order.

    Attributes
    ----------
    title : str
        What the spans are.
    text : str
        What can be seen, for a reader who cannot see it.
    names : sequence of str
        Names of the lanes, from the top.
    spans : sequence of Span
        The spans, in the order of their starts.
    length : int
        Number of places.
    places : sequence of str
        Names of all places; empty where they have none.
    axis_titles : tuple of str
        Titles of the order and of the lanes.
    note : str
        What is to be known besides.
    css : str
        Class or classes of the style sheet of a page; no other picture of the page has them.
    width : int
        Width on a page.
    """

    title: str
    text: str
    names: Sequence[str]
    spans: Sequence[Span]
    length: int
    places: Sequence[str] = ()
    axis_titles: tuple[str, str] = ("", "")
    note: str = ""
    css: str = "lanes"
    width: int = 1180
