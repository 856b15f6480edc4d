"""Manifolds: formulas of the specifications, true geodesics, views that belong together, images."""

import itertools
import pickle

import numpy as np
import pytest
from experiments.recipes.manifolds import (
    make_episodes,
    make_paraboloid,
    make_two_curves,
    make_two_surfaces,
)
from experiments.recipes.rendered import (
    PILLARS,
    ROOM,
    _camera_frames,
    _nearest_surface,
    _splat,
    render_faces,
    render_objects,
    render_robot_views,
)
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import make_swiss_roll as sklearn_swiss_roll
from sklearn.neighbors import kneighbors_graph

from sidelight.datasets import make_hemisphere, make_s_surface, make_strip, make_swiss_roll
from sidelight.exceptions import SidelightError

SAMPLES = [
    make_episodes,
    make_hemisphere,
    make_paraboloid,
    make_s_surface,
    make_strip,
    make_swiss_roll,
    render_faces,
    render_robot_views,
]
VIEWS = [make_two_curves, make_two_surfaces]
WITH_GEODESICS = [make_hemisphere, make_s_surface, make_strip, make_swiss_roll]


@pytest.mark.parametrize("generator", SAMPLES)
def test_every_sample_has_the_same_shape_of_answer(generator):
    made = generator(20, random_state=0)
    n, d = made.data.shape
    assert (made.n_samples, made.n_features) == (n, d)
    assert len(made.coordinates) == n
    assert made.coordinates.shape[1] == len(made.coordinate_names)
    assert len(made.feature_names) == d == len(set(made.feature_names))
    assert np.isfinite(made.data).all()
    assert f"{n} rows, {d} features" in repr(made)
    if made.image_shape is not None:
        assert np.prod(made.image_shape) == d
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.data, made.data)


