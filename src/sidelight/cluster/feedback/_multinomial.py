"""A mixture of multinomials over weighted counts, fitted by EM (Constrained Clustering, 2.2).

The counts of term ``j`` are weighted by ``γ_j``; EM maximises ::

    Σ_x log Σ_i π_i Π_j θ_ij^(γ_j N_xj)  +  Σ_ij log θ_ij

where the last term (a Dirichlet prior of parameter 2) is what adding one to every count means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.engine import RowSource

M_STEPS = ("weighted", "text")


@dataclass(frozen=True)
class Mixture:
    """Shares ``π`` (k,), frequencies ``θ`` (k, V) and weights ``γ`` (V,) of the terms."""

    shares: Array
    frequencies: Array
    term_weights: Array

    def logits(self, block: Any) -> Array:
        """``log π_i + Σ_j γ_j N_xj log θ_ij`` of every document and cluster."""
        weighted_logs = (np.log(self.frequencies) * self.term_weights).T
        with np.errstate(divide="ignore"):  # a cluster without documents has no chance
            return np.asarray(block @ weighted_logs) + np.log(self.shares)


@dataclass(frozen=True)
class MixtureFit:
    """What EM found: the mixture, the clusters of the rows, and the objective of every iteration.

    ``history`` holds minus the penalised log-likelihood of the mixture that each iteration began
    with, and at last that of the mixture here; the labels belong to it.
    """

    mixture: Mixture
    labels: Array
    cluster_lengths: Array
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """Minus the penalised log-likelihood."""
        return float(self.history[-1])


def random_frequencies(
    source: RowSource, n_clusters: int, random_state: np.random.RandomState
) -> Array:
    """Frequencies of randomly weighted documents: Dirichlet(1, ..., 1) weights, one added."""
    shares = random_state.standard_exponential((source.n_rows, n_clusters))
    shares *= source.n_rows / n_clusters / shares.sum(axis=0)

    def add(block: Any, weights: Array) -> tuple[Any, Any]:
        return (np.asarray(block.T @ weights),), ()

    (counts,), _ = source.map_reduce(add, aligned=(shares,))
    return smoothed(counts.T)


def smoothed(counts: Array) -> Array:
    """Add one to every count and make rows sum to 1."""
    return (1 + counts) / (counts.shape[1] + counts.sum(axis=1, keepdims=True))


def expectation(source: RowSource, mixture: Mixture) -> tuple[float, Array, Array, Array]:
    """Log-likelihood, expected sizes, expected counts (k, V), and the likeliest clusters."""

    def visit(block: Any) -> tuple[Any, Any]:
        logits = mixture.logits(block)
        evidence = logsumexp(logits, axis=1)
        labels = logits.argmax(axis=1).astype(np.int32)
        chances = np.exp(logits - evidence[:, None])
        totals = (evidence.sum(), chances.sum(axis=0), np.asarray(block.T @ chances))
        return totals, (labels,)

    (likelihood, sizes, counts), (labels,) = source.map_reduce(visit)
    return float(likelihood), sizes, counts.T, labels


def fit_mixture(
    source: RowSource,
    start: Mixture,
    *,
    m_step: str = "weighted",
    max_iter: int = 200,
    tol: float = 1e-6,
    verbose: int = 0,
) -> MixtureFit:
    """Run EM until the penalised log-likelihood changes by less than ``tol`` of itself.

    ``m_step="weighted"`` counts a term ``γ_j`` times, which makes the objective rise in every
    iteration; ``"text"`` counts it once, as the source does.
    """
    gamma = start.term_weights
    mixture = start
    history: list[float] = []
    converged = False
    # Everything that belongs together is replaced at once, so that an interruption finds it whole.
    with fit_progress("FeedbackClustering", max_iter, verbose=verbose) as progress:
        while True:
            likelihood, sizes, counts, labels = expectation(source, mixture)
            value = -likelihood - float(np.log(mixture.frequencies).sum())
            history.append(value)
            state = (mixture, labels, counts.sum(axis=1), len(history))
            progress.step(value)
            if len(history) > 1:
                converged = abs(history[-2] - value) <= tol * abs(value)
            if converged or len(history) > max_iter:
                break
            weighted = counts * gamma if m_step == "weighted" else counts
            mixture = Mixture(sizes / source.n_rows, smoothed(weighted), gamma)
    mixture, labels, lengths, n_known = state
    return MixtureFit(
        mixture=mixture,
        labels=labels,
        cluster_lengths=lengths,
        history=np.array(history[:n_known]),
        n_iter=max(1, n_known - 1),
        converged=converged,
        interrupted=progress.interrupted,
    )
