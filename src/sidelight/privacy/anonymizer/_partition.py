"""The search for classes: blocks of near rows, growth within them, refinement across them."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sidelight._kernels.privacy.anonymizer.diversity import classes_hold, rows_are_diverse
from sidelight._kernels.privacy.anonymizer.grow import FREE, grow_classes
from sidelight._kernels.privacy.anonymizer.penalty import classes_penalty, reliefs
from sidelight._kernels.privacy.anonymizer.refine import attach_rows, nearest_union, refine_block
from sidelight._kernels.privacy.anonymizer.split import best_cut, split_rows
from sidelight._progress import fit_progress, wait_for
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.engine import get_threads
from sidelight.privacy.anonymizer._conditions import NO_RULE, ClassConditions
from sidelight.privacy.anonymizer._encode import Encoded
from sidelight.privacy.anonymizer._growth import Growth, growths_for
from sidelight.privacy.anonymizer._publish import RowsByClass, classes_of

#: Rows of a block within which classes grow, and classes of this size that it holds at least.
BLOCK_ROWS, BLOCK_CLASSES = 2000, 30
#: Rows that a class may grow by, and per row of a class.
MIN_NEAR, NEAR_PER_ROW = 30, 4
#: Classes between which rows move in one pass.
PASS_CLASSES = 100
#: Most passes of refinement; they end when one lowers the loss by less than this share.
MAX_PASSES, MIN_SHARE = 12, 0.004
#: Classes of more rows than this, and of more than this many times ``k``, are not changed.
LARGE_CLASS, LARGE_TIMES = 400, 4
#: Numbers of classes of the search for a loss curve, and rows that it looks at.
CURVE_CLASSES, CURVE_ROWS = 64, 20_000


@dataclass
class RowClasses:
    """Classes of rows.

    Attributes
    ----------
    labels : ndarray of int
        Class of every row.
    history : list of float
        Mean penalty per row after the start and after every pass.
    converged : bool
        Whether passes ended by themselves.
    """

    labels: IntArray
    history: list[float] = field(default_factory=list)
    converged: bool = True


class AnonymousClasses:
    """Classes of the rows of a table that satisfy conditions.

    Parameters
    ----------
    encoded : Encoded
        The columns.
    conditions : ClassConditions
        Conditions on every class.
    """

    def __init__(self, encoded: Encoded, conditions: ClassConditions) -> None:
        self.encoded, self.conditions = encoded, conditions
        self.columns = encoded.arrays
        self.n_columns = encoded.n_columns
        codes = conditions.codes
        self.sensitive = codes if codes.shape[1] else np.zeros((encoded.n_rows, 0), np.int32)
        self.n_values = conditions.n_values if codes.shape[1] else np.zeros(0, np.int64)
        self.rule = conditions.rule
        self.growths = growths_for(conditions, encoded.n_rows)
        # Conditions of blocks, which are unions of classes.
        self.block_rule = self.rule if conditions.unions_hold else NO_RULE
        self.equal_weights = np.ones(self.n_columns)

    def penalties(self, classes: RowsByClass) -> FloatArray:
        """Penalty of every class, in [0, number of columns]."""
        seen = np.zeros(self.encoded.n_marks, np.int64)
        return classes_penalty(self.columns, classes.members, classes.starts, seen)

    def loss(self, labels: IntArray) -> float:
        """Mean penalty of all rows, in [0, 1]."""
        classes = classes_of(labels)
        return float(self.penalties(classes) @ classes.sizes) / (self.n_columns * len(labels))

    def run(self, n_clusters: int | None, rng: np.random.RandomState, verbose: Any) -> RowClasses:
        """Find classes of the rows, which together satisfy the conditions.

        Parameters
        ----------
        n_clusters : int or None
            Largest number of classes; None for as many as the conditions allow.
        rng : RandomState
            Source of random numbers.
        verbose : int or bool
            Whether to show a progress bar.
        """
        rows = np.arange(self.encoded.n_rows)
        if n_clusters is None or n_clusters >= len(rows) // self.conditions.k:
            labels = self._grown(rows)
        else:
            labels = self._split(rows, n_clusters)[0]
        found = RowClasses(labels, [self.loss(labels)])
        with fit_progress("Anonymizer", MAX_PASSES, verbose=verbose) as progress:
            progress.step()  # its loss is of values that are not published
            found.converged = self._refine(found, rng, progress)
        if progress.interrupted:
            found.converged = False
        return found

    def curve(self, rng: np.random.RandomState) -> dict[str, Array]:
        """Loss against the number of classes, by splits of the rows or of a sample of them."""
        rows = np.arange(self.encoded.n_rows)
        if len(rows) > CURVE_ROWS:
            rows = np.sort(rng.choice(rows, CURVE_ROWS, replace=False))
        _, losses = self._split(rows, CURVE_CLASSES)
        numbers = np.arange(1, len(losses) + 1)
        return {"n_clusters": numbers, "ncp": np.array(losses) / (len(rows) * self.n_columns)}

    def violating(self, labels: IntArray) -> Array:
        """Classes that do not satisfy the conditions."""
        return ~self._hold(classes_of(labels))

    def _hold(self, classes: RowsByClass) -> Array:
        least = self.conditions.k
        members, starts = classes.members, classes.starts
        return classes_hold(self.sensitive, self.n_values, members, starts, least, self.rule)

    def merge_violating(self, labels: IntArray, rows: IntArray | None = None) -> IntArray:
        """Join the smallest class that does not satisfy the conditions with the nearest one.

        Until all do, or one class is left: the agglomeration of section 16.5.2. The labels are
        those of ``rows``, by default of all.
        """
        seen = np.zeros(self.encoded.n_marks, np.int64)
        while True:
            classes = classes_of(labels)
            if rows is not None:
                classes = RowsByClass(rows[classes.members], classes.starts)
            bad = np.flatnonzero(~self._hold(classes))
            if not len(bad) or classes.n == 1:
                return labels
            which = int(bad[np.argmin(classes.sizes[bad])])
            nearest = nearest_union(
                self.columns,
                classes.members,
                classes.starts,
                which,
                self.sensitive,
                self.n_values,
                self.rule,
                seen,
            )
            joined = np.where(labels == which, nearest, labels)
            labels = np.unique(joined, return_inverse=True)[1]

    def merge_some(self, labels: IntArray, share: float, rng: np.random.RandomState) -> IntArray:
        """Join classes that are drawn at random with the nearest ones.

        Who knows the method cannot conclude then from a class that no smaller ones were valid.
        """
        first = np.unique(labels, return_index=True)[1]
        drawn = first[rng.uniform(size=len(first)) < share]
        seen = np.zeros(self.encoded.n_marks, np.int64)
        for row in rng.permutation(drawn):
            classes = classes_of(labels)
            if classes.n == 1:
                break
            nearest = nearest_union(
                self.columns,
                classes.members,
                classes.starts,
                int(labels[row]),
                self.sensitive,
                self.n_values,
                self.rule,
                seen,
            )
            joined = np.where(labels == labels[row], nearest, labels)
            labels = np.unique(joined, return_inverse=True)[1]
        return labels

    def outliers(self, labels: IntArray, budget: int) -> IntArray:
        """Rows without which the others of their class would lose less than they.

        At most ``budget`` rows, those with the largest gain, and none where the others would not
        satisfy the conditions.
        """
        classes = classes_of(labels)
        none = np.zeros(0, np.int64)
        budget = min(budget, len(labels) - self.conditions.k)
        if budget < 1:
            return none
        seen = np.zeros(self.encoded.n_marks, np.int64)
        relief = reliefs(self.columns, classes.members, classes.starts, seen)
        gains = relief - self.n_columns
        worst = np.lexsort((classes.members, -gains))[:budget]
        out = np.sort(classes.members[worst[gains[worst] > 1e-9]])
        return out if self._is_diverse(np.delete(np.arange(len(labels)), out)) else none

    def _grown(self, rows: IntArray) -> IntArray:
        """Labels of rows: blocks by top-down splits, and classes that grow within them."""
        size = max(growth.size for growth in self.growths)
        largest = max(BLOCK_ROWS, BLOCK_CLASSES * size)
        order, starts = split_rows(
            self.columns,
            rows,
            largest,
            max(size, largest // 8) if len(rows) > largest else size,
            self.sensitive,
            self.n_values,
            self.block_rule,
            self.equal_weights,
        )
        blocks = [order[a:b] for a, b in pairwise(starts)]
        blocks = [part for block in blocks for part in self._pieces(block, 4 * largest)]
        labels = np.full(self.encoded.n_rows, FREE, np.int64)
        total = 0
        # Blocks have no row in common, so that threads can share the array.
        grown = _in_threads(lambda block: self._grow_block(block, labels), blocks)
        for block, found in zip(blocks, grown, strict=True):
            labels[block] = found + total
            total += int(found.max()) + 1
        return labels[rows]

    def _pieces(self, block: IntArray, largest: int) -> list[IntArray]:
        """A block that no cut of a column parts, in pieces of rows with near values."""
        whole = self.penalties(RowsByClass(block, np.array([0, len(block)])))[0]
        if len(block) <= largest or whole == 0.0:
            return [block]
        num, cat, _, tree = self.columns[:4]
        ordered = block[np.lexsort((*tree[block].T, *cat[block].T, *num[block].T))]
        pieces: list[IntArray] = []
        open_piece = ordered[:0]
        for piece in np.array_split(ordered, -(-len(block) // largest)):
            open_piece = np.concatenate([open_piece, piece])
            if self._is_diverse(open_piece):
                pieces.append(open_piece)
                open_piece = ordered[:0]
        if len(open_piece) and pieces:
            pieces[-1] = np.concatenate([pieces[-1], open_piece])
        return pieces if pieces and self._is_diverse(pieces[-1]) else [block]

    def _is_diverse(self, rows: IntArray) -> bool:
        """Whether a union of classes satisfies the conditions, where it has to."""
        rule = self.block_rule
        return bool(rows_are_diverse(self.sensitive, self.n_values, rows, len(rows), -1, -1, rule))

    def _grow_block(self, block: IntArray, labels: IntArray) -> IntArray:
        """Labels of the rows of a block, which satisfies the conditions as a whole.

        ``labels`` of these rows are free, and used on the way.
        """
        classes = RowsByClass(block, np.array([0, len(block)]))
        if self.penalties(classes)[0] == 0.0:
            return np.zeros(len(block), np.int64)
        found = []
        for growth in self.growths:
            labels[block] = FREE
            found.append(self._grow_by(growth, block, labels))
        if self.conditions.unions_hold and not all(whole for _, whole in found):
            found.append((self._leaves(block), True))
        return min((mine for mine, _ in found), key=lambda mine: self._cost(block, mine))

    def _grow_by(self, growth: Growth, block: IntArray, labels: IntArray) -> tuple[IntArray, bool]:
        """Labels of the rows of a block by one way to grow, and whether no row was left over."""
        n = grow_classes(
            self.columns,
            block,
            growth.size,
            max(MIN_NEAR, NEAR_PER_ROW * growth.size),
            growth.codes,
            growth.n_values,
            (growth.least, growth.most),
            labels,
            0,
        )
        mine = labels[block]

        def attach(rule: Any) -> int:
            return int(
                attach_rows(
                    self.columns,
                    block,
                    mine,
                    n,
                    self.sensitive,
                    self.n_values,
                    rule,
                    self.encoded.n_marks,
                )
            )

        n_free = attach(self.rule) if n else len(block)
        if n_free and self.conditions.unions_hold:
            mine = np.unique(np.where(mine < 0, n, mine), return_inverse=True)[1]
            return self.merge_violating(mine, block), False
        if n_free and n_free < len(block):
            attach(NO_RULE)  # classes that are not diverse now are joined with others at the end
        return np.unique(mine, return_inverse=True)[1], True

    def _cost(self, block: IntArray, labels: IntArray) -> float:
        """Sum of the penalties of the rows of a block."""
        classes = classes_of(labels)
        penalties = self.penalties(RowsByClass(block[classes.members], classes.starts))
        return float(penalties @ classes.sizes)

    def _leaves(self, block: IntArray) -> IntArray:
        """Labels by splits alone, each of which leaves both sides valid."""
        k = self.conditions.k
        order, starts = split_rows(
            self.columns,
            block,
            2 * k - 1,
            k,
            self.sensitive,
            self.n_values,
            self.rule,
            self.equal_weights,
        )
        labels = np.empty(len(block), np.int64)
        place = np.argsort(block)
        at = place[np.searchsorted(block[place], order)]
        labels[at] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return labels

    def _split(self, rows: IntArray, n_classes: int) -> tuple[IntArray, list[float]]:
        """Labels by at most ``n_classes`` classes, always by the split that lowers the loss most.

        Also the sum of the penalties of the rows after every split.
        """
        seen = np.zeros(self.encoded.n_marks, np.int64)

        def cost(part: IntArray) -> float:
            ends = np.array([0, len(part)])
            return len(part) * float(classes_penalty(self.columns, part, ends, seen)[0])

        k = self.conditions.k

        def candidate(part: IntArray) -> tuple[float, Array]:
            if len(part) < 2 * k:
                return 0.0, np.zeros(0, bool)
            _, left = best_cut(
                self.columns,
                part,
                k,
                self.sensitive,
                self.n_values,
                self.rule,
                self.equal_weights,
            )
            if not left.any():
                return 0.0, left
            return cost(part) - cost(part[left]) - cost(part[~left]), left

        parts = {0: rows}
        gain, left = candidate(rows)
        heap = [(-gain, 0, left)] if gain > 0 else []
        losses = [cost(rows)]
        while heap and len(parts) < n_classes:
            gain, number, left = heapq.heappop(heap)
            part = parts[number]
            parts[number], parts[len(parts)] = part[left], part[~left]
            losses.append(losses[-1] + gain)
            for one in (number, len(parts) - 1):
                more, side = candidate(parts[one])
                if more > 0:
                    heapq.heappush(heap, (-more, one, side))
        labels = np.empty(self.encoded.n_rows, np.int64)
        for number, part in parts.items():
            labels[part] = number
        return labels[rows], losses

    def _refine(self, found: RowClasses, rng: np.random.RandomState, progress: Any) -> bool:
        """Passes of moves and exchanges; whether they ended without a further change."""
        for number in range(1, MAX_PASSES):
            weights = rng.uniform(0.5, 1.5, self.n_columns) if number > 1 else self.equal_weights
            found.labels = self._pass(found.labels, weights)
            found.history.append(self.loss(found.labels))
            progress.step()  # its loss is of values that are not published
            before, now = found.history[-2:]
            if before - now <= MIN_SHARE * before:
                return True
        return False

    def _pass(self, labels: IntArray, weights: FloatArray) -> IntArray:
        """One pass: classes in blocks of near ones, other blocks each time, rows move within."""
        classes = classes_of(labels)
        k = self.conditions.k
        largest = max(LARGE_CLASS, LARGE_TIMES * k)
        first = classes.members[classes.starts[:-1]]
        order, starts = split_rows(
            self.columns,
            first,
            PASS_CLASSES,
            PASS_CLASSES // 8,
            np.zeros((self.encoded.n_rows, 0), np.int32),
            np.zeros(0, np.int64),
            NO_RULE,
            weights,
        )
        groups = []
        for block in np.split(labels[order], starts[1:-1]):
            groups += np.array_split(block, -(-len(block) // (4 * PASS_CLASSES)))

        def refine(group: IntArray) -> tuple[IntArray, IntArray]:
            ends = np.concatenate([[0], np.cumsum(classes.sizes[group])])
            spans = zip(classes.starts[group], classes.starts[group + 1], strict=True)
            rows = np.concatenate([classes.members[a:b] for a, b in spans])
            out = np.empty(len(rows), np.int64)
            refine_block(
                self.columns,
                rows,
                ends,
                k,
                largest,
                self.sensitive,
                self.n_values,
                self.rule,
                out,
                self.encoded.n_marks,
            )
            return rows, group[out]

        new = labels.copy()
        for rows, out in _in_threads(refine, groups):
            new[rows] = out
        return new


def _in_threads(work: Callable[[Any], Any], tasks: list[Any]) -> list[Any]:
    """Results of independent tasks in their order, whatever the number of threads."""
    n_threads = min(get_threads(), len(tasks))
    if n_threads <= 1:
        return [work(task) for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        try:
            return [wait_for(future) for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
