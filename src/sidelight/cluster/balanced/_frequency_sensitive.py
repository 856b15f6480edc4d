"""Frequency-sensitive spherical k-means: full clusters attract less (Banerjee, Ghosh 2004)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters
from sidelight._fit.restarts import fit_progress
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.cluster.balanced._competition import Clusters, Rule, Stream, add_up_clusters
from sidelight.cluster.balanced._competition_passes import Batch, Incremental, Partial, Visit, feed
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags

MODES = ("batch", "partial", "full", "streaming")

#: The literal rule (1) makes whole clusters flee at once when all rows decide at the same time.
BATCH_GAMMA = 0.1

#: A cycle in which more than this share of the labels changes is worth a warning.
NOTABLE = 0.01


class FrequencySensitiveKMeans(_DirectionsBase):
    """Spherical k-means in which clusters with many rows attract less: balance as a tendency.

    A row ``x`` of unit length goes to the cluster with the largest::

        (1 + x·μ_h) n_h^-γ  -  γ log(n_h) / (L d)

    where ``n_h`` counts the rows of cluster ``h`` (Constrained Clustering, equation 8.10 with
    ``γ = 1``): the concentration of a cluster falls with its size, and at equal cosine the smaller
    cluster wins. Centres are normalised sums. What the rule pulls down, and what is reported, is::

        J = Σ_i log(2 / (1 + x_i·μ_{l_i}))  +  γ Σ_h n_h log(k n_h / n)

    the second term being the divergence of the sizes from equal ones; there is no guarantee.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    mode : {"batch", "partial", "full", "streaming"}, default="batch"
        When counts and centres follow the rows. ``"batch"`` (fs): both once per pass over the rows.
        ``"partial"`` (pifs): counts after every row, centres once per pass. ``"full"`` (fifs): both
        after every row. These start from spherical k-means; the two last take the rows in a random
        order, and counts fade so that they always add up to ``n``. ``"streaming"`` (sfs): both
        after every row, in the given order, from the first ``k`` different directions on, with
        counts and sums that fade with memory ``L``.
    gamma : float, default=None
        How much sizes count: 0 is spherical k-means. Unless told, 0.1 in batch mode, where more
        makes whole clusters flee at once, and 1 in the others.
    damping : float, default=0.1
        In batch mode, ``n_h`` goes this part of the way to the new size with every pass; 1 takes
        the new sizes as they are.
    memory : float, default=1000.0
        ``L``: in a stream the last ``L`` rows count, older ones fade; infinite for all rows.
    init : {"k-means++", "random", "perturb"} or array of shape (n_clusters, n_features), \
