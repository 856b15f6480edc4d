"""Signed graphs with a planted partition, for correlation clustering."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import Relations
from sidelight.datasets._generator_options import check_counts, check_shares, check_sizes
from sidelight.datasets.related._pair_sampling import (
    check_affordable,
    draw_numbers,
    pairs_of_blocks,
)


class SignedGraphSample(NamedTuple):
    """A signed graph and the partition behind it.

    Attributes
    ----------
    relations : Relations
        Scored pairs.
    target : ndarray of int64, shape (n_samples,)
        Planted cluster of every object.
    """

    relations: Relations
    target: IntArray


def make_signed_graph(
    n_samples: int = 200,
    n_clusters: int = 5,
    *,
    flip: float = 0.12,
    degree: float | None = None,
    inside: float = 0.5,
    strength: float | None = None,
    random_state: Any = None,
) -> SignedGraphSample:
    """Plant a partition in a signed graph: + inside clusters, - across, some signs flipped.

    Parameters
    ----------
    n_samples : int, default=200
        Number of objects.
    n_clusters : int, default=5
        Number of planted clusters, of equal size up to one object.
    flip : float, default=0.12
        Probability that the sign of a pair is the wrong one.
    degree : float or None, default=None
        Mean number of edges of an object. By default every pair has a sign.
    inside : float, default=0.5
        Share of the edges that are inside clusters, for a sparse graph. Where the clusters have
        fewer pairs than that, all of them are edges and the rest of the edges is across.
    strength : float or None, default=None
        Mean of the size of a score: scores are Gaussian with deviation 1 around the (possibly
        flipped) sign times ``strength``. By default scores are +1 and -1.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    SignedGraphSample
        ``relations`` and ``target``, also as a pair to unpack.

    Notes
    -----
    Time O(m log m) and memory about 100 bytes for every one of ``m`` edges; a graph with all
    signs has ``n (n - 1) / 2``.

    Examples
    --------
    >>> from sidelight.datasets import make_signed_graph
    >>> graph, labels = make_signed_graph(6, 2, flip=0.0, random_state=0)
    >>> graph
    <Relations of 6 objects: 15 edges, 9 of them negative>
    >>> make_signed_graph(1000, 20, degree=8, random_state=0).relations.n_edges
    4000
    """
    check_counts(1, n_samples=n_samples, n_clusters=n_clusters)
    check_shares(flip=flip, inside=inside)
    check_sizes(degree=0 if degree is None else degree, strength=strength or 0)
    rng = check_random_state(random_state)
    target = rng.permutation(np.arange(n_samples) % n_clusters).astype(np.int64)
    sizes = np.bincount(target, minlength=n_clusters)
    within, across = pairs_of_blocks(sizes)
    n_within, n_across = within.n_pairs, across.n_pairs
    if degree is not None:
        n_edges = min(round(n_samples * degree / 2), n_within + n_across)
        n_within = max(min(round(inside * n_edges), n_within), n_edges - n_across)
        n_across = n_edges - n_within
    check_affordable(n_within + n_across)
    pairs = np.concatenate(
        [
            within.pairs(draw_numbers(within.n_pairs, n_within, rng)),
            across.pairs(draw_numbers(across.n_pairs, n_across, rng)),
        ]
    )
    signs = np.repeat([1.0, -1.0], [n_within, n_across])
    signs[rng.uniform(size=len(signs)) < flip] *= -1
    by_cluster = np.argsort(target, kind="stable")
    relations = Relations(by_cluster[pairs], _scores(signs, strength, rng), n_samples=n_samples)
    return SignedGraphSample(relations, target)


def _scores(signs: FloatArray, strength: float | None, rng: np.random.RandomState) -> FloatArray:
    if strength is None:
        return signs
    scores: FloatArray = signs * strength + rng.standard_normal(len(signs))
    return scores
