"""Penalized probabilistic clustering (Lu and Leen; Book 2009, chapter 4)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from sidelight._fit.parameters import (
    Auto,
    Count,
    NonNegative,
    estimator,
)
from sidelight._fit.tiles import OnesExcept
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import map_values
from sidelight.exceptions import ConstraintWarning
from sidelight.mixture._core import EMResult, Parameters, em, log_joint_blocks
from sidelight.mixture.field._rows import coupled_rows
from sidelight.mixture.gaussian._components import GaussianEMBase
from sidelight.tags import MethodTags

#: Entries of the largest table where sums must be exact, and where an approximation is allowed: on
#: a few hundred rows, tables of a million entries take minutes per fit.
LARGEST, AFFORDABLE = 1e6, 1e4

#: Nats that a violated pair costs at least: odds of 7 to 1 that it is right.
LEAST = 2.0

#: Bits of a number that are found in a pass.
BITS = 16

#: Plain EM, to see how far the components part; the last digits do not matter.
MAX_ITER, TOL = 20, 1e-3


@estimator
class PenalizedMixture(GaussianEMBase):
    r"""Gaussian mixture whose prior prefers labelings that agree with the pairs (PPC).

    The components ``z`` of the rows are not independent: pairs with a weight ``w > 0`` prefer to be
    together, pairs with ``w < 0`` apart,

    .. math::

        p(z) = \frac{1}{\Omega(\pi)} \prod_i \pi_{z_i} \prod_{i < j} e^{2 w_{ij} [z_i = z_j]},
        \qquad L = \log \sum_z p(z) \prod_i N(x_i; \mu_{z_i}, \Sigma_{z_i}) .

    EM maximizes ``L``: the e-step finds the posterior of every row in the network of the pairs, the
    m-step weighs the rows with it; the mixing weights are those under which the prior expects the
    counts of the posterior, as ``Ω`` depends on them. The knowledge ends up in the parameters, and
    new rows are judged by the plain mixture. Without weight this is EM for a mixture of Gaussians,
    with infinite weight every pair is certain; components of vanishing width make it constrained
    k-means. Known classes and groups are certain. Read more in the
    :doc:`user guide </mixture/constrained>`.

    Parameters
    ----------
    penalty : float >= 0 or "auto", default="auto"
        ``|w|`` of a pair of weight 1, which the weights of the pairs multiply: a violated pair
        costs ``2 |w|`` nats of the log-likelihood. ``numpy.inf``: all pairs are certain.
        ``"auto"``: ``2 |w|`` is half the median, over the rows, of the log-odds of the best
        component against the second best in a mixture without pairs, and at least 2: it grows with
        the dimension as these do, keeps most pairs, and bears a fifth of wrong ones; where all
        pairs are right, higher penalties keep more. With ``weights_are_probabilities`` 1, which
        multiplies the ``w`` that follow from the certainties.
    weights_are_probabilities : bool, default=False
        Whether the weights of the pairs are probabilities ``γ`` that a statement is right: then
        ``w = ±½ log(γ / (1 - γ))``, 1 is certain and below one half speaks for the opposite.
        So ``w = 3`` is a certainty of 0.9975, and 1.3 one of 0.93.
    inference : {"auto", "exact", "forest", "gibbs", "mean-field"}, default="auto"
        Method for the posterior in a connected part of the pairs. ``"auto"``: exact, by belief
        propagation on trees and a junction tree with tables of up to 10,000 entries elsewhere;
        parts too entangled for that are approximated with a warning. ``"exact"``: tables of up to a
        million entries, and an error beyond.
        ``"forest"``: exact, on a spanning forest of the strongest pairs. ``"gibbs"``: averages over
        ``n_sweeps`` sweeps of Gibbs sampling, of single rows and of clusters of them; parts with
        tables of up to 10,000 entries are drawn as one block, of which the average is exact.
        ``"mean-field"``: independent rows that fit best.
    n_sweeps : int >= 1, default=50
        Number of sweeps of Gibbs sampling in an iteration, in each of four chains.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable components of the rows, those of a connected part together; certain
        knowledge is satisfied. :meth:`predict` gives those of the mixture alone.
    penalty_ : float
        ``|w|`` that was used.
    inference_ : dict of str to int
        Number of constrained rows (or groups of them) by method of inference.
    objective_ : float
        ``-L`` per row at the end. Where inference is approximate: an upper bound of it by mean
        field, that of the pairs which are kept by a spanning forest, and an estimate by Gibbs
        sampling.
    history_ : ndarray
        The same at every iteration; never rises, except by chance with ``"gibbs"``.

    See Also
    --------
    sidelight.cluster.PCKMeans : The limit of components of vanishing width.

    Notes
    -----
    Lu, Leen, Penalized probabilistic clustering, chapter 4 of Basu, Davidson, Wagstaff (eds.),
    Constrained Clustering (2009). The mixing weights are found by matching moments instead of the
    chapter's grid on the simplex, for any number of components.

    Certainties of many pairs of a lattice count as independent evidence: strong ones favor one
    component everywhere. A warning tells when components end without a row; lower ``penalty`` then.

    Examples
    --------
    Two rows of two blobs each; the pairs ask for left and right, not for above and below:

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.mixture import PenalizedMixture
    >>> rng = np.random.default_rng(0)
    >>> corner = np.repeat([[-1, -1.2], [-1, 1.2], [1, -1.2], [1, 1.2]], 30, axis=0)
    >>> X = corner + rng.normal(0, 0.3, (120, 2))
    >>> known = Constraints([(0, 30), (1, 31), (60, 90)], [(0, 60), (31, 91)], n_samples=120)
    >>> model = PenalizedMixture(2, n_init=5, init_params="random", random_state=0)
    >>> labels = model.fit(X, constraints=known).labels_
    >>> len(set(labels[:60])), len(set(labels[60:])), model.n_violations_
    (1, 1, 0)
    """

    _: KW_ONLY
    penalty: NonNegative | Auto = "auto"
    weights_are_probabilities: bool = False
    inference: Literal["auto", "exact", "forest", "gibbs", "mean-field"] = "auto"
    n_sweeps: Count = 50

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="Gaussian mixture whose prior weighs every pair (PPC)",
            source="Lu and Leen, in Book 2009, chapter 4",
            complexity="O(n k d²) per iteration; pairs linear on trees, k^(width + 1) elsewhere",
            monotone=self.inference != "gibbs",
        )

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        k = self.n_components
        whole = self._whole_data(source, k, weights)
        self.penalty_ = self._penalty_value(source, whole, weights, known)
        rows = coupled_rows(
            known,
            k,
            weights,
            strength=2.0 * self.penalty_,
            certainties=self.weights_are_probabilities,
            inference=self.inference,
            budget=LARGEST if self.inference == "exact" else AFFORDABLE,
            n_sweeps=self.n_sweeps,
            random_state=self.random_state,
        )
        self.classes_ = rows.classes
        self.inference_ = rows.field.methods(k)
        return self._best_em(
            source,
            weights,
            rows,
            lambda number, rng, _: self._rough_start(source, whole, rng, weights, rows.components),
            n_init=self._n_restarts(),
            noisy=self.inference == "gibbs" and len(rows.rows) > 0,
        )

    def _penalty_value(
        self, source: RowSource, whole: Any, weights: Array | None, known: Constraints
    ) -> float:
        """``|w|``; see ``penalty``."""
        if self.penalty != "auto":
            return float(self.penalty)
        if self.weights_are_probabilities:
            return 1.0
        if known.n_pairs == 0:
            return LEAST / 2
        rng = check_random_state(self.random_state)
        start = self._rough_start(source, whole, rng, weights)
        return stake_of_a_row(source, start, weights) / 2

    def _set_fitted_attributes(
        self, result: EMResult, source: RowSource, constraints: Constraints
    ) -> Self:
        super()._set_fitted_attributes(result, source, constraints)
        sizes = self.cluster_sizes_
        if np.any(sizes == 0) and not constraints.is_empty:
            warn(
                f"{np.sum(sizes == 0)} of {len(sizes)} components end without a row: the pairs may "
                "weigh too much together; a lower penalty leaves the rows more say.",
                ConstraintWarning,
            )
        return self


def stake_of_a_row(
    source: RowSource, start: Parameters, sample_weight: Array | None = None
) -> float:
    """Half the median of the log-odds of the best component of a row against its second best.

    They are those of a mixture without constraints, and grow with the dimension: a price that does
    not is nothing beside them. A pair that costs half the usual log-odds decides about rows between
    components, and leaves the others to themselves where it is wrong
    (``experiments.mixture.pair_defaults``). In nats, at least :data:`LEAST`.
    """
    if start.components.n_components == 1:
        return LEAST
    plain = em(source, *start, sample_weight=sample_weight, max_iter=MAX_ITER, tol=TOL)
    odds = log_joint_blocks(source, plain.components, plain.log_weights, _log_odds)
    return max(0.5 * lower_median(odds, sample_weight), LEAST)


def lower_median(values: Any, sample_weight: Array | None = None) -> float:
    """Smallest value that half of the rows, by weight, do not exceed; no value is below 0.

    The values may stay beside partitions. The bits of a number that is not negative are a whole
    number of the same order: they are found from the first to the last, some in every pass.
    """
    weights: Any = OnesExcept() if sample_weight is None else sample_weight
    found, below, half = 0, 0.0, None
    for shift in range(64 - BITS, -1, -BITS):
        work = _NextBits(found, shift)
        (mass,), _ = map_values(work, values, weights)
        digits = np.flatnonzero(mass)
        reached = below + np.cumsum(mass[digits])
        half = reached[-1] / 2 if half is None else half
        place = min(int(np.searchsorted(reached, half)), len(digits) - 1)
        below = float(reached[place - 1]) if place else below
        found |= int(digits[place]) << shift
    return float(np.int64(found).view(np.float64))


class _NextBits:
    """Weight of the values by their next bits, of those that agree with ``found`` before."""

    def __init__(self, found: int, shift: int) -> None:
        self._found = found
        self._shift = shift

    def __call__(self, values: Array, weights: Array) -> tuple[tuple[Array], tuple[()]]:
        bits = np.abs(values).view(np.int64) >> self._shift  # the sign of 0 and NaN is none
        agree = bits >> BITS == self._found >> (self._shift + BITS)
        digits = bits[agree] & (2**BITS - 1)
        mass = np.bincount(digits, weights=weights[agree], minlength=2**BITS)
        return (mass.astype(np.float64),), ()  # of no values, NumPy counts in whole numbers


def _log_odds(joint: Array) -> Array:
    """Log-odds of the best component against the second best."""
    two: Array = np.partition(joint, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]
