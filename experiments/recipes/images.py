"""Pictures made of textures, cut into sites on a grid with features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.datasets import Dataset

ORIENTATIONS = (0.0, 45.0, 90.0, 135.0)
GABOR_WAVELENGTHS = (2.0, 4.0, 8.0)
N_GREY_BINS = 12

# (top, left, bottom, right) in shares of the side, painted in this order, and the segment.
MONDRIAN_LAYOUT = (
    ((0.0, 0.0, 1.0, 1.0), 0),
    ((0.0, 0.0, 0.55, 0.4), 1),
    ((0.0, 0.4, 0.35, 1.0), 2),
    ((0.55, 0.0, 1.0, 0.65), 3),
    ((0.6, 0.65, 1.0, 1.0), 4),
)
MONDRIAN_NAMES = ("dark gray", "horizontal", "oblique", "vertical", "light gray")


def stripes(shape: tuple[int, int], wavelength: float, angle: float, phase: float) -> FloatArray:
    """A sinusoid between -1 and 1 whose wave runs in the direction ``angle`` (degrees)."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    along = x * np.cos(np.deg2rad(angle)) + y * np.sin(np.deg2rad(angle))
    return np.sin(2 * np.pi * along / wavelength + phase)


def lattice_neighbors(height: int, width: int) -> IntArray:
    """Pairs of neighboring sites (right and below) of a grid numbered row by row."""
    site = np.arange(height * width).reshape(height, width)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    return np.concatenate([across, down])


def make_texture_mosaic(
    n_blocks: int = 24,
    *,
    block: int = 7,
    wavelength: float = 5.0,
    noise: float = 0.7,
    random_state: Any = None,
) -> Dataset:
    """Four textures in the quadrants of a picture, cut into blocks of 7 x 7 (book, E4.3).

    Stands in for the Brodatz mosaic of the source: oriented sinusoids of random phase with white
    noise. Neighboring blocks mostly show the same texture, which is the side information of the
    experiment: soft must-links to the four neighbors with weight ``log((1 - q) / q) / 2``, where
    ``q`` is the share of neighboring blocks with different textures.

    Parameters
    ----------
    n_blocks : int, default=24
        Blocks along each side of the picture; even.
    block : int, default=7
        Side of a block; the features are its pixels.
    wavelength : float, default=5.0
        Of the sinusoids, in pixels.
    noise : float, default=0.7
        Standard deviation of the noise; the sinusoids have amplitude 1.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        One row per block, row by row; ``extras``: ``image``, ``grid`` (height, width),
        ``neighbors`` (pairs of rows), ``q`` (share of pairs that differ).

    Examples
    --------
    >>> from experiments.recipes.images import make_texture_mosaic
    >>> mosaic = make_texture_mosaic(random_state=0)
    >>> mosaic.data.shape, mosaic.extras["neighbors"].shape
    ((576, 49), (1104, 2))
    """
    if n_blocks < 2 or n_blocks % 2:
        raise ValueError(f"n_blocks must be an even number of at least 2, got {n_blocks}.")
    rng = check_random_state(random_state)
    half = n_blocks // 2 * block
    textures = [
        stripes((half, half), wavelength, angle, rng.uniform(0, 2 * np.pi))
        for angle in ORIENTATIONS
    ]
    image = np.block([textures[:2], textures[2:]])
    image += noise * rng.standard_normal(image.shape)

    blocks = image.reshape(n_blocks, block, n_blocks, block).swapaxes(1, 2)
    place = np.arange(n_blocks) >= n_blocks // 2
    target = (2 * place[:, None] + place[None, :]).ravel().astype(np.int64)
    neighbors = lattice_neighbors(n_blocks, n_blocks)
    differ = target[neighbors[:, 0]] != target[neighbors[:, 1]]
    return Dataset(
        data=blocks.reshape(n_blocks**2, block**2).copy(),
        target=target,
        feature_names=tuple(f"pixel {y},{x}" for y in range(block) for x in range(block)),
        target_names=tuple(f"stripes at {angle:g} degrees" for angle in ORIENTATIONS),
        description="Mosaic of four textures (after Constrained Clustering, E4.3)",
        extras={
            "image": image,
            "grid": (n_blocks, n_blocks),
            "neighbors": neighbors,
            "q": float(differ.mean()),
        },
    )


