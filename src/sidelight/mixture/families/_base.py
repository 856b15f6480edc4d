"""Fitting a mixture of one exponential family: shared by discrete and directional mixtures."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_weights
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import (
    EMResult,
    LabelledRows,
    MixtureBase,
    StartName,
    components_of_clusters,
    known_classes,
    rough_clusters,
)


class FamilyMixture(MixtureBase):
    """A mixture of one family: subclasses say which components a first m-step starts from."""

    n_init: int
    init_params: StartName

    @abstractmethod
    def _whole_data(self, source: RowSource) -> Any:
        """Components that a first m-step starts from; refuses rows that the family cannot have."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        weights = check_weights(sample_weight, source)
        labels, self.classes_ = known_classes(known, self.n_components)
        labelled = LabelledRows(labels, weights)
        whole = self._whole_data(source)
        rough = self._rough_rows(source)
        last = self._last_parameters()

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            start = last
            if start is None:
                clusters = rough_clusters(
                    rough,
                    self.n_components,
                    self.init_params,
                    rng,
                    sample_weight=weights,
                    labels=labels,
                )
                start = components_of_clusters(source, whole, clusters, weights)
            return self._run_em(source, start, weights, labelled)

        best = self._best_restart(self.n_init if last is None else 1, run, source)
        return self._set_fitted_attributes(best, source, known)

    def _rough_rows(self, source: RowSource) -> RowSource:
        """Rows to find rough clusters of: without missing values."""
        return source
