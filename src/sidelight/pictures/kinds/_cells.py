"""Cells as plain data: tables whose cells have a color and a shade, and grids of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.pictures.kinds._picture import Picture

#: Colors of layers that stand for no group: grey, and the red of what is wrong.
OTHER, WRONG = -1, -2
#: Numbers have this many colors on a page.
STEPS = 16


@dataclass(frozen=True)
class Layer:
    """Cells of one color.

    Attributes
    ----------
    name : str
        What the color stands for.
    css : str
        Class of the style sheet of a page.
    color : int
        Number of the color of a group, or ``OTHER`` or ``WRONG``.
    """

    name: str
    css: str
    color: int


@dataclass(frozen=True)
class Frame:
    """A block of cells.

    Attributes
    ----------
    top, left, height, width : int
        The block, counted in cells.
    title : str
        What it says when the pointer rests on it; nothing where that is empty.
    css : str
        Class of the style sheet of a page.
    outlined : bool
        Whether it has an outline.
    """

    top: int
    left: int
    height: int
    width: int
    title: str = ""
    css: str = ""
    outlined: bool = True


@dataclass(frozen=True)
class Strip:
    """Neighboring rows, or columns, of one group.

    Attributes
    ----------
    start, end : int
        The first cell, and the one behind the last.
    title : str
        What the group is.
    css : str
        Class of the style sheet of a page.
    """

    start: int
    end: int
    title: str
    css: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(Picture):
    """A table of cells.

    Attributes
    ----------
    layers : sequence of Layer
        Colors.
    codes : ndarray of int, shape (n_rows, n_columns)
        Color of every cell, as its number among the layers counted from 1; 0 for an empty cell.
    shares : ndarray of shape (n_rows, n_columns), default=None
        Shade of every cell from 0 to 1; all are full by default.
    names : tuple of sequences of str
        Names of rows and columns; empty where there are none, or too many to be read.
    square : bool
        Whether cells are squares.
    borders : tuple of sequences of int
        Rows and columns before which a line is drawn.
    frames : sequence of Frame
        Blocks.
    strips : tuple of sequences of Strip
        Groups of the rows and of the columns.
    hits : sequence of tuple of int, int and str
        Row and column of cells that say what they are when the pointer rests on them.
    written : sequence of tuple of int, int and str
        Row and column of cells with a text in them.
    """

    layers: Sequence[Layer]
    codes: IntArray
    shares: FloatArray | None = None
    names: tuple[Sequence[str], Sequence[str]] = ((), ())
    css: str = "cells"
    size: tuple[int, int] = (760, 640)
    square: bool = False
    borders: tuple[Sequence[int], Sequence[int]] = ((), ())
    frames: Sequence[Frame] = ()
    strips: tuple[Sequence[Strip], Sequence[Strip]] = ((), ())
    hits: Sequence[tuple[int, int, str]] = ()
    written: Sequence[tuple[int, int, str]] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Nodes(Picture):
    """Cells around the nodes of a grid, colored by a number.

    Attributes
    ----------
    places : ndarray of shape (n_nodes, 2)
        Places of the nodes.
    values : ndarray of shape (n_nodes,)
        Number of every node.
    outline : ndarray of shape (n_corners, 2)
        Corners of a cell around its node.
    value_title : str
        What the numbers are, beside their scale.
    look : {"color", "grey", "size"}
        Whether large numbers are bright, dark or in large cells.
    """

    places: FloatArray
    values: FloatArray
    outline: FloatArray
    value_title: str = ""
    look: Literal["color", "grey", "size"] = "color"
    css: str = "nodes"


def shares_of_rows(
    counts: IntArray,
    names: tuple[Sequence[str], Sequence[str]],
    axis_titles: tuple[str, str],
    *,
    title: str,
    write: bool,
    zeros: bool = True,
    note: str = "",
) -> Cells:
    """A table of counts, shaded by their shares of their row.

    Parameters
    ----------
    counts : ndarray of int, shape (n_rows, n_columns)
        The counts.
    names : tuple of sequences of str
        Names of rows and columns.
    axis_titles : tuple of str
        Titles of the columns and of the rows.
    title : str
        What is counted.
    write : bool
        Whether counts are written into the cells.
    zeros : bool, default=True
        Whether zeros are written as well.
    note : str, default=""
        What is to be known besides.
    """
    shares: Array = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    written = [
        (row, column, f"{count:,}")
        for (row, column), count in np.ndenumerate(counts)
        if write and (count or zeros)
    ]
    return Cells(
        title=title,
        text=f"{int(counts.sum()):,} in {counts.shape[0]} rows and {counts.shape[1]} columns.",
        layers=[Layer("share of the row", "k0", 0)],
        codes=np.ones(counts.shape, np.int64),
        shares=shares,
        names=names,
        axis_titles=axis_titles,
        note=note,
        written=written,
    )
