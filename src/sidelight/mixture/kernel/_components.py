"""Kernel densities as components of a mixture: what new rows are measured by."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.neighbors import NearestNeighbors

from sidelight._typing import Array
from sidelight.exceptions import SidelightError
from sidelight.mixture.kernel._profiles import MIN_DENSITY
from sidelight.mixture.kernel._rows import SquaredDistances


@dataclass(frozen=True, eq=False)
class KernelComponents:
    """``p(x | s) = Σ_j Q_js κ(x, x_j) / c_j`` with a Gaussian kernel or one of the user's.

    Attributes
    ----------
    rows : ndarray or CSR of shape (n, d), or None
        Where the kernels are; None if rows come as values of the user's kernel.
    bandwidth : float or None
        Width of the kernels.
    profiles : ndarray of shape (n, k)
        ``Q``.
    log_columns : ndarray of shape (n,)
        ``log c``.
    n_neighbors : int or None
        Number of nearest kernels that measure a row; None for all.
    labels : ndarray of int32, shape (n,)
        Component of every fitted row by its leave-one-out density.
    """

    rows: Any
    bandwidth: float | None
    profiles: Array
    log_columns: Array
    n_neighbors: int | None
    labels: Array

    def __getstate__(self) -> dict[str, Any]:
        # Saved models hold plain arrays; what is cached, such as search trees, can be made again.
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        if sparse.issparse(self.rows):
            rows = sparse.csr_array(self.rows)
            state["rows"] = (rows.data, rows.indices, rows.indptr, rows.shape)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["rows"], tuple):
            *entries, shape = state["rows"]
            state = {**state, "rows": sparse.csr_array(tuple(entries), shape=shape)}
        vars(self).update(state)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.profiles.shape[1])

    @property
    def n_parameters(self) -> int:
        """Free entries of the profiles, each of which adds up to 1."""
        return (len(self.profiles) - 1) * self.n_components

    @property
    def n_statistics(self) -> int:
        """Kernel values per row."""
        return len(self.profiles)

    @cached_property
    def _distances(self) -> SquaredDistances:
        return SquaredDistances(self.rows)

    @cached_property
    def _near(self) -> NearestNeighbors:
        assert self.n_neighbors is not None
        k = min(self.n_neighbors, self.rows.shape[0])
        return NearestNeighbors(n_neighbors=k).fit(self.rows)

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes of the mixture."""
        return {"profiles_": self.profiles.astype(dtype)}

    def as_density(self) -> Self:
        """Return the density ``Σ_j Q_js N(x; x_j, σ² I)``, whose integral is 1."""
        constant = 0.0
        if self.bandwidth is not None:
            constant = 0.5 * self.rows.shape[1] * np.log(2 * np.pi * self.bandwidth**2)
        return replace(self, log_columns=np.full(len(self.profiles), constant))

    def features(self, block: Any) -> Any:
        """Rows are their own statistics."""
        return block

    def log_density(self, block: Any) -> Array:
        """``log p(x | s)`` of every row, float64 of shape (b, k)."""
        if self.n_neighbors is None:
            return self._of_all(self._logs(block))
        lengths, others = self._near.kneighbors(block)
        logs = (-0.5 / self._width**2) * lengths.astype(np.float64) ** 2 - self.log_columns[others]
        largest = logs.max(axis=1)
        weights = np.exp(logs - largest[:, None])
        sums = np.einsum("bm,bmk->bk", weights, self.profiles[others])
        with np.errstate(divide="ignore"):
            out = np.log(sums) + largest[:, None]
        lost = np.flatnonzero(~np.any(sums > 0, axis=1))
        if len(lost):  # no component has weight on their neighbors
            out[lost] = self._of_all(self._logs(block[lost]))
        return out

    @property
    def _width(self) -> float:
        assert self.bandwidth is not None
        return self.bandwidth

    def _logs(self, block: Any) -> Array:
        """Logarithms of ``κ(x, x_j) / c_j`` for all ``j``."""
        if self.rows is not None:
            return (-0.5 / self._width**2) * self._distances.of(block) - self.log_columns
        values = block.toarray() if sparse.issparse(block) else block
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values, 0.0, dtype=np.float64)) - self.log_columns

    def _of_all(self, logs: Array) -> Array:
        """``log Σ_j Q_js exp(logs_j)`` by one product, term by term only where that underflows."""
        largest = logs.max(axis=1)
        largest = np.where(np.isfinite(largest), largest, 0.0)
        sums = np.exp(logs - largest[:, None]) @ self.profiles
        with np.errstate(divide="ignore"):
            out = np.log(sums) + largest[:, None]
            lost = np.flatnonzero(~np.any(sums > 0, axis=1))
            if len(lost):
                for s, weights in enumerate(np.log(self.profiles).T):
                    out[lost, s] = logsumexp(logs[lost] + weights, axis=1)
        nowhere = np.all(np.isneginf(out), axis=1)
        out[nowhere] = np.log(MIN_DENSITY)
        return out

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows: a row of the data by its share in the profile, and noise of the bandwidth."""
        if self.rows is None:
            raise SidelightError("Rows cannot be drawn from a precomputed kernel.")
        weights = self.profiles[:, component]
        chosen = self.rows[rng.choice(len(weights), size=n, p=weights / weights.sum())]
        if sparse.issparse(chosen):
            chosen = chosen.toarray()
        return np.asarray(chosen + self._width * rng.normal(size=chosen.shape))
