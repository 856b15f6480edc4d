"""Modified Bessel functions of the first kind, as von Mises-Fisher distributions need them."""

from __future__ import annotations

import numpy as np
from scipy.special import ive

from sidelight._typing import Array

STEPS = 50  # of Newton's method; it takes four or five


def log_bessel(order: float, x: Array) -> Array:
    """``log I_order(x)`` for ``x > 0``, also where the function itself under- or overflows."""
    x = np.asarray(x, dtype=np.float64)
    if order < 0:  # two dimensions less than the circle: I_{-1/2}(x) = sqrt(2 / πx) cosh x
        return 0.5 * np.log(2 / (np.pi * x)) + np.logaddexp(x, -x) - np.log(2)
    scaled = np.asarray(ive(order, x))
    lost = scaled < 1e-290  # only for large orders
    logs = np.log(np.where(lost, 1.0, scaled)) + x
    if lost.any():
        logs[lost] = _debye(order, x[lost])
    return logs


def _debye(order: float, x: Array) -> Array:
    """Uniform expansion for large orders (Abramowitz and Stegun 9.7.7), four terms."""
    z = x / order
    root = np.sqrt(1 + z * z)
    eta = root + np.log(z / (1 + root))
    t = 1 / root
    u1 = (3 * t - 5 * t**3) / 24
    u2 = (81 * t**2 - 462 * t**4 + 385 * t**6) / 1152
    u3 = (30375 * t**3 - 369603 * t**5 + 765765 * t**7 - 425425 * t**9) / 414720
    series = 1 + u1 / order + u2 / order**2 + u3 / order**3
    return order * eta - 0.5 * np.log(2 * np.pi * order) - 0.5 * np.log(root) + np.log(series)


def bessel_ratio(d: int, kappa: Array) -> Array:
    """``A_D(κ) = I_{D/2}(κ) / I_{D/2-1}(κ)``: mean length of a von Mises-Fisher sample."""
    kappa = np.asarray(kappa, dtype=np.float64)
    if d == 1:
        return np.tanh(kappa)
    return np.exp(log_bessel(d / 2, kappa) - log_bessel(d / 2 - 1, kappa))


def concentration(d: int, mean_length: Array, largest: float) -> Array:
    """Solve ``A_D(κ) = r`` by Newton's method, between 0 and ``largest``.

    ``A' = 1 - A² - (D - 1) A / κ``; the start ``r (D - r²) / (1 - r²)`` is close already.
    """
    r = np.clip(np.asarray(mean_length, dtype=np.float64), 0.0, 1.0)
    start = r * (d - r**2) / np.maximum(1 - r**2, 1e-15)
    kappa = np.clip(start, 1e-12, largest)
    low, high = np.full_like(kappa, 1e-12), np.full_like(kappa, largest)
    for _ in range(STEPS):
        ratio = bessel_ratio(d, kappa)
        gap = ratio - r
        low, high = np.where(gap < 0, kappa, low), np.where(gap > 0, kappa, high)
        slope = 1 - ratio**2 - (d - 1) * ratio / kappa
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = kappa - gap / slope
        inside = (newton > low) & (newton < high)
        following = np.where(inside, newton, 0.5 * (low + high))
        done = np.abs(following - kappa) <= 1e-12 * kappa
        kappa = following
        if done.all():
            break
    return kappa
