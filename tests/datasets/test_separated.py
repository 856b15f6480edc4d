"""Random mixtures of Gaussians: separation, shapes and weights as asked for."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from sidelight.datasets import make_separated_gaussians


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("k", "d", "c"), [(1, 2, 1.0), (4, 2, 4.0), (8, 5, 1.0), (10, 1, 0.5)])
def test_bounds_hold(k: int, d: int, c: float, seed: int) -> None:
    truth = make_separated_gaussians(
        50, n_components=k, n_features=d, separation=c, max_eccentricity=9.0, random_state=seed
    ).extras
    variances = np.linalg.eigvalsh(truth["covariances"])
    assert np.all(variances[:, -1] <= 9.0 * variances[:, 0])
    assert truth["weights"].min() > 1 / (4 * k)
    assert truth["weights"].sum() == pytest.approx(1.0)
    traces = variances.sum(axis=1)
    for i in range(k):
        for j in range(i):
            square = np.sum((truth["means"][i] - truth["means"][j]) ** 2)
            assert square >= c**2 * max(traces[i], traces[j]) * (1 - 1e-12)


def test_moments_and_density() -> None:
    data = make_separated_gaussians(200_000, n_components=2, separation=3.0, random_state=0)
    truth = data.extras
    for s in range(2):
        rows = data.data[data.target == s]
        assert len(rows) / 200_000 == pytest.approx(truth["weights"][s], abs=0.01)
        np.testing.assert_allclose(rows.mean(axis=0), truth["means"][s], atol=0.01)
        np.testing.assert_allclose(np.cov(rows.T), truth["covariances"][s], atol=0.01)
    model = GaussianMixture(2)
    model.weights_, model.means_ = truth["weights"], truth["means"]
    model.precisions_cholesky_ = np.array(
        [np.linalg.inv(np.linalg.cholesky(c)).T for c in truth["covariances"]]
    )
    few = data.data[:100]
    np.testing.assert_allclose(truth["log_density"][:100], model.score_samples(few))
