"""What mixtures of least message length share: the search from many components to few."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight._fit.checks import check_n_clusters
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core._base import _MixtureBase
from sidelight.mixture._core._em import LEAST_WEIGHT, EMResult
from sidelight.mixture.message_length._componentwise import Search, search_components


class MessageLengthMixture(_MixtureBase):
    """Mixtures that find their number of components by the length of a message.

    Subclasses find a :class:`Search` in ``fit`` and :meth:`_keep_search` it.
    """

    n_components: Any
    min_components: int
    n_init: int

    #: Number of components to start from unless told.
    _many: int

    def _start_size(self, n_rows: int, n: float, support: float) -> int:
        """Number of components to start from, after checks; ``n`` is the weight of all rows.

        It may exceed what the rows support: components go one at a time, and those that are left
        are the better the more there were to choose from.
        """
        least = check_n_clusters(self.min_components, n_rows, name="min_components")
        if least > 1 and n <= least * support:
            warnings.warn(
                f"{n:g} rows are too few for {least} components, which need more than {support:g} "
                "each: some are kept although they do not pay. Use fewer features or a smaller "
                "min_components.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.n_components is None:
            return max(least, min(self._many, n_rows))
        k = check_n_clusters(self.n_components, n_rows, name="n_components")
        if least > k:
            raise ValueError(f"min_components={least} must not exceed n_components={k}.")
        return k

    def _search(
        self,
        source: RowSource,
        components: Any,
        row_weights: Array | None,
        *,
        weights: Array | None = None,
        min_components: int | None = None,
    ) -> Search:
        """Search from these components, of equal weights unless told."""
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

    def _best_search(self, run: Callable[[np.random.RandomState], Search]) -> Search:
        """Search from several starts and keep the one with the shortest message."""
        if not isinstance(self.n_init, Integral) or self.n_init < 1:
            raise ValueError(f"n_init must be a whole number above 0, got {self.n_init!r}.")
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=self.n_init
        )
        best: Search | None = None
        for seed in seeds:
            search = run(np.random.RandomState(seed))
            if best is None or search.best.length < best.best.length:
                best = search
            if search.interrupted:
                break
        assert best is not None
        return best

    def _keep_search(
        self,
        search: Search,
        source: RowSource,
        constraints: Constraints,
        n: float,
        processed: tuple[Any, Array] | None = None,
    ) -> Self:
        """Set the fitted attributes; ``processed`` are components and weights to use instead."""
        stage = search.best
        components, weights = processed or (stage.components, stage.weights)
        self.n_components_ = len(weights)
        self.message_length_ = stage.length
        self.message_lengths_ = np.array([each.length for each in search.stages])
        self.n_components_tried_ = np.array([len(each.weights) for each in search.stages])
        result = EMResult(
            components=components,
            log_weights=np.log(np.maximum(weights, LEAST_WEIGHT)),
            history=-stage.history / n,
            n_iter=search.n_iter,
            converged=stage.converged,
            interrupted=search.interrupted,
        )
        self._set_fitted_attributes(result, source, constraints)
        return self
