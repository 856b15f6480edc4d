"""Saliencies for separating components (Law 2006, sections 4.3.4 and 4.5.4).

With all other parameters fixed, maximize over the saliencies

    J(ρ) = Σ_i log r_{i,t_i},   r_ic = Σ_j β_cj w_ij,

where ``w_ij`` is the posterior of component ``j``, ``β_cj`` the probability of class ``c`` in it,
and ``t_i`` the known class of a row or else its most probable one. Without labels every component
is its own class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax

from sidelight._fit.alternation import alternate
from sidelight._fit.tiles import OnesExcept
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture.message_length._saliency import SaliencyComponents

#: Saliencies stay this far from 0 and 1 while they are searched: slopes are finite there.
MARGIN = 1e-6

#: Largest number of rounds.
MAX_ROUNDS = 20


@dataclass(frozen=True)
class _Separated:
    """Saliencies, the class of every row that follows from them, and minus ``J``.

    ``n_changed`` counts the rows whose class is another one than before.
    """

    parameters: Array
    classes: Any
    objective: float
    n_changed: int


class _Classes:
    """Classes of a block: the known ones, or else the most probable ones."""

    again_from = (0,)

    def __init__(
        self, components: SaliencyComponents, log_weights: Array, class_weights: Array
    ) -> None:
        self._components = components
        self._log_weights = log_weights
        self._class_weights = class_weights

    def rows_again(self, block: Any, known: Array) -> tuple[Array]:
        """Return the classes."""
        posterior = softmax(self._components.log_density(block) + self._log_weights, axis=1)
        probable = np.argmax(posterior @ self._class_weights.T, axis=1)
        return (np.where(known >= 0, known, probable),)

    def __call__(self, block: Any, known: Array, before: Array) -> tuple[tuple[int], tuple[Array]]:
        (classes,) = self.rows_again(block, known)
        return (int(np.count_nonzero(classes != before)),), (classes,)


class Separation:
    """How clearly components, or classes of them, are separated.

    Parameters
    ----------
    source : RowSource
        The rows.
    components : SaliencyComponents
        Densities; their saliencies are replaced.
    log_weights : ndarray of shape (k,)
        Logarithms of the mixing weights.
    class_weights : ndarray of shape (C, k)
        ``β``; the identity if every component stands for itself.
    known : ndarray of shape (n,)
        Known class of every row, -1 where unknown.
    row_weights : ndarray of shape (n,) or None
        Weights of the rows, 1 by default.
    """

    def __init__(
        self,
        source: RowSource,
        components: SaliencyComponents,
        log_weights: Array,
        class_weights: Array,
        known: Array,
        row_weights: Array | None,
    ) -> None:
        self._source = source
        self._components = components
        self._log_weights = log_weights
        self._class_weights = class_weights
        self._known = known
        self._row_weights: Any = OnesExcept() if row_weights is None else row_weights

    def classes(self, saliencies: Array) -> Any:
        """Known class of every row, or the most probable one."""
        return self._classes_and_changes(saliencies, None)[0]

    def _classes_and_changes(self, saliencies: Array, before: Any) -> tuple[Any, int]:
        """Classes of the rows, and how many of them are not as before."""
        components = self._components.with_saliencies(saliencies)
        work = _Classes(components, self._log_weights, self._class_weights)
        if before is None:
            before = np.broadcast_to(np.int64(-1), self._source.n_rows)
        (n_changed,), (classes,) = self._source.map_reduce(work, aligned=(self._known, before))
        return classes, int(n_changed)

    def value_and_slope(self, saliencies: Array, classes: Array) -> tuple[float, Array]:
        """``J`` and its gradient, with the classes fixed; 0 for saliencies of 0 or 1.

        The slope of ``log w_ij`` is that of the log-density of ``j`` minus its mean over ``w_i``;
        the former is ``(σ_ijl - ρ_l) / (ρ_l (1 - ρ_l))``, where ``σ`` is the posterior probability
        that the feature is relevant. The mean over components of ``ρ_l`` cancels.
        """
        components = self._components.with_saliencies(saliencies)
        mixed = components.mixed
        log_weights, class_weights = self._log_weights, self._class_weights

        def work(block: Any, of_rows: Array, weights: Array) -> tuple[tuple[Any, ...], tuple[()]]:
            posterior = softmax(components.log_density(block) + log_weights, axis=1)
            joint = class_weights[of_rows] * posterior
            of_class = np.maximum(joint.sum(axis=1), np.finfo(np.float64).tiny)
            excess = joint / of_class[:, None] - posterior
            relevance = components.common_statistics(block, excess * weights[:, None])[0]
            return (float(weights @ np.log(of_class)), relevance), ()

        (value, relevance), _ = self._source.map_reduce(work, aligned=(classes, self._row_weights))
        slope = np.zeros(len(saliencies))
        rho = components.saliencies[mixed]
        slope[mixed] = relevance / (rho * (1 - rho))
        return float(value), slope

    def maximize(self, saliencies: Array, *, verbose: int = 0) -> tuple[Array, Array]:
        """Return better saliencies, and ``J`` at the start and after every round.

        A round climbs with the classes of the rows fixed, and looks at them again. Features of
        saliency 0 have no density of their own in the components and stay at 0.
        """
        open_features = np.flatnonzero(saliencies > 0)
        start = saliencies.copy()
        start[open_features] = np.clip(saliencies[open_features], MARGIN, 1 - MARGIN)

        def evaluate(saliencies: Array, before: _Separated | None) -> _Separated:
            classes, n_changed = self._classes_and_changes(saliencies, before and before.classes)
            value, _ = self.value_and_slope(saliencies, classes)
            return _Separated(saliencies, classes, -value, n_changed)

        rounds = alternate(
            start,
            evaluate,
            lambda now: self._ascend(now.parameters, open_features, now.classes),
            stop=lambda before, now, history: now.n_changed == 0,
            max_iter=MAX_ROUNDS,
            description="Post-processing of saliencies",
            verbose=verbose,
        )
        return self._rounded(rounds.last.parameters, rounds.last.classes), -rounds.history

    def _ascend(self, start: Array, features: Array, classes: Array) -> Array:
        """Climb with the classes fixed; log-odds of the saliencies make the slopes even."""
        if len(features) == 0:  # no saliency is left to choose
            return start

        def at(log_odds: Array) -> Array:
            saliencies = start.copy()
            saliencies[features] = expit(log_odds)
            return saliencies

        def descent(log_odds: Array) -> tuple[float, Array]:
            saliencies = at(log_odds)
            value, slope = self.value_and_slope(saliencies, classes)
            return -value, -(slope * saliencies * (1 - saliencies))[features]

        farthest = float(logit(1 - MARGIN))
        found = minimize(
            descent,
            logit(start[features]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-farthest, farthest)] * len(features),
        )
        return at(found.x)

    def _rounded(self, saliencies: Array, classes: Array) -> Array:
        """Round saliencies at the bounds to 0 and 1, unless that separates the classes less."""
        rounded = saliencies.copy()
        rounded[saliencies < 2 * MARGIN] = 0.0
        rounded[saliencies > 1 - 2 * MARGIN] = 1.0
        before, _ = self.value_and_slope(saliencies, classes)
        after, _ = self.value_and_slope(rounded, classes)
        return rounded if after >= before - 1e-6 * abs(before) else saliencies


def class_weights_of(posterior: Array, classes: Array, n_classes: int) -> Array:
    """``β_cj``: probability of class ``c`` in component ``j``, from labeled rows.

    The labeled rows of a component vote; one vote more is spread as the classes are among all
    labeled rows, which speaks for components that hold no labeled row.
    """
    votes = np.zeros((n_classes, posterior.shape[1]))
    np.add.at(votes, classes, posterior)
    votes += np.bincount(classes, minlength=n_classes)[:, None] / len(classes)
    return np.asarray(votes / votes.sum(axis=0))
