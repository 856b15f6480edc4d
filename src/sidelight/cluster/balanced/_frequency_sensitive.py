"""Frequency-sensitive spherical k-means: full clusters attract less (Banerjee, Ghosh 2004)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.alternation import alternate
from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    Interval,
    check_parameters,
    estimator,
)
from sidelight._fit.views import UnitRows
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.cluster.balanced._base import _BalancedBase
from sidelight.cluster.balanced._competition import ClusterSums, Stream, WinnerRule, add_up_clusters
from sidelight.cluster.balanced._competition_passes import (
    Batch,
    CompetitionPass,
    CompetitionState,
    Cycles,
    Incremental,
    Partial,
    feed,
)
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.tags import MethodTags

#: The published exponent of 1 makes whole clusters flee at once when all rows are labeled together.
BATCH_EXPONENT = 0.1


@estimator
class FrequencySensitiveKMeans(_BalancedBase):
    """Spherical k-means in which clusters with many rows attract less: balance as a tendency.

    A row ``x`` of unit length goes to the cluster with the largest::

        (1 + x·μ_h) n_h^-γ  -  γ log(n_h) / (L d)

    where ``n_h`` counts the rows of cluster ``h`` (Constrained Clustering, equation 8.10 with
    ``γ = 1``): the concentration of a cluster falls with its size, and at equal cosine the smaller
    cluster wins. Centers are normalized sums. The rule lowers, without a guarantee::

        J = Σ_i log(2 / (1 + x_i·μ_{l_i}))  +  γ Σ_h n_h log(k n_h / n)

    the second term being the divergence of the sizes from equal ones; the pass with the smallest
    ``J`` is kept. Read more in the :doc:`user guide </cluster/sizes>`.

    Parameters
    ----------
    mode : {"batch", "partial", "full", "streaming"}, default="batch"
        When counts and centers follow the rows. ``"batch"`` (fs): both once per pass over the rows.
        ``"partial"`` (pifs): counts after every row, centers once per pass. ``"full"`` (fifs): both
        after every row. These three start from spherical k-means; the last two take the rows in a
        random order, and counts fade so that they always add up to ``n``. ``"streaming"`` (sfs):
        both after every row, in the given order, from the first ``k`` different directions on, with
        counts and sums that fade with memory ``L``.
    size_exponent : float >= 0, finite or "auto", default="auto"
        Exponent ``γ`` of the sizes: 0 is spherical k-means. ``"auto"`` is 0.1 in batch mode, where
        more makes whole clusters flee at once, and 1 (as published) in the other modes.
    step : float in (0, 1], default=0.1
        In batch mode, ``n_h`` goes this part of the way to the new size with every pass; 1 takes
        the new sizes as they are.
    memory : float >= 1, default=1000.0
        Number ``L`` of the last rows that count in a stream; older ones fade. Infinite for all.
    init : {"auto", "k-means++", "k-means||", "farthest-first", "random"} or array, default="auto"
        Initial centers of the spherical k-means that the passes start from: greedy D² sampling, D²
        sampling of many rows a pass, directions far from each other, random rows, or an array of
        shape (n_clusters, n_features). ``"auto"`` is ``"k-means||"`` from 1,000,000 rows on, and
        ``"k-means++"`` below. A stream uses an array only.
    n_init : int >= 1 or "auto", default=5
        Number of restarts with different seeds; the best is kept. An array as ``init`` and a stream
        are run once. ``"auto"`` takes 10 where starts are random, and 1 otherwise.
    max_iter : int >= 1, default=100
        Largest number of passes over the rows of a restart.
    tol : float >= 0, default=0.0001
        Stop when at most this share of the labels changes in a pass and the counts have settled.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Unit centers, in the element type of the rows.
    effective_counts_ : ndarray of shape (n_clusters,)
        Counts ``n_h`` by which clusters compete for new rows. They add up to ``n``, in a stream to
        ``L`` in time.
    size_exponent_ : float
        Exponent ``γ`` that was used.
    n_samples_seen_ : int
        Number of rows that ``fit`` and ``partial_fit`` have seen.
    mean_cosine_ : float
        Mean cosine of the rows with their centers (SOF).
    inertia_ : float
        First part of ``J``.
    objective_ : float
        ``J`` of the best pass, which is the result.
    history_ : ndarray
        ``J`` after every pass.

    See Also
    --------
    BalancedKMeans : Guarantees a minimum size.

    Notes
    -----
    Banerjee, Ghosh (2004), Frequency-sensitive competitive learning for scalable balanced
    clustering on high-dimensional hyperspheres. Centers are directions of the fading sums
    themselves, so that with ``L = inf`` a center is the direction of the mean of its rows; the
    chapter normalizes after every row, which forgets how long the mean was.

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
    >>> stream.n_samples_seen_, float(stream.effective_counts_.sum().round(1))
    (300, 49.9)
    """

    _uses_pairs = "HMRFKMeans uses them for directions."
    _has_inertia = True

    _: KW_ONLY
    mode: Literal["batch", "partial", "full", "streaming"] = "batch"
    size_exponent: FiniteNonNegative | Auto = "auto"
    step: Annotated[float, Interval(0, 1, open_low=True)] = 0.1
    memory: Annotated[float, Interval(1)] = 1000.0
    max_iter: Count = 100

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="directions whose clusters attract less the fuller they are; streams",
            source="Banerjee, Ghosh 2004; Constrained Clustering 8.3",
            complexity="O(nnz k) per pass, O(n + k d) memory; a stream needs O(k d)",
            monotone=False,
            raw_columns=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        self._check_y_holds_labels(y)
        source, known = self._validate_fit(X, None, constraints)
        streaming = self.mode == "streaming"
        rule = self._rule(self.memory if streaming else source.n_rows)

        def run(number: int, random_state: np.random.RandomState) -> _Passes:
            if streaming:
                return self._passes(Incremental(source, rule), self._first_stream(source))
            centers, found = self._spherical(source, random_state)
            counts = np.maximum(found.sizes, 1).astype(np.float64)
            if self.mode == "batch":
                return self._passes(
                    Batch(source, rule, self.step), CompetitionState(centers, counts)
                )
            order = random_state.permutation(source.n_rows)
            if self.mode == "partial":
                return self._passes(Partial(source, rule, order), CompetitionState(centers, counts))
            sums = np.where(found.sizes[:, None] > 0, found.sums, centers)
            return self._passes(Incremental(source, rule, order), Stream.of(sums, counts))

        best = self._best_restart(1 if streaming else self._n_starts, run, source)
        if best.oscillates and self.mode == "batch":  # rows that come one by one unsettle some
            warn(
                f"The labels of {type(self).__name__} go around in circles; the best pass is kept. "
                "A smaller size_exponent or step, or mode='partial', avoids it.",
                ConvergenceWarning,
            )
        self.mean_cosine_ = best.mean_cosine
        self.n_samples_seen_ = source.n_rows
        self._set_competition(rule, best.stream)
        return self._set_fitted_attributes(best, known)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Let the clusters compete for the next rows of a stream, one after the other.

        Counts and sums fade with memory ``L``, whatever the mode; after ``fit`` the stream goes on
        from its result. Pieces of a stream give the same result as the whole stream at once.

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
        check_parameters(self)
        first = not hasattr(self, "_stream")
        source = UnitRows(as_rows(self._check_rows(X, reset=first)))
        if first:
            self.n_samples_seen_ = 0
            self._stream = self._first_stream(source)
        rule = self._rule(self.memory)
        self.labels_ = feed(self._stream, source, rule)
        self.cluster_centers_ = self._stream.centers(source.dtype)
        self.n_samples_seen_ += source.n_rows
        self._n_features_out = len(self.cluster_centers_)
        self._set_competition(rule, self._stream)
        return self

    def _sized_labels(self, source: RowSource) -> Array:
        """Let the clusters compete for the rows with the counts they have."""
        return self._competition.label(source, self.cluster_centers_, self.effective_counts_)

    def _set_competition(self, rule: WinnerRule, stream: Stream) -> None:
        self._competition, self._stream = rule, stream
        self.size_exponent_, self.effective_counts_ = rule.gamma, stream.counts

    def _rule(self, memory: float) -> WinnerRule:
        exponent = self.size_exponent
        if isinstance(exponent, str):
            exponent = BATCH_EXPONENT if self.mode == "batch" else 1.0
        return WinnerRule(float(exponent), float(memory), self.n_features_in_)

    def _first_stream(self, source: RowSource) -> Stream:
        """Where a stream begins: at given centers, or at the first different directions."""
        if isinstance(self.init, str):
            return Stream.empty(self.n_clusters, source.n_features)
        centers = self._start(source, np.random.RandomState(0), None)
        return Stream.of(centers, np.ones(self.n_clusters))

    def _spherical(
        self, source: RowSource, random_state: np.random.RandomState
    ) -> tuple[Array, ClusterSums]:
        """Run spherical k-means until it converges."""
        found = lloyd(
            source,
            self._start(source, random_state, None),
            project=self._project,
            max_iter=self.max_iter,
            tol=0.0,
            description="SphericalKMeans",
            verbose=self.verbose,
        )
        return found.centers, add_up_clusters(source, found.centers, found.labels)

    def _passes(
        self, one_pass: Callable[[Any, CompetitionPass | None], CompetitionPass], begin: Any
    ) -> _Passes:
        """Pass over the rows until labels are unchanged or repeat; keep the best pass."""
        cycles = Cycles(self.tol)
        found = alternate(
            begin,
            one_pass,
            lambda now: now.following,
            stop=cycles,
            max_iter=self.max_iter - 1,  # and one pass at the end
            description=type(self).__name__,
            verbose=self.verbose,
        )
        best = found.last.best or found.last
        return _Passes(
            centers=best.centers,
            labels=best.labels,
            inertia=best.clusters.divergence,
            penalty=best.objective - best.clusters.divergence,
            history=found.history,
            n_iter=len(found.history),
            converged=found.converged and not cycles.oscillates,
            interrupted=found.interrupted,
            stream=best.stream,
            oscillates=cycles.oscillates,
            mean_cosine=best.clusters.mean_cosine,
        )


@dataclass(frozen=True)
class _Passes(LloydResult):
    """The best of the passes, and where the competition stood."""

    stream: Stream
    oscillates: bool
    mean_cosine: float
