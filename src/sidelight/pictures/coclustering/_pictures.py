"""A table in the order of its co-clusters, and clusters along an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.pictures.coclustering._blocks import (
    Side,
    TableBlocks,
    Timeline,
    bin_note,
    binned,
    borders,
    cluster_of_bins,
)
from sidelight.pictures.kinds._cells import OTHER, Cells, Frame, Layer, Strip
from sidelight.pictures.kinds._lanes import Lanes, Span

#: Up to this many rows, and columns, are named.
NAMED_ROWS, NAMED_COLUMNS = 48, 42


def table_cells(
    X: Any,
    blocks: TableBlocks,
    most: tuple[int, int],
    names: tuple[Any, Any] = (None, None),
) -> Cells:
    """A 0/1 table in the order of its clusters.

    Ones of the co-clusters have the color of their cluster, others are grey.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The table; what is not zero counts as one.
    blocks : TableBlocks
        Its order and blocks.
    most : tuple of int
        Most cells down and across; in larger tables a cell stands for several rows and columns.
    names : tuple, default=(None, None)
        Names of all rows and columns, in the order of the table; None where there are none.
    """
    shares, *bins = binned(X, blocks, most)
    of_rows, of_columns = (
        cluster_of_bins(blocks.rows, bins[0]),
        cluster_of_bins(blocks.columns, bins[1]),
    )
    own = blocks.own[of_rows][:, of_columns]
    cluster = np.where(own, blocks.rows.clusters[of_rows][:, None], -1)
    numbers = np.unique(blocks.rows.clusters[blocks.rows.clusters >= 0])
    layers = [Layer(f"cluster {number}", f"k{number}", int(number)) for number in numbers]
    code = np.zeros(int(numbers.max(initial=0)) + 2, np.int64)
    code[numbers] = np.arange(1, len(numbers) + 1)
    code[-1] = len(numbers) + 1  # the place of -1
    down, across = borders(blocks.rows, bins[0]), borders(blocks.columns, bins[1])
    ones = f"{counted(int(blocks.own.sum()), 'block')}, {blocks.overall:.1%} ones"
    return Cells(
        title="The table in the order of its clusters",
        text=f"{len(blocks.rows.order)} rows and {len(blocks.columns.order)} columns, "
        f"{int(blocks.ones.sum())} ones.",
        layers=[*layers, Layer("in no co-cluster", "other", OTHER)],
        codes=code[cluster],
        shares=shares,
        names=(
            _names(blocks.rows, names[0], NAMED_ROWS),
            _names(blocks.columns, names[1], NAMED_COLUMNS),
        ),
        axis_titles=("columns by cluster", "rows by cluster"),
        note="\n".join(filter(None, [ones, bin_note(blocks, *bins)])),
        borders=(down[1:-1], across[1:-1]),
        frames=_frames(blocks, down, across),
        strips=(
            _strips(blocks.rows, down, "row", colored=True),
            _strips(blocks.columns, across, "column", colored=blocks.paired),
        ),
    )


def _names(side: Side, names: Any, most: int) -> list[str]:
    if names is None or len(side.order) > most:
        return []
    return [str(names[one]) for one in side.order.tolist()]


def _strips(side: Side, ends: Sequence[int], noun: str, *, colored: bool) -> list[Strip]:
    """The clusters beside their rows, or above their columns."""
    return [
        Strip(
            start,
            end,
            f"{cluster_name(cluster)}: {counted(size, noun)}",
            f"k{cluster}" if colored and cluster >= 0 else "kx",
        )
        for cluster, start, end, size in zip(
            side.clusters.tolist(), ends[:-1], ends[1:], side.sizes.tolist(), strict=True
        )
    ]


def _frames(blocks: TableBlocks, down: Sequence[int], across: Sequence[int]) -> list[Frame]:
    """All blocks, those of co-clusters with an outline."""
    density = blocks.density
    found = []
    for i, row_cluster in enumerate(blocks.rows.clusters.tolist()):
        for j, column_cluster in enumerate(blocks.columns.clusters.tolist()):
            own = bool(blocks.own[i, j])
            found.append(
                Frame(
                    down[i],
                    across[j],
                    down[i + 1] - down[i],
                    across[j + 1] - across[j],
                    f"rows of {cluster_name(row_cluster)}, columns of "
                    f"{cluster_name(column_cluster)}: {density[i, j]:.0%} ones",
                    f"own k{row_cluster}" if own else "",
                    own,
                )
            )
    return found


def cluster_name(cluster: int) -> str:
    """Name of a cluster by its number, -1 for none."""
    return "no cluster" if cluster < 0 else f"cluster {cluster}"


def cluster_lanes(line: Timeline, names: Any = None, noun: str = "row") -> Lanes:
    """Runs of every cluster along an order, a lane for each, with a mark at every jump.

    Parameters
    ----------
    line : Timeline
        The runs.
    names : sequence, default=None
        Names of all elements.
    noun : str, default="row"
        ``"row"`` or ``"column"``.
    """
    lane_of = {cluster: lane for lane, cluster in enumerate(line.shown.tolist())}
    places = [] if names is None else [str(names[one]) for one in line.order.tolist()]
    said = places or [f"place {place + 1}" for place in range(len(line.order))]
    spans = []
    for start, end, cluster, jumps in zip(
        line.starts.tolist(), line.ends.tolist(), line.clusters.tolist(), line.jumps, strict=True
    ):
        reach = said[start] if start + 1 == end else f"{said[start]} to {said[end - 1]}"
        mark = f"{cluster_name(cluster)} comes again at {said[start]}" if jumps else ""
        title = f"{cluster_name(cluster)}: {reach}"
        spans.append(Span(lane_of[cluster], start, end, cluster, title, mark))
    return Lanes(
        title=f"Clusters along the order of the {noun}s",
        text=f"{len(line.starts)} runs along the order of {len(line.order)} {noun}s, "
        f"{line.n_jumps} jumps.",
        names=["none" if cluster < 0 else f"cluster {cluster}" for cluster in lane_of],
        spans=spans,
        length=len(line.order),
        places=places,
        axis_titles=("order", "cluster"),
        note=counted(line.n_jumps, "jump"),
        css=f"lanes of-{noun}s",
    )
