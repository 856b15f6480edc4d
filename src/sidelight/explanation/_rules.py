"""A short set of rules that describes the clusters, and how faithful it is.

A decision tree is fitted to the clusters. Trees of several sizes compete by cross-validation: the
share of held-out rows whose cluster the tree finds is its fidelity, and the smallest tree within
one standard error of the best is taken. Its leaves are the rules, joined where two of a cluster
differ in one column only, and without conditions that exclude no row. A rule that covers less than
5% of its cluster stays only if the cluster has no other: the coverage tells what is not described.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, listed
from sidelight.explanation._columns import with_calendar
from sidelight.explanation._comparisons import Trait
from sidelight.explanation._conditions import Box, matching, united, written
from sidelight.explanation._format import percent, plural
from sidelight.explanation._tree import leaves, make_features
from sidelight.preparation import TypedColumn

MAX_ROWS = 5_000
MAX_CLUSTERS = 30
MAX_COLUMNS = 60
MIN_COVERAGE = 0.05
N_FOLDS = 5
_LITTLE_SKILL = 0.5


@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions that describes rows of a cluster.

    Attributes
    ----------
    cluster : str
        The cluster.
    text : str
        The conditions, as in "income > 52,000 and country is DE".
    n_matching, n_correct : int
        Rows that fulfil the conditions, and those of them that are in the cluster.
    precision : float
        Share of the matching rows that are in the cluster.
    coverage : float
        Share of the rows of the cluster that match.
    conditions : mapping
        The conditions, which :meth:`matches` applies.
    """

    cluster: str
    text: str
    n_matching: int
    n_correct: int
    precision: float
    coverage: float
    conditions: Box

    @property
    def sentence(self) -> str:
        """The rule with its figures: how many matching rows are right, and how many match."""
        right = f"{percent(self.precision)} of {counted(self.n_matching, 'matching row')}"
        return f"{self.text} ({right} are in it, {percent(self.coverage)} of it matches)"

    def matches(self, columns: Sequence[TypedColumn]) -> Array:
        """Rows that fulfil the conditions.

        Parameters
        ----------
        columns : sequence of TypedColumn
            Columns of the rows, which need not be those that were explained.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            Whether a row matches.
        """
        by_name = {column.name: column for column in with_calendar(columns, every=True)}
        return matching(self.conditions, by_name, len(columns[0].values))


@dataclass(frozen=True)
class RuleSet:
    """Rules for the clusters, the one that covers most of a cluster first.

    Attributes
    ----------
    rules : tuple of Rule
        The rules in the order of the clusters.
    fidelity : float
        Share of held-out rows whose cluster a tree of this size finds; NaN without a tree.
    baseline : float
        The same for always naming the largest cluster.
    sentence : str
        How far the rules can be trusted.
    """

    rules: tuple[Rule, ...]
    fidelity: float
    baseline: float
    sentence: str

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def of(self, cluster: str) -> list[Rule]:
        """Rules of one cluster."""
        return [rule for rule in self.rules if rule.cluster == cluster]


