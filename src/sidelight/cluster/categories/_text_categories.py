"""TClus: a category system out of labeled text (Book 2009, section 7.2.3)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Count,
    Interval,
    NonNegative,
    Share,
    Verbosity,
    Whole,
    estimator,
)
from sidelight._fit.restarts import fit_progress
from sidelight._fit.targets import check_target, read_targets
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.base import Clusterer
from sidelight.cluster.categories._documents import (
    Damping,
    as_documents,
    damp,
    inverse_frequencies,
    nearest,
    unit,
    weigh,
)
from sidelight.cluster.categories._filed import NEW, filed, fingerprints, look_up
from sidelight.cluster.categories._held_out import HeldOutCheck, check_held_out
from sidelight.cluster.categories._passes import CategoryPass, Passes, Seeds, spread
from sidelight.cluster.categories._ranking import CategoryRanking, rank_documents
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.tags import own_tags

#: Parts of the name of a category that is made of several classes.
SHOWN_CLASSES = 3


@estimator
class TextCategories(Clusterer):
    """Coherent categories of documents, from classes that are roughly right (TClus).

    The classes of the documents choose the first seeds, the damped sums
    ``s_c = Σ_{i∈c} φ(tf_i)`` of their word counts (Book 2009, section 7.2.3). Every pass assigns
    documents to seeds, sums the documents of every seed again, keeps the ``l`` heaviest words of
    each (project), joins seeds whose cosine is above ``merge_threshold`` (merge) and deletes those
    of fewer than ``min_documents`` documents (kill). ``l`` shrinks from ``n_words`` to
    ``n_words_final``. So classes that say the same become one category, and classes without
    substance disappear.

    Documents move only where a held-out check supports it: naive Bayes, which has seen all
    documents but this one, puts it into another class, and so clearly that it is more probably
    misfiled than one of the documents that stand at the border of their class. Where classes are
    right, hardly any document moves. As published, the documents go to the seed of largest cosine
    ``cos(s_h, φ(tf_i))`` in every pass, which finds the topics of drawn documents but moves a third
    of real ones whose classes are right. Documents without a class, and those of deleted
    categories, always go to the nearest seed. ``predict`` of the same documents agrees with
    ``labels_``. Read more in the :doc:`user guide </cluster/categories>`.

    Parameters
    ----------
    n_words : int >= 1, default=500
        Number of words of a seed in the first pass.
    n_words_final : int >= 1, default=200
        Number of words of a seed in the last pass; at most ``n_words``.
    shrink : float in (0, 1], default=0.7
        Factor of the number of words from pass to pass. With 1 it stays ``n_words``, and passes go
        on until no document changes its category.
    merge_threshold : float >= 0, default=0.95
        Cosine of two seeds above which they become one; above 1 none do.
    min_documents : int >= 0, default=8
        Number of documents that a category needs to stay. Documents of a deleted one go to others.
    outlier_threshold : float in [0, 1], default=0.0
        Cosine with the nearest seed below which a document is an outlier. It no longer counts for
        the seeds. Documents that share no word with any seed are always outliers.
    damping : {"sqrt", "log1p", "binary", "identity"}, default="sqrt"
        Function ``φ`` of a count in the sums, so that a word that is repeated inside one document
        counts less.
    damp_documents : bool, default=True
        Whether documents are compared with the seeds by their damped counts, too. The source
        compares plain counts, which moved more documents to wrong categories.
    use_idf : bool, default=False
        Whether words weigh the reciprocal of the number of documents that have them. The source
        found it harmful.
    domination_threshold : float >= 0, default=0.025
        Difference of cosines from which ``rank`` does not look at words that only one of two
        categories has.
    max_iter : int >= 1, default=100
        Largest number of passes.
    variant : {"default", "published"}, default="default"
        ``"published"``: as in the source, the nearest seed decides about every document.

    Attributes
    ----------
    seeds_ : csr_array of shape (n_categories, n_features)
        Seeds of unit length, with at most ``n_words_final`` words each.
    labels_ : ndarray of int32, shape (n_samples,)
        Category of every document, -1 for outliers.
    cosines_ : ndarray of shape (n_samples,)
        Cosine of every document with the seed of its category; for outliers with the nearest seed.
    classes_ : ndarray of shape (n_classes,)
        The given classes, sorted.
    class_category_ : ndarray of int32, shape (n_classes,)
        Category that the seed of every class became, or became part of; -1 where it was deleted.
    category_names_ : ndarray of str, shape (n_categories,)
        Names of the categories: the classes that their seeds come from, joined by plus signs.
    constituents_ : ndarray of int, shape (n_categories, n_classes)
        Number of documents of every given class in every category.
    moved_ : ndarray of int, shape (n_moved,)
        Positions of the documents whose category does not come from the class that they had, those
        that the held-out check supports most first.
    move_margins_ : ndarray of shape (n_moved,)
        How clear every move is: share of the documents of its new class that differ less from the
        old one. NaN where the held-out check would not move the document there.
    move_support_ : ndarray of shape (n_moved,)
        Estimated probability that a document with this margin is misfiled; NaN likewise.
    held_out_ : ndarray of int32, shape (n_samples,)
        Category into which naive Bayes puts every document without having seen it; -1 for documents
        without words.
    held_out_agreement_ : float
        Share of the documents with a class that ``held_out_`` has in the category of their class.
    wrong_share_ : float
        Estimated share of the documents with a class that are misfiled.
    indistinct_ : list of ndarray
        Pairs of classes that naive Bayes takes for each other too often to tell who is misfiled.
    merged_ : list of ndarray
        Classes that became one category, an array for each such category.
    killed_ : ndarray
        Classes whose category was deleted.
    outliers_ : ndarray of int
        Positions of the documents that belong to no category.
    idf_ : ndarray of shape (n_features,) or None
        Weights of the words, with ``use_idf``.
    passes_ : dict of str to ndarray
        What happened in every pass: ``n_words``, ``n_categories`` at its end, ``n_merged``,
        ``n_killed`` and ``n_outliers``.
    objective_ : float
        ``Σ (1 - cos)`` over the documents with a category, at the end. It may rise, as seeds lose
        words.
    history_ : ndarray
        The same in every pass, and at the end.
    n_iter_ : int
        Number of passes.
    converged_ : bool
        Whether the passes came to their end before ``max_iter``.

    See Also
    --------
    sidelight.feature_selection.GiniScore : Choice of the words that tell classes apart.
    SphericalKMeans : Clusters by cosine from random starts.

    Examples
    --------
    >>> from sidelight.cluster import TextCategories
    >>> from sidelight.datasets import make_category_corpus
    >>> corpus = make_category_corpus(2000, n_topics=5, n_duplicated=1, random_state=0)
    >>> model = TextCategories().fit(corpus.data, corpus.extras["labels"])
    >>> model.seeds_.shape[0], len(model.classes_), len(model.merged_)
    (5, 6, 1)
    """

    _: KW_ONLY
    n_words: Count = 500
    n_words_final: Count = 200
    shrink: Annotated[float, Interval(0, 1, open_low=True)] = 0.7
    merge_threshold: NonNegative = 0.95
    min_documents: Whole = 8
    outlier_threshold: Share = 0.0
    damping: Damping = "sqrt"
    damp_documents: bool = True
    use_idf: bool = False
    domination_threshold: NonNegative = 0.025
    max_iter: Count = 100
    variant: Literal["default", "published"] = "default"
    verbose: Verbosity = 0

    #: A ``y`` that labels every document is what the seeds are made of.
    _ignores_full_labels: ClassVar[bool] = False

    _own_tags = own_tags(
        summary="coherent categories of documents, from classes that are roughly right",
        knowledge=("labels",),
        enforcement="start",
        source="Aggarwal, Gates, Yu 2004; Book 2009, section 7.2.3",
        complexity="O(nnz s) per pass for s seeds that share a word, O(nnz + n) memory",
        kind="categorizer",
        sparse=True,
        raw_columns=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Find the categories of documents.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts of words, not negative.
        y : array of shape (n_samples,), default=None
            Classes of the documents, of any type; -1, None, NaN or an empty word where there is
            none. Documents without a class get a category, but do not make seeds.
        constraints : Constraints, default=None
            Side information about the documents. Its labels count like those of ``y``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        documents = self._check_counts(rows)
        codes, self.classes_ = read_targets(y, known, type(self).__name__, pass_on=False)
        self.idf_ = inverse_frequencies(documents) if self.use_idf else None
        plain = damp(documents, self.damping)
        check = check_held_out(plain, codes, len(self.classes_))
        published = self.variant == "published"
        held = np.full(len(codes), -1) if published else check.tidied
        damped = weigh(plain, self.idf_)
        compared = damped if self.damp_documents else weigh(documents, self.idf_)
        passes = Passes(
            compared,
            damped,
            held=held,
            merge_threshold=self.merge_threshold,
            min_documents=self.min_documents,
            outlier_threshold=self.outlier_threshold,
        )
        start = passes.start(codes if published else held, len(self.classes_))
        if start.n == 0:
            raise SidelightError(
                "No labeled document has a word: count words, or keep more of them."
            )
        done, self.converged_ = self._run(passes, start)
        self._set_seeds(done[-1].seeds, rows.dtype)
        self._set_labels(passes, check, done)
        self._filed_prints, self._filed_labels = filed(fingerprints(documents), self.labels_)
        self._compare_with(known)
        return self

    def _validate_knowledge(
        self, constraints: Constraints | None, y: Any, n_samples: int, X: Any
    ) -> Constraints:
        self._check_y_holds_labels(y)
        check_target(y, X, n_samples)
        return super()._validate_knowledge(constraints, y, n_samples, X)

    def _check_counts(self, rows: Any) -> sparse.csr_array:
        values = rows.data if sparse.issparse(rows) else rows
        if values.size and float(values.min()) < 0:
            raise SidelightError(
                f"Negative values in data passed to {type(self).__name__}: counts of words are not."
            )
        return as_documents(rows)

    def _run(self, passes: Passes, seeds: Seeds) -> tuple[list[CategoryPass], bool]:
        """All passes, and whether they converged."""
        words = self.n_words
        done: list[CategoryPass] = []
        converged = False
        with fit_progress(type(self).__name__, self._n_passes(), verbose=self.verbose) as progress:
            for _ in range(self.max_iter):
                done.append(passes.run(seeds, words))
                self._check_left(done[-1], seeds.n)
                seeds = done[-1].seeds
                progress.step(done[-1].objective)
                converged = self._is_last(done)
                if converged:
                    break
                words = self._shrunk(words)
        if not converged and not progress.interrupted:
            warn(
                f"{type(self).__name__} did not come to its end within "
                f"{setting('max_iter', self.max_iter)} passes.",
                ConvergenceWarning,
            )
        return done, converged

    def _n_passes(self) -> int:
        """Number of passes; the largest possible one if ``shrink`` is 1."""
        if self.shrink == 1:
            return self.max_iter
        words, n = self.n_words, 1
        while words > self.n_words_final and n < self.max_iter:
            words, n = self._shrunk(words), n + 1
        return n

    def _shrunk(self, words: int) -> int:
        """Number of words of the next pass."""
        if self.shrink == 1:
            return words
        return max(min(round(words * self.shrink), words - 1), self.n_words_final)

    def _is_last(self, done: list[CategoryPass]) -> bool:
        if self.shrink < 1:
            return done[-1].n_words <= self.n_words_final
        return len(done) > 1 and np.array_equal(done[-2].labels, done[-1].labels)

    def _check_left(self, one: CategoryPass, n_before: int) -> None:
        """Raise if no documents or no categories are left."""
        if one.n_outliers == len(one.labels):
            raise SidelightError(
                "Every document is an outlier: none has a cosine of "
                f"{setting('outlier_threshold', self.outlier_threshold)} with any category. Lower "
                "the threshold."
            )
        if one.seeds.n == 0:
            largest = int(np.bincount(one.labels[one.labels >= 0]).max())
            raise SidelightError(
                f"No category is left: the largest of {n_before:,} has "
                f"{counted(largest, 'document')}, and "
                f"{setting('min_documents', self.min_documents)} asks for more. Lower it."
            )

    def _set_seeds(self, seeds: Seeds, dtype: np.dtype[Any]) -> None:
        self.seeds_ = unit(seeds.sums).astype(dtype)
        self.seeds_.sort_indices()
        self.class_category_ = seeds.category.astype(np.int32)
        names = [
            _joined_names(self.classes_[self.class_category_ == category].tolist())
            for category in range(seeds.n)
        ]
        self.category_names_ = np.array(names, dtype=str)

    def _set_labels(self, passes: Passes, check: HeldOutCheck, done: list[CategoryPass]) -> None:
        """The last assignment, and what follows from it."""
        labels, cosines = passes.assign(self.seeds_, done[-1].seeds.category)
        self.labels_ = labels.astype(np.int32)
        self.cosines_ = cosines.astype(self.seeds_.dtype)
        self.objective_ = spread(labels, cosines)
        self.history_ = np.array([*(one.objective for one in done), self.objective_])
        self.n_iter_ = len(done)
        self.passes_ = {
            "n_categories": np.array([one.seeds.n for one in done]),
            **{
                name: np.array([getattr(one, name) for one in done])
                for name in ("n_words", "n_merged", "n_killed", "n_outliers")
            },
        }
        codes = check.given
        labeled = (codes >= 0) & (labels >= 0)
        shape = (len(self.category_names_), len(self.classes_))
        self.constituents_ = np.zeros(shape, dtype=np.int64)
        np.add.at(self.constituents_, (labels[labeled], codes[labeled]), 1)
        self._set_moves(labeled & (self.class_category_[codes] != labels), check)

    def _set_moves(self, moved: npt.NDArray[np.bool_], check: HeldOutCheck) -> None:
        """What the held-out check says about documents and moves."""
        category_of = np.append(self.class_category_, np.int32(-1))
        self.held_out_ = category_of[check.classes]
        own = category_of[check.given]
        judged = (check.given >= 0) & (check.classes >= 0)
        same = (check.classes == check.given) | ((own >= 0) & (self.held_out_ == own))
        self.held_out_agreement_ = float(np.mean(same[judged])) if judged.any() else 1.0
        self.wrong_share_ = check.wrong_share
        self.indistinct_ = [self.classes_[pair] for pair in check.indistinct]
        rows = np.flatnonzero(moved)
        agrees = self.held_out_[rows] == self.labels_[rows]
        margins = np.where(agrees, check.margins[rows], np.nan)
        support = np.where(agrees, check.support[rows], np.nan)
        order = np.lexsort((rows, -margins, -support))  # NaN is last
        self.moved_ = rows[order]
        self.move_margins_, self.move_support_ = margins[order], support[order]

    def _n_clusters_found(self) -> int:
        return int(self.seeds_.shape[0])

    def compared_counts(self, X: Any) -> sparse.csr_array:
        """Return the damped counts, weighted by ``idf_``, that are compared with the seeds.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts of words.

        Returns
        -------
        documents : csr_array of shape (n_samples, n_features)
            In the element type of ``X``.
        """
        return self._compared(self._counted(X))

    def _compared(self, documents: sparse.csr_array) -> sparse.csr_array:
        damped = damp(documents, self.damping) if self.damp_documents else documents
        return weigh(damped, self.idf_)

    @property
    def merged_(self) -> list[Array]:
        """Classes that became one category, an array for each such category."""
        sizes = np.bincount(self.class_category_[self.class_category_ >= 0])
        several = np.flatnonzero(sizes > 1)
        return [self.classes_[self.class_category_ == category] for category in several]

    @property
    def killed_(self) -> Array:
        """Classes whose category was deleted."""
        return self.classes_[self.class_category_ < 0]

    @property
    def outliers_(self) -> IntArray:
        """Positions of the documents that belong to no category."""
        return np.flatnonzero(self.labels_ < 0)

    def predict(self, X: Any) -> Array:
        """Return the category of every document.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts of words.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Category of largest cosine, -1 for outliers; documents of the fit have the category that
            they got there.
        """
        documents = self._counted(X)
        labels, cosines = nearest(self._compared(documents), self.seeds_)
        labels = np.where(cosines >= self.outlier_threshold, labels, -1).astype(np.int32)
        known = self._filed(documents)
        return np.where(known == NEW, labels, known)

    def _counted(self, X: Any) -> sparse.csr_array:
        check_is_fitted(self)
        return self._check_counts(self._check_rows(X, reset=False))

    def _filed(self, documents: sparse.csr_array) -> npt.NDArray[np.int32]:
        """Category of documents that were in the fit; of equal ones that of most."""
        return look_up(fingerprints(documents), self._filed_prints, self._filed_labels)

    def rank(self, X: Any, n_categories: int = 3) -> CategoryRanking:
        """Rank the nearest categories of every document, with the reasons.

        Of two candidates, one dominates if its cosine is larger by at least
        ``domination_threshold``, or if it is not and the words that the other does not have fit
        better. Candidates are ranked by the number of others that they dominate, then by cosine
        (Book 2009, section 7.2.4). A document of the fit has the category that it got there in
        front, and one that was left out there has none.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts of words.
        n_categories : int, default=3
            Number of candidates: those of largest cosine, above 0 and not below
            ``outlier_threshold``.

        Returns
        -------
        ranking : CategoryRanking
            Categories, cosines and reasons.

        Examples
        --------
        >>> from sidelight.cluster import TextCategories
        >>> counts = [[3, 1, 0], [2, 2, 0], [0, 1, 3], [0, 2, 2]]
        >>> model = TextCategories(min_documents=1).fit(counts, ["sea", "sea", "sky", "sky"])
        >>> ranking = model.rank([[2, 3, 1]])
        >>> model.category_names_[ranking.categories[0]].tolist(), ranking.reasons[0].tolist()
        (['sea', 'sky'], ['cosine', 'last'])
        """
        if isinstance(n_categories, bool) or not isinstance(n_categories, int | np.integer):
            raise TypeError(f"n_categories must be a whole number, got {n_categories!r}.")
        if n_categories < 1:
            raise ValueError(f"n_categories must be at least 1, got {n_categories}.")
        documents = self._counted(X)
        return rank_documents(
            self._compared(documents),
            self.seeds_,
            self._filed(documents),
            n_categories=int(n_categories),
            tau=float(self.domination_threshold),
            least=float(self.outlier_threshold),
        )


def _joined_names(classes: list[Any]) -> str:
    shown = " + ".join(str(name) for name in classes[:SHOWN_CLASSES])
    more = len(classes) - SHOWN_CLASSES
    return f"{shown} + {more} more" if more > 0 else shown
