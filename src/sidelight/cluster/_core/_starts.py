"""Initial centers: D² sampling, far rows, random rows, and must-link components.

Of the λ components with at least one link (or a known class), the neighborhoods, k are chosen by

- ``"largest"``: the k largest (Basu, Banerjee, Mooney 2004, PCK-means);
- ``"farthest-first"``: the largest, then again and again ``argmax_J s_J min_T ‖m_J - m_T‖`` over
  the chosen T (Bilenko, Basu, Mooney 2004, MPCK-means);
- ``"clique"``: greedily a clique of the cannot-links between them, large ones first, whose members
  are known to be of different clusters, completed by farthest-first (our extension).

With λ < k all of them are centers, then a point that is cannot-linked to each of them. The rest is
filled by k-means++ (k-means|| for very many rows) given the centers so far or, as published, by the
global mean with a small perturbation (near-coincident centers, a poor start).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._fit.moments import moments
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster._core._distances import PointCosts, dense
from sidelight.cluster._core._oversampling import Project, kmeans_parallel
from sidelight.cluster._core._seeding import farthest_first, kmeans_plusplus, random_rows
from sidelight.constraints import Constraints
from sidelight.constraints.inner import Contraction, contract
from sidelight.engine import RowSource

#: From this many rows on ``"auto"`` is k-means||: a third to a half of the time for 50 or more
#: clusters in memory, and six passes for any number of clusters where the rows are elsewhere.
MANY_ROWS = 1_000_000


class Starts:
    """Initial centers of the restarts of a fit under constraints.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centers.
    init : {"auto", "neighborhoods", "k-means", "k-means++", "k-means||", "random"} or array
        Where to start. ``"auto"`` starts once from the neighborhoods, if there are constraints, and
        otherwise with ``"k-means"`` where there is ``polish``, or else by :func:`spread_centers`:
        neighborhoods are not classes, so that their start alone can be a trap.
    n_init : int
        Number of restarts; given centers are run once.
    constraints : Constraints
        Side information about the rows.
    contraction : Contraction, default=None
        The constrained components of these constraints, if they are known already.
    polish : callable, default=None
        Turns seeds of :func:`spread_centers` into the centers of ``"k-means"``.
    rule : {"farthest-first", "largest", "clique"}, default="farthest-first"
        Choice of neighborhoods when there are more than ``n_clusters``.
    published : bool, default=False
        Whether neighborhoods are the largest, and missing centers near the global mean.

    Attributes
    ----------
    n_starts : int
        Number of restarts.
    contraction : Contraction or None
        The constrained components, where a restart uses the neighborhoods.
    """

    def __init__(
        self,
        source: RowSource,
        n_clusters: int,
        init: Any,
        n_init: int,
        constraints: Constraints,
        *,
        contraction: Contraction | None = None,
        polish: Callable[[Array], Array] | None = None,
        rule: str = "farthest-first",
        published: bool = False,
    ) -> None:
        others = "spread" if polish is None else "k-means"
        self._ways = plan_starts(init, n_init, constraints, others)
        self.n_starts = len(self._ways)
        if contraction is None and "neighborhoods" in self._ways:
            closure = constraints.closure(on_contradiction="keep")
            contraction = contract(source, closure, only_constrained=True)
        self.contraction = contraction
        self._source, self._n_clusters = source, n_clusters
        self._init, self._polish = init, polish
        self._rule, self._published = "largest" if published else rule, published

    def centers(self, number: int, random_state: np.random.RandomState) -> Array:
        """Return the initial centers of a restart."""
        way, args = self._ways[number], (self._source, self._n_clusters)
        if way == "neighborhoods":
            return self._from_neighborhoods(random_state)
        if self._polish is not None and way == "k-means":
            return self._polish(spread_centers(*args, random_state))
        if way == "spread":
            return spread_centers(*args, random_state)
        return initial_centers(*args, self._init if way == "given" else way, random_state)

    def chosen(self) -> IntArray:
        """Return the components that give centers, at most ``n_clusters``, in order of choice."""
        assert self.contraction is not None
        return choose_neighborhoods(self.contraction, self._n_clusters, self._rule)

    def _from_neighborhoods(self, random_state: np.random.RandomState) -> Array:
        """Means of the chosen components, then what is filled in."""
        assert self.contraction is not None
        source, k = self._source, self._n_clusters
        given = dense(self.contraction.means[self.chosen()])
        if self._published:
            filled = _perturbed_mean(source, k - len(given), random_state)
            return np.concatenate([given, filled]).astype(source.dtype)
        return spread_centers(source, k, random_state, given=given if len(given) else None)


def plan_starts(init: Any, n_init: int, constraints: Constraints, others: str) -> list[str]:
    """List the starts of all restarts; centers that are given are run once."""
    if not isinstance(init, str):
        return ["given"]
    if init != "auto":
        return [init] * n_init
    first = others if constraints.is_empty else "neighborhoods"
    return [first] + [others] * (n_init - 1)


def initial_centers(
    source: RowSource,
    n_clusters: int,
    init: Any,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
    project: Project | None = None,
) -> Array:
    """Return initial centers by the method of that name, or the centers that are given.

    ``given`` centers come first in those of ``"k-means++"`` and the like, and ``project`` brings
    means to where centers may be.
    """
    if not isinstance(init, str):
        return check_centers(init, n_clusters, source)
    if init in MEANS:
        return MEANS[init](
            source,
            n_clusters,
            random_state,
            given=given,
            sample_weight=sample_weight,
            project=project,
        )
    if init not in ROWS:
        names = ", ".join(map(repr, (*MEANS, *ROWS)))
        raise ValueError(f"init must be {names} or an array of centers, got {init!r}.")
    if given is None:
        return ROWS[init](source, n_clusters, random_state, sample_weight=sample_weight)
    return ROWS[init](source, n_clusters, random_state, given=given, sample_weight=sample_weight)


def spread_centers(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
    project: Project | None = None,
) -> Array:
    """Choose centers by k-means++, or by k-means|| where there are very many rows.

    The parameters are those of :func:`kmeans_parallel`.
    """
    if source.n_rows >= MANY_ROWS:
        return kmeans_parallel(
            source,
            n_clusters,
            random_state,
            given=given,
            sample_weight=sample_weight,
            project=project,
        )
    return kmeans_plusplus(
        source, n_clusters, random_state, given=given, sample_weight=sample_weight
    )


def check_centers(init: Any, n_clusters: int, source: RowSource) -> Array:
    """Check centers that the user gave as a start."""
    centers = np.array(init, dtype=source.dtype, order="C")
    if centers.shape != (n_clusters, source.n_features):
        raise ValueError(
            f"init must hold one center per cluster, shape ({n_clusters}, {source.n_features}), "
            f"got shape {centers.shape}."
        )
    if not np.all(np.isfinite(centers)):
        raise ValueError("init holds NaN or infinity; give finite centers.")
    return centers


#: Methods whose centers may be means, and those whose centers are rows.
MEANS: dict[str, Callable[..., Array]] = {"auto": spread_centers, "k-means||": kmeans_parallel}
ROWS: dict[str, Callable[..., Array]] = {
    "k-means++": kmeans_plusplus,
    "farthest-first": farthest_first,
    "random": random_rows,
}


def choose_neighborhoods(contraction: Contraction, n_clusters: int, rule: str) -> IntArray:
    """Return the components whose means are centers, at most ``n_clusters``, in order of choice."""
    candidates = np.flatnonzero((contraction.sizes >= 2) | (contraction.labels >= 0))
    by_size = candidates[np.argsort(-contraction.sizes[candidates], kind="stable")]
    if len(candidates) <= n_clusters:
        return _add_point_apart_from_all(contraction, by_size, n_clusters)
    if rule == "largest":
        return by_size[:n_clusters]
    start = by_size[:1]
    if rule == "clique":
        start = _large_clique(contraction, candidates, n_clusters)
    return _farthest_components(contraction, candidates, n_clusters, start)


def _farthest_components(
    contraction: Contraction, candidates: IntArray, n_chosen: int, start: IntArray
) -> IntArray:
    """Weighted farthest-first traversal of the means of some components (ascending)."""
    sizes = contraction.sizes[candidates]
    points = PointCosts(contraction.means[candidates])
    chosen = np.searchsorted(candidates, start).tolist()
    nearest = points.at(dense(contraction.means[start]))[0].min(axis=1)
    while len(chosen) < n_chosen:
        reach = sizes * np.sqrt(nearest)
        reach[chosen] = -1.0
        chosen.append(int(np.argmax(reach)))
        newest = dense(contraction.means[candidates[chosen[-1:]]])
        nearest = np.minimum(nearest, points.at(newest)[0][:, 0])
    return candidates[chosen]


def _large_clique(contraction: Contraction, candidates: IntArray, n_chosen: int) -> IntArray:
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
    contraction: Contraction, chosen: IntArray, n_clusters: int
) -> IntArray:
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


def likely_twins(contraction: Contraction, chosen: IntArray) -> tuple[int, int] | None:
    """Two chosen neighborhoods that are probably the same class: a row of each, or None.

    They are no farther apart than the median radius of a neighborhood, and nothing says that they
    differ: neighborhoods are not classes.
    """
    linked = contraction.sizes >= 2
    if len(chosen) < 2 or not linked.any():
        return None
    radius = np.median(contraction.scatter[linked] / contraction.sizes[linked])
    means = contraction.means[chosen]
    close = PointCosts(means).at(dense(means))[0] <= radius
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
) -> FloatArray:
    """Centers around the global mean, about a hundredth of the data's spread away from it."""
    found = moments(source)
    noise = random_state.standard_normal((n_centers, source.n_features))
    return found.mean + 0.01 * np.sqrt(found.mean_variance) * noise
