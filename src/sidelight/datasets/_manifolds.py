"""Points on curved surfaces whose coordinates are known, one view or two, and shifted windows.

The samples of the survey of embeddings (Law 2006, sections 2.10 and 3.3) and of the coordinated
local models (Verbeek 2004, chapters 4 and 5). Sizes that the sources do not give are those of our
specification and say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray
from sidelight.datasets._manifold_sample import ManifoldSample
from sidelight.exceptions import SidelightError

Random = np.random.RandomState


def flat_geodesic(first: FloatArray, second: FloatArray) -> FloatArray:
    """Distances on a manifold that unrolls into its coordinates without stretching."""
    return cdist(first, second)


def sphere_geodesic(first: FloatArray, second: FloatArray) -> FloatArray:
    """Angles between points of the unit sphere, given by arc length and direction from a pole.

    The angle is computed from the chord: ``arccos(x·y)`` loses half of the digits of small angles.
    """
    chords = cdist(_on_sphere(first), _on_sphere(second))
    return 2 * np.arcsin(np.minimum(chords / 2, 1.0))


def _on_sphere(coordinates: FloatArray) -> FloatArray:
    """Points of the unit sphere at these arc lengths and directions from the pole."""
    angle = np.linalg.norm(coordinates, axis=1, keepdims=True)
    return np.hstack([coordinates * np.sinc(angle / np.pi), np.cos(angle)])


def make_swiss_roll(
    n_samples: int = 2000, *, height: float = 21.0, noise: float = 0.0, random_state: Any = None
) -> ManifoldSample:
    """Return a sheet rolled up in three dimensions (Law 2006, sections 2.10 and 3.3).

    Points ``(t cos t, h, t sin t)`` with ``t = 1.5π(1 + 2u)``, ``u`` and ``h / height`` uniform in
    [0, 1], as in :func:`sklearn.datasets.make_swiss_roll`.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    height : float, default=21.0
        Width of the sheet along the axis of the roll.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: arc length along the spiral and position along the axis, so that distances
        between them are the geodesics.

    Examples
    --------
    >>> from sidelight.datasets import make_swiss_roll
    >>> roll = make_swiss_roll(300, random_state=0)
    >>> roll
    ManifoldSample(300 rows, 3 features, 2 coordinates: Swiss roll (Law 2006, section 2.10))
    >>> roll.geodesics([0]).shape
    (1, 300)
    """
    rng = check_random_state(random_state)
    turn = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n_samples))
    across = height * rng.uniform(size=n_samples)
    data = np.column_stack([turn * np.cos(turn), across, turn * np.sin(turn)])
    along = 0.5 * (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn))
    return ManifoldSample(
        data=_noisy(data, noise, rng),
        coordinates=np.column_stack([along, across]),
        feature_names=("x", "y", "z"),
        coordinate_names=("along", "across"),
        description="Swiss roll (Law 2006, section 2.10)",
        geodesic=flat_geodesic,
    )


def make_s_surface(
    n_samples: int = 1200, *, height: float = 5.0, noise: float = 0.0, random_state: Any = None
) -> ManifoldSample:
    """Return a sheet bent into an S, in three dimensions (Verbeek 2004, section 5.2.5).

    The generator of the paper on locally linear embedding: ``a = π(1.5u - 1)`` and
    ``h = height·v`` with uniform ``u``, ``v``; points ``(cos a, h, sin a)`` or
    ``(-cos a, h, 2 - sin a)``, with probability ½ each.

    Parameters
    ----------
    n_samples : int, default=1200
        Number of rows.
    height : float, default=5.0
        Width of the sheet.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: arc length along the S, from its middle, and position across, so that
        distances between them are the geodesics.

    Examples
    --------
    >>> from sidelight.datasets import make_s_surface
    >>> make_s_surface(random_state=0).data.shape
    (1200, 3)
    """
    rng = check_random_state(random_state)
    along, across = _s_coordinates(n_samples, height, rng)
    return ManifoldSample(
        data=_noisy(_on_s(along, across), noise, rng),
        coordinates=np.column_stack([along, across]),
        feature_names=("x", "y", "z"),
        coordinate_names=("along", "across"),
        description="S surface (Verbeek 2004, section 5.2.5)",
        geodesic=flat_geodesic,
    )


def _s_coordinates(n_samples: int, height: float, rng: Random) -> tuple[FloatArray, FloatArray]:
    """Arc length from the middle of the S, and position across."""
    angle = np.pi * (1.5 * rng.uniform(size=n_samples) - 1)
    across = height * rng.uniform(size=n_samples)
    upper = rng.uniform(size=n_samples) < 0.5
    return np.where(upper, 0.5 * np.pi - angle, angle - 0.5 * np.pi), across


def _on_s(along: FloatArray, across: FloatArray) -> FloatArray:
    """Points of the S surface; both of its arcs reach the middle at the angle π/2."""
    angle = 0.5 * np.pi - np.abs(along)
    upper = along > 0
    return np.column_stack(
        [
            np.where(upper, -np.cos(angle), np.cos(angle)),
            across,
            np.where(upper, 2 - np.sin(angle), np.sin(angle)),
        ]
    )


def make_hemisphere(
    n_samples: int = 1000,
    *,
    dimension: int = 2,
    ambient: int = 10,
    noise: float = 0.0,
    random_state: Any = None,
) -> ManifoldSample:
    """Return uniform points of a unit hemisphere in many dimensions (Law 2006, section 3.3.3).

    The hemisphere of the given dimension (2: half of an ordinary sphere) lies in a random subspace
    of the ambient space; the geodesic between ``x`` and ``y`` is ``arccos(x·y)``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    dimension : int, default=2
        Dimension of the hemisphere; 3 is the other reading of the source.
    ambient : int, default=10
        Number of columns, at least ``dimension + 1``.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: angle from the pole times the direction from it.

    Examples
    --------
    >>> from sidelight.datasets import make_hemisphere
    >>> cap = make_hemisphere(200, random_state=0)
    >>> bool(cap.geodesics().max() <= 3.1416)
    True
    """
    if ambient <= dimension:
        raise SidelightError(
            f"A hemisphere of dimension {dimension} needs at least {dimension + 1} columns; "
            f"ambient is {ambient}."
        )
    rng = check_random_state(random_state)
    points = rng.standard_normal((n_samples, dimension + 1))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[:, -1] = np.abs(points[:, -1])
    from_axis = np.linalg.norm(points[:, :-1], axis=1)
    angle = np.arctan2(from_axis, points[:, -1])
    stretch = np.divide(angle, from_axis, out=np.ones(n_samples), where=from_axis > 0)
    return ManifoldSample(
        data=_noisy(points @ _random_frame(dimension + 1, ambient, rng), noise, rng),
        coordinates=points[:, :-1] * stretch[:, None],
        feature_names=_numbered("x", ambient),
        coordinate_names=_numbered("angle", dimension),
        description=f"Hemisphere of dimension {dimension} (Law 2006, section 3.3.3)",
        geodesic=sphere_geodesic,
    )


def make_strip(
    n_samples: int = 1000,
    *,
    length: float = 4.0,
    width: float = 1.0,
    ambient: int = 3,
    noise: float = 0.0,
    random_state: Any = None,
) -> ManifoldSample:
    """Return uniform points of a flat rectangle, turned at random in space.

    Every sound embedding recovers it; without noise classical scaling does so exactly.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    length, width : float, default=4.0, 1.0
        Sides of the rectangle.
    ambient : int, default=3
        Number of columns, at least 2.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: positions along and across the strip; distances between them are the
        geodesics.

    Examples
    --------
    >>> from sidelight.datasets import make_strip
    >>> make_strip(100, random_state=0).n_features
    3
    """
    if ambient < 2:
        raise SidelightError(f"A strip needs at least 2 columns; ambient is {ambient}.")
    rng = check_random_state(random_state)
    coordinates = rng.uniform(size=(n_samples, 2)) * [length, width]
    return ManifoldSample(
        data=_noisy(coordinates @ _random_frame(2, ambient, rng), noise, rng),
        coordinates=coordinates,
        feature_names=_numbered("x", ambient),
        coordinate_names=("along", "across"),
        description="Flat strip",
        geodesic=flat_geodesic,
    )


def _noisy(data: FloatArray, noise: float, rng: Random) -> FloatArray:
    """Data with Gaussian noise of one standard deviation on every column."""
    return data if noise == 0 else data + noise * rng.standard_normal(data.shape)


def _random_frame(n_rows: int, n_columns: int, rng: Random) -> FloatArray:
    """Orthonormal rows in a random direction."""
    return np.asarray(np.linalg.qr(rng.standard_normal((n_columns, n_rows)))[0].T)


def _numbered(name: str, number: int) -> tuple[str, ...]:
    return tuple(f"{name}{position}" for position in range(number))
