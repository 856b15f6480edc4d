r"""How sure an accuracy is, and the difference of two, when rows are predicted by cross-validation.

Predictions of :math:`K` folds, repeated :math:`R` times, are not independent: the fits share most
of their labels. Nadeau and Bengio (2003) estimate the variance of a mean over the folds as
:math:`(1/(K R) + 1/(K - 1)) s^2` for the variance :math:`s^2` between folds, in the place of
:math:`s^2 / (K R)`. A fold of :math:`n/K` rows has the variance of one row divided by
:math:`n/K`, so that the mean over the rows has that of

.. math::
    n / \varphi, \qquad \varphi = 1/R + K/(K - 1)

independent rows. All counts are divided by :math:`\varphi` before the exact interval of Clopper and
Pearson (1934) and the exact test of McNemar (1947) are taken, with beta functions in the place of
sums of binomials. For rows that were held out once, :math:`\varphi = 1`, both are exact.
"""

from __future__ import annotations

from scipy.special import betainc, betaincinv

CONFIDENCE = 0.95


def variance_factor(n_folds: int, n_repeats: int) -> float:
    """Return ``φ``: as many rows count as one in repeated cross-validation.

    Examples
    --------
    >>> variance_factor(5, 5)
    1.45
    """
    return 1 / n_repeats + n_folds / (n_folds - 1)


def accuracy_interval(
    n_right: float, n_rows: float, *, factor: float = 1.0, n_compared: int = 1
) -> tuple[float, float]:
    """Return the 95% interval of an accuracy.

    Parameters
    ----------
    n_right, n_rows : float
        Rows that are right, and all rows; a mean over repetitions need not be whole.
    factor : float, default=1.0
        Number of rows that count as one (:func:`variance_factor`).
    n_compared : int, default=1
        Number of classifiers out of which the one with this accuracy was chosen by it: the
        interval then holds for all of them at once (Bonferroni).

    Examples
    --------
    >>> low, high = accuracy_interval(7, 10)
    >>> f"{low:.3f} {high:.3f}"
    '0.348 0.933'
    """
    right, rows = n_right / factor, n_rows / factor
    tail = (1 - CONFIDENCE) / 2 / n_compared
    low = betaincinv(right, rows - right + 1, tail) if right > 0 else 0.0
    high = betaincinv(right + 1, rows - right, 1 - tail) if rows > right else 1.0
    return float(low), float(high)


def chance_of_difference(
    n_better: float, n_worse: float, *, factor: float = 1.0, n_compared: int = 1
) -> float:
    """Return how probable so uneven a difference is between two that are equally good.

    Parameters
    ----------
    n_better, n_worse : float
        Rows that only the one finds, and rows that only the other finds.
    factor : float, default=1.0
        Number of rows that count as one (:func:`variance_factor`).
    n_compared : int, default=1
        Number of comparisons out of which this one was chosen by its result (Bonferroni).

    Examples
    --------
    >>> f"{chance_of_difference(9, 2):.4f}"
    '0.0654'
    """
    more, less = max(n_better, n_worse) / factor, min(n_better, n_worse) / factor
    if more == 0:
        return 1.0
    return float(min(1.0, 2 * n_compared * betainc(more, less + 1, 0.5)))
