"""Explanation of clusters: sizes, traits, typical and doubtful rows, and rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray
from sidelight._words import counted, listed
from sidelight.exceptions import SidelightError
from sidelight.explanation._columns import with_calendar
from sidelight.explanation._comparisons import FEWEST_ROWS, Trait
from sidelight.explanation._format import percent, plural
from sidelight.explanation._rows import (
    LARGEST_MARGIN,
    MAX_DISTANCES,
    N_DOUBTFUL,
    Doubt,
    MeanDistances,
    margins_by_probability,
    plain_features,
    smallest_by_cluster,
)
from sidelight.explanation._rules import Rule, RuleSet, find_rules, most_distinctive
from sidelight.explanation._traits import find_traits, shown
from sidelight.preparation import TypedColumn

#: Of more clusters only the largest are described.
MAX_CLUSTERS = 100
SHOWN_TRAITS = 5
BRIEF_TRAITS = 3
SHOWN_OUTSIDE = 10
#: A rule is named where no single trait is, if it is right for this share, and covers as much.
GOOD_RULE = 0.5
MOST_OF_IT = 0.9


@dataclass(frozen=True)
class Profile:
    """A cluster: its size, and what sets it apart.

    Attributes
    ----------
    name : str
        The cluster, as the labels name it.
    class_name : str
        The class that it stands for; empty where none is known.
    size : int
        Number of rows.
    share : float
        Share of all rows.
    traits : tuple of Trait
        What sets it apart from all other rows, the largest effect first.
    noun : str
        What it is: "cluster", or "class" for those of a classifier.
    """

    name: str
    class_name: str
    size: int
    share: float
    traits: tuple[Trait, ...]
    noun: str = "cluster"

    @property
    def title(self) -> str:
        """The name, with the class that a cluster stands for."""
        return f"{self.name} ({self.class_name})" if self.class_name else self.name

    @property
    def lack(self) -> str:
        """Why there is no trait to name, as a sentence; empty where there is one."""
        if self.traits:
            return ""
        if self.share == 1.0:
            return "There are no other rows to compare it with."
        if self.size < FEWEST_ROWS:
            return "Too few rows to tell a difference from chance."
        return "No single value or range sets it apart beyond chance."

    def sentence(self, most: int = SHOWN_TRAITS) -> str:
        """Describe the cluster in one or two sentences.

        Parameters
        ----------
        most : int, default=5
            Number of traits to list.
        """
        head = f"{self.title}: {counted(self.size, 'row')} ({percent(self.share)})."
        texts = [trait.text for trait in shown(self.traits, most)]
        if texts:
            text = ", ".join(texts)
            return f"{head} {text[:1].upper()}{text[1:]}."
        return f"{head} {self.lack}"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Explanation of clusters in the units and words of the table.

    Made by :func:`explain_clusters` and by :func:`sidelight.explain`. Typical and doubtful rows and
    the rules are computed when they are first asked for.

    Attributes
    ----------
    clusters : tuple of Profile
        The clusters in the order of their names, with sizes and traits; of very many the largest.
    n_rows : int
        Number of rows.
    n_outside : int
        Rows in no cluster (label -1).
    outside : tuple
        Ids of the first of these.
    notes : tuple of str
        What was left out, as sentences for the user.
    """

    clusters: tuple[Profile, ...]
    n_rows: int
    n_outside: int
    outside: tuple[Any, ...]
    notes: tuple[str, ...]
    _given: _ExplanationSource = field(repr=False)

    @cached_property
    def typical(self) -> dict[str, tuple[Any, ...]]:
        """Ids of the rows closest to the mean of their cluster, by the name of the cluster."""
        given = self._given
        found = given.distances.typical()
        return {
            profile.name: given.named(found[code])
            for profile, code in zip(self.clusters, given.described, strict=True)
        }

    @cached_property
    def doubtful(self) -> dict[str, tuple[Doubt, ...]]:
        """Rows with the smallest margin to another cluster, of at most 0.5, by their cluster."""
        given = self._given
        if len(given.names) < 2:
            return {profile.name: () for profile in self.clusters}
        rows, margins, others = given.margins()
        worst = smallest_by_cluster(margins, given.codes[rows], len(given.names), N_DOUBTFUL)
        return {
            profile.name: tuple(
                Doubt(row, given.names[others[at]], float(margins[at]))
                for row, at in zip(given.named(rows[worst[code]]), worst[code], strict=True)
                if margins[at] <= LARGEST_MARGIN
            )
            for profile, code in zip(self.clusters, given.described, strict=True)
        }

    @cached_property
    def rules(self) -> RuleSet:
        """Short rules that describe the clusters, with their fidelity."""
        given = self._given
        traits = [profile.traits for profile in self.clusters]
        columns = most_distinctive(with_calendar(given.columns), traits)
        return find_rules(columns, given.codes, given.names, given.seed, noun=self.noun)

    @property
    def noun(self) -> str:
        """What is explained: "cluster", or "class"."""
        return self._given.noun

    def sentences(self) -> list[str]:
        """Describe every cluster, and the rows in none, in one or two sentences each.

        Returns
        -------
        list of str
            The sentences. A cluster that no single column sets apart is described by its rule, if
            a good one is found.
        """
        return [*map(self._sentence, self.clusters), *self._outside_sentence()]

    def table(self) -> list[dict[str, Any]]:
        """Return everything as rows of one plain table.

        Returns
        -------
        list of dict
            One row for every size, trait, typical row, doubtful row and rule. ``inside`` and
            ``rest`` are texts without separators, so that dates, numbers and levels fit into one
            column; numbers that do not apply are None.
        """
        from sidelight.explanation._table import table_rows

        return table_rows(self)

    def to_pandas(self) -> Any:
        """Return :meth:`table` as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            The same rows and columns.
        """
        import pandas as pd

        from sidelight.explanation._table import COLUMNS, NUMBERS

        frame = pd.DataFrame(self.table(), columns=list(COLUMNS))
        return frame.astype(dict.fromkeys(NUMBERS, float))

    def __repr__(self) -> str:
        n_traits = sum(len(profile.traits) for profile in self.clusters)
        clusters = counted(len(self._given.names), self.noun, plural(self.noun))
        rows = counted(self.n_rows, "row")
        return f"<Explanation: {clusters} of {rows}, {counted(n_traits, 'trait')}>"

    def _repr_html_(self) -> str:
        from sidelight.explanation._table import html

        return html(self)

    def _sentence(self, profile: Profile) -> str:
        said = profile.sentence()
        if profile.traits or profile.share == 1.0:
            return said
        rule = next(iter(self.rules.of(profile.name)), None)
        if rule is None or not _is_good(rule):
            return said
        part = "" if rule.coverage >= MOST_OF_IT else "part of "
        return f"{said} A rule describes {part}it: {rule.sentence}."

    def _outside_sentence(self) -> list[str]:
        if not self.n_outside:
            return []
        are = "is" if self.n_outside == 1 else "are"
        rows = counted(self.n_outside, "row")
        return [f"{rows} ({percent(self.n_outside / self.n_rows)}) {are} in no {self.noun}."]


