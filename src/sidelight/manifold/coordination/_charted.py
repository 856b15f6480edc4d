"""Shared parts of locally linear coordination and charting: charts, the map, its parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from sidelight._typing import Array
from sidelight.base import Embedding
from sidelight.manifold.coordination._alignment import Alignment
from sidelight.manifold.coordination._charts import (
    LocalCharts,
    check_dimensions,
    fit_charts,
    number_of_charts,
)

COMMON_PARAMETERS: dict[str, str] = {
    "n_components": "Number of coordinates of the map.",
    "n_charts": 'Number of charts (components of a mixture). "auto" is one for 30 rows, but at '
    "most 50.",
    "chart": "Charts are probabilistic principal components (the same noise for all features) or "
    "factor analyzers (noise of each feature); a map of as many coordinates as features has "
    "Gaussians with full covariances for charts.",
    "mixture": "A :class:`~sidelight.mixture.GaussianMixture` whose components are the charts, in "
    "place of ``n_charts`` and ``chart``. One that is fitted is used as it is.",
}


class ChartedEmbedding(Embedding):
    """A map that is affine within every chart: ``g(x) = Σ_s p(s|x) (κ_s + A_s z_s(x))``."""

    _common_parameters: ClassVar[dict[str, str]] = COMMON_PARAMETERS

    n_components: Any
    n_charts: Any
    chart: Any
    mixture: BaseEstimator | None

    def _fit_charts(self, rows: Array, n_mixtures: int = 1) -> LocalCharts:
        """Fit the charts, or take those of the given mixture."""
        check_dimensions(rows, self.n_components)
        n_charts = 1
        if self.mixture is None:
            n_charts = number_of_charts(self.n_charts, len(rows), self.n_components)
        return fit_charts(
            rows,
            self.n_components,
            n_charts,
            self.chart,
            self.mixture,
            self.random_state,
            n_mixtures=n_mixtures,
        )

    def _set_map(self, charts: LocalCharts, alignment: Alignment, size: int, rows: Array) -> None:
        """Set the fitted attributes, and the coordinates of the rows."""
        self._charts = charts
        self._coefficients = alignment.coefficients
        self.mixtures_ = charts.mixtures
        self.n_charts_ = charts.n_charts
        by_chart = alignment.coefficients.reshape(self.n_charts_, size, -1)
        self.offsets_ = by_chart[:, 0]
        self.maps_ = np.swapaxes(by_chart[:, 1:], 1, 2)
        self.eigenvalues_ = alignment.eigenvalues
        self.embedding_ = self._transform(rows)

    def _transform(self, rows: Array) -> Array:
        places = place(self._charts, self._coefficients, rows)
        return places.astype(rows.dtype, copy=False)


def place(charts: LocalCharts, coefficients: Array, rows: Array) -> Array:
    """Coordinates ``u(x) L`` of rows, block by block."""
    k, d = charts.n_charts, coefficients.shape[1]
    by_chart = coefficients.reshape(k, -1, d)
    places = np.empty((len(rows), d))
    for block, resp, local in charts.blocks(rows):
        own = by_chart[:, 0] + np.einsum("nkh,khd->nkd", local, by_chart[:, 1:])
        places[block] = np.einsum("nk,nkd->nd", resp, own)
    return places
