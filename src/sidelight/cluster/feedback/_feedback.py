"""Interactive clustering of documents (Cohn, Caruana, McCallum; Constrained Clustering 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.em.loop import Parameters, em, log_joint_blocks
from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.restarts import best_of, numbers_in, run_restarts
from sidelight._typing import Array
from sidelight.base import Clusterer
from sidelight.base.inner import by_rows
from sidelight.cluster.feedback._multinomial import (
    Clustering,
    WeightedTerms,
    random_log_frequencies,
    refilled,
)
from sidelight.cluster.feedback._statements import (
    CLUSTER_KINDS,
    PAIR_KINDS,
    Feedback,
    as_pairs,
    check_counts,
    check_feedback,
    warn_of_lost_clusters,
    warn_of_twins,
)
from sidelight.cluster.feedback._term_weights import Documents, Pull, evidence, normalize, warp
from sidelight.constraints import Constraints
from sidelight.constraints.inner import own_ids
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

#: Price of a violated pair, in documents that would rather be in another cluster.
PRICE_OF_PAIR = 10.0
#: Attempts to fill what is empty in all restarts, for every cluster.
REFILLS = 3


@dataclass(frozen=True, eq=False)
class _FeedbackState:
    """Feedback so far and the clustering it led to; states are never changed, only replaced."""

    known: Constraints
    feedback: tuple[Feedback, ...]
    pulls: tuple[Pull, ...]
    clustering: Clustering
    n_clusterings: int


@dataclass(frozen=True)
class _Restart:
    """A clustering, and its value with the price of the pairs that it violates."""

    clustering: Clustering
    objective: float

    @property
    def n_empty(self) -> int:
        """Number of clusters without a document."""
        found = self.clustering
        return len(found.log_weights) - len(np.unique(found.labels))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.clustering.end.interrupted


@estimator
class FeedbackClustering(Clusterer):
    """Cluster counts by a mixture of multinomials whose terms are weighted by the user's feedback.

    EM maximizes, over mixing weights ``π`` and term frequencies ``θ``, the penalized
    log-likelihood ::

        Σ_x log Σ_i π_i Π_j θ_ij^(γ_j N_xj)  +  Σ_ij log θ_ij

    of documents with counts ``N`` (the last term is the same as adding one to every count). The
    weights ``γ`` of the terms, all 1 without feedback, follow from pairs of documents that belong
    together or apart: terms that distinguish documents to be separated count more, and terms that
    distinguish documents to be joined count less. Cluster, criticize, cluster again::

        model.fit(X)
        model.add_feedback("apart", [12, 40])           # these two do not belong together
        model.add_feedback("together", [12, 71, 3])
        model.refit()                                   # with the new weights of the terms
        model.undo()                                    # that was worse

    ``fit(X, constraints=known)`` does the same with all stated pairs at once. Read more in the
    :doc:`user guide </cluster/feedback>`.

    Parameters
    ----------
    schedule : {"all", "unsatisfied"}, default="all"
        ``"all"``: weights follow from all feedback so far, averaged, in whatever order it was given
        (recommended). ``"unsatisfied"``: every ``refit`` takes a step from the present weights,
        along the feedback that the clustering does not satisfy yet (as published).
    step : float >= 0, finite, default=2.0
        How far the weights move: ``γ_j`` is multiplied by ``exp(step * Σ u_j / (5 + Σ |u_j|))``,
        where ``u_j`` is about 1 for a term that distinguishes documents to be separated and about
        -1 for one that distinguishes documents to be joined; kept within 0.01 and 20, and scaled
        such that all words together weigh as much as before.
    variant : {"default", "published"}, default="default"
        ``"default"``: documents are compared with their mean weighted by length, so that every
        ``g_j`` is at least 0, and the m-step counts every term ``γ_j`` times, so that the objective
        never rises. ``"published"``: they are compared with their midpoint, and the m-step counts
        every term once.
    min_df : int >= 1, default=2
        Number of documents below which a term keeps weight 1 (before scaling): it marks a document,
        not a topic.
    n_init : int >= 1 or "auto", default=5
        Number of random restarts of every clustering. Of those that lost the fewest clusters the
        likeliest is kept, where every stated pair that it violates counts against it like ten
        documents in the wrong cluster. What all have lost begins again with documents of the
        largest cluster.
        ``"auto"`` takes 10.
    tol : float >= 0, finite, default=0.0001
        Stop when an iteration gains no more than this per document.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Likeliest cluster of every document; numbered as in the clustering before, where clusters
        have much in common.
    term_weights_ : ndarray of shape (n_features,)
        Weights ``γ`` of the terms, with mean 1 over all words of the documents.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Term frequencies ``θ``.
    weights_ : ndarray of shape (n_clusters,)
        Mixing weights ``π``.
    feedback_ : tuple of Feedback
        Feedback since the fit.
    clusterings_ : tuple of ndarray
        Labels of every clustering so far that was not undone, the last one last.
    objective_ : float
        Minus the penalized log-likelihood; it was minimized.
    history_ : ndarray
        Objective at every iteration of the best restart; never rises with ``variant="default"``.
    n_violations_ : int
        Number of stated pairs, feedback included, that the labels violate.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, chapter 2, with the sign of the
    divergence corrected. Separation alone also amplifies what is peculiar to the two documents:
    state pairs that belong together too. The prior ``Σ_ij log θ_ij`` is largest for a cluster
    without documents, whose frequencies are all the same, and where documents are short it may
    outweigh them: that is in the formula of the source, with which one cannot-link could bring
    nearly all documents into one cluster. Restarts are therefore compared by the clusters that they
    lost first; a warning tells where most documents are in one cluster, or some have none, all the
    same. With ``variant="published"`` and large steps that still happens, since the e-step counts a
    word of weight ``γ_j`` so many times and the m-step once. Keeping a cluster is not in the
    source: the next clustering starts with the frequencies it has. The estimator keeps the
    documents for ``refit``.

    Examples
    --------
    The likelier split is by the first two terms; one must-link and one cannot-link turn it.

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import FeedbackClustering
    >>> X = np.array([[9, 0, 6, 0], [8, 1, 0, 7], [0, 9, 7, 0], [1, 9, 0, 6]] * 5)
    >>> model = FeedbackClustering(2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> known = Constraints(must_link=[(0, 2)], cannot_link=[(0, 1)], n_samples=20)
    >>> model.fit(X, constraints=known).term_weights_.round(1)
    array([0.7, 0.7, 1.4, 1.4])
    >>> bool(model.labels_[0] == model.labels_[2] != model.labels_[1])
    True
    """

    n_clusters: Count = 2
    _: KW_ONLY
    schedule: Literal["all", "unsatisfied"] = "all"
    step: FiniteNonNegative = 2.0
    variant: Literal["default", "published"] = "default"
    min_df: Count = 2
    n_init: Restarts = 5
    max_iter: Count = 200
    tol: FiniteNonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="cluster documents, criticize, cluster again: term weights from feedback",
            knowledge=("must-link", "cannot-link", "feedback"),
            enforcement="soft",
            source="Cohn, Caruana, McCallum; Constrained Clustering 2",
            complexity="O(nnz k) per iteration, O(nnz + (n + V) k) memory",
            monotone=self.variant == "default",
            sparse=True,
            raw_columns=True,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the documents, and again with the pairs as feedback if there are any.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts of the terms; not negative, no document empty.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Must-links and cannot-links; labels and groups are not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if constraints is None and (ids := own_ids(X)) is not None:
            constraints = Constraints(ids=ids)
        self._check_y_holds_labels(y)
        source, known = self._validate_fit(X, None, constraints)
        rows = source.to_memory()
        check_counts(rows, known)
        self._dtype = source.dtype
        self._documents = Documents(rows, self.min_df, published=self.variant == "published")
        self._source = as_rows(self._documents.counts)
        # Every clustering has a seed of its own, so that undoing one does not change the others.
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        warn_of_twins(self._documents, known, known.cannot_link)
        plain = self._cluster(np.ones(self._documents.n_terms), self._random_starts(0))
        self._states = [_FeedbackState(known, (), (), plain, 1)]
        self._clusterings = [plain.labels]
        return self.refit() if known.n_pairs else self._set_fitted_attributes()

    def add_feedback(
        self, kind: str, rows: Sequence[Any] = (), *, cluster: int | None = None
    ) -> Self:
        """State something about the clustering; it counts from the next ``refit`` on.

        Parameters
        ----------
        kind : {"together", "apart", "move", "bad-cluster", "keep"}
            These rows belong together; every two of them belong apart; they belong to ``cluster``;
            the cluster should be taken apart; the cluster is good and should be kept.
        rows : sequence
            Rows, by position, or by the ids of the constraints or the index of the data frame that
            ``fit`` was given.
        cluster : int, default=None
            Cluster, as in ``labels_``.

        Returns
        -------
        self : object
            The clusterer, with the clustering that it had.
        """
        check_is_fitted(self)
        state = self._states[-1]
        positions = tuple(dict.fromkeys(state.known.position(row) for row in rows))
        check_feedback(kind, positions, cluster, self.n_clusters)
        feedback = Feedback(kind, positions, cluster)
        if kind in PAIR_KINDS:
            known = state.known | as_pairs(feedback, state.known)
            warn_of_twins(self._documents, state.known, (known - state.known).cannot_link)
            changed = replace(state, known=known)
        else:
            changed = replace(
                state, pulls=(*state.pulls, self._pull_of(feedback, state.clustering))
            )
        self._states.append(replace(changed, feedback=(*state.feedback, feedback)))
        return self._set_fitted_attributes()

    def refit(self, *, reinit: bool = True) -> Self:
        """Learn the weights of the terms from the feedback and cluster again.

        Parameters
        ----------
        reinit : bool, default=True
            Whether to start from new random frequencies too, except in clusters to be kept, and
            not from the present ones alone.

        Returns
        -------
        self : object
            The clusterer with its new clustering.
        """
        check_is_fitted(self)
        state = self._states[-1]
        present = state.clustering
        starts = [Parameters(present.components, present.log_weights)]
        if reinit:
            kept = [f.cluster for f in state.feedback if f.kind == "keep" and f.cluster is not None]
            starts += self._random_starts(state.n_clusterings, present.components, kept)
        found = self._cluster(self._learn(state), starts, state).numbered_as(present.labels)
        warn_of_lost_clusters(present.labels, found.labels, self.n_clusters)
        self._clusterings = [*self._clusterings[: state.n_clusterings], found.labels]
        self._states.append(replace(state, clustering=found, n_clusterings=state.n_clusterings + 1))
        return self._set_fitted_attributes()

    def undo(self) -> Self:
        """Take back the last ``add_feedback`` or ``refit``, with the clustering that it led to.

        Returns
        -------
        self : object
            The estimator as it was before.
        """
        check_is_fitted(self)
        if len(self._states) == 1:
            raise SidelightError("Nothing is left to take back: this is the first clustering.")
        self._states.pop()
        return self._set_fitted_attributes()

    def predict(self, X: Any) -> Array:
        """Return the likeliest cluster of every document.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every document.
        """
        return self._log_joint(X).argmax(axis=1).astype(np.int32)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every cluster given a document.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters)
            Rows sum to 1.
        """
        return softmax(self._log_joint(X), axis=1).astype(self._dtype)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the documents, terms weighted.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Counts.
        y : object
            Ignored.

        Returns
        -------
        score : float
            The larger the better.
        """
        return float(np.mean(by_rows(self, "_log_density", X)))

    def _log_density(self, X: Any) -> Array:
        return np.asarray(logsumexp(self._log_joint(X), axis=1))

    def _log_joint(self, X: Any) -> Array:
        check_is_fitted(self)
        found = self._states[-1].clustering
        source = as_rows(self._validate_rows(X, reset=False).to_memory().astype(np.float64))
        joint: Array = log_joint_blocks(source, found.components, found.log_weights, _as_it_is)
        return joint

    def _random_starts(
        self, number: int, present: WeightedTerms | None = None, kept: Sequence[int] = ()
    ) -> list[Parameters]:
        """Parameters that the restarts of the clustering of this number start from.

        Some clusters may keep the frequencies they have at present.
        """
        random_state = np.random.RandomState((self._seed + number) % 2**32)
        k, starts = self.n_clusters, []
        for _ in range(n_restarts(self)):
            logs = random_log_frequencies(self._source, k, random_state)
            if present is not None:
                logs[list(kept)] = present.log_probabilities[list(kept)]
            ones = np.ones(logs.shape[1])
            components = WeightedTerms(logs, 1.0, ones, self.variant == "published")
            starts.append(Parameters(components, np.full(k, -np.log(k))))
        return starts

    def _cluster(
        self, term_weights: Array, starts: list[Parameters], state: _FeedbackState | None = None
    ) -> Clustering:
        """Run EM from all starts and keep the likeliest, less the price of violated pairs.

        An empty cluster has the even frequencies that the prior likes best, so that the likeliest
        restart may be one that has lost clusters: those that lost the fewest come first, and what
        all have lost begins again with documents of the largest clusters.
        """
        price = 0.0 if state is None else PRICE_OF_PAIR * self._margin(state.clustering)

        def fit(start: Parameters) -> _Restart:
            end = em(
                self._source,
                replace(start.components, term_weights=term_weights),
                start.log_weights,
                noisy=self.variant == "published",  # its m-step may lose
                max_iter=self.max_iter,
                tol=self.tol,
                description="FeedbackClustering",
                verbose=self.verbose,
            )
            found = Clustering.of(end, self._source, self._documents.lengths)
            n_violated = 0 if state is None else state.known.violations(found.labels).n
            return _Restart(found, self._source.n_rows * end.objective + price * n_violated)

        restarts = run_restarts(
            lambda number, random_state: fit(starts[number]),
            range(len(starts)),  # the starts are drawn already
            numbers_in(self._source),
            description=type(self).__name__,
            verbose=self.verbose,
        )
        fewest = min(one.n_empty for one in restarts)
        best = best_of([one for one in restarts if one.n_empty == fewest])
        random_state = np.random.RandomState(self._seed)
        for _ in range(REFILLS * self.n_clusters):
            if not best.n_empty or best.interrupted:
                break
            again = fit(refilled(best.clustering, self._documents, random_state))
            best = again if again.n_empty < best.n_empty else best
        return best.clustering

    def _margin(self, found: Clustering) -> float:
        """Log-likelihood that a typical document loses in its second best cluster."""
        if self.n_clusters == 1:
            return 0.0
        joint = log_joint_blocks(self._source, found.components, found.log_weights, _as_it_is)
        second, best = np.partition(joint, -2, axis=1)[:, -2:].T
        return float(np.median(best - second))

    def _learn(self, state: _FeedbackState) -> Array:
        """Weights of the terms from the feedback."""
        known, labels = state.known, state.clustering.labels
        together, apart = known.must_link, known.cannot_link
        weight, apart_weight = known.must_link_weight, known.cannot_link_weight
        about_clusters = [f for f in state.feedback if f.kind in CLUSTER_KINDS]
        pulls = list(state.pulls)
        begin = np.ones(self._documents.n_terms)
        if self.schedule == "unsatisfied":
            begin = state.clustering.components.term_weights
            torn = labels[together[:, 0]] != labels[together[:, 1]]
            joined = labels[apart[:, 0]] == labels[apart[:, 1]]
            together, weight = together[torn], weight[torn]
            apart, apart_weight = apart[joined], apart_weight[joined]
            pulls = [
                pull
                for feedback, pull in zip(about_clusters, pulls, strict=True)
                if feedback.kind != "move"
                or np.any(labels[list(feedback.rows)] != feedback.cluster)
            ]
        pairs, _ = self._documents.pull_of_pairs(
            np.concatenate([together, apart]), np.concatenate([-weight, apart_weight])
        )
        weights = warp(begin, evidence([pairs, *pulls]), self.step)
        return normalize(weights, self._documents.totals)

    def _pull_of(self, feedback: Feedback, found: Clustering) -> Pull:
        """Change of the term weights for feedback about a cluster of the current clustering."""
        rows, cluster = np.array(feedback.rows, dtype=np.int64), feedback.cluster
        if feedback.kind != "move":
            rows = np.flatnonzero(found.labels == cluster)
        if len(rows) == 0:
            raise SidelightError(f"Cluster {cluster} has no documents.")
        return self._documents.pull_of_cluster(
            rows,
            found.components.frequencies[cluster],
            float(found.cluster_lengths[cluster]),
            1 if feedback.kind == "bad-cluster" else -1,
        )

    def _set_fitted_attributes(self) -> Self:
        """Set the fitted attributes to those of the last state."""
        state = self._states[-1]
        found, n_rows = state.clustering, self._source.n_rows
        self.labels_ = found.labels
        self.term_weights_ = found.components.term_weights.astype(self._dtype)
        self.cluster_centers_ = found.components.frequencies.astype(self._dtype)
        self.weights_ = np.exp(found.log_weights).astype(self._dtype)
        self.feedback_ = state.feedback
        self.clusterings_ = tuple(self._clusterings[: state.n_clusterings])
        self.objective_ = n_rows * found.end.objective
        self.history_ = n_rows * found.end.history
        self.n_iter_ = found.end.n_iter
        self.converged_ = found.end.converged
        self._compare_with(state.known)
        return self


def _as_it_is(joint: Array) -> Array:
    return joint
