"""What a co-clustering is: blocks, heaviest columns, measures, elements of no cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight._words import counted, format_number
from sidelight.constraints import CrossLinks, Ordering
from sidelight.io.inner import quoted
from sidelight.jobs.cocluster._chance import chance_tau, doubts
from sidelight.pictures.inner import TableBlocks, Timeline, is_paired, table_blocks, timeline

#: Heaviest rows and columns of a co-cluster that are kept.
MAX_MEMBERS = 12
#: Names of measures for people, in the order in which they are told.
MEASURES = {
    "tau": "Goodman-Kruskal tau",
    "information": "Mutual information (bits)",
    "information_loss": "Information lost (bits)",
    "row_jumps": "Jumps along the rows",
    "column_jumps": "Jumps along the columns",
    "row_stability": "Stability of the rows",
    "column_stability": "Stability of the columns",
}


@dataclass(frozen=True)
class Cocluster:
    """Rows and columns that go together.

    Attributes
    ----------
    number : int
        Label of the cluster of rows.
    n_rows, n_columns : int
        Number of its rows and columns.
    density : float
        Share of ones where they meet.
    elsewhere : float
        Share of ones where its columns meet all other rows; NaN without any.
    n_others : int
        Number of the other rows.
    top, top_rows : tuple of (int, float)
        Heaviest columns and rows with their weights.
    """

    number: int
    n_rows: int
    n_columns: int
    density: float
    elsewhere: float
    n_others: int
    top: tuple[tuple[int, float], ...]
    top_rows: tuple[tuple[int, float], ...]

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Numbers of rows and columns, and shares of ones, as tables show them."""
        others = "" if np.isnan(self.elsewhere) else f"{self.elsewhere:.0%}"
        return f"{self.n_rows:,}", f"{self.n_columns:,}", f"{self.density:.0%}", others


