"""Images of objects, faces and rooms whose few parameters are known.

Substitutes for the private image sets of the sources: the same number of parameters, the same
topology and known correspondences, from splats of points and rays in a room.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from experiments.recipes.manifolds import ManifoldViews
from sidelight._typing import Array, FloatArray
from sidelight.datasets import ManifoldSample

Random = np.random.RandomState

#: Half of the width of the field of view of the orthographic camera; objects fit the unit ball.
FIELD = 1.25

#: Length and width of the robot's room; it moves in a rectangle in the middle.
ROOM = (8.0, 6.0)

#: Pillars outside the rectangle in which the robot moves: center, radius and gray level.
PILLARS = (
    (1.0, 1.2, 0.35, 0.25),
    (6.9, 1.0, 0.3, 0.9),
    (1.2, 5.0, 0.4, 0.6),
    (6.6, 5.1, 0.35, 0.4),
)


def render_objects(
    n_longitudes: int = 100,
    n_latitudes: int = 25,
    *,
    n_points: int = 60,
    size: int = 32,
    random_state: Any = None,
) -> ManifoldViews:
    """Return images of two objects from the same directions (in the manner of Verbeek 2004, 5.3.3).

    Each object is a random cloud of points in space, drawn from back to front as Gaussian spots
    that cover those behind them. An orthographic camera looks from a grid of longitudes and
    latitudes of a hemisphere: the images lie on a cylinder, and image i of one object was taken
    from where image i of the other was.

    Parameters
    ----------
    n_longitudes, n_latitudes : int, default=100, 25
        Directions around the object, and from the equator towards the pole.
    n_points : int, default=60
        Points of each object.
    size : int, default=32
        Height and width of the images.
    random_state : int, RandomState or None, default=None
        Seed or generator of the objects; pass an int for reproducible results.

    Returns
    -------
    ManifoldViews
        ``coordinates``: longitude and latitude in degrees, all latitudes of a longitude in a row.

    Examples
    --------
    >>> from experiments.recipes.rendered import render_objects
    >>> toys = render_objects(8, 3, size=16, random_state=0)
    >>> [view.shape for view in toys.views]
    [(24, 256), (24, 256)]
    """
    rng = check_random_state(random_state)
    longitude = np.repeat(360.0 * np.arange(n_longitudes) / n_longitudes, n_latitudes)
    latitude = np.tile(90.0 * np.arange(n_latitudes) / n_latitudes, n_longitudes)
    frames = _camera_frames(np.deg2rad(longitude), np.deg2rad(latitude))
    views = []
    for _ in range(2):
        points = _cloud(n_points, rng)
        brightness = rng.uniform(0.3, 1.0, n_points)
        views.append(
            _splat(
                points @ frames,
                np.broadcast_to(brightness, (len(frames), n_points)),
                np.full(n_points, 0.13),
                size,
            )
        )
    return ManifoldViews(
        views=tuple(views),
        coordinates=np.column_stack([longitude, latitude]),
        coordinate_names=("longitude", "latitude"),
        description="Views of two objects (in the manner of Verbeek 2004, section 5.3.3)",
        image_shape=(size, size),
    )


def render_faces(
    n_samples: int = 698, *, size: int = 32, noise: float = 0.0, random_state: Any = None
) -> ManifoldSample:
    """Return images of one face under two angles of pose and one of light (cf. Verbeek, 5.2.5).

    An ellipsoid with nose, brows, eyes and mouth, drawn as shaded spots from back to front. Its
    turn is uniform in ±60°, its nod in ±20°, the direction of the light in ±60°.

    Parameters
    ----------
    n_samples : int, default=698
        Number of images.
    size : int, default=32
        Height and width of the images.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every pixel; gray levels are between 0 and 1.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: turn, nod and light, in degrees.

    Examples
    --------
    >>> from experiments.recipes.rendered import render_faces
    >>> render_faces(10, size=16, random_state=0)
    ManifoldSample(10 rows, 256 features, 3 coordinates: Rendered faces ...)
    """
    rng = check_random_state(random_state)
    angles = rng.uniform(-1, 1, (n_samples, 3)) * [60.0, 20.0, 60.0]
    turn, nod, light = np.deg2rad(angles).T
    frames = _camera_frames(turn, nod)
    points, normals, albedo = _face()
    turned = normals @ frames
    # The light moves with the camera: from the left to the right, somewhat from above.
    lamp = np.column_stack([np.sin(light), np.full(n_samples, 0.3), np.cos(light)])
    lamp /= np.linalg.norm(lamp, axis=1, keepdims=True)
    shade = np.maximum(np.einsum("npk,nk->np", turned, lamp), 0.0)
    images = _splat(points @ frames, albedo * (0.2 + 0.8 * shade), np.full(len(points), 0.1), size)
    if noise:
        images = images + noise * rng.standard_normal(images.shape)
    return ManifoldSample(
        data=images,
        coordinates=angles,
        feature_names=_pixels(size, size),
        coordinate_names=("turn", "nod", "light"),
        description="Rendered faces (in the manner of Verbeek 2004, section 5.2.5)",
        image_shape=(size, size),
    )


def render_robot_views(
    n_samples: int = 1000,
    *,
    width: int = 64,
    height: int = 16,
    noise: float = 0.0,
    random_state: Any = None,
) -> ManifoldSample:
    """Return panoramas that a robot sees from random positions in a room (our own set).

    The room of 8 by 6 meters has four textured walls and a pillar in each corner. The robot moves
    in the rectangle between the pillars and always heads the same way; each column of an image is
    a ray, on which near surfaces are tall.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of positions.
    width, height : int, default=64, 16
        Rays around the robot, and pixels along each.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every pixel; gray levels are between 0 and 1.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: position in the room, in meters.

    Examples
    --------
    >>> from experiments.recipes.rendered import render_robot_views
    >>> render_robot_views(20, random_state=0).data.shape
    (20, 1024)
    """
    rng = check_random_state(random_state)
    position = np.array([1.8, 1.8]) + rng.uniform(size=(n_samples, 2)) * [4.4, 2.4]
    bearing = 2 * np.pi * np.arange(width) / width
    distance, gray = _nearest_surface(position, bearing)
    images = _panorama(distance, gray, height)
    if noise:
        images = images + noise * rng.standard_normal(images.shape)
    return ManifoldSample(
        data=images,
        coordinates=position,
        feature_names=_pixels(height, width),
        coordinate_names=("x", "y"),
        description="Panoramas of a robot in a room",
        image_shape=(height, width),
    )


def _pixels(height: int, width: int) -> tuple[str, ...]:
    return tuple(f"pixel {row},{column}" for row in range(height) for column in range(width))


def _camera_frames(longitude: FloatArray, latitude: FloatArray) -> FloatArray:
    """Return matrices that take points to right, up and towards the camera, in their columns."""
    across, up = np.cos(longitude), np.sin(longitude)
    low, high = np.cos(latitude), np.sin(latitude)
    zero = np.zeros_like(longitude)
    right = np.stack([across, zero, -up], axis=-1)
    upward = np.stack([-up * high, low, -across * high], axis=-1)
    towards = np.stack([up * low, high, across * low], axis=-1)
    return np.stack([right, upward, towards], axis=-1)


def _cloud(n_points: int, rng: Random) -> FloatArray:
    """Points of a few random lumps, within the unit ball."""
    lumps = rng.uniform(-0.5, 0.5, (5, 3))
    points = lumps[rng.randint(len(lumps), size=n_points)]
    points = points + 0.25 * rng.standard_normal((n_points, 3))
    return np.asarray(points / max(1.0, float(np.linalg.norm(points, axis=1).max())))


def _face(n_points: int = 320) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points, outward normals and reflectances of a head that faces along the third axis."""
    rank = np.arange(n_points) + 0.5
    height = 1 - 2 * rank / n_points
    around = rank * np.pi * (1 + np.sqrt(5.0))
    ring = np.sqrt(1 - height**2)
    sphere = np.column_stack([ring * np.sin(around), height, ring * np.cos(around)])
    radii = np.array([0.72, 0.95, 0.8])
    normals = sphere / radii
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    front = sphere[:, 2] > 0
    nose = front * _bump(sphere, 0.0, -0.05, 0.14, 0.25)
    brows = front * (_bump(sphere, -0.3, 0.38, 0.2, 0.1) + _bump(sphere, 0.3, 0.38, 0.2, 0.1))
    eyes = front * (_bump(sphere, -0.3, 0.2, 0.14, 0.1) + _bump(sphere, 0.3, 0.2, 0.14, 0.1))
    mouth = front * _bump(sphere, 0.0, -0.48, 0.25, 0.1)
    points = sphere * radii * (1 + 0.3 * nose + 0.06 * brows)[:, None]
    albedo = np.clip(1 - 0.9 * eyes - 0.6 * mouth - 0.4 * brows, 0.05, 1.0)
    hair = (sphere[:, 1] > 0.62) | (sphere[:, 2] < -0.2)
    return points, normals, np.where(hair, 0.25, albedo)