default="k-means++"
        Where the spherical k-means starts that is the start; see :class:`SphericalKMeans`. A stream
        uses an array only.
    n_init : int, default=5
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=100
        At most this many passes.
    tol : float, default=1e-4
        Stop when at most this share of the labels changes in a pass.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Unit centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row; after ``partial_fit`` of its rows.
    cluster_sizes_ : ndarray of int64, shape (n_clusters,)
        Number of rows of every cluster.
    effective_counts_ : ndarray of shape (n_clusters,)
        ``n_h``: what new rows compete by. They add up to ``n``, in a stream to ``L`` in time.
    n_seen_ : int
        Number of rows that ``fit`` and ``partial_fit`` have seen.
    mean_cosine_ : float
        Mean cosine of the rows with their centres (SOF).
    inertia_ : float
        First part of ``J``.
    objective_ : float
        ``J`` of the best pass, which is the result.
    history_ : ndarray
        ``J`` after every pass.
    n_iter_ : int
        Number of passes of the best start.
    converged_ : bool
        Whether the labels stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    BalancedKMeans : Guarantees a minimum size.

    Notes
    -----
    Banerjee, Ghosh (2004), Frequency-sensitive competitive learning for scalable balanced
    clustering on high-dimensional hyperspheres. Centres are directions of the fading sums
    themselves, so that with ``L = inf`` a centre is the direction of the mean of its rows; the
    chapter normalises after every row, which forgets how long the mean was.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import FrequencySensitiveKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)) + [1, 0, 0]
    >>> model = FrequencySensitiveKMeans(3, mode="partial", random_state=0).fit(X)
    >>> bool(model.cluster_sizes_.min() > 80)
    True
    >>> stream = FrequencySensitiveKMeans(3, memory=50)
    >>> for chunk in np.split(X, 6):
    ...     stream = stream.partial_fit(chunk)
    >>> stream.n_seen_, float(stream.effective_counts_.sum().round(1))
    (300, 49.9)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        mode: str = "batch",
        gamma: float | None = None,
        damping: float = 0.1,
        memory: float = 1000.0,
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.mode = mode
        self.gamma = gamma
        self.damping = damping
        self.memory = memory
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="directions whose clusters attract less the fuller they are; streams",
            knowledge=("sizes",),
            enforcement="soft",
            source="Banerjee, Ghosh 2004; Constrained Clustering 8.3",
            complexity="O(nnz k) per pass, O(n + k d) memory; a stream needs O(k d)",
            sparse=True,
            out_of_core=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows by their directions.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows; none may be all zeros.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Not used in fitting; ``n_violations_`` counts what the result violates.

        Returns
        -------
        self : FrequencySensitiveKMeans
            The fitted clusterer.
        """
        source, known = self._check_fit(X, constraints)
        check_n_clusters(self.n_clusters, source.n_rows)
        self._check_rule()
        self._warn_of_unused(known, "HMRFKMeans uses them for directions.")
        streaming = self.mode == "streaming"
        rule = self._rule(self.memory if streaming else source.n_rows)

        def run(number: int, random_state: np.random.RandomState) -> _Passes:
            if streaming:
                return self._passes(rule, Incremental(source, rule, self._first_stream(source)))
            centers, found = self._spherical(source, random_state)
            counts = np.maximum(found.sizes, 1)
            order = random_state.permutation(source.n_rows)
            if self.mode == "batch":
                return self._passes(rule, Batch(source, rule, centers, counts, self.damping))
            if self.mode == "partial":
                return self._passes(rule, Partial(source, rule, centers, counts, order))
            sums = np.where(found.sizes[:, None] > 0, found.sums, centers)
            return self._passes(rule, Incremental(source, rule, Stream.of(sums, counts), order))

        starts = self.n_init if isinstance(self.init, str) and not streaming else 1
        best = self._best_restart(starts, run, source)
        assert isinstance(best, _Passes)
        if best.oscillates and self.mode == "batch":  # rows that come one by one unsettle some
            warnings.warn(
                f"The labels of {type(self).__name__} go around in circles; the best pass is kept. "
                "A smaller gamma or damping, or mode='partial', avoids it.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._set_fitted_attributes(best, known)
        self._rule_, self._stream = rule, best.stream
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=len(best.centers))
        self.effective_counts_ = best.stream.counts
        self.n_seen_ = source.n_rows
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Let the clusters compete for the next rows of a stream, one after the other.

        Counts and sums fade with memory ``L``, whatever the mode; after ``fit`` the stream goes on
        from its result. Pieces of a stream give what the stream would give at once.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The next rows; none may be all zeros.
        y : object
            Ignored.

        Returns
        -------
        self : FrequencySensitiveKMeans
            The clusterer.
        """
        first = not hasattr(self, "_stream")
        source = self._validate_rows(X, reset=first)
        self._check_rule()
        if first:
            check_n_clusters(self.n_clusters, self.n_clusters)
            self.n_seen_ = 0
            self._stream = self._first_stream(source)
        self._rule_ = self._rule(self.memory)
        self.labels_ = feed(self._stream, source, self._rule_)
        self.cluster_centers_ = self._stream.centers(source.dtype)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=len(self.cluster_centers_))
        self.effective_counts_ = self._stream.counts
        self.n_seen_ += source.n_rows
        self._n_features_out = len(self.cluster_centers_)
        return self

    def predict(self, X: Any, *, balanced: bool = False) -> Array:
        """Return the clusters of new rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        balanced : bool, default=False
            Whether clusters compete for the rows with the counts they have, instead of by the
            cosine alone.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        if not balanced:
            return super().predict(X)
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        return self._rule_.label(source, self.cluster_centers_, self.effective_counts_)

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        super()._set_fitted_attributes(result, constraints)
        assert isinstance(result, _Passes)
        self.mean_cosine_ = result.mean_cosine
        return self

    def _check_rule(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {MODES}, got {self.mode!r}.")
        if self.gamma is not None and not (
            isinstance(self.gamma, Real) and 0 <= float(self.gamma) < np.inf
        ):
            raise ValueError(f"gamma must be finite and not negative, got {self.gamma!r}.")
        if not 0 < self.damping <= 1:
            raise ValueError(f"damping must be above 0 and at most 1, got {self.damping!r}.")
        if not self.memory >= 1:
            raise ValueError(f"memory must be at least 1 row, got {self.memory!r}.")

    def _rule(self, memory: float) -> Rule:
        gamma = self.gamma
        if gamma is None:
            gamma = BATCH_GAMMA if self.mode == "batch" else 1.0
        return Rule(float(gamma), float(memory), self.n_features_in_)

    def _first_stream(self, source: RowSource) -> Stream:
        """Where a stream begins: at given centres, or at the first different directions."""
        if isinstance(self.init, str):
            return Stream.empty(self.n_clusters, source.n_features)
        centers = self._start(source, self.init, np.random.RandomState(0), None)
        return Stream.of(centers, np.ones(self.n_clusters))

    def _spherical(
        self, source: RowSource, random_state: np.random.RandomState
    ) -> tuple[Array, Clusters]:
        """Run spherical k-means until it stands still."""
        found = lloyd(
            source,
            self._start(source, self.init, random_state, None),
            project=self._project,
            max_iter=self.max_iter,
            tol=0.0,
            description="SphericalKMeans",
            verbose=self.verbose,
        )
        return found.centers, add_up_clusters(source, found.centers, found.labels)

    def _passes(self, rule: Rule, step: Callable[[], Visit]) -> _Passes:
        """Pass over the rows until labels stand still or come back; keep the best pass."""
        history: list[float] = []
        best: Visit | None = None
        before: Visit | None = None
        seen: dict[int, Array] = {}
        converged = oscillates = False
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            for _ in range(self.max_iter):
                visit = step()
                n_rows = len(visit.labels)
                history.append(visit.objective(rule.gamma))
                progress.step(history[-1])
                if best is None or history[-1] < best.objective(rule.gamma):
                    best = visit
                n_changed = n_rows if before is None else visit.n_changed(before)
                if before is not None and n_changed <= self.tol * n_rows:
                    converged = visit.counts_near(before.stream.counts, max(0.1, self.tol * n_rows))
                mark = hash(visit.labels.tobytes())
                if n_changed > 0 and mark in seen and visit.counts_near(seen[mark], 0.5):
                    # Been here before: a few rows that cannot decide, or whole clusters.
                    oscillates = n_changed > NOTABLE * n_rows
                    converged = not oscillates
                if converged or oscillates:
                    break
                seen[mark], before = visit.stream.counts, visit
        assert best is not None  # an interruption before the first pass is raised
        return _Passes(
            centers=best.centers,
            labels=best.labels,
            inertia=best.clusters.divergence,
            penalty=best.objective(rule.gamma) - best.clusters.divergence,
            history=np.array(history),
            n_iter=progress.n_steps,
            converged=converged and not progress.interrupted,
            interrupted=progress.interrupted,
            stream=best.stream,
            oscillates=oscillates,
            mean_cosine=best.clusters.mean_cosine,
        )


@dataclass(frozen=True)
class _Passes(LloydResult):
    """The best of the passes, and where the competition stood."""

    stream: Stream
    oscillates: bool
    mean_cosine: float