@dataclass(frozen=True, eq=False)
class _ExplanationSource:
    """Inputs of an explanation, kept for what is computed later."""

    columns: tuple[TypedColumn, ...]
    codes: IntArray
    names: tuple[str, ...]
    described: tuple[int, ...]
    ids: Sequence[Any] | Array | None
    X: Any
    probabilities: Array | None
    seed: int | None
    noun: str

    @cached_property
    def distances(self) -> MeanDistances:
        X = plain_features(self.columns) if self.X is None else self.X
        return MeanDistances(X, self.codes, len(self.names))

    def margins(self) -> tuple[IntArray, Array, IntArray]:
        """Rows in clusters (a sample of very many), their margins, and their other clusters."""
        rows = np.flatnonzero(self.codes >= 0)
        if self.probabilities is not None:
            return rows, *margins_by_probability(self.probabilities[rows], self.codes[rows])
        most = max(1, MAX_DISTANCES // max(len(self.names), 1))
        if len(rows) > most:
            rng = np.random.default_rng(self.seed)
            rows = np.sort(rng.choice(rows, most, replace=False))
        return rows, *self.distances.margins(rows)

    def named(self, rows: IntArray) -> tuple[Any, ...]:
        """Ids of rows, or their positions."""
        if self.ids is None:
            return tuple(rows.tolist())
        return tuple(
            one.item() if isinstance(one, np.generic) else one
            for one in (self.ids[row] for row in rows.tolist())
        )


def explain_clusters(
    columns: Sequence[TypedColumn],
    labels: npt.ArrayLike,
    *,
    ids: Sequence[Any] | Array | None = None,
    X: Any = None,
    probabilities: Array | None = None,
    names: Mapping[str, str] | None = None,
    random_state: int | None = 0,
    noun: Literal["cluster", "class"] = "cluster",
) -> Explanation:
    """Explain clusters by the columns of their table.

    Parameters
    ----------
    columns : sequence of TypedColumn
        Columns of the table in the user's units and words.
    labels : array-like of shape (n_rows,)
        Cluster of every row; -1 for rows in no cluster.
    ids : sequence of length n_rows, default=None
        Names of the rows; by default their positions.
    X : array, CSR matrix or RowSource of shape (n_rows, n_features), default=None
        Features that the clusters were found in, for typical and doubtful rows; by default the
        columns, standardized.
    probabilities : ndarray of shape (n_rows, n_clusters), default=None
        Probability of every cluster, in the order of the sorted labels, for doubtful rows.
    names : mapping of str to str, default=None
        Classes that clusters stand for, or names of classes, by the label as text.
    random_state : int, default=0
        Seed of the choice of rows where there are too many to look at all; pass an int for
        reproducible results.
    noun : {"cluster", "class"}, default="cluster"
        What sentences call them: "class" for those that a classifier gives.

    Returns
    -------
    Explanation
        Sizes, traits, typical and doubtful rows, and rules.

    Notes
    -----
    Labels are taken as given. Clusters were mostly found in the same columns and differ in them by
    construction; that a trait is no chance says that it is a trait of *these* clusters, not that
    other data would have them.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.explanation import explain_clusters
    >>> from sidelight.preparation import TypedColumn
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 100)
    >>> income = TypedColumn("income", "number", rng.normal(40_000 + 30_000 * labels, 5_000))
    >>> noise = TypedColumn("noise", "number", rng.normal(size=200))
    >>> found = explain_clusters([income, noise], labels)
    >>> found.sentences()[1]
    '1: 100 rows (50%). Higher income (median 69,900 against 40,400).'
    >>> found.rules.of("1")[0].text
    'income > 55,000'
    """
    given = np.asarray(labels)
    _check_lengths(columns, given, ids, X, probabilities)
    values, codes = np.unique(given, return_inverse=True)
    # Rows of label -1 are in no cluster.
    outside = int(values.dtype.kind in "iuf" and len(values) > 0 and values[0] == -1)
    codes = codes.reshape(-1).astype(np.int64) - outside
    clusters = tuple(str(value) for value in values[outside:].tolist())
    classes = dict(names or {})
    if noun == "class":  # they are what they stand for
        clusters, classes = tuple(classes.get(name, name) for name in clusters), {}
    sizes = np.bincount(codes[codes >= 0], minlength=len(clusters))
    # Of many clusters only the largest are described.
    described = np.sort(np.argsort(-sizes, kind="stable")[:MAX_CLUSTERS])
    compared = _renumbered(codes, described, len(clusters))
    traits = find_traits(with_calendar(columns), compared, len(described), random_state)
    kept = _ExplanationSource(
        columns=tuple(columns),
        codes=codes,
        names=clusters,
        described=tuple(described.tolist()),
        ids=ids if ids is None or isinstance(ids, list | tuple | np.ndarray) else list(ids),
        X=X,
        probabilities=probabilities,
        seed=random_state,
        noun=noun,
    )
    profiles = tuple(
        Profile(
            name=clusters[code],
            class_name=str(classes.get(clusters[code], "")),
            size=int(sizes[code]),
            share=float(sizes[code] / len(given)),
            traits=found,
            noun=noun,
        )
        for code, found in zip(described.tolist(), traits, strict=True)
    )
    apart = np.flatnonzero(codes < 0)
    notes: tuple[str, ...] = ()
    if len(described) < len(clusters):
        notes = (f"The {MAX_CLUSTERS} largest of {len(clusters):,} {plural(noun)} are described.",)
    return Explanation(
        profiles, len(given), len(apart), kept.named(apart[:SHOWN_OUTSIDE]), notes, kept
    )


def brief(explanation: Explanation) -> list[str]:
    """One line per cluster: what distinguishes it, by its three largest traits.

    Parameters
    ----------
    explanation : Explanation
        The explanation; neither rules nor typical rows are computed.

    Returns
    -------
    list of str
        The lines.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.explanation import brief, explain_clusters
    >>> from sidelight.preparation import TypedColumn
    >>> age = TypedColumn("age", "number", np.arange(40.0))
    >>> brief(explain_clusters([age], np.repeat(["old", "young"], 20)))[0]
    'old: lower age (median 9.5 against 29.5)'
    """
    lines = []
    for profile in explanation.clusters:
        texts = [trait.text for trait in shown(profile.traits, BRIEF_TRAITS)]
        lack = profile.lack.removesuffix(".")
        said = ", ".join(texts) or f"{lack[:1].lower()}{lack[1:]}"
        lines.append(f"{profile.title}: {said}")
    return lines


def _is_good(rule: Rule) -> bool:
    return bool(rule.conditions) and min(rule.precision, rule.coverage) >= GOOD_RULE


def _renumbered(codes: IntArray, described: IntArray, k: int) -> Array:
    """Codes of the described clusters, the others -1, in the type that is sorted fastest."""
    number = np.full(k + 1, -1, dtype=np.int16)
    number[described] = np.arange(len(described), dtype=np.int16)
    return number[codes]  # the last entry is that of rows in no cluster


def _check_lengths(
    columns: Sequence[TypedColumn], labels: Array, ids: Any, X: Any, probabilities: Any
) -> None:
    if labels.ndim != 1:
        raise SidelightError(f"labels must hold one cluster per row, got shape {labels.shape}.")
    lengths = {f"the column {column.name!r}": len(column.values) for column in columns}
    others = {"ids": ids, "probabilities": probabilities}
    lengths |= {name: len(one) for name, one in others.items() if one is not None}
    if X is not None:
        lengths["X"] = X.shape[0]
    wrong = [f"{name} has {n:,}" for name, n in lengths.items() if n != len(labels)]
    if wrong:
        raise SidelightError(
            f"labels name the cluster of {counted(len(labels), 'row')}, but {listed(wrong[:3])}; "
            "give everything for the same rows."
        )
    if not all(math.prod(column.values.shape) == len(column.values) for column in columns):
        raise SidelightError("a column must hold one value per row.")
