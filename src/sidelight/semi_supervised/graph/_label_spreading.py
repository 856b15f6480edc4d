"""Label spreading: learning with local and global consistency (Zhou et al. 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import Interval, estimator
from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.semi_supervised.graph._harmonic_solve import Spreading, solve_roughly
from sidelight.semi_supervised.graph._shares import LEAST_VALUE
from sidelight.semi_supervised.graph._solved import _SolvedClassifier
from sidelight.tags import own_tags


@estimator
class LabelSpreadingClassifier(_SolvedClassifier):
    """Classes that spread over a graph from labels that may be wrong.

    Minimizes ``Q(F) = Σ_c F_c'(I - S)F_c + (1/α - 1) ‖F - Y‖²`` over values ``F`` of all rows, with
    ``S = D^{-1/2} W D^{-1/2}`` and a 1 in ``Y`` for the class of a labeled row:
    ``F = (1 - α)(I - αS)^{-1} Y``, where the iteration ``F ← αSF + (1 - α)Y`` ends. Labels are not
    fixed as by :class:`HarmonicClassifier`, but a row gives away the share ``α`` of what it holds
    to its neighbors in every step. Rows of ``F`` are scaled to sum 1, and probabilities are
    ``p_ic ∝ g_c F_ic^s``, with factors ``g`` such that their means over the unlabeled rows are the
    shares of the classes. New rows take the weighted average of the nearest rows of the fit. Read
    more in the :doc:`user guide </semi_supervised/graph>`.

    Parameters
    ----------
    neighbor_share : float in (0, 1), default=0.9
        Share ``α`` of what rows hold that comes from their neighbors, in each step. A small one
        keeps labels near where they were given; near 1 they spread over whole parts of the graph.
        It is ``alpha`` of scikit-learn's ``LabelSpreading``.
    class_shares : {"auto", "labels", "equal", "free"} or array, default="auto"
        Shares of the classes among the unlabeled rows; an array holds one for every class, in the
        order of ``classes_``. "labels" takes those of the labels, which is right where these were
        drawn at random and are many. "auto" estimates them: the classes that the rows choose when
        the means of ``F`` are scaled to the shares of the labels, ten of every class added. "free"
        leaves ``F`` as it is. Give the shares where you know them.
    max_iter : int >= 1, default=5000
        Largest number of steps of conjugate gradients, which solve for more than 600 rows.
    tol : float > 0, finite, default=1e-08
        Stop when the residual is this share of the right-hand side.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        ``p`` of every row of the fit, labeled ones included, in the order of ``classes_``; ``F``
        scaled to sum 1 for "free".
    class_shares_ : ndarray of shape (n_classes,)
        Means of ``p`` over the unlabeled rows.
    class_factors_ : ndarray of shape (n_classes,)
        Factors ``g``, the largest 1; all 1 for "free".
    sharpness_ : float
        Power ``s`` that predicts held-out labels best, 1 for "free".
    objective_ : float
        ``Q(F)``.
    history_ : ndarray of shape (n_iter,)
        ``Q`` after every step.
    n_iter_ : int
        Number of steps; 1 where a factorization solves.
    converged_ : bool
        Whether the residual fell below ``tol``.

    Notes
    -----
    Time is ``O(n k)`` per step beside the search for ``k`` neighbors, memory ``O(n (k + C))`` for
    ``C`` classes. The system has eigenvalues between ``1 - α`` and ``1 + α``: the steps that it
    takes do not depend on the number of rows. ``transduction_`` keeps the labels that were given;
    where ``label_distributions_`` of a labeled row speaks against its label, this may be wrong.

    References
    ----------
    Zhou, Bousquet, Lal, Weston, Schölkopf, "Learning with local and global consistency", NIPS 2003.

    Examples
    --------
    >>> from sidelight.semi_supervised import LabelSpreadingClassifier
    >>> X = [[0.0], [1.0], [2.1], [3.3]]
    >>> y = ["low", None, None, "high"]
    >>> model = LabelSpreadingClassifier(1, weights="connectivity", class_shares="free")
    >>> model = model.fit(X, y)
    >>> model.transduction_.tolist()
    ['low', 'low', 'high', 'high']
    """

    _: KW_ONLY
    neighbor_share: Annotated[float, Interval(0, 1, open_low=True, open_high=True)] = 0.9

    _own_tags = own_tags(
        summary="classes that spread over a graph of neighbors from labels that may be wrong",
        source="Zhou et al. 2003",
        complexity="O(n k C) per step of conjugate gradients, O(n (k + C)) memory",
        sparse=True,
        monotone=True,
    )

    def _spread(self, W: sparse.csr_array, labels: IntArray, known: Constraints) -> Array:
        values = self._solve(Spreading(W, labels, len(self.classes_), self.neighbor_share))
        free = labels < 0
        calibrated = self._calibrated(values[free], W, labels)
        if self.sharpness_ != 1 or np.any(self.class_factors_ != 1):
            values = np.maximum(values, LEAST_VALUE) ** self.sharpness_ * self.class_factors_
            values /= values.sum(axis=1, keepdims=True)
        values[free] = calibrated
        return values

    def _spread_roughly(self, W: sparse.csr_array, labels: IntArray) -> Array:
        problem = Spreading(W, labels, len(self.classes_), self.neighbor_share)
        return solve_roughly(problem)[labels < 0]
