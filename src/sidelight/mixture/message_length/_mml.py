"""Gaussian mixtures of least message length (Figueiredo and Jain 2002; Verbeek 2004, 3.2.3)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import data_moments
from sidelight.mixture.gaussian._components import GaussianBase, GaussianComponents
from sidelight.mixture.message_length._base import MessageLengthMixture
from sidelight.mixture.message_length._componentwise import ComponentwiseFit
from sidelight.mixture.message_length._revisable_gaussians import (
    RevisableGaussians,
    round_gaussians,
)
from sidelight.tags import own_tags


@estimator
class MMLMixture(MessageLengthMixture, GaussianBase):
    """Mixture of Gaussians that finds its number of components.

    Minimizes the length of a message that tells the parameters and then the rows:

        L = N/2 Σ_s log(n π_s) + k/2 log n - Σ_n log p(x_n)

    for components of ``N`` parameters each (Figueiredo and Jain 2002). In the M-step this is
    ``π_s ∝ max(0, Σ_n q_ns - N/2)``: a component that holds fewer than ``N/2`` rows vanishes.
    Components are updated one at a time, so that the others can take over its rows. When nothing
    vanishes any more the weakest component is removed, down to ``min_components``, and the model
    with the shortest message is kept. One start from many components is hardly ever stuck.
    Read more in the :doc:`user guide </mixture/message_length>`.

    Parameters
    ----------
    n_components : int >= 1 or None, default=None
        Number of components to start from, far more than there are clusters; 20 by
        default, or as many as there are rows.
    reg_covar : float > 0, finite, default=1e-06
        Variances, in any direction, do not fall below this part of the mean variance of the data.

    Attributes
    ----------
    objective_ : float
        Message length per row of the model that is kept.
    history_ : ndarray
        Message length per row after every sweep since the last component was removed; never rises.

    See Also
    --------
    FeatureSaliencyMixture : Finds the features that matter as well.

    Notes
    -----
    Weights of rows are relative: their unit does not matter, and ``n`` is the number of rows whose
    weight is not 0. Rows that were seen several times are given as often.

    Figueiredo, Jain (2002), Unsupervised learning of finite mixture models. The weight of a
    component is the exact best for the others in their proportions, so that no sweep makes the
    message longer as long as nothing is removed. Terms of the
    message length that do not grow with ``n`` are left out: as printed, ``n / 12`` in place of
    ``n`` and ``k (N + 1)/2`` more, components of fewer than 12 rows are worth having. On three
    flat, overlapping Gaussians in the plane (n = 900) that found three components in 3 of 16 runs,
    and 12 of 16 without (``experiments.mixture.feature_saliency``). A
    component is also removed if it holds too few rows for a covariance (ours): ``d + 1`` of them
    for a full one.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import MMLMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(center, 1, (100, 3)) for center in (0, 6, 12)])
    >>> model = MMLMixture(random_state=0).fit(X)
    >>> model.n_components_
    3
    """

    _common_attributes = GaussianBase._common_attributes | MessageLengthMixture._common_attributes
    _many = 20

    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"

    _own_tags = own_tags(
        summary="Gaussian mixture that finds its number of components",
        source="Figueiredo and Jain 2002; Verbeek 2004, section 3.2.3",
        complexity="O(n k (k + d²)) per sweep, O(n k) memory",
    )

    def _one_component(self, source: RowSource, row_weights: Array | None) -> RevisableGaussians:
        mean, covariance, largest = data_moments(source, row_weights)
        variance = float(np.trace(covariance)) / len(mean)
        if not variance > 0:  # rows that are all the same have no scale
            variance = 1.0
        return round_gaussians(
            mean[None],
            variance,
            self.covariance_type,
            floor=self.reg_covar * variance,
            origin=mean,
            largest_square=largest,
        )

    def _chosen(
        self,
        search: ComponentwiseFit,
        source: RowSource,
        known: Constraints,
        row_weights: Array | None,
    ) -> tuple[GaussianComponents, Array]:
        components, weights = search.best.last.parameters
        return components.gaussians(), weights
