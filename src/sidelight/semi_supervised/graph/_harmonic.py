"""Gaussian fields and harmonic functions (Zhu, Ghahramani, Lafferty 2003)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import estimator
from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.semi_supervised.graph._harmonic_solve import Dirichlet, solve_roughly
from sidelight.semi_supervised.graph._solved import _SolvedClassifier
from sidelight.tags import own_tags


@estimator
class HarmonicClassifier(_SolvedClassifier):
    """Classes that change as little as possible along the edges of a graph.

    Minimizes ``E(f) = ½ Σ_ij w_ij ‖f_i - f_j‖² = Σ_c f_c'(D - W) f_c`` over distributions ``f_i``
    on the classes, fixed to their class at labeled rows. The minimum is harmonic: every unlabeled
    row has the weighted average of its neighbors, ``f_u = (D_uu - W_uu)^{-1} W_ul Y_l``, the
    limit of label propagation; ``f_ic`` is the probability that a random walk from row ``i``
    meets its first labeled row in class ``c``. Probabilities are ``p_ic ∝ g_c f_ic^s``, with
    factors ``g`` such that their means over the unlabeled rows are the shares of the classes. New
    rows take the weighted average of the nearest rows of the fit. Read more in the
    :doc:`user guide </semi_supervised/graph>`.

    Parameters
    ----------
    class_shares : {"auto", "labels", "equal", "free"} or array, default="auto"
        Shares of the classes among the unlabeled rows; an array holds one for every class, in the
        order of ``classes_``. "labels" takes those of the labels, which is right where these were
        drawn at random and are many. "auto" estimates them: the classes that the rows choose when
        the means of ``f`` are scaled to the shares of the labels, ten of every class added. "free"
        leaves ``f`` as it is. Give the shares where you know them.
    max_iter : int >= 1, default=5000
        Largest number of steps of conjugate gradients, which solve for more than 600 unlabeled
        rows; 50 to 500 are usual.
    tol : float > 0, finite, default=1e-08
        Stop when the residual is this share of the right-hand side.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        ``p`` of every row of the fit, in the order of ``classes_``; ``f`` for "free".
    class_shares_ : ndarray of shape (n_classes,)
        Means of ``p`` over the unlabeled rows.
    class_factors_ : ndarray of shape (n_classes,)
        Factors ``g``, the largest 1; all 1 for "free".
    sharpness_ : float
        Power ``s``, 1 for "free".
    objective_ : float
        ``E(f)``, in units of the largest weight.
    history_ : ndarray of shape (n_iter,)
        ``E`` after every step.
    n_iter_ : int
        Number of steps; 1 where a factorization solves.
    converged_ : bool
        Whether the residual fell below ``tol``.

    Notes
    -----
    Time is ``O(n k)`` per step beside the search for ``k`` neighbors, memory ``O(n (k + C))`` for
    ``C`` classes. The rows of the fit have their class in ``transduction_``; ``predict`` takes them
    for new ones.

    With very few labels in many rows ``f`` is nearly constant away from the labels, and the class
    with more, or better joined, labeled rows takes too much; the factors ``g``, a form of class
    mass normalization, correct that. They hurt where the shares are wrong. The power ``s`` has the
    least log loss on labels that are held out, in five parts, and is near 2 where there are few:
    ``f`` itself is much too flat to be a probability of the class. Rows in a part of the
    graph without a label take the class at the end of the shortest link to another part, with a
    warning.

    References
    ----------
    Zhu, Ghahramani, Lafferty, "Semi-supervised learning using Gaussian fields and harmonic
    functions", ICML 2003; Mallapragada, thesis, 2010, section 2.3.1.

    Examples
    --------
    >>> from sidelight.semi_supervised import HarmonicClassifier
    >>> X = [[0.0], [1.0], [2.1], [3.3], [4.6]]
    >>> y = ["low", None, None, None, "high"]
    >>> model = HarmonicClassifier(1, weights="connectivity", class_shares="free").fit(X, y)
    >>> model.classes_.tolist(), model.label_distributions_[1].round(2).tolist()
    (['high', 'low'], [0.25, 0.75])
    >>> model.predict([[0.4], [3.9]]).tolist()
    ['low', 'high']
    """

    _own_tags = own_tags(
        summary="classes that change least along the edges of a graph of neighbors",
        source="Zhu, Ghahramani, Lafferty 2003; Mallapragada 2010, section 2.3.1",
        complexity="O(n k C) per step of conjugate gradients, O(n (k + C)) memory",
        sparse=True,
        monotone=True,
    )

    def _spread(self, W: sparse.csr_array, labels: IntArray, known: Constraints) -> Array:
        n_classes = len(self.classes_)
        problem = Dirichlet(W, labels, n_classes)
        unlabeled = self._solve(problem)
        values = np.zeros((len(labels), n_classes))
        labeled = np.flatnonzero(labels >= 0)
        values[labeled, labels[labeled]] = 1.0
        values[problem.unlabeled] = self._calibrated(unlabeled, W, labels)
        return values

    def _spread_roughly(self, W: sparse.csr_array, labels: IntArray) -> Array:
        return solve_roughly(Dirichlet(W, labels, len(self.classes_)))
