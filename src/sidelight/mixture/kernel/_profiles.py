"""Profiles of a non-parametric mixture: leave-one-out densities, their closed-form ascent, starts.

With a kernel ``K`` without diagonal, profiles ``Q`` (columns add up to 1) and labels ``g``, what is
maximized is (Mallapragada 2010, section 4.2)

    l(Q, g) = Σ_i log [ (K Q)_{i g_i} / (1 - Q_{i g_i}) ] - λ Σ_ij Q_ij².

Over the labels the maximum is at hand. Over the profiles Jensen's inequality on ``(K Q)_ig`` and
the tangent of ``-log(1 - Q_ig)`` give a bound that touches ``l`` at the present profiles and falls
apart into the columns; the maximum of each solves one quadratic equation per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from sidelight._fit.restarts import fit_progress
from sidelight._kernels.mixture.profiles import MIN_ROOM, solve_profiles
from sidelight._typing import Array
from sidelight.mixture.kernel._rows import ZeroDiagonalKernel

#: Densities below this count as this: a row that no kernel reaches.
MIN_DENSITY = 1e-300
#: Labels that have stood still for so long are final, though the profiles still move.
STILL = 50
#: Share of a profile that starts outside its cell.
ELSEWHERE = 0.1


@dataclass(frozen=True)
class ProfileFit:
    """Final state of one start.

    Attributes
    ----------
    profiles : ndarray of shape (n, k)
        ``Q``.
    labels : ndarray of int32, shape (n,)
        Best labels for these profiles.
    history : ndarray
        ``l / n`` at every iteration; the last belongs to the profiles.
    converged, interrupted : bool
        Whether the climb came to rest; whether Ctrl-C ended it.
    """

    profiles: Array
    labels: Array
    history: Array
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """``-l / n`` at the end: the value that is minimized."""
        return -float(self.history[-1])


class StartSweep:
    """Labels, objective and pulls of several starts at once: a block of the kernel serves all.

    Parameters
    ----------
    kernel : ZeroDiagonalKernel
        The kernel.
    profiles : ndarray of shape (n, s, k)
        Profiles of ``s`` starts.
    reg : float
        ``λ``.

    Attributes
    ----------
    labels : ndarray of int32, shape (n, s)
        ``g``: where the leave-one-out density is largest.
    objective : ndarray of shape (s,)
        ``l``.
    pulled : ndarray of shape (n, s, k)
        ``Σ_i K_ij [g_i = s] / (K Q)_is``; times ``Q_js`` what row ``j`` contributes to component
        ``s``, and these add up to the size of the component.
    """

    def __init__(self, kernel: ZeroDiagonalKernel, profiles: Array, reg: float) -> None:
        pulled, (self.labels, logs) = kernel.sweep(np.ascontiguousarray(profiles), weigh)
        self.pulled = pulled.reshape(profiles.shape)
        likelihood = (logs + kernel.log_scale[:, None]).sum(axis=0)
        self.objective = likelihood - reg * np.einsum("nsk,nsk->s", profiles, profiles)


def weigh(responses: Array, profiles: Array) -> tuple[Array, tuple[Array, Array]]:
    """Label rows by ``K Q`` and ``Q``, and give them the weights ``[g_i = s] / (K Q)_is``."""
    responses = np.maximum(responses.reshape(profiles.shape), MIN_DENSITY)
    densities = responses / np.maximum(1.0 - profiles, MIN_ROOM)
    labels = densities.argmax(axis=2)[:, :, None]
    best = np.take_along_axis(densities, labels, axis=2)[:, :, 0]
    weights = np.zeros_like(responses)
    own = np.take_along_axis(responses, labels, axis=2)
    np.put_along_axis(weights, labels, 1.0 / own, axis=2)
    flat = weights.reshape(len(weights), -1)
    return flat, (labels[:, :, 0].astype(np.int32), np.log(best))


def fit_profiles(
    kernel: ZeroDiagonalKernel,
    starts: Array,
    *,
    reg: float,
    max_iter: int,
    tol: float,
    description: str,
    verbose: int = 0,
) -> list[ProfileFit]:
    """Climb from several starts side by side.

    Parameters
    ----------
    kernel : ZeroDiagonalKernel
        The kernel.
    starts : ndarray of shape (n, s, k)
        Profiles to start from.
    reg : float
        ``λ > 0``.
    max_iter : int
        Largest number of sweeps.
    tol : float
        A start ends when a sweep gains less than this per row, or when labels have stood still.
    description : str
        Name of the fit in the progress bar.
    verbose : int, default=0
        Whether to show the progress bar.

    Returns
    -------
    list of ProfileFit
        One for each start, in order.
    """
    profiles = np.array(starts, dtype=np.float64, order="C")
    climbs = [_Climb() for _ in range(starts.shape[1])]
    going = list(climbs)
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for step in range(max_iter):
            sweep = StartSweep(kernel, profiles, reg)
            moving = []
            for place, climb in enumerate(going):
                value = float(sweep.objective[place]) / kernel.n_rows
                climb.record(profiles[:, place], sweep.labels[:, place], value)
                if not climb.has_converged(tol):
                    moving.append(place)
            progress.step(-max(climb.history[-1] for climb in climbs))
            if not moving or step == max_iter - 1:
                break
            going = [going[place] for place in moving]
            state: tuple[Any, ...] = (profiles, sweep.pulled, sweep.labels)
            if len(moving) < profiles.shape[1]:
                state = tuple(np.take(part, moving, axis=1) for part in state)
            profiles = solve_profiles(*(*state, 2.0 * reg))
    return [climb.result(progress.interrupted) for climb in climbs]


class _Climb:
    """Progress of one start."""

    def __init__(self) -> None:
        self.history: list[float] = []
        self._profiles = self._labels = np.empty(0)
        self._still = 0
        self._converged = False

    def record(self, profiles: Array, labels: Array, value: float) -> None:
        """Keep where an iteration led to."""
        self._still = self._still + 1 if np.array_equal(labels, self._labels) else 0
        self._profiles, self._labels = profiles, labels
        self.history.append(value)

    def has_converged(self, tol: float) -> bool:
        """Whether it gained too little or labels stood still; then its own copies are kept."""
        gained_little = len(self.history) > 1 and self.history[-1] - self.history[-2] <= tol
        self._converged = gained_little or self._still >= STILL
        if self._converged:
            self._profiles, self._labels = self._profiles.copy(), self._labels.copy()
        return self._converged

    def result(self, interrupted: bool) -> ProfileFit:
        """Return where it ended."""
        history = np.array(self.history)
        return ProfileFit(self._profiles, self._labels, history, self._converged, interrupted)


def dirichlet_start(n: int, k: int, rng: np.random.RandomState) -> Array:
    """Columns drawn from the uniform distribution over all profiles."""
    profiles = rng.exponential(size=(n, k))
    return profiles / profiles.sum(axis=0)


def seeds_start(graph: sparse.csr_array, k: int, rng: np.random.RandomState) -> Array:
    """Columns on the Voronoi cells of ``k`` random rows, along the edges of a graph.

    The length of a path is the sum of its edges. Squared distances as edges make many short ones
    shorter than a leap, so that cells follow the shape of the data. Rows that no path reaches are
    in all cells.
    """
    n = graph.shape[0]
    seeds = rng.choice(n, size=k, replace=False)
    _, _, seed = dijkstra(
        graph, directed=False, indices=seeds, min_only=True, return_predecessors=True
    )
    order = np.argsort(seeds)
    reached = seed >= 0
    cells = np.where(reached[:, None], 0.0, np.ones((n, k)))
    cells[reached, order[np.searchsorted(seeds[order], seed[reached])]] = 1.0
    return (1 - ELSEWHERE) * cells / cells.sum(axis=0) + ELSEWHERE / n
