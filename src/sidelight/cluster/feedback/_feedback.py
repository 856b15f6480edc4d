"""Clustering of documents in a conversation (Cohn, Caruana, McCallum; Constrained Clustering 2)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClusterMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters
from sidelight._typing import Array
from sidelight.base import ConstrainedEstimator
from sidelight.cluster.feedback._multinomial import (
    M_STEPS,
    Mixture,
    MixtureFit,
    fit_mixture,
    random_frequencies,
)
from sidelight.cluster.feedback._statements import (
    CLUSTER_KINDS,
    PAIR_KINDS,
    Feedback,
    as_pairs,
    check_counts,
    check_feedback,
    numbered_as,
)
from sidelight.cluster.feedback._term_weights import (
    MEANS,
    Documents,
    Pull,
    average,
    normalise,
    warp,
)
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.tags import MethodTags

SCHEDULES = ("all", "unsatisfied")


@dataclass(frozen=True, eq=False)
class _State:
    """Where the conversation stands; nothing in it changes, so that going back is easy."""

    known: Constraints
    feedback: tuple[Feedback, ...]
    pulls: tuple[Pull, ...]
    fit: MixtureFit
    n_clusterings: int


class FeedbackClustering(ClusterMixin, ConstrainedEstimator):
    """Cluster counts by a mixture of multinomials whose terms are weighted by the user's feedback.

    EM maximises, over shares ``π`` and term frequencies ``θ``, the penalised log-likelihood ::

        Σ_x log Σ_i π_i Π_j θ_ij^(γ_j N_xj)  +  Σ_ij log θ_ij

    of documents with counts ``N`` (the last term is what adding one to every count means). The
    weights ``γ`` of the terms, all 1 without feedback, follow from pairs of documents that belong
    together or apart: terms that tell apart what is to be separated count more, and terms that tell
    apart what is to be joined count less. Cluster, criticise, cluster again::

        model.fit(X)                                    # what is there?
        model.add_feedback("apart", [12, 40])           # these two do not belong together
        model.add_feedback("together", [12, 71, 3])
        model.refit()                                   # with what was learnt
        model.undo()                                    # that was worse

    ``fit(X, constraints=known)`` does the same with all stated pairs at once.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    schedule : {"all", "unsatisfied"}, default="all"
        ``"all"``: weights follow from everything said so far, averaged, in whatever order it was
        said (recommended). ``"unsatisfied"``: every ``refit`` takes a step from the weights as they
        are, along what the clustering does not satisfy yet (as published).
    step : float, default=30.0
        How far the weights move: ``γ_j`` is multiplied by ``exp(step * V * mean_j)`` where
        ``mean_j`` averages ``± g_j / |g|₁`` over the feedback and ``V`` is the number of terms,
        kept within 0.01 and 20 and scaled to mean 1.
    mean : {"length", "midpoint"}, default="length"
        What two documents are compared with: the mean of their frequencies weighted by length, so
        that every ``g_j`` is at least 0, or their midpoint (as published).
    m_step : {"weighted", "text"}, default="weighted"
        Count every term ``γ_j`` times when frequencies are estimated, so that the objective rises
        in every iteration, or once (as published).
    min_df : int, default=2
        Terms in fewer documents than this keep weight 1 (before scaling): they tell a document, not
        a topic.
    n_init : int, default=5
        Number of random starts of every clustering, of which the likeliest is kept.
    max_iter : int, default=200
        At most this many iterations per start.
    tol : float, default=1e-6
        Stop when the objective changes by less than this part of itself.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Likeliest cluster of every document; numbered as the clustering before, where clusters
        have much in common.
    term_weights_ : ndarray of shape (n_features,)
        Weights ``γ`` with mean 1.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Term frequencies ``θ``.
    cluster_shares_ : ndarray of shape (n_clusters,)
        Shares ``π``.
    feedback_ : tuple of Feedback
        What was said since the fit.
    clusterings_ : tuple of ndarray
        Labels of every clustering so far that was not undone, the last one last.
    objective_ : float
        Minus the penalised log-likelihood.
    history_ : ndarray
        The same at every iteration; never rises with ``m_step="weighted"``.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the objective stood still before ``max_iter``.
    n_violations_ : int
        Number of stated pairs, feedback included, that the labels violate.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, chapter 2, with the sign of the
    divergence corrected. Separation alone also amplifies what is peculiar to the two documents:
    say what belongs together too. Keeping a cluster is ours: it starts the next clustering with the
    prototype it has. The estimator keeps the documents for ``refit``.

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
    array([0., 0., 2., 2.])
    >>> bool(model.labels_[0] == model.labels_[2] != model.labels_[1])
    True
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        schedule: str = "all",
        step: float = 30.0,
        mean: str = "length",
        m_step: str = "weighted",
        min_df: int = 2,
        n_init: int = 5,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.schedule = schedule
        self.step = step
        self.mean = mean
        self.m_step = m_step
        self.min_df = min_df
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="cluster documents, criticise, cluster again: term weights from feedback",
            knowledge=("must-link", "cannot-link", "feedback"),
            enforcement="soft",
            source="Cohn, Caruana, McCallum; Constrained Clustering 2",
            complexity="O(nnz k) per iteration, O(nnz + (n + V) k) memory",
            monotone=self.m_step == "weighted",
            sparse=True,
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
        self : FeedbackClustering
            The fitted clusterer.
        """
        self._check_choices()
        rows: Any = self._check_rows(X, reset=True)
        known = self._check_constraints(constraints, None, rows.shape[0])
        check_n_clusters(self.n_clusters, rows.shape[0])
        check_counts(rows, known)
        if known.has_labels or known.has_groups:
            warnings.warn(
                "FeedbackClustering listens to pairs only: labels and groups are not used.",
                ConstraintWarning,
                stacklevel=2,
            )
        self._warn_of_contradictions(known)
        self._dtype = rows.dtype
        self._documents = Documents(rows, self.mean, self.min_df)
        self._source = as_rows(self._documents.counts)
        # Every clustering has its own stream of chance, so that taking back changes nothing.
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._warn_of_twins(known, known.cannot_link)
        plain = self._cluster(np.ones(self._documents.n_terms), self._random_starts(0))
        self._states = [_State(known, (), (), plain, 1)]
        self._clusterings = [plain.labels]
        if known.n_pairs:
            return self.refit()
        return self._set_fitted_attributes()

    def add_feedback(
        self, kind: str, rows: Sequence[Any] = (), *, cluster: int | None = None
    ) -> Self:
        """Say something about the clustering; it counts from the next ``refit`` on.

        Parameters
        ----------
        kind : {"together", "apart", "move", "bad-cluster", "keep"}
            These rows belong together; every two of them belong apart; they belong to ``cluster``;
            the cluster should be taken apart; the cluster is good and should be kept.
        rows : sequence
            Rows, by position or by the ids of the constraints given to ``fit``.
        cluster : int, default=None
            Cluster, as in ``labels_``.

        Returns
        -------
        self : FeedbackClustering
            The clusterer, with the clustering that it had.
        """
        check_is_fitted(self)
        state = self._states[-1]
        positions = tuple(dict.fromkeys(state.known.position(row) for row in rows))
        check_feedback(kind, positions, cluster, self.n_clusters)
        said = Feedback(kind, positions, cluster)
        if kind in PAIR_KINDS:
            known = state.known | as_pairs(said, state.known)
            self._warn_of_twins(state.known, (known - state.known).cannot_link)
            changed = replace(state, known=known)
        else:
            changed = replace(state, pulls=(*state.pulls, self._pull_of(said, state.fit)))
        self._states.append(replace(changed, feedback=(*state.feedback, said)))
        return self._set_fitted_attributes()

    def refit(self, *, reinit: bool = True) -> Self:
        """Learn the weights of the terms from the feedback and cluster again.

        Parameters
        ----------
        reinit : bool, default=True
            Start from new random prototypes (clusters to be kept excepted), or from the present.

        Returns
        -------
        self : FeedbackClustering
            The clusterer with its new clustering.
        """
        check_is_fitted(self)
        state = self._states[-1]
        gamma = self._learn(state)
        if reinit:
            starts = self._random_starts(state.n_clusterings)
            kept = np.array([f.cluster for f in state.feedback if f.kind == "keep"], dtype=np.int64)
            for frequencies, _ in starts:
                frequencies[kept] = state.fit.mixture.frequencies[kept]
        else:
            starts = [(state.fit.mixture.frequencies, state.fit.mixture.shares)]
        fit = numbered_as(self._cluster(gamma, starts), state.fit.labels)
        self._clusterings = [*self._clusterings[: state.n_clusterings], fit.labels]
        self._states.append(replace(state, fit=fit, n_clusterings=state.n_clusterings + 1))
        return self._set_fitted_attributes()

    def undo(self) -> Self:
        """Take back the last ``add_feedback`` or ``refit``, with the clustering that it led to.

        Returns
        -------
        self : FeedbackClustering
            The clusterer as it was before.
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
        return self._logits(X).argmax(axis=1).astype(np.int32)

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
        logits = self._logits(X)
        chances = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        return chances.astype(self._dtype)

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
        return float(logsumexp(self._logits(X), axis=1).mean())

    def _logits(self, X: Any) -> Array:
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        mixture = self._states[-1].fit.mixture
        (), (logits,) = as_rows(rows).map_reduce(
            lambda block: ((), (mixture.logits(block.astype(np.float64)),))
        )
        return logits

    def _check_choices(self) -> None:
        for name, choices in (("schedule", SCHEDULES), ("mean", MEANS), ("m_step", M_STEPS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")
        for name in ("n_init", "max_iter", "min_df"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number above 0, got {value!r}.")
        for name in ("step", "tol"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise ValueError(f"{name} must be finite and not negative, got {value!r}.")

    def _random_starts(self, number: int) -> list[tuple[Array, Array]]:
        """Frequencies and shares that the clustering of this number starts from."""
        random_state = np.random.RandomState((self._seed + number) % 2**32)
        k = self.n_clusters
        return [
            (random_frequencies(self._source, k, random_state), np.full(k, 1 / k))
            for _ in range(self.n_init)
        ]

    def _cluster(self, gamma: Array, starts: list[tuple[Array, Array]]) -> MixtureFit:
        """Run EM from all starts and keep the likeliest."""
        best: MixtureFit | None = None
        for frequencies, shares in starts:
            start = Mixture(shares, frequencies, gamma)
            fit = fit_mixture(
                self._source,
                start,
                m_step=self.m_step,
                max_iter=self.max_iter,
                tol=self.tol,
                verbose=self.verbose,
            )
            if best is None or fit.objective < best.objective:
                best = fit
            if fit.interrupted:
                break
        assert best is not None
        return best

    def _learn(self, state: _State) -> Array:
        """Weights of the terms from what was said."""
        known, labels = state.known, state.fit.labels
        together, apart = known.must_link, known.cannot_link
        weight, apart_weight = known.must_link_weight, known.cannot_link_weight
        said = [f for f in state.feedback if f.kind in CLUSTER_KINDS]
        pulls = list(state.pulls)
        begin = np.ones(self._documents.n_terms)
        if self.schedule == "unsatisfied":
            begin = state.fit.mixture.term_weights
            torn = labels[together[:, 0]] != labels[together[:, 1]]
            joined = labels[apart[:, 0]] == labels[apart[:, 1]]
            together, weight = together[torn], weight[torn]
            apart, apart_weight = apart[joined], apart_weight[joined]
            pulls = [
                pull
                for feedback, pull in zip(said, pulls, strict=True)
                if feedback.kind != "move"
                or np.any(labels[list(feedback.rows)] != feedback.cluster)
            ]
        pairs, _ = self._documents.pull_of_pairs(
            np.concatenate([together, apart]), np.concatenate([-weight, apart_weight])
        )
        direction = average([pairs, *pulls], self._documents.n_terms)
        return normalise(warp(begin, direction, self.step))

    def _pull_of(self, said: Feedback, fit: MixtureFit) -> Pull:
        """What feedback about a cluster asks of the terms, with the cluster as it is now."""
        rows = np.array(said.rows, dtype=np.int64)
        if said.kind != "move":
            rows = np.flatnonzero(fit.labels == said.cluster)
        if len(rows) == 0:
            raise SidelightError(f"Cluster {said.cluster} has no documents.")
        return self._documents.pull_of_cluster(
            rows,
            fit.mixture.frequencies[said.cluster],
            float(fit.cluster_lengths[said.cluster]),
            1 if said.kind == "bad-cluster" else -1,
        )

    def _warn_of_twins(self, known: Constraints, apart: Array) -> None:
        """Tell about equal documents that should be apart: no weights can separate them."""
        _, twins = self._documents.pull_of_pairs(apart, np.ones(len(apart)))
        if twins.any():
            one, other = known.name_rows(apart[np.flatnonzero(twins)[0]])
            more = f" (and {twins.sum() - 1} more pairs)" if twins.sum() > 1 else ""
            warnings.warn(
                f"The documents {one} and {other} are to be apart but have the same counts{more}: "
                "no weights of terms can separate them; drop the cannot-link or one of the two.",
                ConstraintWarning,
                stacklevel=3,
            )

    def _set_fitted_attributes(self) -> Self:
        """Set the fitted attributes to where the conversation stands."""
        state = self._states[-1]
        fit = state.fit
        self.labels_ = fit.labels
        self.term_weights_ = fit.mixture.term_weights.astype(self._dtype)
        self.cluster_centers_ = fit.mixture.frequencies.astype(self._dtype)
        self.cluster_shares_ = fit.mixture.shares.astype(self._dtype)
        self.feedback_ = state.feedback
        self.clusterings_ = tuple(self._clusterings[: state.n_clusterings])
        self.objective_ = fit.objective
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.n_violations_ = state.known.violations(fit.labels).n
        return self