def make_mondrian(
    side: int = 512,
    *,
    n_sites: int = 101,
    window: int = 12,
    noise: float = 0.25,
    random_state: Any = None,
) -> Dataset:
    """A picture of three textures and two noisy greys, seen through 24 features (book, table 5.4).

    Rebuilt after the description of the source: a 512 x 512 picture, 101 x 101 sites, and at each
    site a 12-bin gray histogram and the mean responses of 12 Gabor filters (4 orientations,
    wavelengths 2, 4 and 8) over a window. The areas, gray levels, noise and window are ours.

    Parameters
    ----------
    side : int, default=512
        Height and width of the picture in pixels.
    n_sites : int, default=101
        Sites along each side.
    window : int, default=12
        Side of the window of a site in pixels.
    noise : float, default=0.25
        Standard deviation of the noise; the stripes have amplitude 0.5.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        One row per site, row by row; ``extras``: ``image``, ``grid`` (height, width) and
        ``neighbors`` (pairs of rows).

    Examples
    --------
    >>> from experiments.recipes.images import make_mondrian
    >>> make_mondrian(128, n_sites=30, random_state=0)
    Dataset(900 rows, 24 features, 5 classes: Mondrian picture ...)
    """
    if not 1 <= window <= side or n_sites < 2:
        raise ValueError(
            f"A window of {window} pixels and {n_sites} sites do not fit a picture of {side} "
            "pixels; the window must be at most the side, and at least 2 sites are needed."
        )
    rng = check_random_state(random_state)
    image, segment = _paint_mondrian(side, noise, rng)
    corner = np.linspace(0, side - window, n_sites).round().astype(np.int64)
    center = corner + window // 2
    histogram = _grey_histogram(image, corner, window)
    gabor = _gabor_means(image, corner, window)
    return Dataset(
        data=np.concatenate([histogram, gabor], axis=-1).reshape(n_sites**2, -1),
        target=segment[np.ix_(center, center)].ravel(),
        feature_names=tuple(
            [f"gray bin {number + 1}" for number in range(N_GREY_BINS)]
            + [
                f"gabor {angle:g} deg / {w:g} px"
                for angle in ORIENTATIONS
                for w in GABOR_WAVELENGTHS
            ]
        ),
        target_names=MONDRIAN_NAMES,
        description="Mondrian picture of three textures and two greys "
        "(after Constrained Clustering, table 5.4)",
        extras={
            "image": image,
            "grid": (n_sites, n_sites),
            "neighbors": lattice_neighbors(n_sites, n_sites),
        },
    )


def _paint_mondrian(
    side: int, noise: float, rng: np.random.RandomState
) -> tuple[FloatArray, IntArray]:
    segment = np.zeros((side, side), dtype=np.int64)
    for (top, left, bottom, right), number in MONDRIAN_LAYOUT:
        rows = slice(round(top * side), round(bottom * side))
        segment[rows, round(left * side) : round(right * side)] = number
    shape = (side, side)
    surfaces = np.stack(
        [
            np.full(shape, -0.15),
            0.5 * stripes(shape, 8.0, 90.0, 0.0),
            0.5 * stripes(shape, 6.0, 45.0, 0.0),
            0.5 * stripes(shape, 4.0, 0.0, 0.0),
            np.full(shape, 0.15),
        ]
    )
    image = np.take_along_axis(surfaces, segment[None], axis=0)[0]
    return image + noise * rng.standard_normal(shape), segment


def _window_means(field: FloatArray, corner: IntArray, window: int) -> FloatArray:
    """Mean over the square window at every pair of corners, from sums over rectangles."""
    sums = np.zeros((field.shape[0] + 1, field.shape[1] + 1))
    sums[1:, 1:] = field.cumsum(axis=0).cumsum(axis=1)
    low, high = corner, corner + window
    total = (
        sums[np.ix_(high, high)]
        - sums[np.ix_(low, high)]
        - sums[np.ix_(high, low)]
        + sums[np.ix_(low, low)]
    )
    return total / window**2


def _grey_histogram(image: FloatArray, corner: IntArray, window: int) -> FloatArray:
    """Share of the pixels of each window in each of 12 equal ranges of gray."""
    edges = np.linspace(image.min(), image.max(), N_GREY_BINS + 1)
    gray = np.digitize(image, edges[1:-1])
    shares = [
        _window_means((gray == number).astype(np.float64), corner, window)
        for number in range(N_GREY_BINS)
    ]
    return np.stack(shares, axis=-1)


def _gabor_means(image: FloatArray, corner: IntArray, window: int) -> FloatArray:
    """Mean magnitude of the response to each Gabor filter over each window."""
    means = []
    for angle in ORIENTATIONS:
        for wavelength in GABOR_WAVELENGTHS:
            response = fftconvolve(image, gabor_filter(wavelength, angle), mode="same")
            means.append(_window_means(np.abs(response), corner, window))
    return np.stack(means, axis=-1)


def gabor_filter(wavelength: float, angle: float) -> npt.NDArray[np.complex128]:
    """Complex wave under a Gaussian of width wavelength / 2, without response to flat gray."""
    reach = int(np.ceil(1.5 * wavelength))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    along = x * np.cos(np.deg2rad(angle)) + y * np.sin(np.deg2rad(angle))
    envelope = np.exp(-2 * (x**2 + y**2) / wavelength**2)
    envelope /= envelope.sum()
    wave = np.exp(2j * np.pi * along / wavelength)
    return envelope * (wave - np.sum(envelope * wave))
