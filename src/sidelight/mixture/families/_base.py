"""Fitting a mixture of one exponential family: what discrete and directional mixtures share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core._base import _MixtureBase
from sidelight.mixture._core._em import EMResult, em
from sidelight.mixture._core._known_classes import known_classes
from sidelight.mixture._core._labelled import LabelledRows
from sidelight.mixture._core._starts import components_of_clusters


class _FamilyMixture(_MixtureBase):
    """A mixture whose components say how they start: subclasses name the family."""

    n_init: int
    init_params: str
    warm_start: bool

    @abstractmethod
    def _whole_data(self, source: RowSource, k: int) -> Any:
        """``k`` components from which a first M-step starts; refuse rows that do not fit."""

    @abstractmethod
    def _rough(
        self,
        source: RowSource,
        k: int,
        rng: np.random.RandomState,
        labels: Array,
        sample_weight: Array | None,
    ) -> Array:
        """Rough clusters of the rows to start from."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the mixture to the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Labels are used, also where must-links pass them on; other pairs are only counted.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted mixture.
        """
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        labels, self.classes_ = known_classes(known, k)
        held = LabelledRows(labels, weights) if np.any(labels >= 0) else None
        whole = self._whole_data(source, k)

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            if self.warm_start and hasattr(self, "_components"):
                components, log_weights = self._components, self._log_weights
            else:
                components, log_weights = components_of_clusters(
                    source, whole, self._rough(source, k, rng, labels, weights), weights
                )
            return em(
                source,
                components,
                log_weights,
                sample_weight=weights,
                held=held,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        return self._set_fitted_attributes(
            self._best_restart(self.n_init, run, source), source, known, held
        )