def find_rules(
    columns: Sequence[TypedColumn],
    codes: IntArray,
    names: Sequence[str],
    random_state: int | None = 0,
    *,
    noun: str = "cluster",
) -> RuleSet:
    """Describe clusters by rules.

    Parameters
    ----------
    columns : sequence of TypedColumn
        The columns, in the user's units.
    codes : ndarray of shape (n_rows,)
        Cluster of every row as a position in ``names``; -1 for rows in none.
    names : sequence of str
        Names of the clusters.
    random_state : int, default=0
        Seed of the choice of rows, where there are very many.
    noun : str, default="cluster"
        What they are called: "class" for those of a classifier.

    Returns
    -------
    RuleSet
        The rules.
    """
    inside = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[inside], minlength=len(names))
    reason = _reason_for_none(int(np.count_nonzero(sizes)), len(columns), noun)
    if reason:
        return RuleSet((), math.nan, math.nan, reason)
    if len(inside) > MAX_ROWS:
        rng = np.random.default_rng(random_state)
        inside = np.sort(rng.choice(inside, MAX_ROWS, replace=False))
    sample = [_taken(column, inside) for column in columns]
    X, features = make_features(sample)
    y = codes[inside]
    order = np.lexsort([*X.T, y]) if X.shape[1] else np.arange(len(y))  # the same in any row order
    X, y = X[order], y[order]
    sample = [_taken(column, order) for column in sample]
    baseline = float(sizes.max() / sizes.sum())
    size, fidelity = _best_size(X, y, int(np.count_nonzero(sizes)))
    boxes: list[tuple[int, Box]] = [(int(np.argmax(sizes)), {})]
    if size > 1:
        found = leaves(_grown(X, y, size), X, features)
        boxes = _shortened([(code, box) for code, box, _ in found], sample)
    rules = _counted_rules(boxes, columns, codes, names, sizes)
    described = {rule.cluster for rule in rules}
    present = [name for name, n in zip(names, sizes.tolist(), strict=True) if n]
    lacking = [name for name in present if name not in described]
    sentence = _sentence(rules, lacking, fidelity, baseline, noun)
    return RuleSet(rules, fidelity, baseline, sentence)


def most_distinctive(
    columns: Sequence[TypedColumn], traits: Sequence[Sequence[Trait]]
) -> list[TypedColumn]:
    """Columns that rules may use: all, or those with the largest effects of very many."""
    if len(columns) <= MAX_COLUMNS:
        return list(columns)
    effect: dict[str, float] = {}
    for trait in (trait for own in traits for trait in own):
        effect[trait.column] = max(abs(trait.effect), effect.get(trait.column, 0.0))
    named = sorted(effect, key=lambda name: (-effect[name], name))[:MAX_COLUMNS]
    return [column for column in columns if column.name in set(named)]


def _reason_for_none(k: int, n_columns: int, noun: str) -> str:
    """Why there is no need, or no way, to look for rules."""
    if k < 2:
        one, none = f"is one {noun}", f"are no {plural(noun)}"
        return f"There {one if k else none}: nothing is to be told apart."
    if k > MAX_CLUSTERS:
        return f"There are {k:,} {plural(noun)}: too many for short rules."
    return "" if n_columns else f"There are no columns to describe the {plural(noun)} by."


def _taken(column: TypedColumn, rows: IntArray) -> TypedColumn:
    return replace(column, values=column.values[rows])


# --- the tree ---------------------------------------------------------------------------------


