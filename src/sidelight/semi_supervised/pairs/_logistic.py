"""Pairwise kernel logistic regression (Yan, Zhang, Yang, Hauptmann 2006)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import expit, log_expit, softmax

from sidelight._fit.parameters import estimator
from sidelight._progress import stage_progress
from sidelight._typing import Array, FloatArray
from sidelight.base import ProbabilisticClassifier
from sidelight.semi_supervised.pairs._base import _PairwiseClassifier
from sidelight.semi_supervised.pairs._geometry import Geometry
from sidelight.semi_supervised.pairs._logistic_machines import PairwiseLogistic
from sidelight.tags import own_tags


@estimator
class PairwiseLogisticRegression(_PairwiseClassifier, ProbabilisticClassifier):
    r"""Kernel logistic regression on labels and on pairs.

    Minimizes over functions ``f`` of the space of the kernel, without bias,

    .. math::
        \sum_i \log(1 + e^{-y_i f_i})
        + \mu \sum_{ij} w_{ij} L'(f_i, c_{ij} f_j) + \lambda \|f\|^2

    with ``c = 1`` for must-links and ``c = -1`` for cannot-links of weight ``w``, and the loss of a
    pair (with ``a = f_i``, ``b = c f_j``) either ``log(1 + e^{a-b}) + log(1 + e^{b-a})``, which has
    one optimum, or ``-log[σ(a)σ(b) + σ(-a)σ(-b)]``, minus the log of the probability that the two
    labels are as the pair says. Labels are terms of the loss as pairs are: they are not passed on.
    Rows of a group are tied to its centroid, of which ``f`` is their mean. Read more in the
    :doc:`user guide </semi_supervised/pairs>`.

    Parameters
    ----------
    loss : {"convex", "nonconvex"}, default="convex"
        Loss of a pair. The non-convex one lets go of a pair that everything else contradicts; its
        optimum may be a local one, and with more than two classes groups can make it worse.
    penalty : float > 0, finite or "auto", default="auto"
        Factor ``μ`` on the weights of all pairs, against labels, which weigh 1. "auto" is 1; but
        for the non-convex loss with more than two classes, pairs together count no more than the
        labels.
    tol : float >= 0, default=1e-08
        Stop after a step whose slope promised to lower the objective by less than this share.

    Attributes
    ----------
    objective_ : float
        Objective at the end, added up over the machines; it was minimized.
    history_ : ndarray of shape (n_iter + 1,)
        Objective at the start and after every step.
    n_iter_ : int
        Number of steps: of Newton's method, or of EM from the better start.
    converged_ : bool
        Whether every machine reached ``tol`` before ``max_iter``.

    Notes
    -----
    The convex loss is minimized by Newton's method, O(m³) per step for m labels and pairs, and
    O(n'²) memory for the n' rows that they name; linear kernels and landmarks (``n_components`` =
    D) take O(n' D² + D³) per step and O(n' D) memory. The non-convex loss is minimized by EM, from
    the solution without pairs and, for two classes, also from that of the convex loss; the better
    end is kept.

    With more than two classes there is a machine for every class against the rest. Rows that
    belong apart may then both be of the rest, so that a cannot-link costs ``log(1 + e^{f_i+f_j})``,
    or ``-log[1 - σ(f_i)σ(f_j)]``. Probabilities are the ``σ(f_s)`` of all classes, divided by their
    sum. They are not calibrated: with many pairs that are true they are less sharp than they could
    be.

    There is no bias: center the rows before a linear kernel is used.

    References
    ----------
    Yan, Zhang, Yang and Hauptmann, in Basu, Davidson and Wagstaff (eds.), *Constrained Clustering*
    (2009), chapter 17.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.semi_supervised import PairwiseLogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> y = ["cat", None, None, None, None, "dog"]
    >>> known = Constraints(must_link=[(0, 3)], n_samples=6)
    >>> PairwiseLogisticRegression().fit(X, y).predict(X[[2, 3]])
    array(['cat', 'dog'], dtype='<U3')
    >>> PairwiseLogisticRegression().fit(X, y, constraints=known).predict(X[[2, 3]])
    array(['cat', 'cat'], dtype='<U3')
    """

    loss: Literal["convex", "nonconvex"] = "convex"

    _own_tags = own_tags(
        summary="kernel logistic regression on labels and pairs",
        knowledge=("labels", "must-link", "cannot-link", "groups"),
        source="Yan, Zhang, Yang, Hauptmann 2006 (Constrained Clustering, ch. 17)",
        complexity="O(m³) per step for m labels and pairs, O(m²) memory; "
        "O(m D²) for D features or landmarks",
        sparse=True,
        monotone=True,
    )

    def _share_of_pairs(self) -> float:
        # Calling most rows the rest satisfies most pairs of one class against the rest.
        return 1.0 if self.loss == "nonconvex" and len(self.classes_) > 2 else np.inf

    def _fit_machines(
        self, geometry: Geometry, scaled: float, random_state: np.random.RandomState
    ) -> FloatArray:
        problem = PairwiseLogistic(
            geometry,
            self.penalty_,
            scaled,
            against_rest=len(self.classes_) > 2,
            max_iter=self.max_iter,
            tol=float(self.tol),
        )
        solve = problem.convex_solver() if self.loss == "convex" else problem.nonconvex_solver()
        minima = []
        machines = self._machines()
        with stage_progress(type(self).__name__, len(machines), verbose=self.verbose) as progress:
            for code in machines:
                minima.append(solve(code))
                progress.step(minima[-1].objective)
        self._set_search([minimum.history for minimum in minima])
        self.n_iter_ = max(minimum.n_iter for minimum in minima)
        self.converged_ = all(minimum.converged for minimum in minima)
        self._warn_unless_converged(self.converged_, "Allow more steps, or a larger tol.")
        return np.stack([minimum.coef for minimum in minima])

    def _probabilities(self, rows: Any) -> Array:
        """``σ(f)`` for two classes; for more, ``σ(f_s)`` divided by their sum."""
        values = self._decide(rows)
        if values.ndim == 1:
            return np.column_stack([expit(-values), expit(values)])
        return np.asarray(softmax(log_expit(values), axis=1))