def _bump(sphere: FloatArray, x: float, y: float, width: float, height: float) -> FloatArray:
    """Return a smooth bump of height 1 at a place of the face."""
    exponent = ((sphere[:, 0] - x) / width) ** 2 + ((sphere[:, 1] - y) / height) ** 2
    return np.asarray(np.exp(-0.5 * exponent))


def _splat(points: FloatArray, brightness: Array, widths: FloatArray, size: int) -> FloatArray:
    """Draw the points of every view from back to front as Gaussian spots that cover each other.

    Parameters
    ----------
    points : ndarray of shape (n_views, n_points, 3)
        Right, up and towards the camera.
    brightness : ndarray of shape (n_views, n_points)
        Gray levels.
    widths : ndarray of shape (n_points,)
        Standard deviations of the spots.
    size : int
        Height and width of the images.

    Returns
    -------
    images : ndarray of shape (n_views, size * size)
        Gray levels on a black ground.
    """
    order = np.argsort(points[:, :, 2], axis=1, kind="stable")
    pixels = FIELD * (2 * (np.arange(size) + 0.5) / size - 1)
    images = np.zeros((len(points), size, size))
    view = np.arange(len(points))
    for rank in range(points.shape[1]):
        point = order[:, rank]
        place = points[view, point]
        scale = -0.5 / widths[point, None] ** 2
        column = np.exp(scale * (pixels - place[:, :1]) ** 2)
        row = 0.95 * np.exp(scale * (-pixels - place[:, 1:2]) ** 2)
        cover = row[:, :, None] * column[:, None, :]
        # image <- (1 - cover) image + cover brightness
        images += cover * (brightness[view, point, None, None] - images)
    return images.reshape(len(points), size * size)


