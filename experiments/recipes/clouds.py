"""Small sets of points whose classes are not what the nearest center would say.

Each reproduces the illustration of one method; parameters that the source does not give are those
of our specification and say so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight.datasets import Dataset, make_four_gaussians

AXES = ("x", "y")


def make_gap_clouds(
    n_per_cloud: int = 50,
    *,
    half_width: float = 1.0,
    half_height: float = 1.5,
    scale: float = 0.35,
    random_state: Any = None,
) -> Dataset:
    """Four clouds whose horizontal gap is smaller than the vertical (book, table 5.1).

    The target is left against right. The source gives 200 points in four clouds; centers and
    spread are those of the specification's prototype.

    Parameters
    ----------
    n_per_cloud : int, default=50
        Points in each of the four clouds.
    half_width, half_height : float, default=1.0, 1.5
        The clouds are centered at (±half_width, ±half_height).
    scale : float, default=0.35
        Standard deviation of each cloud.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: left or right; ``extras["cloud"]``: the cloud of each point.

    Examples
    --------
    >>> from experiments.recipes.clouds import make_gap_clouds
    >>> make_gap_clouds(random_state=0)
    Dataset(200 rows, 2 features, 2 classes: Four clouds, the wider gap is the wrong one ...)
    """
    made = make_four_gaussians(
        n_per_cloud,
        half_width=half_width,
        half_height=half_height,
        scale=scale,
        random_state=random_state,
    )
    description = "Four clouds, the wider gap is the wrong one (Constrained Clustering, table 5.1)"
    return replace(made, description=description, constraints=None)


def make_wide_gaussians(
    n_per_component: int = 500,
    *,
    half_height: float = 1.5,
    variances: tuple[float, float] = (9.0, 0.25),
    random_state: Any = None,
) -> Dataset:
    """Two wide Gaussians above each other whose left and right halves are the classes (fig. 3.1a).

    Components N((0, ±1.5), diag(9, 0.25)). Must-links between upper left and lower left, and
    between upper right and lower right, turn the solution from horizontal to vertical.

    Parameters
    ----------
    n_per_component : int, default=500
        Points of each Gaussian.
    half_height : float, default=1.5
        The Gaussians are centered at (0, ±half_height).
    variances : tuple of two floats, default=(9.0, 0.25)
        Horizontal and vertical variance.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: left or right half; ``extras["component"]``: lower or upper Gaussian.

    Examples
    --------
    >>> from experiments.recipes.clouds import make_wide_gaussians
    >>> make_wide_gaussians(random_state=0).target_names
    ('left', 'right')
    """
    rng = check_random_state(random_state)
    component = np.repeat([0, 1], n_per_component)
    centers = np.array([[0.0, -half_height], [0.0, half_height]])
    data = centers[component] + rng.standard_normal((len(component), 2)) * np.sqrt(variances)
    return Dataset(
        data=data,
        target=(data[:, 0] > 0).astype(np.int64),
        feature_names=AXES,
        target_names=("left", "right"),
        description="Two wide Gaussians, classes are the halves "
        "(Constrained Clustering, figure 3.1a)",
        extras={"component": component},
    )


def make_crossing_gaussians(
    n_per_class: int = 500,
    *,
    variances: tuple[float, float] = (9.0, 0.1),
    random_state: Any = None,
) -> Dataset:
    """A horizontal and a vertical Gaussian that cross (book, figure 3.1b; also E4.1).

    Classes N(0, diag(9, 0.1)) and N(0, diag(0.1, 9)). Plain EM prefers sources that do not
    overlap; constraints recover the cross. E4.1 uses ``n_per_class=200``.

    Parameters
    ----------
    n_per_class : int, default=500
        Points of each Gaussian.
    variances : tuple of two floats, default=(9.0, 0.1)
        Variance along and across each Gaussian.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: horizontal or vertical.

    Examples
    --------
    >>> from experiments.recipes.clouds import make_crossing_gaussians
    >>> make_crossing_gaussians(200, random_state=0).data.shape
    (400, 2)
    """
    rng = check_random_state(random_state)
    target = np.repeat([0, 1], n_per_class)
    data = rng.standard_normal((len(target), 2)) * np.sqrt(variances)
    data[target == 1] = data[target == 1, ::-1]
    return Dataset(
        data=data,
        target=target,
        feature_names=AXES,
        target_names=("horizontal", "vertical"),
        description="Two Gaussians that cross (Constrained Clustering, figure 3.1b)",
    )


def make_elongated_gaussians(
    n_per_class: int = 200,
    *,
    n_classes: int = 2,
    gap: float = 2.0,
    variances: tuple[float, float] = (9.0, 0.1),
    angle: float = 30.0,
    random_state: Any = None,
) -> Dataset:
    """Long parallel Gaussians that round clusters cut across (in the manner of E4.1).

    The three artificial sets of the source exist only as a figure; this is our own elongated one
    (200 points per class), :func:`make_crossing_gaussians` the crossing one.

    Parameters
    ----------
    n_per_class : int, default=200
        Points of each Gaussian.
    n_classes : int, default=2
        Number of Gaussians side by side.
    gap : float, default=2.0
        Distance between the long axes of neighbors.
    variances : tuple of two floats, default=(9.0, 0.1)
        Variance along and across each Gaussian.
    angle : float, default=30.0
        Direction of the long axes, in degrees.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the Gaussian of each point.

    Examples
    --------
    >>> from experiments.recipes.clouds import make_elongated_gaussians
    >>> make_elongated_gaussians(n_classes=3, random_state=0).data.shape
    (600, 2)
    """
    rng = check_random_state(random_state)
    target = np.repeat(np.arange(n_classes), n_per_class)
    data = rng.standard_normal((len(target), 2)) * np.sqrt(variances)
    data[:, 1] += gap * (target - (n_classes - 1) / 2)
    cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    return Dataset(
        data=data @ np.array([[cosine, sine], [-sine, cosine]]),
        target=target,
        feature_names=AXES,
        target_names=tuple(f"strip {number + 1}" for number in range(n_classes)),
        description="Long parallel Gaussians (in the manner of Constrained Clustering, E4.1)",
    )
