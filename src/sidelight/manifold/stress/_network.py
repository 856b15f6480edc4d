"""The auto-associative network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_coordinates
from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.restarts import fit_progress
from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array, FloatArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import Embedding
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.manifold.linear._base import Centered
from sidelight.manifold.stress._layers import Layers
from sidelight.tags import own_tags

#: Gradients and steps that the quasi-Newton method remembers.
MEMORY = 20

#: Iterations over which the fall of the objective is watched: near the start a single one may gain
#: next to nothing long before the end.
WINDOW = 20

#: A fall by more than this share of the variance over these iterations is worth a warning when no
#: more are allowed.
STILL_FALLING = 0.01


@estimator
class AutoassociativeNetwork(Embedding):
    r"""Map by a network that has to rebuild the rows from a few numbers.

    Layers of widths D - hidden - ``n_components`` - hidden - D, whose targets are their own inputs
    (Law 2006, section 2.4). Minimizes

    .. math:: E = \frac{\sum_i \lVert x_i - \hat x_i \rVert^2}{\sum_i \lVert x_i - \bar x \rVert^2}
              + \alpha \lVert W \rVert^2

    over all weights ``W`` by the quasi-Newton method L-BFGS, from a start that does nearly what
    principal components do. The code in the middle is linear and is the map; from a code the rest
    of the network rebuilds a row, see :meth:`inverse_transform`. scikit-learn's ``MLPRegressor``
    can be trained on its own inputs, but neither gives the values of the middle layer nor has a
    linear layer there. Read more in the :doc:`user guide </manifold/stress>`.

    Parameters
    ----------
    n_components : int >= 1, default=2
        Number of coordinates: units of the code.
    hidden_layer_sizes : int >= 1 or sequence of int >= 1 or "auto", default="auto"
        Units of the hidden layer between row and code, or of several such layers; those between
        code and row mirror them. "auto" is twice the number of features, between 10 and 50.
    activation : {"tanh", "identity"}, default="tanh"
        Function of the hidden units; with "identity" the network finds the subspace of principal
        components.
    alpha : float >= 0, finite, default=1e-06
        Price of large weights.
    max_iter : int >= 1, default=500
        Largest number of iterations of a restart.
    tol : float >= 0, finite, default=0.0001
        A restart has converged when 20 iterations lower the objective by less than this share. Few
        get there: a warning of an end by ``max_iter`` is given only while the objective falls fast.
    n_init : int >= 1 or "auto", default=1
        Number of restarts: the first near principal components, the others from random weights;
        the best is kept.
        ``"auto"`` takes 10.

    Attributes
    ----------
    objective_ : float
        Objective at the end.
    reconstruction_error_ : float
        Mean squared distance ``(1/n) Σ_i ‖x_i - x̂_i‖²`` of the rows from what is rebuilt of them.
    coefs_ : list of ndarray
        Weights of each layer, of shape (inputs, outputs), from row to row. They are for rows that
        are centered and divided by ``scale_``.
    intercepts_ : list of ndarray
        Biases of each layer.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    scale_ : float
        Root of the mean variance of the features. Codes are multiplied by it.
    history_ : ndarray
        Objective at every iteration of the best restart; it never rises.
    n_iter_ : int
        Number of iterations of the best restart.
    converged_ : bool
        Whether the best restart converged before ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import AutoassociativeNetwork
    >>> t = np.linspace(-1, 1, 50)
    >>> arc = np.column_stack([t, t**2])
    >>> network = AutoassociativeNetwork(1, random_state=0).fit(arc)
    >>> rebuilt = network.inverse_transform(network.transform(arc))
    >>> bool(np.mean((arc - rebuilt) ** 2) < 0.01 * np.var(arc))
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    hidden_layer_sizes: Count | Sequence[Count] | Auto = "auto"
    activation: Literal["tanh", "identity"] = "tanh"
    alpha: FiniteNonNegative = 1e-6
    max_iter: Count = 500
    tol: FiniteNonNegative = 1e-4
    n_init: Restarts = 1
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="map by a network that rebuilds the rows from a few numbers",
        source="Law 2006, section 2.4",
        complexity="O(n (d + q) h) per iteration for h hidden units, O(n (d + h)) memory",
        monotone=True,
    )

    def _learn(self, rows: Array, known: Constraints) -> None:
        centered = Centered(rows)
        layers = Layers(
            (rows.shape[1], *self._widths(rows.shape[1]), self.n_components),
            straight=self.activation == "identity",
        )
        spread = float(np.mean(centered.coordinates**2)) * len(centered.basis)
        scale = float(np.sqrt(spread / rows.shape[1]))
        source = as_rows((np.asarray(rows, dtype=np.float64) - centered.mean) / scale)
        components = fix_signs(centered.basis)
        along_first = float(np.std(centered.coordinates[:, 0])) / scale

        def run(number: int, rng: np.random.RandomState) -> _Training:
            if number == 0:
                start = layers.near_components(components, along_first, rng)
            else:
                start = layers.random(rng)
            return self._train(layers, source, start)

        best = self._best_restart(n_restarts(self), run, source)
        self._layers, self._vector = layers, best.vector
        self.mean_, self.scale_ = centered.mean, scale
        parts = layers.split(best.vector)
        self.coefs_ = [weights for weights, _ in parts]
        self.intercepts_ = [biases for _, biases in parts]
        self.embedding_ = self._transform(rows)
        self.objective_ = best.objective
        self.history_ = np.array(best.history)
        self.n_iter_ = len(best.history) - 1
        self.converged_ = best.converged
        (error,), _ = source.map_reduce(
            lambda block: ((layers.error(best.vector, block)[0],), ()),
        )
        self.reconstruction_error_ = float(error) * scale**2 / len(rows)
        if best.drop > STILL_FALLING and not (best.converged or best.interrupted):
            warn(
                f"The error of AutoassociativeNetwork still falls, by {100 * best.drop:.0f} % of "
                f"the variance in the last iterations of {setting('max_iter', self.max_iter)}; "
                f"raise {setting('max_iter')}.",
                ConvergenceWarning,
            )

    def _widths(self, n_features: int) -> tuple[int, ...]:
        """Widths of the hidden layers between row and code."""
        if isinstance(self.hidden_layer_sizes, str):
            return (int(np.clip(2 * n_features, 10, 50)),)
        if isinstance(self.hidden_layer_sizes, Sequence):
            return tuple(int(width) for width in self.hidden_layer_sizes)
        return (int(self.hidden_layer_sizes),)

    def _train(self, layers: Layers, source: RowSource, start: FloatArray) -> _Training:
        """Minimize the objective from the given weights."""
        # Rows are scaled so that the mean variance of a feature is 1.
        total = source.n_rows * source.n_features
        decay = self.alpha * _is_weight(layers)

        def objective(vector: FloatArray) -> tuple[float, FloatArray]:
            (error, slope), _ = source.map_reduce(lambda block: (layers.error(vector, block), ()))
            price = decay * vector
            return float(error) / total + float(price @ vector), slope / total + 2 * price

        training = _Training(start, [objective(start)[0]])
        with fit_progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:

            def follow(intermediate_result: Any) -> None:
                training.vector = np.array(intermediate_result.x)
                training.history.append(float(intermediate_result.fun))
                progress.step(training.objective)
                enough = len(training.history) > WINDOW
                if enough and training.drop <= self.tol * training.objective:
                    raise StopIteration

            end = minimize(
                objective,
                start,
                jac=True,
                method="L-BFGS-B",
                callback=follow,
                options={
                    "maxiter": self.max_iter,
                    "maxfun": 20 * self.max_iter,
                    "maxcor": MEMORY,
                    "ftol": 0.0,
                    "gtol": 0.0,
                },
            )
            # 1: no more iterations; all else is an end of its own, be it in the last digit.
            training.converged = bool(end.status != 1)
        training.interrupted = progress.interrupted
        return training

    def _transform(self, rows: Array) -> Array:
        scaled = (rows.astype(np.float64) - self.mean_) / self.scale_
        return (self.scale_ * self._layers.encode(self._vector, scaled)).astype(rows.dtype)

    def inverse_transform(self, Z: Any) -> Array:
        """Rebuild rows from their coordinates.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the element type of the coordinates.
        """
        check_is_fitted(self)
        codes = check_coordinates(Z, self._n_features_out)
        rebuilt = self._layers.decode(self._vector, codes.astype(np.float64) / self.scale_)
        return np.asarray(self.scale_ * rebuilt + self.mean_).astype(codes.dtype)


@dataclass
class _Training:
    """Weights so far, and the objective at every iteration."""

    vector: FloatArray
    history: list[float]
    converged: bool = False
    interrupted: bool = field(default=False)

    @property
    def objective(self) -> float:
        """The objective now."""
        return self.history[-1]

    @property
    def drop(self) -> float:
        """Fall of the objective in the iterations that are watched."""
        return self.history[-1 - WINDOW :][0] - self.objective


def _is_weight(layers: Layers) -> FloatArray:
    """1 for weights, 0 for biases, which cost nothing."""
    marks = np.zeros(layers.n_weights)
    for weights, _ in layers.split(marks):
        weights[:] = 1.0
    return marks
