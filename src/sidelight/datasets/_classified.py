"""Rows for classifiers from few labels: spirals, documents of several topics, tracks of people."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import Array, IntArray
from sidelight.datasets._dataset import Dataset

#: Time between two images of a track, in seconds.
BETWEEN_IMAGES = 0.5


def make_spirals(
    n_per_arm: tuple[int, int] = (201, 199),
    *,
    turns: float = 1.5,
    noise: float = 0.05,
    random_state: Any = None,
) -> Dataset:
    """Two arms of a spiral, one class each (Constrained Clustering, chapter 17).

    Parameters
    ----------
    n_per_arm : tuple of two ints, default=(201, 199)
        Points of each arm.
    turns : float, default=1.5
        Turns of an arm around the center.
    noise : float, default=0.05
        Standard deviation of the noise; the outer ends are at radius 1.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the arm of each point.

    Examples
    --------
    >>> from sidelight.datasets import make_spirals
    >>> make_spirals(random_state=0)
    Dataset(400 rows, 2 features, 2 classes: Two arms of a spiral (Constrained Clustering, ch. 17))
    """
    rng = check_random_state(random_state)
    arm = np.repeat([0, 1], n_per_arm)
    # Evenly along the radius, from a small one: both arms would meet at the center.
    radius = rng.uniform(0.1, 1.0, len(arm))
    angle = 2 * np.pi * turns * radius + np.pi * arm
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return Dataset(
        data=points + rng.normal(scale=noise, size=points.shape),
        target=arm.astype(np.int64),
        feature_names=("x", "y"),
        target_names=("arm 1", "arm 2"),
        description="Two arms of a spiral (Constrained Clustering, ch. 17)",
    )


def make_sequences(
    n_sequences: int = 63,
    *,
    n_people: int = 6,
    mean_length: float = 6.0,
    n_bins: int = 32,
    drift: float = 1.4,
    noise: float = 0.5,
    random_state: Any = None,
) -> Dataset:
    """Color histograms of people who are tracked in a video (Constrained Clustering, chapter 17).

    Stands in for the private video of the chapter: 96 numbers per image, three histograms of 32
    bins. A person has mean histograms; a sequence (the images of one track) departs from them by a
    drift, as light and clothes do; an image departs from its sequence by noise. Tracks that overlap
    in time show different people.

    Parameters
    ----------
    n_sequences : int, default=63
        Number of tracks.
    n_people : int, default=6
        Number of people.
    mean_length : float, default=6.0
        Mean number of images of a track, of which there are two at least.
    n_bins : int, default=32
        Bins of each of the three histograms.
    drift : float, default=1.4
        Departure of a sequence from its person, on a logarithmic scale. With 63 sequences of 6
        people and half of them labeled, kernel logistic regression errs in about a fifth of the
        others, as the chapter reports for a single day; with 156 of 5 people it takes 1.9.
    noise : float, default=0.5
        Departure of an image from its sequence, on the same scale.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``target``: the person in each image; ``extras``: ``"sequence"`` of each image (in the
        order of their beginnings), ``"time"`` of each image in seconds, and ``"overlapping"``,
        the pairs of sequences that are seen at the same time, shape (m, 2).

    Examples
    --------
    >>> from sidelight.datasets import make_sequences
    >>> tracks = make_sequences(random_state=0)
    >>> tracks.n_features, len(set(tracks.extras["sequence"].tolist()))
    (96, 63)
    """
    rng = check_random_state(random_state)
    length = 2 + rng.poisson(max(mean_length - 2, 0.0), n_sequences)
    duration = BETWEEN_IMAGES * (length - 1)
    wanted = np.sort(rng.uniform(0, 0.6 * BETWEEN_IMAGES * length.sum(), n_sequences))
    person, start = _appearances(wanted, duration, n_people, rng)
    sequence = np.repeat(np.arange(n_sequences), length)
    shape = (3, n_bins)
    of_person = rng.normal(size=(n_people, *shape))
    of_sequence = of_person[person] + rng.normal(scale=drift, size=(n_sequences, *shape))
    levels = of_sequence[sequence] + rng.normal(scale=noise, size=(len(sequence), *shape))
    histograms = np.exp(levels)
    histograms /= histograms.sum(axis=2, keepdims=True)
    first = np.cumsum(length) - length
    time = start[sequence] + BETWEEN_IMAGES * (np.arange(len(sequence)) - first[sequence])
    return Dataset(
        data=histograms.reshape(len(sequence), -1),
        target=person[sequence].astype(np.int64),
        feature_names=tuple(f"{channel}{bin}" for channel in "HSV" for bin in range(n_bins)),
        target_names=tuple(f"person {number + 1}" for number in range(n_people)),
        description="Histograms of tracked people (after Constrained Clustering, ch. 17)",
        extras={
            "sequence": sequence,
            "time": time,
            "overlapping": _overlapping(start, start + duration),
        },
    )


def _appearances(
    wanted: Array, duration: Array, n_people: int, rng: np.random.RandomState
) -> tuple[IntArray, Array]:
    """Person and beginning of every track; one who is seen already is in no other track.

    Where everybody is seen, the next track waits until somebody leaves.
    """
    person = np.empty(len(wanted), dtype=np.int64)
    start = np.empty(len(wanted))
    busy_until = np.full(n_people, -np.inf)
    now = 0.0
    for track, begin in enumerate(wanted):
        now = max(now, begin)
        if not np.any(busy_until < now):
            now = float(busy_until.min()) + BETWEEN_IMAGES
        free = np.flatnonzero(busy_until < now)
        # At first everybody in turn, so that nobody is missing.
        person[track] = track if track < n_people and track in free else rng.choice(free)
        start[track] = now
        busy_until[person[track]] = now + duration[track]
    return person, start


def _overlapping(start: Array, end: Array) -> IntArray:
    """Pairs of tracks that are seen at the same time."""
    together = (start[:, None] <= end[None, :]) & (start[None, :] <= end[:, None])
    return np.argwhere(np.triu(together, k=1)).astype(np.int64)
