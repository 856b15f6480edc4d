"""Gene expression along time as 0/1 matrices, for co-clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._fit.thresholds import share_of_maximum
from sidelight._typing import FloatArray, IntArray
from sidelight.datasets import Dataset


def make_cyclic_expression(n_times: int = 105, *, n_genes: int = 20, width: int = 39) -> Dataset:
    """0/1 matrix of genes that are on for a while in a cycle (book, E6.1).

    Gene ``g`` is on for ``width`` consecutive times from ``round(n_times * g / n_genes)``, modulo
    the cycle. Two partitions of the times into three periods are equally natural: (a) consecutive
    thirds, (b) the same rotated by two fifths of a period (14 of 35 times), so that the last
    period and the beginning of the first go together. The width 39 was fitted in the specification
    so that unconstrained co-clustering reaches the published association; it is not the matrix of
    the source. Nothing is random.

    Parameters
    ----------
    n_times : int, default=105
        Length of the cycle (rows).
    n_genes : int, default=20
        Number of genes (columns).
    width : int, default=39
        Number of consecutive times that each gene is on.

    Returns
    -------
    Dataset
        ``target``: partition (a) of the times; ``extras``: ``rotated``, partition (b) of the
        times; ``gene_target`` and ``gene_rotated``, for each gene the period that holds most of
        its time.

    Examples
    --------
    >>> from experiments.recipes.expression import make_cyclic_expression
    >>> cycle = make_cyclic_expression()
    >>> cycle.data.shape, int(cycle.data.sum(axis=0).min())
    ((105, 20), 39)
    """
    if not 1 <= width <= n_times:
        raise ValueError(f"width must lie between 1 and n_times={n_times}, got {width}.")
    start = np.round(n_times * np.arange(n_genes) / n_genes).astype(np.int64)
    time = np.arange(n_times)
    on = (time[:, None] - start[None, :]) % n_times < width
    period = n_times / 3
    thirds = (time // period).astype(np.int64)
    rotated = ((time + 0.4 * period) // period).astype(np.int64) % 3
    return Dataset(
        data=on.astype(np.float64),
        target=thirds,
        feature_names=tuple(f"gene{number + 1}" for number in range(n_genes)),
        target_names=("period 1", "period 2", "period 3"),
        description="Cyclic expression matrix (after Constrained Clustering, E6.1)",
        extras={
            "rotated": rotated,
            "gene_target": _main_period(on, thirds),
            "gene_rotated": _main_period(on, rotated),
        },
    )


def _main_period(on: npt.NDArray[np.bool_], period: IntArray) -> IntArray:
    """For each gene the period in which it is on most often."""
    return np.array([on[period == number].sum(axis=0) for number in range(3)]).argmax(axis=0)


def make_expression_curves(
    n_times: int = 45,
    *,
    n_genes: int = 300,
    width: float = 5.0,
    noise: float = 0.05,
    dropout: float = 0.1,
    threshold: float = 0.25,
    random_state: Any = None,
) -> Dataset:
    """Expression curves over three stages, switched on and off at a threshold (book, E6.2, 6.E).

    Stands in for the malaria and drosophila sets. Each gene has one bump
    ``exp(-(t - c)^2 / (2 width^2))`` at a random time ``c``, plus noise; a measurement drops out
    (reads 0) with probability ``dropout``. A value counts as 1 when it is above ``threshold``
    times the largest value of its gene, the rule of section 6.E (25 % for malaria, 35 % for
    drosophila).

    Parameters
    ----------
    n_times : int, default=45
        Number of times (rows); the stages are the consecutive thirds.
    n_genes : int, default=300
        Number of genes (columns).
    width : float, default=5.0
        Width of a bump in times.
    noise : float, default=0.05
        Standard deviation of the noise; a bump has height 1.
    dropout : float, default=0.1
        Probability that a measurement is lost.
    threshold : float, default=0.25
        Share of a gene's largest value above which it is on.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Dataset
        ``data``: the 0/1 matrix; ``target``: stage of each time; ``extras``: ``expression`` (the
        curves), ``peak`` (time of each gene's bump) and ``gene_target`` (its stage).

    Examples
    --------
    >>> from experiments.recipes.expression import make_expression_curves
    >>> make_expression_curves(random_state=0)
    Dataset(45 rows, 300 features, 3 classes: Expression curves ...)
    """
    rng = check_random_state(random_state)
    time = np.arange(n_times)
    peak = rng.uniform(0, n_times, n_genes)
    expression = np.exp(-((time[:, None] - peak[None, :]) ** 2) / (2 * width**2))
    expression = np.maximum(0, expression + noise * rng.standard_normal(expression.shape))
    expression[rng.uniform(size=expression.shape) < dropout] = 0
    return Dataset(
        data=_discretize(expression, threshold),
        target=time * 3 // n_times,
        feature_names=tuple(f"gene{number + 1}" for number in range(n_genes)),
        target_names=("stage 1", "stage 2", "stage 3"),
        description="Expression curves over three stages (after Constrained Clustering, E6.2)",
        extras={
            "expression": expression,
            "peak": peak,
            "gene_target": (peak * 3 // n_times).astype(np.int64),
        },
    )


def _discretize(expression: FloatArray, threshold: float) -> FloatArray:
    """1 where a value is above ``threshold`` times the largest of its gene (column)."""
    return (expression > share_of_maximum(expression, threshold)).astype(np.float64)
