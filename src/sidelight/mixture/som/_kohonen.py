"""Kohonen's self-organizing map, batch and online (Verbeek 2004, sections 2.2.2 and 4.1)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from sidelight._fit.moments import moments
from sidelight._fit.parameters import Count, Interval, Seed, Verbosity, estimator
from sidelight._fit.restarts import fit_progress
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.mixture.gaussian._missing_rows import filled_rows
from sidelight.mixture.som._base import Growth, MapBase, Mass, PlacesOf, anneal
from sidelight.mixture.som._grid import Grid, StartName, start_means
from sidelight.mixture.som._nearest import WinnerPass, two_nearest, winners_of
from sidelight.tags import MethodTags

#: Learning rate of the last row of the online map.
LAST_STEP = 0.01


@estimator
class KohonenMap(MapBase):
    """Kohonen's self-organizing map: centers on a grid, updated with their neighbors.

    The winner of a row is its nearest center, ``s_n = argmin_s |x_n - μ_s|²``; with
    ``h_rs = exp(-λ |g_r - g_s|²)`` the centers are

        batch:  ``μ_r = Σ_n h_{s_n r} x_n / Σ_n h_{s_n r}`` after each pass over all rows,
        online: ``μ_r += a h_{s_n r} (x_n - μ_r)`` after each row,

    while the rate ``λ`` grows (Verbeek 2004, equations 4.1 and 4.2). Distances are over the values
    that a row has, and so are the means: NaN stands for a missing value. There is no objective, and
    the batch map may cycle; :class:`SelfOrganizingMixture` is the repaired method. Read more in the
    :doc:`user guide </mixture/som>`.

    Parameters
    ----------
    method : {"batch", "online"}, default="batch"
        Whether centers move after each pass over the rows or after each row.
    n_epochs : int >= 1 or None, default=20
        Number of passes over the rows, during which neighborhoods shrink from wide to
        ``winner_mass``. None, of the batch map: neighborhoods shrink by the factor ``cooling``
        whenever winners no longer change, or after ``max_iter`` passes.
    learning_rate : float in (0, 1], default=0.5
        Step ``a`` of the first row of the online map; it falls linearly to 0.01.

    Attributes
    ----------
    history_ : ndarray
        Mean squared distance of the rows to their winners at every pass.
    n_iter_ : int
        Number of passes over the rows.
    converged_ : bool
        Whether all passes were made; without a given number, whether winners no longer changed at
        the last neighborhood.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import KohonenMap
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> som = KohonenMap((5, 5), random_state=0).fit(X)
    >>> som.quantization_error_ < 0.1
    True
    """

    _: KW_ONLY
    method: Literal["batch", "online"] = "batch"
    n_epochs: Count | None = 20
    learning_rate: Annotated[float, Interval(0, 1, open_low=True)] = 0.5
    winner_mass: Mass = 0.8
    cooling: Growth = 1.1
    init: StartName = "pca"
    max_iter: Count = 1000
    random_state: Seed = None
    verbose: Verbosity = 0

    _elsewhere = "KohonenMap with method='batch' reads rows block by block."

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="Kohonen's self-organizing map, batch or online",
            source="Kohonen 1995; Verbeek 2004, section 4.1",
            complexity="O(n k d) per pass, O(n d + k²) memory",
            missing=True,
            out_of_core=self.method == "batch",
        )

    def _learn(self, rows: Any, known: Constraints) -> None:
        nodes, source = self._make_grid(), as_rows(rows)
        rng = check_random_state(self.random_state)
        filled, missing = filled_rows(source)
        start = start_means(filled, nodes, self.init, rng)
        batch = BatchMap(source, moments(filled).mean, nodes, missing=missing)
        if self.method == "online":
            means, history = self._online(rows, start, nodes, rng)
            converged = len(history) == self.n_epochs
        elif self.n_epochs is not None:
            means, history = self._epochs(batch, start, nodes)
            converged = len(history) == self.n_epochs
        else:
            found = anneal(
                nodes.rates(self.winner_mass, self.cooling),
                start,
                batch.evaluate,
                batch.update,
                settled=lambda before, now: now.found.n_changed == 0,
                tol=None,
                max_iter=self.max_iter,
                description=type(self).__name__,
                verbose=self.verbose,
            )
            means, history, converged = found.last.parameters, found.history, found.converged
        self._set_map(nodes, rows.dtype)
        self.history_, self.n_iter_, self.converged_ = history, len(history), converged
        self._origin = batch.origin
        self.means_ = means.astype(rows.dtype)
        best, second, distances = two_nearest(source, self.means_, self._origin)
        self.winners_ = best
        self._set_errors(source, best, second, distances)
        places = PlacesOf(self.node_positions_)
        self.embedding_ = source.map_reduce(places, aligned=(best,))[1][0]

    def _epochs(self, batch: BatchMap, start: Array, nodes: Grid) -> tuple[Array, Array]:
        """A given number of passes of the batch map."""
        assert self.n_epochs is not None
        means, history = start, []
        with fit_progress(type(self).__name__, self.n_epochs, verbose=self.verbose) as progress:
            for rate in _growing(nodes, self.winner_mass, self.n_epochs):
                now = batch.evaluate(rate, means, None)
                means = batch.update(now)
                history.append(now.objective)
                progress.step(now.objective)
        return means, np.array(history)

    def _online(
        self, rows: Array, start: Array, nodes: Grid, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Passes of the online map, the rows in random order."""
        from sidelight._kernels.mixture.som import online_pass

        if self.n_epochs is None:
            raise SidelightError(
                f"The online map needs a number of passes, but {setting('n_epochs', None)}; give "
                "one, or take the batch map."
            )
        n = len(rows)
        numbers = np.ascontiguousarray(rows, dtype=np.float64)
        means = np.ascontiguousarray(start)
        times = np.linspace(0, 1, n * self.n_epochs)
        rates = np.exp(np.interp(times, (0, 1), np.log(_ends(nodes, self.winner_mass))))
        steps = np.interp(times, (0, 1), (self.learning_rate, LAST_STEP))
        history = []
        with fit_progress(type(self).__name__, self.n_epochs, verbose=self.verbose) as progress:
            for epoch in range(self.n_epochs):
                own = slice(epoch * n, (epoch + 1) * n)
                squares = online_pass(
                    numbers,
                    rng.permutation(n),
                    nodes.squared_distances,
                    rates[own],
                    steps[own],
                    means,
                )
                history.append(squares / n)
                progress.step(history[-1])
        return means, np.array(history)

    def _nodes_of(self, rows: Any) -> Array:
        """Nodes whose centers are nearest."""
        return two_nearest(as_rows(rows), self.means_, self._origin)[0]

    def _transform(self, rows: Any) -> Array:
        nearest = two_nearest(as_rows(rows), self.means_, self._origin)[0]
        return self.node_positions_.astype(rows.dtype, copy=False)[nearest]


