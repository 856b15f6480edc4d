"""Charting without neighbors (Brand 2003; Law 2006, section 2.9.2; Verbeek 2004, section 5.2.4)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from sidelight._fit.parameters import Auto, Count, Seed, Verbosity, estimator
from sidelight._progress import shown
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting, worded
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold.coordination._alignment import Agreement, align_by_agreement, constant_slots
from sidelight.manifold.coordination._charted import ChartedEmbedding
from sidelight.manifold.coordination._charts import (
    LocalCharts,
    chart_moments,
    design_of,
    posterior_entropy,
)
from sidelight.tags import own_tags

#: Mean entropy of the responsibilities, in bits, below which charts hardly overlap.
MIN_ENTROPY = 0.05


@estimator
class Charting(ChartedEmbedding):
    r"""Charting: local linear models glued where they overlap, without neighbors.

    Mixtures of local linear models give every row responsibilities ``p(s|x)`` and local coordinates
    ``z_s(x)``. With the place :math:`g_{ns} = \kappa_s + A_s z_{ns}` of a row in chart ``s`` and
    :math:`g_n = \sum_s p(s|x_n) g_{ns}` it minimizes the disagreement of the charts

    .. math:: \sum_n \sum_s p(s|x_n) \| g_n - g_{ns} \|^2

    under mean 0 and covariance I: an eigenproblem of as many unknowns as the charts have, whatever
    the number of rows. Since only rows that several charts claim count, several mixtures of parts
    of the rows are averaged. Rows may lack values (NaN), which the mixtures model: complete rows
    glue the charts, and the others are placed at their expectation.
    (Law 2006, section 2.9.2; Verbeek 2004, section 5.2.4.)
    Read more in the :doc:`user guide </manifold/coordination>`.

    Parameters
    ----------
    n_mixtures : int >= 1, default=5
        Number of mixtures that are averaged, each of a random 90 percent of the rows; one is fitted
        to all rows.

    Attributes
    ----------
    mixtures_ : tuple of GaussianMixture
        The mixtures with the charts, fitted to centered and scaled rows.
    n_charts_ : int
        Number of charts of all mixtures.
    offsets_ : ndarray of shape (n_charts, n_components)
        ``κ``: places of the origins of the charts.
    maps_ : ndarray of shape (n_charts, n_components, n_local)
        ``A``: maps from local to global coordinates.
    eigenvalues_ : ndarray of shape (n_components,)
        Disagreement of the charts in every coordinate of variance 1, per row.
    entropy_ : float
        Mean entropy of the responsibilities in bits; charts that hardly overlap, below 0.05, cannot
        be glued.

    References
    ----------
    Brand, *Charting a manifold* (2003).

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from sidelight.manifold import Charting
    >>> X, t = make_s_curve(600, random_state=0)
    >>> X[::7, 1] = float("nan")  # not measured
    >>> model = Charting(2, random_state=0).fit(X)
    >>> model.embedding_.shape
    (600, 2)
    """

    n_components: Count = 2
    _: KW_ONLY
    n_charts: Count | Auto = "auto"
    n_mixtures: Count = 5
    chart: Literal["ppca", "factor"] = "ppca"
    mixture: BaseEstimator | None = None
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="local linear models glued where they overlap, without neighbors",
        source="Brand 2003; Law 2006, section 2.9.2; Verbeek 2004, section 5.2.4",
        complexity="O(n k² h²) time, O(n + k² h²) memory for k charts of h coordinates",
        missing=True,
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        with shown(self.verbose):
            charts = self._fit_charts(rows, self.n_mixtures)
            sums, self.entropy_ = sum_agreement(charts, rows)
            size = len(sums.mean) // charts.n_charts
            warn_of_low_entropy(self.entropy_, charts.n_charts)
            alignment = align_by_agreement(
                sums, self.n_components, constant_slots(charts.n_charts, size)
            )
        self._set_map(charts, alignment, size, rows)


def sum_agreement(charts: LocalCharts, rows: Array) -> tuple[Agreement, float]:
    """Sums over the rows that glue the charts, and the mean entropy of their responsibilities."""
    mean: Any = 0.0
    gram: Any = 0.0
    moments: Any = 0.0
    entropy = 0.0
    gluing = _gluing_rows(charts, rows)
    for _, resp, local in charts.blocks(gluing):
        design = design_of(resp, local)
        mean = mean + design.sum(axis=0)
        with one_thread_blas:
            gram = gram + design.T @ design
            moments = moments + chart_moments(resp, local)
        entropy += posterior_entropy(resp)
    n = len(gluing)
    return Agreement(n, np.asarray(mean) / n, gram, moments), entropy / n


def _gluing_rows(charts: LocalCharts, rows: Array) -> Array:
    """Complete rows, where there are enough of them.

    A row that lacks a value is claimed by charts that lie apart in that direction, and each places
    it at its own center: to ask these charts to agree would fold the map along that direction.
    """
    complete = ~np.isnan(rows).any(axis=1)
    if complete.all():
        return rows
    unknowns = charts.n_charts // len(charts.mixtures) * (rows.shape[1] + 1)
    number = int(complete.sum())
    if number >= min(2 * unknowns, len(rows) // 2):
        return rows[complete]
    warn(
        f"Only {number:,} of {len(rows):,} rows are complete, too few to glue the charts; rows "
        "that lack values were used as well, and may fold the map along the columns that they "
        "lack.",
        EmbeddingWarning,
    )
    return rows


def warn_of_low_entropy(entropy: float, n_charts: int) -> None:
    """Warn where no row belongs to several charts, so that any arrangement of them is optimal."""
    if n_charts > 1 and entropy < MIN_ENTROPY:
        llc = worded("LocallyLinearCoordination", "--method locally-linear-coordination")
        warn(
            f"The mean entropy of the responsibilities is {entropy:.2g} bits: charts hardly "
            f"overlap, so that charting is degenerate. Set {setting('n_mixtures')} above 1, or "
            f"use {llc}.",
            EmbeddingWarning,
        )
