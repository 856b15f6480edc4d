"""Small sets of points whose classes are not those of the nearest class mean.

Each reproduces the illustration of one method; parameters that the source does not give are those
of our specification and say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import Constraints
from sidelight.datasets._dataset import Dataset

Random = np.random.RandomState

SIDES = ("left", "right")
AXES = ("x", "y")


def _four_corner_clouds(
    n_per_cloud: int, half_width: float, half_height: float, scale: float, rng: Random
) -> tuple[FloatArray, IntArray]:
    """Round clouds at (±half_width, ±half_height): upper left, lower left, upper, lower right."""
    cloud = np.repeat(np.arange(4), n_per_cloud)
    corners = np.array([[-1, 1], [-1, -1], [1, 1], [1, -1]]) * [half_width, half_height]
    return corners[cloud] + scale * rng.standard_normal((len(cloud), 2)), cloud


def _left_against_right(
    data: FloatArray, cloud: IntArray, description: str, known: Constraints | None = None
) -> Dataset:
    """Make a data set of four corner clouds whose classes are left and right."""
    return Dataset(
        data=data,
        target=cloud // 2,
        feature_names=AXES,
        target_names=SIDES,
        description=description,
        constraints=known,
        extras={"cloud": cloud},
    )


def make_four_gaussians(
    n_per_cloud: int = 100,
    *,
    half_width: float = 2.0,
    half_height: float = 8.0,
    scale: float = 1.0,
    random_state: Any = None,
) -> Dataset:
    """Four Gaussians and two must-links that ask for left against right (Law, 5.6.1).

    Clouds N(c, I) at c = (±2, ±8): two clusters by eye are top and bottom. Each of the two
    must-links joins a point of an upper cloud with one of the cloud below it. The four points
    are drawn from those on the right side of x = 0, as the specification advises: otherwise the
    wanted partition itself violates a link.

    Parameters
    ----------
    n_per_cloud : int, default=100
        Points in each of the four clouds.
    half_width, half_height : float, default=2.0, 8.0
        The clouds are centered at (±half_width, ±half_height).
    scale : float, default=1.0
        Standard deviation of each cloud.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: left or right; ``constraints``: the two must-links; ``extras["cloud"]``: the
        cloud of each point (upper left, lower left, upper right, lower right).

    Examples
    --------
    >>> from sidelight.datasets import make_four_gaussians
    >>> make_four_gaussians(random_state=0).constraints.must_link.shape
    (2, 2)
    """
    rng = check_random_state(random_state)
    data, cloud = _four_corner_clouds(n_per_cloud, half_width, half_height, scale, rng)
    true_side = (data[:, 0] > 0) == (cloud >= 2)
    links = [
        [rng.choice(np.flatnonzero((cloud == c) & true_side)) for c in (upper, upper + 1)]
        for upper in (0, 2)
    ]
    return _left_against_right(
        data,
        cloud,
        "Four Gaussians, two must-links (Law 2006, section 5.6.1)\n"
        "Top and bottom are the obvious clusters, left and right the wanted ones.",
        Constraints(must_link=links, n_samples=len(data)),
    )


def make_corner_gaussians(
    n_per_cloud: int = 50, *, scale: float = 0.4, random_state: Any = None
) -> Dataset:
    """Four spherical Gaussians at (±1, ±1) in two classes, left and right (book, figure 4.1).

    By symmetry top/bottom and left/right are equally good two-cluster models: only pairs can say
    which is meant. Number and spread are those of the specification's prototype.

    Parameters
    ----------
    n_per_cloud : int, default=50
        Points in each of the four clouds.
    scale : float, default=0.4
        Standard deviation of each cloud.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: left or right; ``extras["cloud"]``: the cloud of each point.

    Examples
    --------
    >>> from sidelight.datasets import make_corner_gaussians
    >>> make_corner_gaussians(random_state=0).data.shape
    (200, 2)
    """
    rng = check_random_state(random_state)
    data, cloud = _four_corner_clouds(n_per_cloud, 1.0, 1.0, scale, rng)
    return _left_against_right(
        data,
        cloud,
        "Four spherical Gaussians at the corners of a square "
        "(Constrained Clustering, figures 4.1 and 4.2)",
    )


def make_rings(
    n_per_ring: int = 100,
    *,
    radii: tuple[float, ...] = (0.3, 0.6),
    noise: float = 0.03,
    near_distance: float | None = 0.2,
    random_state: Any = None,
) -> Dataset:
    """Concentric rings (Law, figure 5.15; with other radii, Mallapragada, figure 3.4).

    Angles are uniform, radii Gaussian around those given.

    Parameters
    ----------
    n_per_ring : int, default=100
        Points of each ring.
    radii : tuple of floats, default=(0.3, 0.6)
        Radius of each ring.
    noise : float, default=0.03
        Standard deviation of the radius.
    near_distance : float or None, default=0.2
        Rescale the points so that the 20th percentile of the distances between them is this, the
        width of the kernel in the source; None leaves the radii as they are. Above 1,000 points
        the percentile is taken over a regular subset of about 1,000.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the ring of each point, from the inside out.

    Examples
    --------
    >>> from sidelight.datasets import make_rings
    >>> make_rings(radii=(1, 2), noise=0.15, near_distance=None, random_state=0).data.shape
    (200, 2)
    """
    rng = check_random_state(random_state)
    target = np.repeat(np.arange(len(radii)), n_per_ring)
    angle = rng.uniform(0, 2 * np.pi, len(target))
    radius = np.asarray(radii, dtype=np.float64)[target] + noise * rng.standard_normal(len(target))
    data = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    if near_distance is not None:
        subset = data[:: max(1, len(data) // 1000)]
        data *= near_distance / np.percentile(pdist(subset), 20)
    return Dataset(
        data=data,
        target=target,
        feature_names=AXES,
        target_names=tuple(f"ring {number + 1}" for number in range(len(radii))),
        description="Concentric rings (Law 2006, figure 5.15)",
    )