@dataclass(frozen=True)
class Pulled:
    """Centers with the winners of the rows."""

    parameters: Array
    rate: float
    found: WinnerPass
    objective: float


class BatchMap:
    """The two steps of the batch map."""

    def __init__(self, source: RowSource, origin: Array, nodes: Grid, *, missing: bool) -> None:
        self._source, self._missing = source, missing
        self._nodes = nodes
        self.origin = origin

    def evaluate(self, rate: float, means: Array, before: Pulled | None) -> Pulled:
        """Find the winners."""
        last = None if before is None else before.found.winners
        found = winners_of(self._source, means, self.origin, missing=self._missing, before=last)
        return Pulled(means, rate, found, found.squares / self._source.n_rows)

    def update(self, now: Pulled) -> Array:
        """Centers: means of the rows, weighted by the neighborhood of their winner."""
        shares = self._nodes.neighborhood(now.rate).shares
        # Rows of the normalized neighborhoods differ by a factor from the plain ones.
        pull = shares / np.diagonal(shares)[:, None]
        sums, mass = pull.T @ now.found.sums, pull.T @ now.found.mass
        fed = mass > 0
        means = self.origin + sums / np.where(fed, mass, 1.0)
        return np.where(fed, means, now.parameters)


def _ends(nodes: Grid, winner_mass: float) -> tuple[float, float]:
    """First and last rate, both positive and finite."""
    last = nodes.rate_of_mass(min(winner_mass, 0.999))
    first = min(nodes.first_rate, last) if last > 0 else 1.0
    return max(first, 1e-12), max(last, 1e-12)


def _growing(nodes: Grid, winner_mass: float, n: int) -> Array:
    """Rates that grow by the same factor; the last is infinite for hard winners."""
    rates = np.geomspace(*_ends(nodes, winner_mass), n)
    if winner_mass >= 1:
        rates[-1] = np.inf
    return rates
