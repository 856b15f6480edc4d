"""Queries of fitted charts: coordinates of rows, rows at coordinates, the density of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_coordinates
from sidelight._typing import Array
from sidelight.base import Embedding
from sidelight.constraints.inner import check_one_index
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.manifold.atlas._charts import ChartPosterior
from sidelight.manifold.atlas._model import Atlas

#: Largest number of entries in an array of covariances that is returned.
MAX_NUMBERS = 2**28


class AtlasEmbedding(Embedding):
    """A map with a density, by charts that a fit has put into ``_atlas``."""

    n_components: Any
    latent_var_init: Any

    _atlas: Atlas
    #: Rows of the fit with known coordinates, and the coordinates.
    _anchored: tuple[Array, Array]
    means_: Array

    def _seen(self, table: Array) -> Array:
        """Views that every row has."""
        return np.ones((len(table), 1), dtype=bool)

    def _by_rows(
        self, X: Any, finish: Callable[[ChartPosterior, Array], Array], *, single: bool = True
    ) -> Array:
        """Map ``finish(posterior, seen)`` over checked rows, in their element type."""
        check_is_fitted(self)
        table = np.asarray(self._check_rows(X, reset=False))
        found = self._atlas.by_rows(table, self._seen(table), finish)
        return found.astype(table.dtype) if single else found

    def transform(self, X: Any, *, return_cov: bool = False) -> Any:
        """Return the expected coordinates ``E[g | x]`` of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        return_cov : bool, default=False
            Whether to return the covariances of the coordinates, too.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates, in the element type of the rows.
        cov : ndarray of shape (n_samples, n_components, n_components)
            Covariance of the coordinates given each row, if asked for.
        """
        check_is_fitted(self)
        table = np.asarray(self._check_rows(X, reset=False))
        return self._placed(table, self._seen(table), return_cov)

    def _placed(self, table: Array, seen: Array, return_cov: bool) -> Any:
        places = self._places(table, seen)
        if not return_cov:
            return places
        covariances = self._atlas.by_rows(table, seen, self._atlas.coordinate_covariances)
        of_anchor = self._anchor_of(table)
        spread = self.latent_var_init * np.diag(self._atlas.place_scale**2)
        covariances[of_anchor >= 0] = spread
        return places, covariances.astype(table.dtype)

    def _places(self, table: Array, seen: Array) -> Array:
        """Coordinates: those of the anchors for anchored rows, expected ones for all others."""
        places = self._atlas.by_rows(table, seen, self._atlas.coordinates)
        of_anchor = self._anchor_of(table)
        places[of_anchor >= 0] = self._anchored[1][of_anchor[of_anchor >= 0]]
        return places.astype(table.dtype)

    def _anchor_of(self, table: Array) -> Array:
        """Anchored row of the fit that a row equals, -1 where there is none."""
        anchored = self._anchored[0]
        if not len(anchored):
            return np.full(len(table), -1)
        both = np.nan_to_num(np.vstack((anchored, table.astype(anchored.dtype))), nan=np.inf)
        _, codes = np.unique(both, axis=0, return_inverse=True)
        codes = codes.ravel()
        of_code = np.full(codes.max() + 1, -1)
        of_code[codes[: len(anchored)]] = np.arange(len(anchored))
        return of_code[codes[len(anchored) :]]

    def chart_posterior(self, X: Any) -> Array:
        """Return the probability ``p(s | x)`` of every chart for every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_charts)
            Probabilities, in the element type of the rows.
        """
        return self._by_rows(X, lambda found, seen: found.responsibilities())

    def predict_proba(self, X: Any) -> Array:
        """Return :meth:`chart_posterior`, by the name that mixtures have for it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_charts)
            Probabilities of the charts.
        """
        return self.chart_posterior(X)

    def disagreement(self, X: Any) -> Array:
        """Return how far the charts disagree about the coordinates of every row.

        ``Σ_s p(s | x) (m_s - ḡ)ᵀ V̄ (m_s - ḡ)``, a squared distance in units of the uncertainty
        within the charts, where ``m_s`` is the expectation of chart ``s`` and ``ḡ`` that of all.
        Where it is far above ``n_components`` the map is torn.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        disagreement : ndarray of float64, shape (n_samples,)
            0 where one chart is responsible alone, or all agree.
        """
        return self._by_rows(X, lambda found, seen: found.disagreement(), single=False)

    # ------------------------------------------------------------------ coordinates to rows

    def inverse_transform(self, X: Any, *, return_cov: bool = False) -> Any:
        """Return the expected rows ``E[x | g]`` at coordinates of the map.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Coordinates.
        return_cov : bool, default=False
            Whether to return the covariances of the rows, too.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            Expected rows.
        cov : ndarray of shape (n_samples, n_features, n_features)
            Covariance of the row at each place, if asked for.
        """
        check_is_fitted(self)
        places = check_coordinates(X, self.n_components, "X")
        atlas = self._atlas
        back = np.argsort(atlas.units.order)
        inner = as_rows(atlas.to_search(places))

        def rows(covariance: bool) -> Array:
            def work(block: Array) -> tuple[tuple[()], tuple[Array]]:
                return (), (atlas.rows_of(block, covariance=covariance),)

            found: Array = inner.map_reduce(work)[1][0]
            return found.astype(self.means_.dtype)

        if not return_cov:
            return rows(False)[:, back]
        check_covariances(len(places), len(back))
        return rows(False)[:, back], rows(True)[:, back][:, :, back]

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw rows and their coordinates from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in random order.
        Z : ndarray of shape (n_samples, n_components)
            Their coordinates.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be a whole number above 0, got {n_samples!r}.")
        rng = check_random_state(self.random_state)
        charts = self._atlas.in_user_units
        own = rng.choice(charts.n_charts, n_samples, p=np.exp(charts.log_weights))
        roots = np.linalg.cholesky(charts.spreads)[own]
        offsets = np.einsum("nij,nj->ni", roots, rng.standard_normal((n_samples, roots.shape[1])))
        rows = charts.means[own] + np.einsum("njd,nd->nj", charts.loadings[own], offsets)
        rows += rng.standard_normal(rows.shape) * np.sqrt(charts.noise[own])
        back = np.argsort(self._atlas.units.order)
        dtype = self.means_.dtype
        return rows[:, back].astype(dtype), (charts.offsets[own] + offsets).astype(dtype)

    # ------------------------------------------------------------------ density

    def score_samples(self, X: Any) -> Array:
        """Return the log-density ``log p(x)`` of every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_density : ndarray of float64, shape (n_samples,)
            Logarithms of the density.
        """
        check_is_fitted(self)
        return self._by_rows(X, self._atlas.log_density, single=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the average log-density of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger the better.
        """
        check_one_index(sample_weight, X, "sample_weight")
        return float(np.average(self.score_samples(X), weights=sample_weight))


def check_covariances(n_rows: int, n_columns: int) -> None:
    """Raise if covariances would fill the memory."""
    if n_rows * n_columns**2 > MAX_NUMBERS:
        most = max(MAX_NUMBERS // n_columns**2, 1)
        raise SidelightError(
            f"Covariances of {n_columns:,} columns for {n_rows:,} rows take "
            f"{8e-9 * n_rows * n_columns**2:.0f} GB; ask for at most {most:,} rows at a time."
        )