@dataclass(frozen=True, eq=False)
class Described:
    """All that page, command line and notebook show of a co-clustering.

    Attributes
    ----------
    estimator : CDKMeans or InformationCoclustering
        Fitted; has ``labels_`` and ``column_labels_``.
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The zeros and ones.
    row_order, column_order : Ordering or None
        Orders of the two sides.
    """

    estimator: Any
    X: Any
    row_order: Ordering | None = None
    column_order: Ordering | None = None

    @cached_property
    def _sides(self) -> tuple[IntArray, IntArray]:
        """Clusters of the rows, and of the columns."""
        return np.asarray(self.estimator.labels_), np.asarray(self.estimator.column_labels_)

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray]:
        """Weights of rows and columns in every cluster; shares of ones where a method has none."""
        if hasattr(self.estimator, "row_weights_"):
            return np.asarray(self.estimator.row_weights_), np.asarray(
                self.estimator.column_weights_
            )
        labels, column_labels = self._sides
        n_clusters = max(int(labels.max(initial=0)), int(column_labels.max(initial=0))) + 1
        rows = np.stack([labels == cluster for cluster in range(n_clusters)]).astype(np.float64)
        columns = np.asarray((self.X.T @ rows.T).T)
        columns = columns / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
        return rows, columns / np.maximum(columns.sum(axis=0), 1e-300)

    @cached_property
    def blocks(self) -> TableBlocks:
        """The table in the order of its clusters."""
        row_weights, column_weights = self._weights
        paired = is_paired(self.estimator)
        return table_blocks(
            self.X,
            *self._sides,
            paired=paired,
            row_order=self.row_order,
            column_order=self.column_order,
            row_weights=row_weights,
            column_weights=column_weights if paired else None,
        )

    @cached_property
    def coclusters(self) -> tuple[Cocluster, ...]:
        """Rows and columns that go together, by the label of the rows."""
        row_weights, column_weights = self._weights
        return _coclusters(self.blocks, row_weights, column_weights, *self._sides)

    @cached_property
    def measures(self) -> dict[str, float]:
        """Measures by the names of ``MEASURES``."""
        return _measures(self.estimator, self.X, self.lines)

    @cached_property
    def by_chance(self) -> tuple[float, ...]:
        """Tau of the same table with shuffled columns, ascending; empty for large tables."""
        return chance_tau(self.estimator, self.X)

    @cached_property
    def doubts(self) -> list[str]:
        """Sentences about what is hardly different from chance."""
        return doubts(self.measures["tau"], self.by_chance, self.coclusters)

    @cached_property
    def column_weight(self) -> FloatArray:
        """Weight of every column in its cluster; 0 for those of none."""
        column_labels, weights = self._sides[1], self._weights[1]
        own = weights.max(axis=0)  # in the cluster of rows that has most of the column
        if self.blocks.paired:
            own = weights[np.maximum(column_labels, 0), np.arange(len(column_labels))]
        return np.where(column_labels >= 0, own, 0.0)

    @property
    def uncovered(self) -> dict[str, IntArray]:
        """Positions of the rows, and of the columns, of no cluster."""
        rows, columns = (np.flatnonzero(labels < 0) for labels in self._sides)
        return {"row": rows, "column": columns}

    @cached_property
    def lines(self) -> dict[str, Timeline]:
        """Runs along the orders of the sides that have one."""
        orders = {"row": self.row_order, "column": self.column_order}
        return {
            side: timeline(labels, order)
            for (side, order), labels in zip(orders.items(), self._sides, strict=True)
            if order is not None
        }

    @property
    def column_sizes(self) -> dict[str, int]:
        """Number of columns of every cluster, by its name."""
        side = self.blocks.columns
        pairs = sorted(zip(side.clusters.tolist(), side.sizes.tolist(), strict=True))
        return {str(cluster): size for cluster, size in pairs}

    def because(self, ids: Any, names: Sequence[str]) -> list[str]:
        """Sentences about rows and columns of no cluster, by name and with the reason."""
        found = []
        known_names = {"row": ids, "column": names}
        for noun, uncovered in self.uncovered.items():
            reasons = dict(getattr(self.estimator, f"uncovered_{noun}s_", {}))
            by_reason: dict[str, list[Any]] = {}
            for place in uncovered.tolist():
                by_reason.setdefault(reasons.get(place, ""), []).append(
                    _plain(known_names[noun][place])
                )
            for reason, alike in by_reason.items():
                verb = "is" if len(alike) == 1 else "are"
                some = f"{counted(len(alike), noun)} {verb} in no cluster: {quoted(alike)}"
                found.append(f"{some}; {reason}." if reason else f"{some}.")
        return found

    def measure_words(self) -> list[tuple[str, str]]:
        """Measures with their names for people."""
        found = {
            name: format_number(self.measures[name]) for name in MEASURES if name in self.measures
        }
        if self.by_chance:
            low, high = self.by_chance[0], self.by_chance[-1]
            found["tau"] += f" ({low:.3f} to {high:.3f} by chance)"
        return [(MEASURES[name], value) for name, value in found.items()]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _coclusters(
    blocks: TableBlocks,
    row_weights: FloatArray,
    column_weights: FloatArray,
    labels: IntArray,
    column_labels: IntArray,
) -> tuple[Cocluster, ...]:
    found = []
    sizes = blocks.columns.sizes
    for place, number in enumerate(blocks.rows.clusters.tolist()):
        if number < 0:
            continue
        joined = blocks.own[place]
        n_rows, n_columns = int(blocks.rows.sizes[place]), int(sizes[joined].sum())
        ones = int(blocks.ones[place, joined].sum())
        n_others = int(blocks.rows.sizes.sum()) - n_rows
        elsewhere = int(blocks.ones[:, joined].sum()) - ones
        n_outside = n_others * n_columns
        of_columns = np.isin(column_labels, blocks.columns.clusters[joined])
        found.append(
            Cocluster(
                number,
                n_rows,
                n_columns,
                ones / max(n_rows * n_columns, 1),
                elsewhere / n_outside if n_outside else np.nan,
                n_others,
                _heaviest(column_weights[number], of_columns),
                _heaviest(row_weights[number], labels == number),
            )
        )
    return tuple(sorted(found, key=lambda one: one.number))


def _heaviest(weights: FloatArray, members: Any) -> tuple[tuple[int, float], ...]:
    """Members by weight, the heaviest first."""
    places = np.flatnonzero(members)
    order = places[np.argsort(-weights[places], kind="stable")][:MAX_MEMBERS]
    return tuple((int(place), float(weights[place])) for place in order)


def _measures(estimator: Any, X: Any, lines: Mapping[str, Timeline]) -> dict[str, float]:
    from sidelight.evaluation import (
        cocluster_information,
        cocluster_information_loss,
        goodman_kruskal_tau,
    )

    sides = estimator.labels_, estimator.column_labels_
    found = {
        "tau": goodman_kruskal_tau(X, *sides),
        "information": cocluster_information(X, *sides),
        "information_loss": cocluster_information_loss(X, *sides),
    }
    found |= {f"{side}_jumps": float(line.n_jumps) for side, line in lines.items()}
    stability = getattr(estimator, "restarts_", None)
    if stability is not None and len(stability["row_agreement"]) > 1:
        for side in ("row", "column"):
            found[f"{side}_stability"] = float(np.mean(stability[f"{side}_agreement"]))
    return found


def broken_cross_links(
    cross: CrossLinks | None, labels: IntArray, column_labels: IntArray
) -> list[tuple[str, int, int]]:
    """Links between a row and a column, by position, that two partitions do not keep."""
    if cross is None:
        return []
    found = []
    for kind, pairs in (("must-link", cross.must_link), ("cannot-link", cross.cannot_link)):
        for row, column in pairs.tolist():
            here, there = int(labels[row]), int(column_labels[column])
            together = here == there and here >= 0
            if together != (kind == "must-link"):
                found.append((kind, int(row), int(column)))
    return found