@pytest.mark.parametrize("generator", [*SAMPLES, *VIEWS])
def test_the_seed_decides(generator):
    first, again, other = (generator(15, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.coordinates, again.coordinates)
    assert not np.array_equal(first.coordinates, other.coordinates)


@pytest.mark.parametrize("generator", SAMPLES)
def test_noise_is_added_to_the_rows_and_not_to_the_coordinates(generator):
    clean = generator(30, noise=0.0, random_state=0)
    noisy = generator(30, noise=0.1, random_state=0)
    np.testing.assert_array_equal(clean.coordinates, noisy.coordinates)
    spread = np.std(noisy.data - clean.data)
    assert 0.05 < spread < 0.15


@pytest.mark.parametrize("generator", WITH_GEODESICS)
def test_geodesics_are_the_lengths_of_paths_along_the_surface(generator):
    """Shortest paths through near rows are a little longer; straight lines are shorter."""
    made = generator(900, random_state=0)
    true = made.geodesics([0, 5, 9])
    straight = cdist(made.data[[0, 5, 9]], made.data)
    graph = kneighbors_graph(made.data, 8, mode="distance")
    along = dijkstra(graph, directed=False, indices=[0, 5, 9])
    assert np.all(straight <= true + 1e-9)
    far = true > np.median(true)
    assert 0.97 < np.median(along[far] / true[far]) < 1.15
    near = (true > 0) & (straight < 0.05 * straight.max())
    np.testing.assert_allclose(true[near], straight[near], rtol=0.1)
    np.testing.assert_allclose(made.geodesics([5])[0], made.geodesics()[5])


def test_geodesics_without_a_closed_form_are_refused():
    with pytest.raises(SidelightError, match="no closed form: Paraboloid"):
        make_paraboloid(5).geodesics()


def test_the_roll_is_scikit_learns():
    ours, theirs = (
        make_swiss_roll(3000, random_state=0),
        sklearn_swiss_roll(3000, random_state=1)[0],
    )
    np.testing.assert_allclose(ours.data.mean(axis=0), theirs.mean(axis=0), atol=0.7)
    np.testing.assert_allclose(ours.data.std(axis=0), theirs.std(axis=0), rtol=0.05)
    turn = np.hypot(ours.data[:, 0], ours.data[:, 2])
    assert 1.5 * np.pi <= turn.min()
    assert turn.max() <= 4.5 * np.pi


def test_the_s_has_the_smallest_variance_of_the_specification():
    made = make_s_surface(20000, random_state=0)
    smallest = np.linalg.eigvalsh(np.cov(made.data.T))[0]
    assert smallest == pytest.approx(0.49, abs=0.02)
    on_circles = np.minimum(
        np.abs(np.hypot(made.data[:, 0], made.data[:, 2]) - 1),
        np.abs(np.hypot(made.data[:, 0], made.data[:, 2] - 2) - 1),
    )
    assert on_circles.max() < 1e-12
    assert np.ptp(made.coordinates[:, 0]) == pytest.approx(3 * np.pi, rel=0.01)


def test_a_hemisphere_has_unit_rows_and_angles_between_them():
    for dimension in (1, 2, 3):
        made = make_hemisphere(50, dimension=dimension, ambient=6, random_state=0)
        np.testing.assert_allclose(np.linalg.norm(made.data, axis=1), 1)
        cosines = np.clip(made.data @ made.data.T, -1, 1)
        np.testing.assert_allclose(made.geodesics(), np.arccos(cosines), atol=1e-7)
        assert np.linalg.norm(made.coordinates, axis=1).max() <= np.pi / 2
        assert np.linalg.matrix_rank(made.data) == dimension + 1
    with pytest.raises(SidelightError, match="at least 3 columns"):
        make_hemisphere(ambient=2)


def test_a_strip_is_its_coordinates_turned():
    made = make_strip(40, ambient=5, random_state=0)
    np.testing.assert_allclose(pdist(made.data), pdist(made.coordinates))
    np.testing.assert_allclose(made.geodesics(), squareform(pdist(made.coordinates)))
    with pytest.raises(SidelightError, match="at least 2 columns"):
        make_strip(ambient=1)


def test_the_paraboloid_is_its_formula():
    made = make_paraboloid(30, random_state=0)
    np.testing.assert_allclose(made.data[:, 2], np.sum(made.coordinates**2, axis=1))


@pytest.mark.parametrize("generator", VIEWS)
def test_views_show_the_same_points(generator):
    made = generator(400, noise=0.0, random_state=0)
    assert made.n_samples == 400
    order = np.argsort(made.coordinates[:, 0])
    for view in made.views:
        np.testing.assert_allclose(view.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(view.std(axis=0), 1)
        if made.coordinates.shape[1] == 1:  # neighbors on the curve are neighbors in each view
            steps = np.linalg.norm(np.diff(view[order], axis=0), axis=1)
            assert steps.max() < 0.3
    assert "400 points" in repr(made)


def test_curves_and_surfaces_by_their_formulas():
    curves = make_two_curves(50, noise=0.0, random_state=0)
    t = curves.coordinates[:, 0]
    wave = np.column_stack([2 * t - 1, 0.5 * np.sin(3 * np.pi * t)])
    np.testing.assert_allclose(curves.views[1], (wave - wave.mean(0)) / wave.std(0))
    surfaces = make_two_surfaces(50, noise=0.0, random_state=0)
    u, v = surfaces.coordinates.T
    assert u.min() >= 0
    assert u.max() <= np.pi
    roll = np.column_stack([np.cos(u), v, np.sin(u)])
    np.testing.assert_allclose(surfaces.views[1], (roll - roll.mean(0)) / roll.std(0))


def test_episodes_are_shifts_of_one_wave():
    made = make_episodes(10, episode_length=4, window=16, random_state=0)
    groups = np.asarray(made.constraints.groups)
    assert made.data.shape == (40, 16)
    for group in np.unique(groups):
        windows = made.data[groups == group]
        for before, after in itertools.pairwise(windows):
            np.testing.assert_allclose(before[1:], after[:-1], atol=1e-9)
        assert len(np.unique(made.coordinates[groups == group, 0])) == 1


def test_a_quadrature_pair_holds_all_windows_of_a_frequency():
    made = make_episodes(20, frequencies=[4 / 64], random_state=0)
    angle = 2 * np.pi * 4 / 64 * np.arange(64)
    pair = np.column_stack([np.sin(angle), np.cos(angle)]) / np.sqrt(32)
    response = np.linalg.norm(made.data @ pair, axis=1)
    np.testing.assert_allclose(response, response[0], rtol=1e-9)
    np.testing.assert_allclose(made.data @ pair @ pair.T, made.data, atol=1e-9)


def test_nearer_spots_cover_farther_ones():
    points = np.array([[[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    for order in ([0, 1], [1, 0]):
        image = _splat(points[:, order], np.array([[0.2, 0.9]])[:, order], np.full(2, 0.5), 9)
        assert image.reshape(9, 9)[4, 4] == pytest.approx(0.05 * 0.95 * 0.2 + 0.95 * 0.9)


def test_spots_are_where_their_points_are():
    image = _splat(np.array([[[0.6, 0.6, 0.0]]]), np.ones((1, 1)), np.full(1, 0.1), 20)
    row, column = np.divmod(image[0].argmax(), 20)
    assert row < 10 < column  # up is the first row, right the last column


def test_cameras_are_rotations_that_look_from_where_they_are():
    frames = _camera_frames(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.5, 1.2]))
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (3, 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1)
    assert frames[2, 1, 2] == pytest.approx(np.sin(1.2))  # higher cameras see points from above


def test_objects_are_seen_from_a_cylinder_of_directions():
    toys = render_objects(24, 4, size=16, random_state=0)
    assert [view.shape for view in toys.views] == [(96, 256)] * 2
    assert toys.image_shape == (16, 16)
    images = toys.views[0].reshape(24, 4, -1)
    around = np.linalg.norm(images - np.roll(images, 1, axis=0), axis=2)
    across = np.linalg.norm(images - np.roll(images, 12, axis=0), axis=2)
    assert around[0].max() < across.min()  # the last longitude meets the first
    assert not np.allclose(*toys.views)
    assert toys.views[0].min() >= 0
    assert toys.views[0].max() <= 1


def test_images_change_smoothly_with_their_parameters():
    for made in (
        render_faces(300, size=16, random_state=0),
        render_robot_views(300, random_state=0),
    ):
        scaled = made.coordinates / made.coordinates.std(axis=0)
        apart, unlike = pdist(scaled), pdist(made.data)
        near = apart < np.quantile(apart, 0.005)
        assert np.median(unlike[near]) < 0.5 * np.median(unlike)


def test_a_ray_ends_at_the_first_surface():
    """March along rays in small steps, and compare where they first meet something."""
    rng = np.random.default_rng(0)
    position = np.array([[3.0, 2.5], [4.4, 3.9]])
    bearing = np.concatenate([[0.0, np.pi / 2], rng.uniform(0, 2 * np.pi, 40)])
    distance, _ = _nearest_surface(position, bearing)
    steps = np.arange(0, 12, 1e-3)
    for place, found in zip(position, distance, strict=True):
        points = place + steps[:, None, None] * np.column_stack([np.cos(bearing), np.sin(bearing)])
        hit = ((points < 0) | (points > ROOM)).any(axis=2)
        for x, y, radius, _ in PILLARS:
            hit |= np.hypot(points[..., 0] - x, points[..., 1] - y) < radius
        np.testing.assert_allclose(steps[hit.argmax(axis=0)], found, atol=2e-2)