def _grown(X: FloatArray, y: IntArray, n_leaves: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    n_clusters = len(np.unique(y))
    return DecisionTreeClassifier(
        max_leaf_nodes=n_leaves,
        max_depth=min(6, max(4, math.ceil(math.log2(n_clusters)) + 1)),
        min_samples_leaf=max(1, min(20, len(y) // 50)),
        random_state=0,
    ).fit(X, y)


def _best_size(X: FloatArray, y: IntArray, k: int) -> tuple[int, float]:
    """Number of leaves of the smallest tree within one standard error of the best, and fidelity.

    One leaf stands for no tree: always the largest cluster.
    """
    if not X.shape[1]:
        return 1, float(np.bincount(y).max() / len(y))
    sizes = sorted({k, (3 * k + 2) // 2, 2 * k + 2})
    folds = _folds(y)
    right = np.zeros((len(sizes) + 1, len(y)), dtype=bool)
    for fold in range(N_FOLDS):
        train, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(train) or not len(held_out):
            continue
        right[0, held_out] = y[held_out] == np.argmax(np.bincount(y[train]))
        for place, size in enumerate(sizes):
            tree = _grown(X[train], y[train], max(2, size))
            right[place + 1, held_out] = tree.predict(X[held_out]) == y[held_out]
    shares = right.mean(axis=1)
    best = int(np.argmax(shares))
    error = math.sqrt(shares[best] * (1.0 - shares[best]) / len(y))
    chosen = int(np.flatnonzero(shares >= shares[best] - error)[0])
    return [1, *sizes][chosen], float(shares[chosen])


def _folds(y: IntArray) -> IntArray:
    """Fold of every row: those of a cluster are dealt out in turn."""
    order = np.argsort(y, kind="stable")
    sizes = np.bincount(y)
    turn = np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    folds = np.empty(len(y), dtype=np.int64)
    folds[order] = turn % N_FOLDS
    return folds


# --- from leaves to rules ---------------------------------------------------------------------


def _shortened(
    boxes: Sequence[tuple[int, Box]], columns: Sequence[TypedColumn]
) -> list[tuple[int, Box]]:
    """Join leaves of a cluster where that can be written, and drop idle conditions."""
    by_cluster: dict[int, list[Box]] = {}
    for code, box in boxes:
        by_cluster.setdefault(code, []).append(box)
    by_name = {column.name: column for column in columns}
    n_rows = len(columns[0].values)
    found = []
    for code, own in sorted(by_cluster.items()):
        found += [(code, _without_idle(box, by_name, n_rows)) for box in _joined(own)]
    return found


def _joined(boxes: list[Box]) -> list[Box]:
    """Join pairs of conjunctions as long as two differ in one column only."""
    for first in range(len(boxes)):
        for second in range(first + 1, len(boxes)):
            whole = united(boxes[first], boxes[second])
            if whole is not None:
                others = [box for n, box in enumerate(boxes) if n not in (first, second)]
                return _joined([*others, whole])
    return boxes


def _without_idle(box: Box, columns: Mapping[str, TypedColumn], n_rows: int) -> Box:
    """Drop conditions that exclude no row which the others let through, the last ones first."""
    matched = matching(box, columns, n_rows)
    kept = dict(box)
    for key in reversed(list(box)):
        fewer = {other: condition for other, condition in kept.items() if other != key}
        if np.array_equal(matching(fewer, columns, n_rows), matched):
            kept = fewer
    return kept


def _counted_rules(
    boxes: Sequence[tuple[int, Box]],
    columns: Sequence[TypedColumn],
    codes: IntArray,
    names: Sequence[str],
    sizes: IntArray,
) -> tuple[Rule, ...]:
    """Count the rows of every rule, on all rows."""
    by_name = {column.name: column for column in columns}
    rules = []
    for code, box in boxes:
        rows = matching(box, by_name, len(codes))
        n_matching = int(np.count_nonzero(rows))
        n_correct = int(np.count_nonzero(codes[rows] == code))
        rules.append(
            (
                code,
                Rule(
                    cluster=names[code],
                    text=written(box, by_name),
                    n_matching=n_matching,
                    n_correct=n_correct,
                    precision=n_correct / max(n_matching, 1),
                    coverage=n_correct / max(int(sizes[code]), 1),
                    conditions=box,
                ),
            )
        )
    rules.sort(key=lambda one: (one[0], -one[1].coverage, one[1].text))
    first = dict(reversed(rules))
    return tuple(
        rule for code, rule in rules if rule.coverage >= MIN_COVERAGE or rule is first[code]
    )


def _sentence(
    rules: Sequence[Rule], lacking: Sequence[str], fidelity: float, baseline: float, noun: str
) -> str:
    """Sentence on how far the rules can be trusted, and for which clusters there is none."""
    found = f"{percent(fidelity)} of held-out rows"
    guess = f"naming the largest {noun} is right for {percent(baseline)}"
    skill = (fidelity - baseline) / max(1.0 - baseline, 1e-12)
    if not any(rule.conditions for rule in rules) or fidelity <= baseline:
        return f"No short rules tell these {plural(noun)} apart by the columns ({guess})."
    if skill < _LITTLE_SKILL:
        text = (
            f"Short rules describe these {plural(noun)} poorly: they find the {noun} of {found}, "
            f"and {guess}."
        )
    else:
        text = f"These rules find the {noun} of {found}; {guess}."
    if lacking:
        few = lacking if len(lacking) <= 5 else [*lacking[:4], counted(len(lacking) - 4, "other")]
        text += f" No short rule finds {listed(few)}."
    return text
