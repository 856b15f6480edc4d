"""Histograms: how sure a model is of its rows, and how far apart pairs are."""

from __future__ import annotations

import itertools

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import format_number
from sidelight.pictures._pairs import PairDistances, order_in_words
from sidelight.pictures.kinds._bars import Bars, Series
from sidelight.pictures.kinds._scales import nice_ticks

#: Bars of a histogram of probabilities, and of one of distances.
SHARES, BINS = 10, 40
_FAR = 99.0  # percentile of the distances at which a histogram ends
_KINDS = {"together": "belong together (up)", "apart": "belong apart (down)"}


def certainty(largest: FloatArray, k: int, title: str) -> Bars:
    """How many rows have which largest probability, from 1/k to 1.

    Parameters
    ----------
    largest : ndarray of shape (n,)
        Largest probability of every row.
    k : int
        Number of clusters or classes.
    title : str
        What the bars are.
    """
    edges = np.linspace(1.0 / k, 1.0, SHARES + 1)
    counts = np.histogram(np.clip(largest, edges[0], 1.0), bins=edges)[0]
    names = [f"{low:.0%} to {high:.0%}" for low, high in itertools.pairwise(edges)]
    said = [f"{name}: {n:,} rows" for name, n in zip(names, counts.tolist(), strict=True)]
    return Bars(
        title=title,
        text=", ".join(said),
        series=[Series("rows", counts.astype(np.float64))],
        names=names,
        titles=said,
        axis_titles=("largest probability", "rows"),
        css="sureness",
        size=(640, 180),
        largest=max(float(counts.max()), 1.0),
        edges=edges,
        ticks=[(edges[place], f"{edges[place]:.0%}") for place in (0, SHARES // 2, SHARES)],
    )


def pair_distances(known: PairDistances) -> tuple[Bars, Bars]:
    """Distances of pairs before a map, and after it: together upwards, the others downwards.

    Each kind fills the same area, however many pairs it has. Both pictures end where all but a
    hundredth of the distances do; those beyond are counted in their last bars.
    """
    together, apart = known.together, known.apart
    every = np.concatenate([together.before, together.after, apart.before, apart.after])
    most = max(float(np.percentile(every, _FAR)), 1e-9)
    note = order_in_words(known)
    return (
        _pair_distances(together.before, apart.before, most, "before", note),
        _pair_distances(together.after, apart.after, most, "after", note),
    )


def _pair_distances(
    together: FloatArray, apart: FloatArray, most: float, when: str, note: str
) -> Bars:
    edges = np.linspace(0.0, most, BINS + 1)
    shares = [_shares(values, edges) for values in (together, apart)]
    middles = [format_number(_median(values)) for values in (together, apart)]
    return Bars(
        title=f"Distances of pairs {when} the map",
        text=f"Medians {middles[0]} together, {middles[1]} apart, in typical distances.",
        series=[
            Series(kind, counts, kind, middle=_median(values), label=label)
            for (kind, label), values, counts in zip(
                _KINDS.items(), (together, apart), shares, strict=True
            )
        ],
        names=[f"from {format_number(edge)}" for edge in edges[:-1]],
        axis_titles=("distance (1: mean of random rows; lines: medians)", "share of the pairs"),
        note=note,
        css=f"distances {when}",
        size=(560, 190),
        largest=max(float(max(share.max() for share in shares)), 1e-12),
        edges=edges,
        ticks=[(tick, format_number(tick)) for tick in nice_ticks(0.0, most, 6)],
        mirrored=True,
    )


def _shares(values: FloatArray, edges: FloatArray) -> FloatArray:
    counts = np.histogram(np.minimum(values, edges[-1]), bins=edges)[0]
    return np.asarray(counts / max(len(values), 1), dtype=np.float64)


def _median(values: FloatArray) -> float:
    return float(np.median(values)) if len(values) else 0.0
