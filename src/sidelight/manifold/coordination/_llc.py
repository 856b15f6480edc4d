"""Locally linear coordination (Teh and Roweis 2003; Law 2006, 2.9.3; Verbeek 2004, 5.2.4)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

from sklearn.base import BaseEstimator

from sidelight._fit.parameters import Auto, Count, FinitePositive, Seed, Verbosity, estimator
from sidelight._progress import shown
from sidelight.constraints import Constraints
from sidelight.manifold._reconstruction import connected_weights, usable_neighbors
from sidelight.manifold.coordination._alignment import align_by_reconstruction, constant_slots
from sidelight.manifold.coordination._charted import ChartedEmbedding
from sidelight.manifold.coordination._charts import check_dimensions
from sidelight.tags import own_tags


@estimator
class LocallyLinearCoordination(ChartedEmbedding):
    r"""Locally linear coordination: charts of a mixture, glued so that neighbors rebuild each row.

    A mixture of local linear models gives every row responsibilities ``p(s|x)`` and local
    coordinates ``z_s(x)``. Among the maps :math:`g(x) = \sum_s p(s|x) (\kappa_s + A_s z_s(x))` with
    mean 0 and covariance I it takes the one that minimizes

    .. math:: \sum_i \| g_i - \sum_j w_{ij} g_j \|^2

    with the weights :math:`w` that rebuild each row from its neighbors, as in locally linear
    embedding. That is an eigenproblem of ``n_charts * (n_components + 1)`` unknowns, whatever the
    number of rows, and new rows have a place by the same formula. Also called constrained LLE.
    (Law 2006, section 2.9.3; Verbeek 2004, section 5.2.4.)
    Read more in the :doc:`user guide </manifold/coordination>`.

    Parameters
    ----------
    n_neighbors : int >= 1, default=10
        Number of neighbors that rebuild a row, more than ``n_components``.
    reg : float > 0, finite, default=0.001
        Regularization of the reconstruction weights, as a share of the trace of the Gram matrix.
    disconnected : {"bridge", "raise"}, default="bridge"
        Neighborhood graphs of several parts: joined by the shortest links between them, with a
        warning, or an error that names the sizes of the parts.

    Attributes
    ----------
    mixtures_ : tuple of GaussianMixture
        The mixture with the charts, fitted to centered and scaled rows.
    n_charts_ : int
        Number of charts.
    offsets_ : ndarray of shape (n_charts, n_components)
        ``κ``: places of the origins of the charts.
    maps_ : ndarray of shape (n_charts, n_components, n_local)
        ``A``: maps from local to global coordinates.
    eigenvalues_ : ndarray of shape (n_components,)
        Reconstruction error of every coordinate, of length 1.

    References
    ----------
    Teh and Roweis, *Automatic alignment of local representations* (2003).

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from sidelight.manifold import LocallyLinearCoordination
    >>> X, t = make_s_curve(600, random_state=0)
    >>> model = LocallyLinearCoordination(2, random_state=0).fit(X)
    >>> model.n_charts_
    20
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    n_components: Count = 2
    _: KW_ONLY
    n_charts: Count | Auto = "auto"
    chart: Literal["ppca", "factor"] = "ppca"
    mixture: BaseEstimator | None = None
    n_neighbors: Count = 10
    reg: FinitePositive = 1e-3
    disconnected: Literal["bridge", "raise"] = "bridge"
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="local linear models glued so that neighbors rebuild each row",
        source="Teh and Roweis 2003; Law 2006, section 2.9.3; Verbeek 2004, section 5.2.4",
        complexity="O(n k² h²) time, O(n k h) memory for k charts of h coordinates, plus neighbors",
    )

    def _learn(self, rows: Any, known: Constraints) -> None:
        check_dimensions(rows, self.n_components)
        near = usable_neighbors(self.n_neighbors, len(rows), self.n_components)
        with shown(self.verbose):
            charts = self._fit_charts(rows)
            weights = connected_weights(rows, near, self.reg, self.disconnected)
            design = charts.design(rows)
            size = design.shape[1] // charts.n_charts
            constant = constant_slots(charts.n_charts, size)
            alignment = align_by_reconstruction(design, weights, self.n_components, constant)
        self._set_map(charts, alignment, size, rows)
