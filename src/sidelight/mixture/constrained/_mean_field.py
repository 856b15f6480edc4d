"""Mixtures under a maximum-entropy prior by mean field (Lange et al.; Book 2009, chapter 5)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from sidelight._fit.parameters import (
    Auto,
    FinitePositive,
    Interval,
    NonNegative,
    Restarts,
    estimator,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import EMResult, Parameters, log_joint_blocks, most_probable
from sidelight.mixture.constrained._penalized import LEAST, stake_of_a_row
from sidelight.mixture.constrained._tempered import temper_em
from sidelight.mixture.field._rows import FieldRows, coupled_rows
from sidelight.mixture.gaussian._components import GaussianEMBase
from sidelight.tags import own_tags

#: With fewer pairs than this per fold, none are held out.
FEW = 20

#: With fewer numbers per parameter the likelihood is highest at components of chance, which
#: annealing finds.
ENOUGH = 20.0

#: Weights of the constrained rows that "auto" chooses from.
GRID = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@estimator
class MeanFieldMixture(GaussianEMBase):
    r"""Gaussian mixture under the labeling prior of highest entropy, by mean field.

    Of all priors over labelings that violate pairs no more than so often, the one of highest
    entropy charges ``λ`` for every violated pair. Its posterior is approximated by independent
    responsibilities ``q``, and constrained rows ``C`` count ``η`` times in the parameters, so that
    few of them move the mixture beside many free rows ``U``. Minimized is

    .. math::

        F = \sum_{i \in U} f_i + \eta \Bigl( \sum_{i \in C} f_i
            - \sum_{(i, j)} \rho_{ij} \sum_s q_{is} q_{js} \Bigr), \qquad
        f_i = \sum_s q_{is} \bigl( \log q_{is} - \log \pi_s N(x_i; \mu_s, \Sigma_s) \bigr)

    with ``ρ = +λ w`` for must-links and ``ρ = -λ w`` for cannot-links of weight ``w``: row by row
    ``q_i ∝ π p(x_i | s) exp(Σ_j ρ_ij q_j)`` until nothing moves, then the parameters of the rows so
    weighted. Known classes are certain, and so are groups. Read more in the
    :doc:`user guide </mixture/constrained>`.

    On rows without constraints it was worse with correct constraints than without any on
    sonar, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float >= 0 or "auto", default="auto"
        ``λ`` of a pair of weight 1, in nats of the log-likelihood. Where some pairs are wrong, the
        logarithm of the odds that a pair is right, ``log(γ / (1 - γ))``, is a good choice.
        ``numpy.inf``: must-linked rows are one. ``"auto"``: half the median, over the rows, of
        the log-odds of the best component against the second best in a mixture without pairs, and
        at least 2; see :class:`PenalizedMixture`.
    constrained_weight : float > 0, finite or "auto", default=1.0
        ``η``: number of times that constrained rows count in the parameters, against once for all
        other rows. ``"auto"``: of 1, 3, 10, 30, 100 and 300 the smallest with the fewest violations
        of pairs by the mixture alone (its :meth:`predict`), counted on pairs held out in
        ``n_splits`` folds: up to six fits for each fold.
    n_splits : int >= 2, default=3
        Number of folds for ``constrained_weight="auto"``. With fewer than twenty times as many
        pairs nothing is held out: violations are counted on the pairs that are used.
    annealing : bool, default=True
        Whether to start every other restart, the first included, from the whole data and let the
        temperature of the data term fall, so that the constraints lead; otherwise restarts begin
        with rough clusters, and so they do where the rows hold fewer than twenty numbers for every
        parameter of the components.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Component of highest responsibility of every row. :meth:`predict` gives those of the mixture
        alone.
    penalty_ : float
        ``λ`` that was used.
    constrained_weight_ : float
        ``η`` that was used.
    search_ : dict of str to ndarray
        Values of ``constrained_weight`` that ``"auto"`` tried, and with each of them the share of
        pairs ``violated``; it ends early where none is violated.
    disagreement_ : float
        Share of the constrained rows whose label differs from that of :meth:`predict`: where it is
        large, a larger ``constrained_weight`` may help.
    objective_ : float
        ``F`` per row at the end.
    history_ : ndarray
        ``F`` per row at every iteration after annealing; never rises.

    See Also
    --------
    PenalizedMixture : The same prior with exact sums where these are possible (``λ = 2 w``).
    ChunkletMixture : Satisfies every constraint.

    Notes
    -----
    Lange, Law, Jain, Buhmann, Clustering with constraints: a mean-field approximation perspective,
    chapter 5 of Basu, Davidson, Wagstaff (eds.), Constrained Clustering (2009). The mixing weights
    leave the normalizer of the prior out (5.3.5). The schedule of annealing is ours.

    Examples
    --------
    Two rows of two blobs each; the pairs ask for left and right, not for above and below:

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.mixture import MeanFieldMixture
    >>> rng = np.random.default_rng(0)
    >>> corner = np.repeat([[-1, -1.2], [-1, 1.2], [1, -1.2], [1, 1.2]], 30, axis=0)
    >>> X = corner + rng.normal(0, 0.3, (120, 2))
    >>> known = Constraints([(0, 30), (1, 31), (60, 90)], [(0, 60), (31, 91)], n_samples=120)
    >>> model = MeanFieldMixture(n_components=2, random_state=0).fit(X, constraints=known)
    >>> len(set(model.labels_[:60])), len(set(model.labels_[60:])), model.n_violations_
    (1, 1, 0)
    """

    _: KW_ONLY
    penalty: NonNegative | Auto = "auto"
    constrained_weight: FinitePositive | Auto = 1.0
    n_splits: Annotated[int, Interval(2)] = 3
    annealing: bool = True
    n_init: Restarts = 2

    _own_tags = own_tags(
        summary="Gaussian mixture under violation penalties by mean field",
        source="Lange et al., in Book 2009, chapter 5",
        complexity="O(n k d² + m k) per iteration with m constraints, times the weights tried",
    )

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        whole = self._whole_data(source, self.n_components, weights)
        self.penalty_ = self._penalty_value(source, whole, weights, known)
        self.constrained_weight_, self.search_ = self._choose_weight(source, whole, weights, known)
        rows = self._couple(known, weights, self.constrained_weight_)
        self.classes_ = rows.classes
        return self._best_of_starts(source, whole, weights, rows)

    def _penalty_value(
        self, source: RowSource, whole: Any, weights: Array | None, known: Constraints
    ) -> float:
        """``λ``; see ``penalty``."""
        if self.penalty != "auto":
            return float(self.penalty)
        if known.n_pairs == 0:
            return LEAST
        rng = check_random_state(self.random_state)
        return stake_of_a_row(source, self._rough_start(source, whole, rng, weights), weights)

    def _set_fitted_attributes(
        self, result: EMResult, source: RowSource, constraints: Constraints
    ) -> Self:
        super()._set_fitted_attributes(result, source, constraints)
        self.disagreement_ = 0.0
        if result.constrained is not None:
            rows = result.constrained.rows
            alone = self._map_joint(as_rows(source.take(rows)), most_probable)
            self.disagreement_ = float(np.mean(alone != self.labels_[rows]))
        return self

    def _couple(
        self, known: Constraints, sample_weight: Array | None, emphasis: float
    ) -> FieldRows:
        """Rows under pairs of coupling ``±λ``, which count ``η`` times."""
        rows = np.ones(known.n_samples) if sample_weight is None else sample_weight
        return coupled_rows(
            known,
            self.n_components,
            emphasis * rows,
            strength=self.penalty_,
            by_marginals=True,
            inference="mean-field",
            coupled_prior=False,
            random_state=self.random_state,
        )

    def _best_of_starts(
        self, source: RowSource, whole: Any, sample_weight: Array | None, rows: FieldRows
    ) -> EMResult:
        """The best of several restarts, with or without annealing."""
        inits = (self.weights_init, self.means_init, self.precisions_init)
        is_given = self._start_is_given() or any(init is not None for init in inits)
        is_determined = source.n_rows * source.n_features >= ENOUGH * whole.n_parameters
        annealing = self.annealing and is_determined and not is_given

        def start(number: int, rng: np.random.RandomState, own: FieldRows) -> Parameters:
            if annealing and number % 2 == 0:
                return temper_em(source, whole, rng, sample_weight=sample_weight, constrained=own)
            return self._rough_start(source, whole, rng, sample_weight, rows.components)

        return self._best_em(source, sample_weight, rows, start, n_init=self._n_restarts())

    def _choose_weight(
        self, source: RowSource, whole: Any, sample_weight: Array | None, known: Constraints
    ) -> tuple[float, dict[str, Array]]:
        """``η``, and the share of pairs that the mixture alone violates with each one tried."""
        tried: list[float] = []
        violated: list[float] = []
        if self.constrained_weight != "auto":
            chosen = float(self.constrained_weight)
        else:
            folds = [(known, known)]
            if known.n_pairs >= FEW * self.n_splits:
                folds = known.split(n_splits=self.n_splits, random_state=self.random_state)
            for emphasis in GRID if known.n_pairs else ():
                tried.append(emphasis)
                violated.append(self._violated(emphasis, source, whole, sample_weight, folds))
                if violated[-1] == 0:  # no larger weight can do better
                    break
            chosen = tried[int(np.argmin(violated))] if tried else 1.0
        return chosen, {"constrained_weight": np.array(tried), "violated": np.array(violated)}

    def _violated(
        self,
        emphasis: float,
        source: RowSource,
        whole: Any,
        sample_weight: Array | None,
        folds: list[tuple[Constraints, Constraints]],
    ) -> float:
        """Share of held-out pairs that the mixture violates with this ``η``."""
        violated, stated = 0, 0
        for used, held_out in folds:
            rows = self._couple(used, sample_weight, emphasis)
            found = self._best_of_starts(source, whole, sample_weight, rows)
            violated += _violations(found, source, held_out)
            stated += held_out.n_pairs
        return violated / max(stated, 1)


def _violations(found: EMResult, source: RowSource, known: Constraints) -> int:
    """Number of pairs that the mixture violates when it judges every row alone."""
    rows = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    if len(rows) == 0:
        return 0
    labels = np.full(known.n_samples, -1)
    labels[rows] = log_joint_blocks(
        as_rows(source.take(rows)), found.components, found.log_weights, most_probable
    )
    apart = np.not_equal(*labels[known.must_link].T)
    together = np.equal(*labels[known.cannot_link].T)
    return int(apart.sum() + together.sum())
