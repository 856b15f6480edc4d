"""A network with a bottleneck: its layers, their sum of squared errors and its gradient."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, FloatArray

#: Units that pass principal components on start with values of this size: tanh is nearly straight.
STRAIGHT = 0.7

#: Effect of the other units on code and output at the start, as a share of a random start: with
#: none at all the error hardly falls for many iterations.
FAINT = 0.3


@dataclass(frozen=True)
class Layers:
    """Widths of a network that goes from rows through a code back to rows.

    Units of the code and of the output are linear, all others have the activation. Weights of all
    layers are one vector: for each layer the matrix (inputs by outputs), then the biases.

    Attributes
    ----------
    encoder : tuple of int
        Widths from the row to the code, both included; the decoder is its mirror image.
    straight : bool
        Whether all units are linear; otherwise the activation is tanh.
    """

    encoder: tuple[int, ...]
    straight: bool

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of all layers, from row to row."""
        return self.encoder + self.encoder[-2::-1]

    @property
    def n_encoding(self) -> int:
        """Number of layers of weights between the row and the code."""
        return len(self.encoder) - 1

    @property
    def n_weights(self) -> int:
        """Number of weights and biases."""
        return sum((before + 1) * after for before, after in self._sides())

    def split(self, vector: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return matrix and biases of each layer, as views of the vector."""
        parts = []
        start = 0
        for before, after in self._sides():
            middle, stop = start + before * after, start + (before + 1) * after
            parts.append((vector[start:middle].reshape(before, after), vector[middle:stop]))
            start = stop
        return parts

    def encode(self, vector: FloatArray, rows: Array) -> FloatArray:
        """Codes of rows."""
        layers = self.split(vector)[: self.n_encoding]
        return self._forward(layers, rows, 0)[-1]

    def decode(self, vector: FloatArray, codes: Array) -> FloatArray:
        """Rows of codes."""
        layers = self.split(vector)[self.n_encoding :]
        return self._forward(layers, codes, self.n_encoding)[-1]

    def error(self, vector: FloatArray, rows: Array) -> tuple[float, FloatArray]:
        """Sum of squared errors ``Σ_i ‖x_i - x̂_i‖²`` and its gradient."""
        layers = self.split(vector)
        values = self._forward(layers, rows, 0)
        gradient = np.empty_like(vector)
        slopes = self.split(gradient)
        residual = values[-1] - rows
        back = 2 * residual
        for number in range(len(layers) - 1, -1, -1):
            np.matmul(values[number].T, back, out=slopes[number][0])
            slopes[number][1][:] = back.sum(axis=0)
            if number:
                back = back @ layers[number][0].T
                if self._is_bent(number - 1):
                    back *= 1 - values[number] ** 2
        return float(np.sum(residual**2)), gradient

    def random(self, rng: np.random.RandomState) -> FloatArray:
        """Weights at random, of the size that keeps the variance of the values.

        Biases of hidden units are random too: without them the network is an odd function, and a
        start where all of them vanish is a saddle.
        """
        vector = np.zeros(self.n_weights)
        for number, (weights, biases) in enumerate(self.split(vector)):
            bound = np.sqrt(6.0 / sum(weights.shape))
            weights[:] = rng.uniform(-bound, bound, weights.shape)
            if self._is_bent(number):
                biases[:] = rng.uniform(-1.0, 1.0, biases.shape)
        return vector

    def near_components(
        self, components: FloatArray, spread: float, rng: np.random.RandomState
    ) -> FloatArray:
        """Weights with which the network does nearly what principal components do.

        The first units of each hidden layer pass the components on, small enough for tanh to be
        straight. All others have random inputs and little effect yet, or none where all units are
        linear: principal components are the optimum then.

        Parameters
        ----------
        components : ndarray of shape (n_components, n_features)
            Principal directions.
        spread : float
            Standard deviation of the rows along the first.
        rng : RandomState
            Generator of the other weights.
        """
        vector = self.random(rng)
        layers = self.split(vector)
        passed = min(len(components), *self.encoder[1:])
        gain = 1.0 if self.straight else STRAIGHT / spread
        to_code, to_row = self.n_encoding - 1, len(layers) - 1
        for number, (weights, biases) in enumerate(layers):
            biases[:passed] = 0.0
            if number in (to_code, to_row):
                weights *= 0.0 if self.straight else FAINT
            else:
                weights[:, :passed] = 0.0  # units that pass components on take nothing else
            if number == 0:
                weights[:, :passed] = gain * components[:passed].T
            elif number == to_row:
                weights[:passed] = components[:passed] / gain
            else:
                scale = {to_code: 1 / gain, to_code + 1: gain}.get(number, 1.0)
                weights[:passed] *= number != to_code
                weights[:passed, :passed] = scale * np.eye(passed)
        return vector

    def _forward(
        self, layers: Sequence[tuple[FloatArray, FloatArray]], rows: Array, first: int
    ) -> list[FloatArray]:
        """Values of all layers, the rows included."""
        values = [np.asarray(rows)]
        for number, (weights, biases) in enumerate(layers, start=first):
            total = values[-1] @ weights
            total += biases
            values.append(np.tanh(total, out=total) if self._is_bent(number) else total)
        return values

    def _is_bent(self, number: int) -> bool:
        """Whether the outputs of this layer of weights go through the activation."""
        return not self.straight and number not in (
            self.n_encoding - 1,
            2 * self.n_encoding - 1,
        )

    def _sides(self) -> list[tuple[int, int]]:
        widths = self.widths
        return list(itertools.pairwise(widths))
