"""Random mixtures of Gaussians that are as close to each other as a separation allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray
from sidelight.datasets._dataset import Dataset


def make_separated_gaussians(
    n_samples: int = 400,
    *,
    n_components: int = 4,
    n_features: int = 2,
    separation: float = 2.0,
    max_eccentricity: float = 15.0,
    random_state: Any = None,
) -> Dataset:
    """Sample a random mixture of Gaussians with a given separation (Verbeek, section 3.2.4).

    For all components ``‖μ_i - μ_j‖² >= c² max(tr Σ_i, tr Σ_j)`` with ``c = separation``, as
    Dasgupta defines it: at 0.5 they overlap a lot, at 2 hardly. The source prints ``c`` in place of
    ``c²``, but its tables agree with the square. Weights are uniform, drawn until all are above
    ``1 / 4k``; standard deviations along random axes are uniform; means are Gaussian, on the
    smallest scale at which they are far enough from each other.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points.
    n_components : int, default=4
        Number of Gaussians ``k``.
    n_features : int, default=2
        Number of features.
    separation : float, default=2.0
        ``c``.
    max_eccentricity : float, default=15.0
        Largest ratio of two variances of a Gaussian.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the Gaussian of each point; ``extras``: ``weights``, ``means`` and
        ``covariances`` of the mixture and the ``log_density`` of each point under it.

    Examples
    --------
    >>> from sidelight.datasets import make_separated_gaussians
    >>> data = make_separated_gaussians(n_components=6, separation=1.0, random_state=0)
    >>> data.data.shape, data.extras["means"].shape
    ((400, 2), (6, 2))
    """
    rng = check_random_state(random_state)
    k, d = n_components, n_features
    weights = np.zeros(k)
    while weights.min() <= 1 / (4 * k):
        weights = rng.uniform(size=k)
        weights /= weights.sum()
    deviations = rng.uniform(1, np.sqrt(max_eccentricity), size=(k, d)) / 10
    axes = np.linalg.qr(rng.standard_normal((k, d, d)))[0]
    means = _separated_means(np.sum(deviations**2, axis=1), d, separation, rng)

    target = rng.choice(k, size=n_samples, p=weights)
    along = deviations[target] * rng.standard_normal((n_samples, d))
    data = means[target] + np.einsum("nij,nj->ni", axes[target], along)
    covariances = np.einsum("kij,kj,klj->kil", axes, deviations**2, axes)
    return Dataset(
        data=data,
        target=target,
        feature_names=tuple(f"feature {j + 1}" for j in range(d)),
        target_names=tuple(f"component {s + 1}" for s in range(k)),
        description=f"Random mixture of {k} Gaussians, {separation:g}-separated "
        "(Verbeek 2004, section 3.2.4)",
        extras={
            "weights": weights,
            "means": means,
            "covariances": covariances,
            "log_density": _log_density(data, weights, means, covariances),
        },
    )


def _separated_means(
    traces: FloatArray, d: int, separation: float, rng: np.random.RandomState
) -> FloatArray:
    """Gaussian means, on a scale that grows until they are far enough apart."""
    k = len(traces)
    least = separation**2 * np.maximum(traces[:, None], traces)
    step = 0
    while True:
        step += 1
        means: FloatArray = rng.standard_normal((k, d)) * np.sqrt(k * separation) * step / 10
        squares = np.sum((means[:, None] - means) ** 2, axis=2)
        if np.all((squares >= least)[~np.eye(k, dtype=bool)]):
            return means


def _log_density(
    data: FloatArray, weights: FloatArray, means: FloatArray, covariances: FloatArray
) -> FloatArray:
    joint = [
        np.log(weight) + multivariate_normal(mean, covariance).logpdf(data)
        for weight, mean, covariance in zip(weights, means, covariances, strict=True)
    ]
    density: FloatArray = logsumexp(joint, axis=0)
    return density
