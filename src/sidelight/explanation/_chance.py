"""Whether chance alone explains a difference between the rows of a cluster and the others.

The question is always the same: ``m`` of ``n`` rows are drawn without a look at the column; how
probable is a difference as large as the one found? Clusters may be small and columns full of ties,
where a normal approximation calls far too much significant.

Shares: the number ``X`` of drawn rows with a level is hypergeometric. Beyond its mode the ratio
``q`` of neighbouring probabilities only falls, so that ``P(X ≥ x) ≤ P(X = x) / (1 - q)``.

Ranks: the mean of the ranks ``r_i`` of ``m`` rows that are drawn without replacement has the
saddlepoint approximation of Robinson (1982). With ``K(s, t) = Σ_i log(1 + exp(s + t r_i))``, the
total ``T`` of the drawn ranks and ``E = max_{s,t} (s m + t T - K(s, t)) - max_s (s m - K(s, 0))``,
``P ≈ Φ(-w) + φ(w) (1/u - 1/w)`` with ``w = √(2E)`` and
``u = √(det K'' / K''_ss) (1 - exp(-t h)) / h``, where ``K''_ss`` is taken at ``t = 0`` and ``h`` is
the largest step between ranks: ties make the total jump. The probability is also at most
``exp(K - s m - t T) / C(n, m)``; the smaller of the two is taken.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, gammaln, ndtr

from sidelight._typing import Array, FloatArray

_NEWTON_STEPS = 30
_HALVINGS = 30
_LONGEST_STEP = 20.0


def chance_of_count(found: Array, level: Array, size: Array, n_rows: Array) -> FloatArray:
    """Bound the two-sided probability of ``found`` rows with a level among ``size`` random rows.

    Parameters
    ----------
    found : ndarray
        How many of the drawn rows have the level.
    level, size, n_rows : ndarray
        How many of all rows have it, how many are drawn, and how many there are.

    Returns
    -------
    ndarray
        Two-sided probabilities.
    """
    x, hits, drawn, n = (np.asarray(v, dtype=np.float64) for v in (found, level, size, n_rows))
    tails = np.minimum(_upper_tail(x, hits, drawn, n), _upper_tail(drawn - x, n - hits, drawn, n))
    return np.minimum(1.0, 2.0 * tails)


def _upper_tail(x: FloatArray, hits: FloatArray, drawn: FloatArray, n: FloatArray) -> FloatArray:
    ratio = (hits - x) * (drawn - x) / ((x + 1.0) * np.maximum(n - hits - drawn + x + 1.0, 1.0))
    log_probability = log_choices(hits, x) + log_choices(n - hits, drawn - x)
    log_probability -= log_choices(n, drawn)
    bound = np.exp(log_probability) / np.maximum(1.0 - ratio, 1e-12)
    return np.where(ratio < 1.0, np.minimum(bound, 1.0), 1.0)


def log_choices(n: FloatArray, k: FloatArray) -> FloatArray:
    """Logarithm of the binomial coefficient."""
    chosen: FloatArray = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return chosen


def chance_of_total(
    ranks: FloatArray, counts: FloatArray, total: FloatArray, size: FloatArray
) -> FloatArray:
    """Approximate the probability that ``size`` random rows have a rank sum of at least ``total``.

    Parameters
    ----------
    ranks, counts : ndarray of shape (n_tests, n_ranks)
        Ranks of the rows, ascending and between 0 and 1, and how many rows have each; ranks that
        no row has are allowed.
    total, size : ndarray of shape (n_tests,)
        Total of the drawn ranks, above what is expected, and how many rows are drawn: more than
        none and fewer than all.

    Returns
    -------
    ndarray of shape (n_tests,)
        One-sided probabilities.
    """
    n_rows = counts.sum(axis=1)
    lowest, s, t = _tilt(ranks, counts, total, size)
    share = size / n_rows
    untilted = -size * np.log(share) - (n_rows - size) * np.log1p(-share)
    exponent = np.maximum(untilted - lowest, 0.0)
    odds = expit(s[:, None] + t[:, None] * ranks)
    q = odds * (1.0 - odds) * counts
    det = q.sum(axis=1) * (q * ranks**2).sum(axis=1) - (q * ranks).sum(axis=1) ** 2
    step = np.diff(ranks, axis=1).max(axis=1, initial=1e-12)
    w = np.sqrt(2.0 * exponent)
    u = -np.expm1(-t * step) / step * np.sqrt(np.maximum(det, 0.0) / (size * (1.0 - share)))
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.exp(-exponent) / np.sqrt(2.0 * np.pi) * (1.0 / u - 1.0 / w)
        bound = np.exp(np.minimum(lowest - log_choices(n_rows, size), 0.0))
        found = np.fmin(ndtr(-w) + beyond, bound)
    return np.where(w > 1e-6, np.clip(found, 0.0, 1.0), 1.0)


def _tilt(
    ranks: FloatArray, counts: FloatArray, total: FloatArray, size: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Minimize ``K(s, t) - s m - t T``, which is convex, by Newton's method with halved steps."""

    def value(s: FloatArray, t: FloatArray) -> FloatArray:
        powers = s[:, None] + t[:, None] * ranks
        sums: FloatArray = (counts * np.logaddexp(0.0, powers)).sum(axis=1)
        return sums - s * size - t * total

    s, t = np.log(size / (counts.sum(axis=1) - size)), np.zeros(len(size))
    lowest = value(s, t)
    for _ in range(_NEWTON_STEPS):
        odds = expit(s[:, None] + t[:, None] * ranks)
        q = odds * (1.0 - odds) * counts
        short = (counts * odds).sum(axis=1) - size
        low = (counts * odds * ranks).sum(axis=1) - total
        a, b, c = q.sum(axis=1), (q * ranks).sum(axis=1), (q * ranks**2).sum(axis=1)
        det = np.maximum(a * c - b * b, 1e-290)
        along_s, along_t = (b * low - c * short) / det, (b * short - a * low) / det
        step = np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(along_t), 1e-290))
        for _ in range(_HALVINGS):
            reached = value(s + step * along_s, t + step * along_t)
            worse = ~(reached <= lowest)
            if not worse.any():
                break
            step = np.where(worse, step / 2.0, step)
        better = reached < lowest
        gained = np.where(better, lowest - reached, 0.0)
        s, t = s + better * step * along_s, t + better * step * along_t
        lowest = np.where(better, reached, lowest)
        if gained.max(initial=0.0) < 1e-6:
            break
    return lowest, s, t


def holm(chances: FloatArray, n_tests: int | None = None) -> FloatArray:
    """Adjust probabilities for their number (Holm, 1979).

    Naming what stays below 5% names anything in error with a probability of at most 5%, whatever
    the tests have to do with each other.

    Parameters
    ----------
    chances : ndarray of shape (n,)
        Probability of each difference under chance alone.
    n_tests : int, default=None
        Number of all tests, where those left out count as failed; by default n.

    Returns
    -------
    ndarray of shape (n,)
        Adjusted probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.explanation._chance import holm
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(chances, kind="stable")
    remaining = (len(chances) if n_tests is None else n_tests) - np.arange(len(chances))
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(remaining * chances[order]))
    return adjusted
