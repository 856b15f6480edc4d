"""Shared parts of resolvers: reading references and constraints, comparing pairs, the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sidelight._fit.parameters import (
    Auto,
    FiniteNonNegative,
    Verbosity,
    estimator,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import listed
from sidelight.base import Clusterer
from sidelight.base.inner import not_defined
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._assigned import AssignedReferences, assign_references
from sidelight.relational.resolution._blocking import CandidatePairs, candidate_pairs
from sidelight.relational.resolution._problem import (
    Memory,
    Problem,
    compared_columns,
    exclusive_codes,
    keys_of,
    make_rules,
    numbered,
    read_hyperedges,
    read_sources,
)
from sidelight.relational.resolution._references import (
    References,
    check_several_columns,
    has_texts,
    is_table,
    like,
    read_numbers,
    read_table,
)
from sidelight.relational.resolution._similarities import Scorer, read_comparisons

#: Parameters that mean the same in all resolvers.
RESOLVER_PARAMETERS = {
    "compare": "How columns are compared: a mapping of columns to "
    '"name", "words", "text", "number", "date", "exact", a function of two arrays of values, or '
    "a :class:`ColumnComparison` with a weight; columns that it leaves out are not compared. By "
    "default all are, as their values suggest; numbers and dates beside texts have together a "
    "tenth of the weight of the texts.",
    "blocking": "Keys of which a pair of references has to share one to be compared, such as "
    '``("name:last", ("city", "name:prefix2"))``; None compares all pairs. By default all pairs of '
    "up to 1,500 references, and else keys that suit the comparisons.",
    "distinct": "Whether two references of one hyper-edge are always different entities, as the "
    "authors of a paper are.",
}

#: What every fitted resolver has.
RESOLVER_ATTRIBUTES = {
    "pairs_ : dict of str to ndarray": "The pairs that were compared: ``i``, ``j``, ``attribute`` "
    "and ``relational`` similarity, ``similarity`` of both, and whether they are ``joined`` by the "
    "threshold alone.",
    "merges_ : dict of str to ndarray": "The pairs that joined two clusters, in their order: "
    "``i``, ``j``, ``attribute``, ``relational``, ``similarity``.",
    "blocking_ : BlockingReport": "Which keys kept how many pairs.",
    "comparisons_ : dict of str to ColumnComparison": "How every compared column was compared.",
}

RESOLVER_TAGS: dict[str, Any] = {
    "kind": "resolver",
    "knowledge": ("must-link", "cannot-link", "labels", "groups", "relations", "sources"),
    "enforcement": "hard",
    "missing": True,
    "raw_columns": True,
}


@estimator
class _Resolver(Clusterer):
    """A clusterer of references to entities.

    Subclasses define ``_resolve(problem)``, which sets ``labels_``, ``pairs_``, ``merges_``,
    ``objective_``, ``history_``, ``n_iter_`` and ``converged_``; and
    ``_least_similarity()`` where relations can join pairs whose attributes are less similar than
    the threshold.
    """

    _common_parameters = RESOLVER_PARAMETERS
    _common_attributes: ClassVar[Mapping[str, str]] = {
        **Clusterer._common_attributes,
        **RESOLVER_ATTRIBUTES,
    }
    _family_tags: ClassVar[dict[str, Any]] = RESOLVER_TAGS

    threshold: FiniteNonNegative = 0.85
    _: KW_ONLY
    compare: Auto | dict[str, Any] = "auto"
    blocking: Auto | Sequence[Any] | None = "auto"
    distinct: bool = True
    verbose: Verbosity = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        relations: Any = None,
        sources: Any = None,
    ) -> Self:
        """Find the entity of every reference.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            The references: a pandas or polars data frame, an Arrow table, a dict of columns, or an
            array. Missing values are no evidence.
        y : array of shape (n_samples,), default=None
            Known entities, -1 where unknown.
        constraints : Constraints, default=None
            References that are, or are not, the same entity. They always hold.
        relations : array of shape (n_samples,), list of lists, Relations or None, default=None
            References that occur together: one value per reference, such as its paper, or
            hyper-edges.
        sources : array of shape (n_samples,), default=None
            Source of every reference; references of one source are all different entities.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._resolve(self._pose(X, y, constraints, relations, sources))
        return self

    def _pose(self, X: Any, y: Any, constraints: Any, relations: Any, sources: Any) -> Problem:
        """Check everything that was given, and compare the candidate pairs."""
        self._check_parameters(reset=True)
        references = self._read(X)
        known = self._validate_knowledge(constraints, y, references.n, X)
        if references.ids is None and known.ids is not None:
            references = References(references.n, references.columns, known.ids)
        incidence = read_hyperedges(relations, references.n, X)
        codes = read_sources(sources, references.n, X)
        rules = make_rules(known, incidence, codes, distinct=self.distinct)
        scorer = Scorer(references, read_comparisons(self.compare, references))
        pairs, self.blocking_ = candidate_pairs(
            self.blocking, references, scorer, least=self._least_similarity(), X=X
        )
        name, n_columns = f"{type(self).__name__}, columns", len(scorer.columns)
        with stage_progress(name, n_columns, verbose=self.verbose) as progress:
            parts = scorer.score(pairs, done=progress.step)
        candidates = CandidatePairs(
            pairs, scorer.combine(parts), parts, scorer.columns, self.blocking_
        )
        self.comparisons_ = dict(scorer.comparisons)
        self._scorer = scorer
        apart = relations if self.distinct else None
        self._memory = Memory(
            compared_columns(references, scorer.columns, self.blocking),
            *exclusive_codes(sources, apart, references.n, X, whose="the first"),
        )
        return Problem(
            references,
            scorer,
            candidates,
            incidence,
            known,
            rules.node,
            rules.n_nodes,
            rules.conflicts,
            rules.exclusive,
        )

    def _resolve(self, problem: Problem) -> None:
        """Set labels and the other fitted attributes."""
        not_defined(self, "_resolve")

    def _least_similarity(self) -> float:
        """Least attribute similarity with which a pair can join: what blocking aims for."""
        return float(self.threshold)

    def _read(self, X: Any) -> References:
        """Read the references; tables of numbers as all estimators do, others column by column."""
        check_several_columns(X)
        if not has_texts(X):
            rows: Any = self._check_rows(X, reset=True)
            return read_numbers(rows, getattr(self, "feature_names_in_", None), X)
        references = read_table(X)
        if hasattr(X, "columns") and not hasattr(X, "column_names"):
            validate_data(self, X, skip_check_array=True)
        else:
            self.n_features_in_ = len(references.columns)
            self.feature_names_in_ = np.array(list(references.columns), dtype=object)
        return references

    def _set_labels(self, labels: Array, problem: Problem) -> None:
        """Set labels of the references, numbered by first appearance, and compare with ``known``.

        ``labels`` are those of the references.
        """
        self.labels_ = numbered(labels)
        self._compare_with(problem.known)

    def similarity(self, i: Any, j: Any) -> FloatArray:
        """Attribute similarity of pairs of references of the fit, whether or not they are compared.

        Parameters
        ----------
        i, j : int or array of int
            Positions of the references.

        Returns
        -------
        similarity : ndarray of shape (n_pairs,)
            In [0, 1]; 0 where two references have no column in common.
        """
        check_is_fitted(self)
        pairs = np.column_stack([np.atleast_1d(i), np.atleast_1d(j)]).astype(np.int64)
        self._check_positions(pairs)
        return self._scorer.combine(self._scorer.score(pairs))

    def assign(
        self,
        X: Any,
        *,
        constraints: Constraints | None = None,
        relations: Any = None,
        sources: Any = None,
    ) -> AssignedReferences:
        """Find the entities of references that come after the fit; old entities stay as they are.

        A new reference gets the entity of the reference of the fit that is most similar to it, at
        the threshold or above. Those that are similar to none are compared with each other: they
        get the entity of a new reference that has one, or a new one together. The most similar
        pairs are joined first, except where that would put together what something keeps apart. A
        new reference can be similar to two entities, which a fit to all references would perhaps
        join: this is in ``also`` of what is returned.

        Pairs are compared as in the fit, by the same columns, scales and keys; the references of
        the fit alone tell how rare a word is. Nothing is known about relations of new and old
        references: attributes decide. A reference that has the id and all values of one of the fit
        is that reference.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            The new references, with the columns that are compared or make keys.
        constraints : Constraints, default=None
            New references that are, or are not, the same entity.
        relations : array of shape (n_samples,), list of lists, Relations or None, default=None
            New references that occur together, and are different entities where ``distinct``. A
            hyper-edge of the fit is known again by its name, if it has one: one value per
            reference, such as its paper, or the keys of a mapping.
        sources : array of shape (n_samples,), default=None
            Source of every new reference; those of one source, the references of the fit among
            them, are all different entities.

        Returns
        -------
        found : AssignedReferences
            Entities, similarities, and other entities that a reference is similar to.
        """
        check_is_fitted(self)
        new = self._read_again(X)
        known = self._validate_knowledge(constraints, None, new.n, X)
        if new.ids is None and known.ids is not None:
            new = References(new.n, new.columns, known.ids)
        read_sources(sources, new.n, X)
        apart = relations if self.distinct else None
        codes = exclusive_codes(sources, apart, new.n, X, whose="the new")
        return assign_references(self, new, known, *codes)

    def _read_again(self, X: Any) -> References:
        """Read later references, in the columns that the fit compared or made keys of."""
        if any(callable(key) for key in keys_of(self.blocking)):
            raise SidelightError(
                "Keys of blocking that are functions are not known again for references that come "
                'after the fit; give keys by name, as in blocking=("name:prefix3",).'
            )
        check_several_columns(X)
        if is_table(X) or has_texts(X):
            found = read_table(X)
        else:
            names = getattr(self, "feature_names_in_", None)
            rows: Any = self._check_rows(X, reset=False)
            found = read_numbers(rows, names, X)
        fitted = self._memory.references.columns
        lacking = [name for name in fitted if name not in found.columns]
        if lacking:
            raise SidelightError(
                f"The references have no column{'s'[: len(lacking) > 1]} "
                f"{listed([repr(name) for name in lacking])}, which the fit compared; they have "
                f"{listed([repr(name) for name in found.columns])}."
            )
        columns = {name: like(found.columns[name], column) for name, column in fitted.items()}
        return References(found.n, columns, found.ids)

    def _threshold_of_fit(self) -> float:
        """Threshold that pairs with later references are compared with."""
        return float(self.threshold)

    def _without_relations(self, attribute: FloatArray) -> FloatArray:
        """Similarity of pairs of which only the attributes are known."""
        return attribute

    def _check_positions(self, pairs: IntArray) -> None:
        n = len(self.labels_)
        bad = pairs[(pairs < 0) | (pairs >= n)]
        if len(bad):
            raise SidelightError(f"There is no reference {bad[0]}: positions go from 0 to {n - 1}.")
