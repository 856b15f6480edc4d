"""Clusters, their number and the features that matter, found together (Law 2006, chapter 4)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.moments import moments
from sidelight._fit.parameters import Auto, NonNegative, estimator
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import MIN_WEIGHT, known_classes
from sidelight.mixture.message_length._base import MessageLengthMixture
from sidelight.mixture.message_length._componentwise import ComponentwiseEM, ComponentwiseFit
from sidelight.mixture.message_length._saliency import SaliencyComponents
from sidelight.mixture.message_length._separation import Separation, class_weights_of
from sidelight.tags import own_tags

#: A feature whose deviation is below this part of its mean is constant up to rounding.
CONSTANT = 1e-12

#: While no component is removed: largest number of sweeps, and change of saliencies that ends them.
HELD_SWEEPS = 30
SALIENCY_TOL = 1e-3


@estimator
class FeatureSaliencyMixture(MessageLengthMixture):
    """Mixture that finds its number of components and how much every feature matters to them.

    A feature is relevant with probability ``ρ_l``, its *saliency*; otherwise it follows a
    density ``q_l`` that all components share:

        p(y) = Σ_j α_j Π_l [ ρ_l N(y_l; μ_jl, σ²_jl) + (1 - ρ_l) N(y_l; μ_l, σ²_l) ].

    Fitted is the model of least message length ``-log p(Y) + (k+d)/2 log n + Σ_lj log(n α_j ρ_l) +
    Σ_l log(n (1-ρ_l))``: components that hold too few rows vanish, and saliencies go to 0 and 1
    (Law 2006, section 4.3.3). Starting from many components the weakest is removed by and by, and
    the best model on the way is kept. Standardizing the features first is not needed: the start
    and the criterion do not depend on their scales. Known classes, which may consist of several
    components each, are used in the end (``post_process``). Read more in the
    :doc:`user guide </mixture/message_length>`.

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of components to start from, far more than there are clusters; 30 by
        default, or as many as there are rows.
    feature_saliency : bool, default=True
        Whether saliencies are found; without, all features are relevant: the method of Figueiredo
        and Jain with diagonal covariances.
    count_features : {"auto", "all", "salient"}, default="auto"
        Features that count for the ``d`` rows which a component has to hold. ``"all"``: as
        published, which leaves no room for clusters of fewer rows than there are features.
        ``"salient"``: those whose saliency is not 0, as in the message length, which then never
        rises between removals; on noise alone that keeps components of a few rows. ``"auto"``:
        the salient ones but at least ten, or all if there are fewer.
    post_process : "auto" or bool, default="auto"
        Whether saliencies are changed in the end such that they separate the components, or known
        classes of them, apart as clearly as possible (sections 4.3.4 and 4.5.4), which raises their
        contrast. ``"auto"``: if there are labels of two classes or more.
    reg_covar : float > 0, finite, default=1e-06
        Variances do not fall below this part of the variance of the feature.

    Attributes
    ----------
    saliencies_ : ndarray of shape (n_features,)
        Probability ``ρ`` that a feature is relevant.
    means_, covariances_ : ndarray of shape (``n_components_``, n_features)
        Means and variances of the components; those of all rows where the saliency is 0.
    common_means_, common_variances_ : ndarray of shape (n_features,)
        The common density.
    search_ : dict of str to ndarray
        ``n_components``: numbers of components on the way; ``message_length``: length of the
        message for each, before post-processing, in nats, up to a constant of the data.
    class_weights_ : ndarray of shape (n_classes, ``n_components_``)
        Probability of every known class in the components, if there are labels and they were used.
    classes_ : ndarray
        The known classes.
    objective_ : float
        Message length per row of the model that is kept, before post-processing.
    history_ : ndarray
        Message length per row after every sweep since the last component or feature was removed.

    See Also
    --------
    MMLMixture : The number of components alone, with any covariances.

    Notes
    -----
    Weights of rows are relative: their unit does not matter, and ``n`` is the number of rows whose
    weight is not 0. Rows that were seen several times are given as often.

    Law (2006), Clustering, Dimensionality Reduction, and Side Information, chapter 4. As long as
    all features count, a component has to hold ``d`` rows, and where there are many features none
    would survive the first sweep. So no component is removed until the saliencies have settled
    (ours), and the features that many components could not pay for get a second chance with the
    few that are kept. Features are
    taken as independent inside a component, so redundant features both remain salient; the
    post-processing may drop one. A saliency is not a p-value.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import FeatureSaliencyMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> X[:, :2] += np.repeat([[0, 5], [5, 10], [10, 0]], 100, axis=0)
    >>> model = FeatureSaliencyMixture(random_state=0).fit(X)
    >>> model.n_components_, model.get_support().tolist()
    (3, [True, True, False, False])
    """

    _many = 30

    _: KW_ONLY
    feature_saliency: bool = True
    count_features: Literal["auto", "all", "salient"] = "auto"
    post_process: Auto | bool = "auto"
    tol: NonNegative = 1e-6

    _own_tags = own_tags(
        summary="Mixture that finds the number of components and the features that matter",
        knowledge=("labels",),
        enforcement="soft",
        source="Law 2006, chapter 4",
        complexity="O(n k d) per sweep, O(n k) memory",
        monotone=False,
    )

    def _one_component(self, source: RowSource, row_weights: Array | None) -> SaliencyComponents:
        if self.post_process is True and not self.feature_saliency:
            raise ValueError(
                "post_process=True changes saliencies, and feature_saliency=False has none."
            )
        found = moments(source, row_weights)
        mean, variance = found.mean, found.variances
        constant = variance <= (CONSTANT * np.abs(mean)) ** 2
        floor = self.reg_covar * np.where(constant, 1.0, variance)
        variance = np.maximum(variance, floor)
        if np.any(constant) and self.feature_saliency:
            warn(
                f"Constant features cannot tell clusters apart and get the saliency 0: "
                f"{np.flatnonzero(constant).tolist()}.",
                ConvergenceWarning,
            )
        saliencies = np.where(constant, 0.0, 0.5) if self.feature_saliency else np.ones_like(mean)
        return SaliencyComponents(
            means=mean[None],
            variances=variance[None],
            common_means=mean,
            common_variances=variance,
            saliencies=saliencies,
            whole_means=mean,
            whole_variances=variance,
            floor=floor,
            learn=self.feature_saliency,
            counted=self.count_features,
        )

    def _explore(
        self, source: RowSource, start: SaliencyComponents, row_weights: Array | None
    ) -> ComponentwiseFit:
        """Reduce saliencies before components; then try the features that are off again."""
        if not start.learn:
            return self._search(source, start, row_weights)
        k = start.n_components
        settled = settle_saliencies(source, start, np.full(k, 1 / k), row_weights)
        search = self._search(source, settled[0], row_weights, weights=settled[1])
        components, weights = search.best.last.parameters
        if search.interrupted or len(weights) == 1:  # no feature matters to one component
            return search
        reopened = components.reopened(start.saliencies)
        components, weights = settle_saliencies(source, reopened, weights, row_weights)
        again = self._search(
            source, components, row_weights, weights=weights, min_components=len(weights)
        )
        return search.with_best(again.best) if again.objective < search.objective else search

    def _chosen(
        self,
        search: ComponentwiseFit,
        source: RowSource,
        known: Constraints,
        row_weights: Array | None,
    ) -> tuple[SaliencyComponents, Array]:
        labels, self.classes_ = known_classes(known, source.n_rows)
        components, weights = search.best.last.parameters
        wanted = self.post_process
        if wanted == "auto":
            wanted = self.feature_saliency and len(self.classes_) > 1
        if not wanted:
            return components, weights
        log_weights = np.log(np.maximum(weights, MIN_WEIGHT))
        class_weights = np.eye(len(weights))
        if len(self.classes_) > 1:
            labeled = np.flatnonzero(labels >= 0)
            joint = components.log_density(source.take(labeled)) + log_weights
            class_weights = self.class_weights_ = class_weights_of(
                softmax(joint, axis=1), labels[labeled], len(self.classes_)
            )
        else:
            labels = np.broadcast_to(np.int64(-1), source.n_rows)
        separation = Separation(
            source,
            components,
            log_weights,
            class_weights,
            labels,
            row_weights,
        )
        saliencies, _ = separation.maximize(components.saliencies, verbose=self.verbose)
        fixed = replace(components.with_saliencies(saliencies), learn=False, counted="none")
        refit = self._search(
            source, fixed, row_weights, weights=weights, min_components=len(weights)
        )
        return refit.best.last.parameters

    def _set_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        self.saliencies_ = components.saliencies.astype(dtype)
        self.means_ = components.means.astype(dtype)
        self.covariances_ = components.variances.astype(dtype)
        self.common_means_ = components.common_means.astype(dtype)
        self.common_variances_ = components.common_variances.astype(dtype)

    def get_support(self, threshold: float = 0.5) -> Array:
        """Return which features are relevant.

        Parameters
        ----------
        threshold : float, default=0.5
            Least saliency of a relevant feature.

        Returns
        -------
        support : ndarray of bool, shape (n_features,)
            Mask of the features whose saliency is at least ``threshold``.
        """
        check_is_fitted(self)
        return np.asarray(self.saliencies_ >= threshold)


def settle_saliencies(
    source: RowSource, components: SaliencyComponents, weights: Array, row_weights: Array | None
) -> tuple[SaliencyComponents, Array]:
    """Sweep without removing components, until the saliencies hardly move."""
    fit = ComponentwiseEM(source, components, weights, row_weights)
    for _ in range(HELD_SWEEPS):
        before = fit.components.saliencies
        fit.sweep(len(fit.weights))
        if np.abs(fit.components.saliencies - before).max() < SALIENCY_TOL:
            break
    return fit.components, fit.weights
