"""Centres from neighbourhoods: the must-link components as a start for k-means.

Of the λ components with at least one link (or a known class), k are chosen by

- ``"largest"``: the k largest (Basu, Banerjee, Mooney 2004, PCK-means);
- ``"farthest-first"``: the largest, then again and again ``argmax_J s_J min_T ‖m_J - m_T‖`` over
  the chosen T (Bilenko, Basu, Mooney 2004, MPCK-means);
- ``"clique"``: greedily a clique of the cannot-links between them, large ones first, whose members
  are known to be of different clusters, completed by farthest-first (our extension).

With λ < k all of them are centres, then a point that is cannot-linked to each of them, and what is
still missing is filled by k-means++ given the centres so far, or, as the papers have it, by the
global mean with a small perturbation (``"perturb"``: near-coincident centres, a poor start).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.moments import moments
from sidelight.cluster._core._seeding import kmeans_plusplus
from sidelight.cluster.pairs._contraction import Contraction, Points, dense, squared_radii
from sidelight.constraints import Constraints
from sidelight.engine import RowSource

RULES = ("farthest-first", "largest", "clique")
FILLS = ("k-means++", "perturb")

Indices = npt.NDArray[np.int64]


def neighbourhood_centers(
    source: RowSource,
    contraction: Contraction,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    rule: str = "farthest-first",
    fill: str = "k-means++",
) -> npt.NDArray[Any]:
    """Choose the initial centres from the must-link components.

    Parameters
    ----------
    source : RowSource
        The rows.
    contraction : Contraction
        Their components.
    n_clusters : int
        Number of centres.
    random_state : numpy.random.RandomState
        Source of chance for the centres that the components do not give.
    rule : {"farthest-first", "largest", "clique"}
        Which components are chosen when there are more than ``n_clusters``.
    fill : {"k-means++", "perturb"}
        How missing centres are found when there are fewer.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Component means in the order of choice, then what was filled in.
    """
    chosen = choose_neighbourhoods(contraction, n_clusters, rule)
    given = dense(contraction.means[chosen])
    if fill == "perturb":
        filled = _perturbed_mean(source, n_clusters - len(chosen), random_state)
        return np.concatenate([given, filled]).astype(source.dtype)
    return kmeans_plusplus(
        source, n_clusters, random_state, given=given if len(given) else None
    ).astype(source.dtype)


def plan_starts(init: Any, n_init: Any, constraints: Constraints) -> list[str]:
    """List the starts of a fit: ``["given"]`` for centres that are given, else ``n_init``.

    ``"auto"`` is one start from the neighbourhoods, where anything is known, and k-means++ for the
    rest: neighbourhoods are not classes, so that their start alone can be a trap.
    """
    if not isinstance(init, str):
        return ["given"]
    if not isinstance(n_init, Integral) or n_init < 1:
        raise ValueError(f"n_init must be a whole number above 0, got {n_init!r}.")
    if init != "auto":
        return [init] * int(n_init)
    first = "k-means++" if constraints.is_empty else "neighbourhoods"
    return [first] + ["k-means++"] * (int(n_init) - 1)


def choose_neighbourhoods(contraction: Contraction, n_clusters: int, rule: str) -> Indices:
    """Return the components whose means are centres, at most ``n_clusters``, in order of choice."""
    candidates = np.flatnonzero((contraction.sizes >= 2) | (contraction.labels >= 0))
    by_size = candidates[np.argsort(-contraction.sizes[candidates], kind="stable")]
    if len(candidates) <= n_clusters:
        return _add_point_apart_from_all(contraction, by_size, n_clusters)
    if rule == "largest":
        return by_size[:n_clusters]
    start = by_size[:1]
    if rule == "clique":
        start = _large_clique(contraction, candidates, n_clusters)
    return farthest_first(contraction, candidates, n_clusters, start)


def farthest_first(
    contraction: Contraction, candidates: Indices, n_chosen: int, start: Indices
) -> Indices:
    """Weighted farthest-first traversal of the means of some components (ascending)."""
    sizes = contraction.sizes[candidates]
    points = Points(contraction.means[candidates])
    chosen = np.searchsorted(candidates, start).tolist()
    nearest = points.squared_distances(dense(contraction.means[start])).min(axis=1)
    while len(chosen) < n_chosen:
        reach = sizes * np.sqrt(nearest)
        reach[chosen] = -1.0
        chosen.append(int(np.argmax(reach)))
        newest = dense(contraction.means[candidates[chosen[-1:]]])
        nearest = np.minimum(nearest, points.squared_distances(newest)[:, 0])
    return candidates[chosen]


def _large_clique(contraction: Contraction, candidates: Indices, n_chosen: int) -> Indices:
    """Start with the largest component, add the largest one in conflict with all chosen."""
    apart = _conflict_matrix(contraction)
    size = np.full(contraction.n_components, -1)  # of those that may still be added
    size[candidates] = contraction.sizes[candidates]
    chosen: list[int] = []
    while len(chosen) < n_chosen and size.max() > 0:
        chosen.append(int(np.argmax(size)))
        size[apart[[chosen[-1]]].toarray().ravel() == 0] = -1
    return np.array(chosen, dtype=np.int64)


def _add_point_apart_from_all(
    contraction: Contraction, chosen: Indices, n_clusters: int
) -> Indices:
    """Add the largest other component that conflicts with every chosen one, where there is one."""
    if len(chosen) in (0, n_clusters):
        return chosen
    n_conflicts = _conflict_matrix(contraction)[chosen].sum(axis=0)
    apart_from_all = np.flatnonzero(np.asarray(n_conflicts).ravel() == len(chosen))
    if len(apart_from_all) == 0:
        return chosen
    return np.append(chosen, apart_from_all[np.argmax(contraction.sizes[apart_from_all])])


def _conflict_matrix(contraction: Contraction) -> sparse.csr_array:
    """Symmetric matrix with a one for every pair of components that must be apart."""
    one, other = contraction.conflicts.T
    m = contraction.n_components
    half = sparse.csr_array((np.ones(len(one)), (one, other)), shape=(m, m))
    return sparse.csr_array(half + half.T)


def seen_twice(
    source: RowSource, contraction: Contraction, chosen: Indices
) -> tuple[int, int] | None:
    """Two chosen neighbourhoods that are probably the same class: a row of each, or None.

    They are no farther apart than the median radius of a neighbourhood, and nothing says that they
    differ: neighbourhoods are not classes.
    """
    linked = contraction.sizes >= 2
    if len(chosen) < 2 or not linked.any():
        return None
    radius = np.median(squared_radii(source, contraction)[linked])
    means = contraction.means[chosen]
    close = Points(means).squared_distances(dense(means)) <= radius
    known_apart = _conflict_matrix(contraction)[chosen][:, chosen].toarray() > 0
    pairs = np.argwhere(np.triu(close & ~known_apart, 1))
    if len(pairs) == 0:
        return None
    one, other = (
        int(contraction.rows[np.argmax(contraction.component == chosen[place])])
        for place in pairs[0]
    )
    return one, other


def _perturbed_mean(
    source: RowSource, n_centers: int, random_state: np.random.RandomState
) -> npt.NDArray[np.float64]:
    """Centres around the global mean, about a hundredth of the data's spread away from it."""
    found = moments(source)
    noise = random_state.standard_normal((n_centers, source.n_features))
    return found.mean + 0.01 * np.sqrt(found.mean_variance) * noise