def _nearest_surface(position: FloatArray, bearing: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distance and gray level of the first surface on each ray, of shape (n_positions, n_rays)."""
    direction = np.stack([np.cos(bearing), np.sin(bearing)])
    hits = []
    for axis in range(2):
        for side, limit in enumerate((0.0, ROOM[axis])):
            ahead = direction[axis] > 1e-12 if side else direction[axis] < -1e-12
            step = np.where(ahead, direction[axis], 1.0)
            distance = np.where(ahead, (limit - position[:, axis, None]) / step, np.inf)
            along = (
                position[:, 1 - axis, None] + np.where(ahead, distance, 0.0) * direction[1 - axis]
            )
            wall = 2 * axis + side
            hits.append((distance, 0.55 + 0.15 * np.sin((1.0 + 0.6 * wall) * along + wall)))
    for x, y, radius, gray in PILLARS:
        offset = position - [x, y]
        half = offset @ direction
        inside = half**2 - (np.sum(offset**2, axis=1) - radius**2)[:, None]
        met = (inside >= 0) & (half < 0)
        distance = np.where(met, -half - np.sqrt(np.where(met, inside, 0.0)), np.inf)
        hits.append((distance, np.full_like(distance, gray)))
    distances = np.stack([distance for distance, _ in hits])
    first = distances.argmin(axis=0)[None]
    grays = np.stack([gray for _, gray in hits])
    return (
        np.take_along_axis(distances, first, axis=0)[0],
        np.take_along_axis(grays, first, axis=0)[0],
    )


def _panorama(distance: FloatArray, gray: FloatArray, height: int) -> FloatArray:
    """Panoramic images between ceiling and floor, in which nearer surfaces are taller."""
    level = 1 - 2 * (np.arange(height) + 0.5) / height
    tall = 1.8 / (0.6 + distance)
    # Edges are soft by about a pixel, so that images change smoothly with the position.
    surface = 1 / (1 + np.exp((np.abs(level)[:, None] - tall[:, None, :]) * 2 * height))
    ground = np.where(level > 0, 0.95, 0.1)[:, None]
    images = ground + surface * ((gray * np.exp(-distance / 12))[:, None, :] - ground)
    return images.reshape(len(distance), -1)
