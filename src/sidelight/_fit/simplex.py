"""Smooth convex functions of weights that add up to one, minimized in their logarithms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sidelight._typing import FloatArray

#: Slopes below it are rounding, as are steps.
TOL = 1e-8
MAX_STEPS = 100

#: A step multiplies no weight by more than e to this, and is halved twice, so often, if it fails.
LONGEST_STEP = 3.0
HALVINGS = 12


def descend(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    eta: FloatArray,
    scale: FloatArray,
    accuracy: float,
) -> FloatArray:
    """Minimize a convex function of normalized log-weights, by quasi-Newton steps (BFGS).

    An evaluation is a pass over the field, and the start is nearly right: steps begin with the
    curvature of independent draws, of which ``scale`` is the inverse. It ends when the slope has
    fallen to ``accuracy`` of what it was, or to rounding; no step makes the value larger.
    """
    value, slope = loss(eta)
    enough = max(TOL, accuracy * float(np.abs(slope).max()))
    inverse = np.diag(np.minimum(scale, 1.0 / TOL))
    for _ in range(MAX_STEPS):
        if np.abs(slope).max() <= enough:
            break
        step = -inverse @ slope
        step -= step.mean()
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), TOL))
        expected = float(slope @ step)
        for _ in range(HALVINGS):
            ahead = normalized(eta + step)
            new_value, new_slope = loss(ahead)
            if new_value <= value + 1e-4 * expected:
                break
            step, expected = 0.25 * step, 0.25 * expected
        else:
            break
        moved, bent = ahead - eta, new_slope - slope
        if moved @ bent > 0:
            # Broyden, Fletcher, Goldfarb, Shanno: the inverse curvature that explains the step.
            turn = np.eye(len(eta)) - np.outer(moved, bent) / (moved @ bent)
            inverse = turn @ inverse @ turn.T + np.outer(moved, moved) / (moved @ bent)
        eta, value, slope = ahead, new_value, new_slope
    return eta


def normalized(eta: FloatArray) -> FloatArray:
    """Logarithms of the weights, which add up to one."""
    # Hundreds of times per step on a handful of numbers: SciPy's function is mostly overhead there.
    largest = eta.max()
    result: FloatArray = eta - (largest + np.log(np.exp(eta - largest).sum()))
    return result
