"""Covariances of low rank plus noise: their algebra and their m-steps (Verbeek 2004, 3.1.4).

    Σ = Ψ + Λ Λᵀ,   Λ of shape (D, d),  Ψ diagonal

All arrays hold the components along their first axis. The scatter ``S`` of the rows of a component
is maximized over by

* ``factor``: Ψ any diagonal matrix (factor analysers),
* ``ppca``: Ψ = s² I (probabilistic principal components),
* ``subspace``: Ψ = s² I and Λᵀ Λ = ρ² I (the k-subspaces type).

An EM step needs ``diag S`` and ``S Bᵀ`` only, where ``B`` of shape (d, D) gives the mean of the
latent coordinates of a row, ``B (x - μ)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidelight._typing import Array

#: EM steps on the scatter in one m-step of factor analysers.
FACTOR_STEPS = 10


class LowRank(NamedTuple):
    """Loadings ``Λ`` of shape (k, D, d) and variances of the noise of shape (k, D)."""

    loadings: Array
    noise: Array


class Lemma(NamedTuple):
    """Terms of the determinant and inverse lemmas.

    With ``I + Λᵀ Ψ⁻¹ Λ = L Lᵀ`` and ``R = L⁻¹ Λᵀ Ψ⁻¹``

        Σ⁻¹ = Ψ⁻¹ - Rᵀ R,    log|Σ| = log|Ψ| + 2 log|L|,

    and given a row the latent coordinates have mean ``L⁻ᵀ R (x - μ)`` and covariance
    ``(L Lᵀ)⁻¹``.
    """

    root: Array
    half: Array
    log_determinants: Array

    @property
    def mean_map(self) -> Array:
        """``B`` of shape (k, d, D): latent means of centered rows."""
        return np.linalg.solve(np.swapaxes(self.root, 1, 2), self.half)


def lemma(model: LowRank) -> Lemma:
    """Factor the small matrices of all components."""
    scaled = model.loadings / model.noise[:, :, None]
    d = model.loadings.shape[2]
    root = np.linalg.cholesky(np.eye(d) + np.swapaxes(model.loadings, 1, 2) @ scaled)
    half = np.linalg.solve(root, np.swapaxes(scaled, 1, 2))
    pivots = np.diagonal(root, axis1=1, axis2=2)
    log_determinants = np.log(model.noise).sum(axis=1) + 2 * np.log(pivots).sum(axis=1)
    return Lemma(root, half, log_determinants)


def dense(model: LowRank) -> Array:
    """``Ψ + Λ Λᵀ`` as matrices of shape (k, D, D)."""
    covariances = model.loadings @ np.swapaxes(model.loadings, 1, 2)
    diagonal = np.arange(covariances.shape[1])
    covariances[:, diagonal, diagonal] += model.noise
    return covariances


def of_scatter(
    scatter: Array, n_factors: int, kind: str, least: Array, start: Array | None = None
) -> LowRank:
    """Maximize the likelihood of the scatter; ``least`` of shape (D,) bounds the noise below.

    Exact for ``ppca`` and ``subspace``. Factor analysers start from the noise ``start`` of shape
    (k, D): the best loadings for it, then some EM steps.
    """
    if kind != "factor":
        return _principal(scatter, n_factors, kind, float(least.mean()))
    if start is None:
        start = np.maximum(np.diagonal(scatter, axis1=1, axis2=2) * 0.5, least)
    scale = np.sqrt(start)
    white = scatter / (scale[:, :, None] * scale[:, None, :])
    values, vectors = np.linalg.eigh(white)
    values, vectors = _leading(values, vectors, n_factors)
    loadings = scale[:, :, None] * vectors * np.sqrt(np.maximum(values - 1.0, 0.0))[:, None, :]
    model = LowRank(loadings, start)
    for _ in range(FACTOR_STEPS if n_factors else 1):
        mean_map = lemma(model).mean_map
        model = em_step(
            model,
            mean_map,
            scatter @ np.swapaxes(mean_map, 1, 2),
            np.diagonal(scatter, axis1=1, axis2=2),
            kind,
            least,
        )
    return model


def _leading(values: Array, vectors: Array, n: int) -> tuple[Array, Array]:
    """The ``n`` largest eigenvalues, largest first, and their vectors."""
    kept = slice(values.shape[1] - n, None)
    return values[:, kept][:, ::-1], vectors[:, :, kept][:, :, ::-1]


def _principal(scatter: Array, n_factors: int, kind: str, least: float) -> LowRank:
    """Noise is the mean of the small eigenvalues, loadings what the large ones have beyond it."""
    values, vectors = np.linalg.eigh(scatter)
    n_features = values.shape[1]
    noise = np.maximum(values[:, : n_features - n_factors].mean(axis=1), least)
    values, vectors = _leading(values, vectors, n_factors)
    if kind == "subspace" and n_factors:
        values = np.repeat(values.mean(axis=1, keepdims=True), n_factors, axis=1)
    beyond = np.sqrt(np.maximum(values - noise[:, None], 0.0))
    return LowRank(vectors * beyond[:, None, :], np.repeat(noise[:, None], n_features, axis=1))


def em_step(
    model: LowRank, mean_map: Array, cross: Array, diagonal: Array, kind: str, least: Array
) -> LowRank:
    """One EM step on the scatter; ``cross`` is ``S Bᵀ``, ``diagonal`` is ``diag S``.

    The latent coordinates have the second moments ``G = I - B Λ + B S Bᵀ``. For the k-subspaces
    type the best orthonormal directions are those nearest to ``S Bᵀ`` (a Procrustes problem).
    """
    n_factors = model.loadings.shape[2]
    moments = np.eye(n_factors) - mean_map @ model.loadings + mean_map @ cross
    if kind == "subspace" and n_factors:
        left, lengths, right = np.linalg.svd(cross, full_matrices=False)
        of_latent = np.trace(moments, axis1=1, axis2=2)
        radius = lengths.sum(axis=1) / of_latent
        loadings = radius[:, None, None] * (left @ right)
        explained = lengths.sum(axis=1) ** 2 / of_latent
        noise = (diagonal.sum(axis=1) - explained) / diagonal.shape[1]
    else:
        loadings = np.swapaxes(np.linalg.solve(moments, np.swapaxes(cross, 1, 2)), 1, 2)
        noise = diagonal - np.einsum("kij,kij->ki", loadings, cross)
        if kind == "factor":
            return LowRank(loadings, np.maximum(noise, least))
        noise = noise.mean(axis=1)
    noise = np.maximum(noise, least.mean())
    return LowRank(loadings, np.repeat(noise[:, None], diagonal.shape[1], axis=1))


def canonical(model: LowRank) -> LowRank:
    """Rotate the factors so that ``Λᵀ Ψ⁻¹ Λ`` is diagonal, largest first, with fixed signs."""
    inner = np.swapaxes(model.loadings, 1, 2) @ (model.loadings / model.noise[:, :, None])
    axes = np.linalg.eigh(inner)[1][:, :, ::-1]
    loadings = model.loadings @ axes
    largest = np.take_along_axis(loadings, np.argmax(np.abs(loadings), axis=1)[:, None, :], axis=1)
    return LowRank(loadings * np.where(largest < 0, -1.0, 1.0), model.noise)
