"""Shared search of mixtures of least message length, from many components to few."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.checks import check_n_clusters
from sidelight._fit.parameters import (
    Count,
    FinitePositive,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import MIN_WEIGHT, EMResult, MixtureBase
from sidelight.mixture.message_length._componentwise import ComponentwiseFit, search_components
from sidelight.tags import PLAIN_TAGS


@estimator
class MessageLengthMixture(MixtureBase):
    """Mixtures that find their number of components by the length of a message.

    Weights of rows are relative: their number is that of the rows that count, so that the unit of
    the weights does not matter. Rows that were seen several times are given as often.
    """

    _common_parameters = MixtureBase._common_parameters | {
        "min_components": "Fewer components are not tried.",
        "tol": "Stop when a sweep over the components changes the message length by less, per row.",
        "max_iter": "Largest number of sweeps per number of components.",
        "n_init": "Number of restarts; the shortest message is kept.",
        "random_state": "Seed or generator for the rows that the first components start from; pass "
        "an int for reproducible results.",
    }
    _common_attributes = MixtureBase._common_attributes | {
        "n_components_ : int": "Number of components found.",
        "n_iter_ : int": "Number of sweeps over the components.",
        "search_ : dict of str to ndarray": "``n_components``: numbers of components on the way; "
        "``message_length``: length of the message for each, in nats, up to a constant of the "
        "data.",
    }
    _family_tags = PLAIN_TAGS | {
        "needs_n_clusters": False,
        "monotone": True,
        "out_of_core": True,
    }

    n_components: Count | None = None  # type: ignore[assignment]
    _: KW_ONLY
    min_components: Count = 1
    tol: NonNegative = 1e-5
    reg_covar: FinitePositive = 1e-6
    max_iter: Count = 500
    n_init: Restarts = 1
    random_state: Seed = None
    verbose: Verbosity = 0

    #: Number of components to start from by default.
    _many: ClassVar[int]

    def _one_component(self, source: RowSource, row_weights: Array | None) -> Any:
        """One component for the data as a whole; ``copies(means)`` of it are a start."""
        raise NotImplementedError

    def _chosen(
        self,
        search: ComponentwiseFit,
        source: RowSource,
        known: Constraints,
        row_weights: Array | None,
    ) -> tuple[Any, Array]:
        """Components and mixing weights that are kept of a search."""
        raise NotImplementedError

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        weights = relative_weights(weights)
        n = float(source.n_rows if weights is None else weights.sum())
        whole = self._one_component(source, weights)
        k = self._start_size(source.n_rows, n, whole.support)

        def run(number: int, rng: np.random.RandomState) -> ComponentwiseFit:
            rows = rng.choice(source.n_rows, size=k, replace=False)
            start = whole.copies(np.asarray(source.take(rows), dtype=np.float64))
            return self._explore(source, start, weights)

        search = self._best_restart(n_restarts(self), run, source)
        components, mixing_weights = self._chosen(search, source, known, weights)
        self.n_components_ = len(mixing_weights)
        self.search_ = search.table
        return EMResult(
            components=components,
            log_weights=np.log(np.maximum(mixing_weights, MIN_WEIGHT)),
            history=search.history / n,
            n_iter=search.n_iter,
            converged=search.best.converged,
            interrupted=search.interrupted,
        )

    def _start_size(self, n_rows: int, n: float, support: float) -> int:
        """Number of components to start from, after checks; ``n`` is the weight of all rows.

        It may exceed what the rows support: components go one at a time, and those that are left
        are the better the more there were to choose from.
        """
        least = check_n_clusters(self.min_components, n_rows, name="min_components")
        if least > 1 and n <= least * support:
            warn(
                f"{n:g} rows are too few for {least} components, which need more than {support:g} "
                "each: some are kept although they do not pay. Use fewer features or a smaller "
                "min_components.",
                ConvergenceWarning,
            )
        if self.n_components is None:
            return max(least, min(self._many, n_rows))
        if least > self.n_components:
            raise ValueError(
                f"{setting('min_components', least)} must not exceed "
                f"{setting('n_components', self.n_components)}."
            )
        return int(self.n_components)

    def _explore(
        self, source: RowSource, start: Any, row_weights: Array | None
    ) -> ComponentwiseFit:
        """One search from a start of many components."""
        return self._search(source, start, row_weights)

    def _search(
        self,
        source: RowSource,
        components: Any,
        row_weights: Array | None,
        *,
        weights: Array | None = None,
        min_components: int | None = None,
    ) -> ComponentwiseFit:
        """Search from these components, of equal weights by default."""
        k = components.n_components
        return search_components(
            source,
            components,
            np.full(k, 1 / k) if weights is None else weights,
            row_weights=row_weights,
            min_components=self.min_components if min_components is None else min_components,
            max_iter=self.max_iter,
            tol=self.tol,
            description=type(self).__name__,
            verbose=self.verbose,
        )


def relative_weights(weights: Array | None) -> Array | None:
    """The weights in units of their average over the rows that count.

    A message about ``n`` rows is not ``c`` times as long as one about ``c n`` rows, so that the
    number of components would depend on the unit of the weights.
    """
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    return np.asarray(weights * (np.count_nonzero(weights) / weights.sum()))
