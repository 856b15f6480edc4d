"""Rows with several clusterings: independent labels, and features that show them as asked for."""

import numpy as np
import pytest
from experiments.recipes.clusterings import make_several_clusterings, make_two_clusterings

from sidelight.evaluation import mutual_information
from sidelight.exceptions import SidelightError


@pytest.mark.parametrize("alpha", [0.0, 0.25, 1.0])
def test_counts_have_the_means_of_their_clusters(alpha: float) -> None:
    data = make_two_clusterings(
        40_000, n_clusters=3, orthogonality=alpha, n_draws=20, random_state=0
    )
    first, second = data.extras["known"], data.target
    np.testing.assert_array_equal(data.data[:, 0] + data.data[:, 1], 20)
    np.testing.assert_array_equal(data.data[:, 2] + data.data[:, 3], 20)
    for p in range(3):
        for q in range(3):
            rows = data.data[(first == p) & (second == q)]
            assert len(rows) / 40_000 == pytest.approx(1 / 9, abs=0.01)
            chance = alpha * (q + 1) / 4 + (1 - alpha) * (p + 1) / 4
            np.testing.assert_allclose(
                rows.mean(axis=0)[[0, 2]], [20 * (p + 1) / 4, 20 * chance], atol=0.15
            )


def test_orthogonality_is_a_share() -> None:
    with pytest.raises(SidelightError, match=r"between 0 and 1, got 1\.5"):
        make_two_clusterings(orthogonality=1.5)


def test_several_clusterings_are_independent_and_have_their_own_features() -> None:
    data = make_several_clusterings(20_000, n_features=(5, 3), noise=0.1, random_state=1)
    labels = data.extras["clusterings"]
    assert labels.shape == (20_000, 2)
    np.testing.assert_array_equal(data.target, labels[:, 1])
    assert mutual_information(labels[:, 0], labels[:, 1]) < 1e-3
    for number, columns in ((0, slice(0, 5)), (1, slice(5, 8))):
        for k in range(3):
            shares = data.data[labels[:, number] == k, columns].mean(axis=0)
            np.testing.assert_allclose(np.abs(shares - 0.5), 0.4, atol=0.02)


def test_patterns_of_a_clustering_differ() -> None:
    for seed in range(10):
        data = make_several_clusterings(300, n_features=(4,), noise=0.0, random_state=seed)
        assert len(np.unique(data.data, axis=0)) == 3
