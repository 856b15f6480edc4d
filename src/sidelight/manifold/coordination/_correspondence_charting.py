"""Charting of several views with correspondences (Verbeek 2004, section 5.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np
from scipy import linalg

from sidelight._fit.parameters import (
    Auto,
    Count,
    FinitePositive,
    NamesLike,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._progress import shown
from sidelight._typing import Array
from sidelight.manifold.coordination._alignment import Agreement, align_by_agreement, constant_slots
from sidelight.manifold.coordination._charted import COMMON_PARAMETERS, place
from sidelight.manifold.coordination._charting import sum_agreement, warn_of_low_entropy
from sidelight.manifold.coordination._charts import (
    LocalCharts,
    check_dimensions,
    fit_charts,
    number_of_charts,
)
from sidelight.manifold.coordination._view_embedding import ViewsEmbedding
from sidelight.manifold.coordination._views import Views
from sidelight.tags import own_tags


@estimator
class CorrespondenceCharting(ViewsEmbedding):
    r"""Charting of several views, whose linked rows are drawn to one place.

    Every view has charts of its own, glued as in :class:`Charting`; with the places
    :math:`g^v_n` of row ``n`` of view ``v`` it minimizes

    .. math:: \sum_v \sum_n \sum_s p_v(s|x_n) \| g^v_n - g^v_{ns} \|^2
              + w \sum_{(n,m)} \| g^a_n - g^b_m \|^2

    over links between row ``n`` of view ``a`` and row ``m`` of view ``b``, with mean 0 and
    covariance I over all rows: one eigenproblem for the charts of all views. At least
    ``n_components + 1`` links are needed. Rows may lack values. One view is charting.
    (Verbeek 2004, section 5.3.2.) Read more in the :doc:`user guide </manifold/coordination>`.

    Parameters
    ----------
    views : sequence of array or None, default=None
        Columns of each view, by position or name, where ``fit`` gets one table with NaN for objects
        that a view does not show.
    penalty : float > 0, finite or "auto", default="auto"
        Price ``w`` of the squared distance between linked rows. "auto" is the number of rows over
        that of links, so that both terms count alike.
    n_mixtures : int >= 1, default=5
        Number of mixtures of each view that are averaged.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_objects, n_components)
        Coordinates of the objects, the mean over their rows: those of the rows of a table, or
        numbered as in ``correspondences.objects``.
    embeddings_ : tuple of ndarray of shape (n_v, n_components)
        Coordinates of the rows of each view.
    objects_ : tuple of ndarray of int
        Object of every row of each view.
    eigenvalues_ : ndarray of shape (n_components,)
        Disagreement of charts and links in every coordinate of variance 1, per row.
    entropy_ : float
        Mean entropy of the responsibilities in bits.
    penalty_ : float
        Price of the links that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import Correspondences
    >>> from sidelight.manifold import CorrespondenceCharting
    >>> t = np.linspace(0, 1, 200)
    >>> first, second = np.c_[np.cos(3 * t), np.sin(3 * t)], np.c_[t, t**2, t**3][::-1]
    >>> known = Correspondences([(i, 199 - i) for i in range(0, 200, 10)], [200, 200])
    >>> model = CorrespondenceCharting(1, random_state=0)
    >>> model = model.fit([first, second], correspondences=known)
    >>> apart = model.embeddings_[0] - model.embeddings_[1][::-1]
    >>> bool(np.abs(apart).max() < 0.2)  # of coordinates with variance 1
    True
    """

    _common_parameters: ClassVar[dict[str, str]] = COMMON_PARAMETERS
    _models_missing = True

    n_components: Count = 2
    _: KW_ONLY
    views: Sequence[NamesLike] | None = None
    penalty: FinitePositive | Auto = "auto"
    n_charts: Count | Auto = "auto"
    n_mixtures: Count = 5
    chart: Literal["ppca", "factor"] = "ppca"
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="charting of several views whose linked rows are drawn to one place",
        knowledge=("correspondences",),
        enforcement="soft",
        source="Brand 2003; Verbeek 2004, section 5.3.2",
        complexity="O(n k² h²) time, O(n + k² h²) memory for k charts of h coordinates",
    )

    def _fit_views(self, views: Views) -> None:
        with shown(self.verbose):
            charts = [self._charts_of(rows, view, views) for view, rows in enumerate(views.rows)]
            found = [sum_agreement(own, rows) for own, rows in zip(charts, views.rows, strict=True)]
            sums = [one for one, _ in found]
            n = sum(one.n for one in sums)
            self.entropy_ = sum(one.n * entropy for one, entropy in found) / n
            warn_of_low_entropy(self.entropy_, min(own.n_charts for own in charts))
            self.penalty_ = self._price(n, len(views.links))
            joint = _joint(sums, self.penalty_ * _link_gram(charts, views))
            widths = [len(one.mean) for one in sums]
            constant = np.concatenate(
                [
                    constant_slots(own.n_charts, width // own.n_charts)
                    for own, width in zip(charts, widths, strict=True)
                ]
            )
            alignment = align_by_agreement(joint, self.n_components, constant)
        self.eigenvalues_ = alignment.eigenvalues
        self._charts = tuple(charts)
        self._coefficients = tuple(np.split(alignment.coefficients, np.cumsum(widths)[:-1]))
        places = [self._place(view, rows) for view, rows in enumerate(views.rows)]
        self._set_places(places, views)

    def _charts_of(self, rows: Array, view: int, views: Views) -> LocalCharts:
        """Fit the charts of one view."""
        check_dimensions(rows, self.n_components)
        return fit_charts(
            rows,
            self.n_components,
            number_of_charts(self.n_charts, len(rows), self.n_components),
            self.chart,
            None,
            self.random_state,
            n_mixtures=self.n_mixtures,
            name="X" if len(views.rows) == 1 else f"view {view}",
        )

    def _price(self, n_rows: int, n_links: int) -> float:
        if self.penalty == "auto":
            return n_rows / max(n_links, 1)
        return float(self.penalty)

    def _place(self, view: int, rows: Array) -> Array:
        return place(self._charts[view], self._coefficients[view], rows)


def _joint(sums: list[Agreement], links: Array) -> Agreement:
    """Sums over the rows of all views, whose charts have columns of their own."""
    n = sum(one.n for one in sums)
    return Agreement(
        n,
        np.concatenate([one.n * one.mean for one in sums]) / n,
        linalg.block_diag(*(one.gram for one in sums)),
        linalg.block_diag(*(one.moments for one in sums)) + links,
    )


def _link_gram(charts: list[LocalCharts], views: Views) -> Array:
    """``Σ (u_n - u_m)(u_n - u_m)'`` over links, in the columns of the charts of all views."""
    designs = [
        own.design(rows) if len(views.links) else np.empty((0, 0))
        for own, rows in zip(charts, views.rows, strict=True)
    ]
    if not len(views.links):
        return np.zeros((1, 1))
    starts = np.cumsum([0, *(design.shape[1] for design in designs)])
    differences = np.zeros((len(views.links), starts[-1]))
    for sign, which, rows in ((1.0, *views.links.T[:2]), (-1.0, *views.links.T[2:])):
        for view, design in enumerate(designs):
            own = np.flatnonzero(which == view)
            columns = slice(starts[view], starts[view + 1])
            differences[own, columns] += sign * design[rows[own]]
    return np.asarray(differences.T @ differences)
