"""Fitting a mixture of one exponential family: shared by discrete and directional mixtures."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from sidelight._fit.parameters import (
    Count,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import (
    EMResult,
    LabelledRows,
    MixtureBase,
    Parameters,
    StartName,
    components_of_clusters,
    known_classes,
    rough_clusters,
)


@estimator
class FamilyMixture(MixtureBase):
    """A mixture of one family; subclasses define the components of the first M-step."""

    _common_attributes = MixtureBase._common_attributes | {
        "labels_ : ndarray of int32, shape (n_samples,)": "Most probable component of every row; "
        "that of its class where that is known.",
        "classes_ : ndarray": "Known class that each of the first components stands for.",
        "objective_ : float": "Negative log-likelihood (and log-prior) per row at the end.",
    }

    _family_tags: ClassVar[dict[str, Any]] = {
        "knowledge": ("labels",),
        "enforcement": "hard",
        "monotone": True,
    }

    n_components: Count = 2
    _: KW_ONLY
    tol: NonNegative = 1e-5
    max_iter: Count = 200
    n_init: Restarts = 5
    init_params: StartName = "kmeans"
    warm_start: bool = False
    random_state: Seed = None
    verbose: Verbosity = 0

    @abstractmethod
    def _whole_data(self, source: RowSource) -> Any:
        """Components that a first m-step starts from; refuses rows that the family cannot have."""

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        labels, self.classes_ = known_classes(known, self.n_components)
        k, whole, rough = self.n_components, self._whole_data(source), self._rough_rows(source)
        last = self._last_parameters()

        def start(number: int, rng: np.random.RandomState, labelled: LabelledRows) -> Parameters:
            if last is not None:
                return last
            clusters = rough_clusters(
                rough, k, self.init_params, rng, sample_weight=weights, labels=labels
            )
            return components_of_clusters(source, whole, clusters, weights)

        n_init = n_restarts(self) if last is None else 1
        labelled = LabelledRows(labels, weights)
        return self._best_em(source, weights, labelled, start, n_init=n_init)

    def _rough_rows(self, source: RowSource) -> RowSource:
        """Rows to find rough clusters of: without missing values."""
        return source
