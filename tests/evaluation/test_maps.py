"""Measures of maps: definitions by brute force, other libraries, invariances and bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist
from sklearn.linear_model import LinearRegression
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

from sidelight.datasets import make_swiss_roll
from sidelight.evaluation import (
    continuity,
    embedding_error,
    linear_recovery,
    lost_and_found_neighbors,
    map_scores,
    neighborhood_preservation,
    procrustes_align,
    procrustes_distance,
    residual_variance,
    sammon_stress,
    trustworthiness,
)
from sidelight.evaluation.maps import _pair
from sidelight.exceptions import EmbeddingWarning, SidelightError


def draw(seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + 0.3 * rng.normal(size=(n, 2))


def turned(Z, seed=0):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(Z.shape[1], Z.shape[1])))[0]
    return Z @ q + 3.0


def neighbors(points, k):
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :k]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(8, 60), st.integers(1, 9), st.integers(1, 3))
def test_trustworthiness_is_scikit_learns_and_continuity_is_it_with_roles_exchanged(seed, n, d, k):
    X, Z = draw(seed, n, max(d, 2))
    assert abs(trustworthiness(X, Z, k) - sklearn_trustworthiness(X, Z, n_neighbors=k)) < 1e-12
    assert abs(continuity(X, Z, k) - sklearn_trustworthiness(Z, X, n_neighbors=k)) < 1e-12


def test_blocks_change_nothing(monkeypatch):
    X, Z = draw(0, 101)
    whole = map_scores(X, Z, 6, truth=X[:, :2])
    monkeypatch.setattr(_pair, "BLOCK_NUMBERS", 900)
    in_blocks = map_scores(X, Z, 6, truth=X[:, :2])
    assert whole.keys() == in_blocks.keys()
    for name in whole:
        assert whole[name] == pytest.approx(in_blocks[name], abs=1e-13)


def test_precomputed_distances_give_the_same_as_rows():
    X, Z = draw(1)
    D = cdist(X, X)
    for measure in (trustworthiness, continuity, neighborhood_preservation):
        assert measure(D, Z, 4, metric="precomputed") == measure(X, Z, 4)
    assert sammon_stress(D, Z, metric="precomputed") == pytest.approx(sammon_stress(X, Z))
    changes = lost_and_found_neighbors(D, Z, 4, metric="precomputed")
    np.testing.assert_array_equal(changes.lost, lost_and_found_neighbors(X, Z, 4).lost)


def test_sparse_rows_and_data_frames_are_rows():
    X, Z = draw(17)
    X[X < 0.5] = 0
    wanted = map_scores(X, Z, truth=Z)
    assert map_scores(sparse.csr_array(X), Z, truth=Z) == wanted
    assert map_scores(pd.DataFrame(X), pd.DataFrame(Z), truth=pd.DataFrame(Z)) == wanted


def test_rank_measures_by_their_definition():
    X, Z = draw(2, 25)
    k, n = 3, 25
    rank = np.argsort(np.argsort(cdist(X, X), axis=1), axis=1)  # 0 for the row itself
    excess = sum(max(0, rank[i, j] - k) for i in range(n) for j in neighbors(Z, k)[i])
    assert trustworthiness(X, Z, k) == pytest.approx(1 - 2 * excess / (n * k * (2 * n - 3 * k - 1)))


def test_a_map_that_turns_everything_around_deserves_no_trust():
    """Neighbors on the map are the farthest in the data."""
    n, k = 8, 3
    D = np.ones((n, n)) - np.eye(n)
    Z = np.arange(n, dtype=float)[:, None]
    near = neighbors(Z, k)
    for i in range(n):
        for place, j in enumerate(near[i]):
            D[i, j] = D[j, i] = 2.0 + 0.1 * place
    # Symmetric distances cannot make all lists worst at once, but every list here is bad.
    assert trustworthiness(D, Z, k, metric="precomputed") < 0.3
    assert trustworthiness(D, Z, k, metric="precomputed") >= 0


def test_equal_distances_share_the_best_rank():
    corners = np.vstack([np.eye(6), -np.eye(6)])
    assert trustworthiness(np.eye(12), corners, 3) == 1.0
    assert trustworthiness(np.zeros((12, 2)), corners, 3) == 1.0


def test_preservation_and_changes_count_the_same_neighbors():
    X, Z = draw(3)
    k = 5
    near, mapped = neighbors(X, k), neighbors(Z, k)
    changes = lost_and_found_neighbors(X, Z, k)
    lost = [(i, j) for i in range(40) for j in sorted(set(near[i]) - set(mapped[i]))]
    found = [(i, j) for i in range(40) for j in sorted(set(mapped[i]) - set(near[i]))]
    assert [tuple(pair) for pair in changes.lost] == lost
    assert [tuple(pair) for pair in changes.found] == found
    np.testing.assert_array_equal(changes.n_lost, np.bincount(changes.lost[:, 0], minlength=40))
    assert neighborhood_preservation(X, Z, k) == pytest.approx(1 - len(lost) / (40 * k))
    assert neighborhood_preservation(X, X, k) == 1.0


@pytest.mark.parametrize("measure", [trustworthiness, continuity, neighborhood_preservation])
def test_neighborhoods_do_not_see_turns_and_scale(measure):
    X, Z = draw(4)
    assert measure(X, 0.01 * turned(Z), 4) == pytest.approx(measure(X, Z, 4), abs=1e-12)


def test_residual_variance_is_one_minus_the_squared_correlation_over_pairs():
    X, Z = draw(5)
    wanted = 1 - np.corrcoef(pdist(X), pdist(Z))[0, 1] ** 2
    assert residual_variance(cdist(X, X), Z) == pytest.approx(wanted, abs=1e-12)
    far = cdist(X, X) + 1e6 * (1 - np.eye(40))  # a constant takes nothing away, digits neither
    assert residual_variance(far, Z) == pytest.approx(wanted, abs=1e-6)


def test_residual_variance_of_true_coordinates_is_zero():
    roll = make_swiss_roll(150, random_state=0)
    assert residual_variance(roll.geodesics(), 7 * turned(roll.coordinates)) < 1e-12
    assert residual_variance(roll.geodesics(), np.zeros((150, 2))) == 1.0


def test_sammon_stress_by_its_sum_and_its_invariances():
    X, Z = draw(6)
    wanted, placed = pdist(X), pdist(Z)
    assert sammon_stress(X, Z) == pytest.approx(
        np.sum((placed - wanted) ** 2 / wanted) / wanted.sum()
    )
    assert sammon_stress(X, turned(Z)) == pytest.approx(sammon_stress(X, Z))
    assert sammon_stress(5 * X, 5 * Z) == pytest.approx(sammon_stress(X, Z))
    assert sammon_stress(X, turned(X)) < 1e-20


def test_equal_rows_are_left_out_of_the_stress_and_counted():
    X, Z = draw(7)
    doubled, places = np.vstack([X, X[:3]]), np.vstack([Z, Z[:3] + 0.5])
    with pytest.warns(EmbeddingWarning, match="3 pairs of equal rows"):
        stress = sammon_stress(doubled, places)
    wanted, placed = pdist(doubled), pdist(places)
    apart = wanted > 0
    by_hand = np.sum((placed[apart] - wanted[apart]) ** 2 / wanted[apart]) / wanted.sum()
    assert stress == pytest.approx(by_hand)


def test_procrustes_is_scipys_with_scaling_and_symmetric():
    X, _ = draw(8)
    A, B = X[:, :3], X[:, 2:]
    assert procrustes_distance(A, B) == pytest.approx(procrustes(A, B)[2])
    assert procrustes_distance(A, B) == pytest.approx(procrustes_distance(B, A))


def test_alignment_undoes_what_it_may():
    _, Z = draw(9)
    mirrored = turned(Z * [1, -1])
    np.testing.assert_allclose(procrustes_align(Z, mirrored, scaling=False), Z, atol=1e-12)
    np.testing.assert_allclose(procrustes_align(Z, 7 * mirrored), Z, atol=1e-12)
    assert procrustes_distance(Z, 2 * mirrored, scaling=False) == pytest.approx(1.0)


def test_no_turn_nearby_is_better_than_the_alignment():
    A, B = draw(10, 20, 2)
    moved = procrustes_align(A, B)
    best = np.sum((A - moved) ** 2)
    for angle in (-0.05, 0.05):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        center = moved.mean(axis=0)
        for scale in (0.97, 1.0, 1.03):
            assert np.sum((A - center - scale * (moved - center) @ turn) ** 2) > best


def test_maps_of_different_width_are_padded():
    _, Z = draw(11)
    assert procrustes_distance(Z, np.hstack([Z, np.zeros((40, 1))])) < 1e-12
    assert procrustes_align(Z, Z[:, :1]).shape == Z.shape


def test_embedding_error_by_its_formula_and_alignments():
    _, Z = draw(12)
    Z = Z - Z.mean(axis=0)
    other = Z + 0.01 * np.random.default_rng(0).normal(size=Z.shape)
    plain = np.sqrt(np.sum((Z - other) ** 2) / np.sum(Z**2))
    assert embedding_error(Z, other, align="none") == pytest.approx(plain)
    assert embedding_error(Z, other * [1, -1], align="signs") <= plain
    assert embedding_error(Z, turned(Z)) < 1e-12
    assert embedding_error(Z, turned(Z), align="signs") > 0.01
    assert embedding_error(Z, turned(other)) <= embedding_error(Z, other, align="signs") + 1e-12


def test_linear_recovery_is_the_r2_of_a_regression():
    X, Z = draw(13)
    wanted = LinearRegression().fit(Z, X).score(Z, X)
    assert linear_recovery(X, Z) == pytest.approx(wanted)
    assert linear_recovery(Z, Z @ [[1.0, 2.0], [3.0, 4.0]] + 1) == pytest.approx(1.0)


def test_all_scores_at_once_are_the_single_ones():
    X, Z = draw(14)
    scores = map_scores(X, Z, 4, truth=X[:, :2])
    assert scores == pytest.approx(
        {
            "trustworthiness": trustworthiness(X, Z, 4),
            "continuity": continuity(X, Z, 4),
            "neighborhood_preservation": neighborhood_preservation(X, Z, 4),
            "residual_variance": residual_variance(cdist(X, X), Z),
            "sammon_stress": sammon_stress(X, Z),
            "linear_recovery": linear_recovery(X[:, :2], Z),
            "procrustes_distance": procrustes_distance(X[:, :2], Z),
        }
    )
    with_geodesics = map_scores(X, Z, 4, geodesics=cdist(Z, Z))
    assert with_geodesics["residual_variance"] < 1e-12
    assert np.isnan(map_scores(np.zeros((20, 2)), Z[:20])["sammon_stress"])


def test_rows_without_a_place_are_left_out_and_told():
    X, Z = draw(15)
    Z[[3, 17]] = np.nan
    keep = np.delete(np.arange(40), [3, 17])
    D = cdist(X, X)
    for measured, alone in (
        (lambda: trustworthiness(X, Z), trustworthiness(X[keep], Z[keep])),
        (lambda: residual_variance(D, Z), residual_variance(D[np.ix_(keep, keep)], Z[keep])),
        (lambda: linear_recovery(X, Z), linear_recovery(X[keep], Z[keep])),
        (lambda: procrustes_distance(X, Z), procrustes_distance(X[keep], Z[keep])),
        (lambda: map_scores(X, Z, truth=X)["continuity"], continuity(X[keep], Z[keep])),
    ):
        with pytest.warns(EmbeddingWarning, match=r"2 rows of 40 .*row 3"):
            assert measured() == pytest.approx(alone)
    with pytest.warns(EmbeddingWarning):
        changes = lost_and_found_neighbors(X, Z)
    assert np.isnan(changes.n_lost[[3, 17]]).all()
    assert not np.isin(changes.lost, [3, 17]).any()
    np.testing.assert_array_equal(
        changes.lost, keep[lost_and_found_neighbors(X[keep], Z[keep]).lost]
    )


def test_geodesics_between_rows_off_the_map_may_be_infinite():
    X, Z = draw(16)
    D = cdist(X, X)
    D[0, 1:] = D[1:, 0] = np.inf
    with pytest.raises(SidelightError, match="inf in row 0, column 1"):
        residual_variance(D, Z)
    Z[0] = np.nan
    with pytest.warns(EmbeddingWarning):
        assert np.isfinite(residual_variance(D, Z))


X0, Z0 = draw(0, 10)


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (lambda: trustworthiness(X0, Z0[:9]), "X has 10 rows but Z has 9 rows"),
        (lambda: trustworthiness(X0, Z0, 5), "k=5 neighbors are too many for 10 rows.*at most 4"),
        (lambda: neighborhood_preservation(X0, Z0, 10), "at most 9"),
        (lambda: trustworthiness(X0, Z0, 0), "whole number of at least 1"),
        (lambda: trustworthiness(X0, Z0, True), "whole number of at least 1"),
        (lambda: trustworthiness(X0, Z0, metric="cosine"), "metric is"),
        (lambda: trustworthiness(X0, Z0, metric="precomputed"), r"shape \(10, 5\)"),
        (
            lambda: trustworthiness(sparse.csr_array(cdist(X0, X0)), Z0, metric="precomputed"),
            "not stored are not 0",
        ),
        (
            lambda: trustworthiness(np.where(np.isin(X0, X0[4, 2]), np.nan, X0), Z0),
            "row 4, column 2",
        ),
        (lambda: trustworthiness([["a"]] * 10, Z0), "not numbers"),
        (lambda: trustworthiness(X0, np.full((10, 2), np.nan)), "no row with coordinates"),
        (lambda: trustworthiness(X0, np.full((10, 2), np.inf)), "infinity"),
        (lambda: trustworthiness(np.zeros((2, 2, 2)), Z0), "shape"),
        (lambda: residual_variance(cdist(X0, X0) + np.eye(10), Z0), "row 0 to itself"),
        (lambda: residual_variance(np.triu(cdist(X0, X0)), Z0), "not symmetric"),
        (lambda: residual_variance(-cdist(X0, X0), Z0), "negative distance between rows 0 and 1"),
        (lambda: residual_variance(np.zeros((10, 10)), Z0), "All distances are equal"),
        (lambda: residual_variance(np.zeros((2, 2)), Z0[:2]), "at least 3 rows"),
        (lambda: sammon_stress(np.ones((10, 2)), Z0), "All rows are equal"),
        (lambda: linear_recovery(np.ones(10), Z0), "same for all rows"),
        (lambda: procrustes_distance(np.ones((10, 2)), Z0), "in one place"),
        (lambda: embedding_error(X0, Z0, align="all"), "align is"),
        (lambda: map_scores(X0, Z0, 3, geodesics=np.zeros((9, 9))), "there are 10 rows"),
        (lambda: map_scores(X0, Z0, 3, truth=np.zeros(9)), "truth has 9 rows"),
    ],
)
def test_bad_input_is_explained(measured, said):
    with pytest.raises(SidelightError, match=said):
        measured()


def test_good_maps_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        map_scores(X0, Z0, 3, truth=X0)
