"""Points on a curved surface, two views of the same points, and shifted windows.

The samples of the survey of embeddings (Law 2006, section 2.10) and of the coordinated local models
(Verbeek 2004, chapters 4 and 5). Sizes that the sources do not give are those of our specification
and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight import Constraints
from sidelight._typing import FloatArray
from sidelight.datasets import ManifoldSample, make_s_surface

Random = np.random.RandomState


@dataclass(frozen=True, eq=False, repr=False)
class ManifoldViews:
    """Several views of the same points of a manifold: row i is the same point in every view.

    Attributes
    ----------
    views : tuple of ndarrays of shape (n, n_features)
        The rows as each view shows them; the views may differ in their number of columns.
    coordinates : ndarray of shape (n, dimension)
        True coordinates of the points.
    coordinate_names : tuple of str
        Names of the coordinates.
    description : str
        Name, source and peculiarities of the sample.
    image_shape : tuple of two ints or None
        Height and width, where each row is an image.
    """

    views: tuple[FloatArray, ...]
    coordinates: FloatArray
    coordinate_names: tuple[str, ...]
    description: str
    image_shape: tuple[int, int] | None = None

    @property
    def n_samples(self) -> int:
        """Number of points, which is the number of rows of each view."""
        return len(self.coordinates)

    def __repr__(self) -> str:
        title = self.description.split("\n", 1)[0]
        widths = " and ".join(str(view.shape[1]) for view in self.views)
        return f"ManifoldViews({self.n_samples} points, {widths} features: {title})"


def make_paraboloid(
    n_samples: int = 2000, *, noise: float = 0.0, random_state: Any = None
) -> ManifoldSample:
    """Return points ``(x, y, x² + y²)`` over the square [-1, 1]² (Law 2006, section 2.10).

    The source draws the surface without its formula; this one is the specification's. It is curved,
    so no map keeps all of its geodesics.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: x and y. The geodesics have no closed form.

    Examples
    --------
    >>> from experiments.recipes.manifolds import make_paraboloid
    >>> make_paraboloid(random_state=0).coordinates.shape
    (2000, 2)
    """
    rng = check_random_state(random_state)
    ground = rng.uniform(-1, 1, (n_samples, 2))
    return ManifoldSample(
        data=_noisy(np.column_stack([ground, np.sum(ground**2, axis=1)]), noise, rng),
        coordinates=ground,
        feature_names=("x", "y", "z"),
        coordinate_names=("x", "y"),
        description="Paraboloid (Law 2006, section 2.10)",
    )


def make_two_curves(
    n_samples: int = 1240, *, noise: float = 0.01, random_state: Any = None
) -> ManifoldViews:
    """Return two curves in the plane with one common position (Verbeek 2004, section 5.3.3).

    The source draws its curves without formulas; these are the specification's. For a position
    ``t``, uniform in [0, 1], view 1 is ``(t cos 3πt, t sin 3πt)``, view 2 is
    ``(2t - 1, ½ sin 3πt)``, both standardized.

    Parameters
    ----------
    n_samples : int, default=1240
        Number of points.
    noise : float, default=0.01
        Standard deviation of Gaussian noise on every standardized column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldViews
        ``coordinates``: the position.

    Examples
    --------
    >>> from experiments.recipes.manifolds import make_two_curves
    >>> make_two_curves(random_state=0)
    ManifoldViews(1240 points, 2 and 2 features: Two curves (Verbeek 2004, section 5.3.3))
    """
    rng = check_random_state(random_state)
    position = rng.uniform(size=n_samples)
    turn = 3 * np.pi * position
    spiral = position[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    wave = np.column_stack([2 * position - 1, 0.5 * np.sin(turn)])
    return ManifoldViews(
        views=(
            _noisy(_standardized(spiral), noise, rng),
            _noisy(_standardized(wave), noise, rng),
        ),
        coordinates=position[:, None],
        coordinate_names=("position",),
        description="Two curves (Verbeek 2004, section 5.3.3)",
    )


def make_two_surfaces(
    n_samples: int = 1240, *, noise: float = 0.01, random_state: Any = None
) -> ManifoldViews:
    """Return two surfaces in space with two common coordinates (Verbeek 2004, section 5.3.3).

    View 1 is the S surface of :func:`make_s_surface`, view 2 the half cylinder
    ``(cos u, v, sin u)`` with ``u`` from 0 to π along the S and ``v`` across it, both standardized:
    the specification's choice, since the source draws its surfaces without formulas.

    Parameters
    ----------
    n_samples : int, default=1240
        Number of points.
    noise : float, default=0.01
        Standard deviation of Gaussian noise on every standardized column.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldViews
        ``coordinates``: ``u`` in [0, π] and ``v`` in [0, 5].

    Examples
    --------
    >>> from experiments.recipes.manifolds import make_two_surfaces
    >>> [view.shape for view in make_two_surfaces(100, random_state=0).views]
    [(100, 3), (100, 3)]
    """
    rng = check_random_state(random_state)
    surface = make_s_surface(n_samples, height=5.0, random_state=rng)
    along, across = surface.coordinates.T
    # The S is 3π long, and its middle is the origin of ``along``.
    turn = (along + 1.5 * np.pi) / 3
    roll = np.column_stack([np.cos(turn), across, np.sin(turn)])
    return ManifoldViews(
        views=(
            _noisy(_standardized(surface.data), noise, rng),
            _noisy(_standardized(roll), noise, rng),
        ),
        coordinates=np.column_stack([turn, across]),
        coordinate_names=("u", "v"),
        description="Two surfaces (Verbeek 2004, section 5.3.3)",
    )


def make_episodes(
    n_episodes: int = 200,
    *,
    episode_length: int = 8,
    window: int = 64,
    frequencies: Sequence[float] = tuple(np.arange(1, 9) / 32),
    noise: float = 0.0,
    random_state: Any = None,
) -> ManifoldSample:
    """Return windows of sinusoids with their shifts, in episodes (Verbeek 2004, section 4.2.3).

    An episode is ``episode_length`` windows of one sinusoid of random frequency and phase, each
    shifted by one sample against the one before. A subspace of two dimensions that holds sine and
    cosine of a frequency holds all of its episodes; the generator is the specification's.

    Parameters
    ----------
    n_episodes : int, default=200
        Number of episodes.
    episode_length : int, default=8
        Windows of each episode.
    window : int, default=64
        Samples of a window, which are its columns.
    frequencies : sequence of floats, default=1/32 to 8/32
        Frequencies to draw from, in cycles per sample.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on every sample.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    ManifoldSample
        ``coordinates``: frequency and phase of each window; ``constraints``: the episodes as
        groups.

    Examples
    --------
    >>> from experiments.recipes.manifolds import make_episodes
    >>> waves = make_episodes(20, random_state=0)
    >>> waves.data.shape, len(set(waves.constraints.groups))
    ((160, 64), 20)
    """
    rng = check_random_state(random_state)
    episode = np.repeat(np.arange(n_episodes), episode_length)
    shift = np.tile(np.arange(episode_length), n_episodes)
    frequency = np.asarray(frequencies, dtype=np.float64)[
        rng.randint(len(frequencies), size=n_episodes)
    ][episode]
    start = rng.uniform(0, 2 * np.pi, n_episodes)[episode]
    phase = (start + 2 * np.pi * frequency * shift) % (2 * np.pi)
    data = np.sin(phase[:, None] + 2 * np.pi * frequency[:, None] * np.arange(window))
    return ManifoldSample(
        data=_noisy(data, noise, rng),
        coordinates=np.column_stack([frequency, phase]),
        feature_names=tuple(f"sample {position}" for position in range(window)),
        coordinate_names=("frequency", "phase"),
        description="Shifted windows of sinusoids (Verbeek 2004, section 4.2.3)",
        constraints=Constraints.from_groups(episode),
    )


def _noisy(data: FloatArray, noise: float, rng: Random) -> FloatArray:
    """Data with Gaussian noise of one standard deviation on every column."""
    return data if noise == 0 else data + noise * rng.standard_normal(data.shape)


def _standardized(data: FloatArray) -> FloatArray:
    return np.asarray((data - data.mean(axis=0)) / data.std(axis=0))
