"""Rotation found in a stream of turned digits (Law 2006, section 3.3.4).

``python -m experiments.manifold.rotation_invariance [--runs 3] [--quick]``
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from scipy.ndimage import rotate, zoom
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import IncrementalIsomap

TITLE = "Rotation from hallucinated data"
VERDICTS = {
    "Residual of the angle": Verdict(
        "agrees",
        "the map follows the angle better than principal components; the source shows curves "
        "without figures. With scikit-learn's small digits instead of MNIST (SIDELIGHT_DATA), "
        "principal components are better",
    ),
}

DIGIT, ANGLES, LARGEST = 2, 30.0 * np.arange(-7, 8) / 7, 30.0
DIMENSIONS = (1, 2, 3, 5, 8)


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", EmbeddingWarning)
    stops = (400, 800) if quick else (1_000, 2_000, 5_000)
    kept = 400 if quick else 1_000
    found = [one_stream(stops, kept, seed) for seed in range(min(runs, 1 if quick else 3))]
    source = "scikit-learn's" if mnist_file() is None else "MNIST"
    header = ["coordinates", "principal components", *(f"map, {n:,} images" for n in stops)]
    rows = [
        (
            str(d),
            *(
                mean_and_error([one[d][column] for one in found])
                for column in range(len(stops) + 1)
            ),
        )
        for d in DIMENSIONS
    ]
    return [
        Section(
            "Residual of the angle",
            f"Images of the digit 2 ({source}), turned by up to 30°, are streamed to a landmark "
            f"map (40 landmarks, {kept:,} in memory, contraction). Test images in 15 positions "
            "each are placed out of sample; `h` with `h·(x_l - x_0) ≈ l` is found by least "
            "squares. Share of the squared steps that is left; 1 is no relation to the angle.",
            header,
            rows,
        )
    ]


def one_stream(stops: tuple[int, ...], kept: int, seed: int) -> dict[int, list[float]]:
    """Residuals of principal components and of the map at every stop, by number of coordinates."""
    rng = np.random.default_rng(seed)
    images = digits()
    images = images[rng.permutation(len(images))]
    train, test = np.split(images, [min(500, len(images) // 2)])
    test = test[:200]
    turned = np.array(
        [
            turn(train[rng.integers(len(train))], rng.uniform(-LARGEST, LARGEST))
            for _ in range(stops[-1])
        ]
    )
    views = np.array([[turn(image, angle) for angle in ANGLES] for image in test])
    flat = views.reshape(-1, views.shape[2])
    found: dict[int, list[float]] = {}
    for d in DIMENSIONS:
        linear = PCA(d).fit(turned[:kept])
        found[d] = [residual(linear.transform(flat).reshape(*views.shape[:2], d))]
        model = IncrementalIsomap(
            d, n_neighbors=6, n_landmarks=40, max_points=kept, random_state=seed
        ).fit(turned[:kept])
        for first in range(kept, stops[-1] + 1, 100):
            if first in stops:
                places = model.transform(flat)
                found[d].append(residual(places.reshape(*views.shape[:2], d)))
            if first < stops[-1]:
                model.partial_fit(turned[first : first + 100])
    return found


def digits() -> np.ndarray:
    """Images of the digit 2: of MNIST where the user has them, else scikit-learn's small ones."""
    path = mnist_file()
    if path is None:
        small = load_digits()
        return small.images[small.target == DIGIT]
    with np.load(path) as found:
        return found["X"][found["y"] == DIGIT].reshape(-1, 28, 28) / 255.0


def mnist_file() -> Path | None:
    """File ``mnist10k.npz`` with ``X`` and ``y``, in the folder that SIDELIGHT_DATA names."""
    path = Path(os.environ.get("SIDELIGHT_DATA", "")) / "mnist10k.npz"
    return path if path.is_file() else None


def turn(image: np.ndarray, angle: float) -> np.ndarray:
    """A turned image, as a row; small ones drawn twice as large, so that turning loses little."""
    larger = zoom(image, 2, order=1) if len(image) < 20 else image
    return np.asarray(rotate(larger, angle, reshape=False, order=1)).ravel()


def residual(places: np.ndarray) -> float:
    """Share of the squared steps that no direction of the map explains."""
    middle = len(ANGLES) // 2
    steps = np.arange(len(ANGLES)) - middle
    moved = (places - places[:, middle : middle + 1]).reshape(-1, places.shape[2])
    wanted = np.tile(steps, len(places)).astype(float)
    along = np.linalg.lstsq(moved, wanted, rcond=None)[0]
    return float(np.sum((moved @ along - wanted) ** 2) / np.sum(wanted**2))


if __name__ == "__main__":
    main("rotation_invariance")
