"""Rows whose component is known: partial labels in EM (Book 2009, section 5.3.1)."""

from __future__ import annotations

import numpy as np

from sidelight._typing import Array
from sidelight.mixture._core._em import normalized_log


class LabelledRows:
    """Rows that are known to come from one component each: class ``c`` is component ``c``."""

    def __init__(self, labels: Array, sample_weight: Array | None = None) -> None:
        self._rows = np.flatnonzero(labels >= 0)
        self._labels = labels[self._rows]
        weights = np.ones(len(labels)) if sample_weight is None else sample_weight
        self._weights = np.asarray(weights, dtype=np.float64)[self._rows]

    @property
    def rows(self) -> Array:
        """Positions of the labelled rows."""
        return self._rows

    def posterior(self, log_density: Array, log_weights: Array) -> tuple[Array, float]:
        """All responsibility to the known component."""
        order = np.arange(len(self._labels))
        resp = np.zeros_like(log_density)
        resp[order, self._labels] = self._weights
        joint = log_density[order, self._labels] + log_weights[self._labels]
        return resp, float(self._weights @ joint)

    def weights(self, free: Array, held: Array, log_weights: Array) -> Array:
        """Shares of the components: labelled rows are drawn like all others."""
        return normalized_log(free + held)

    def labels(self, log_density: Array, log_weights: Array) -> Array:
        """The known components."""
        return self._labels
