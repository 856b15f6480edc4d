"""What boosting keeps of its rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._progress import by_step
from sidelight.pictures.classes._decisions import class_names
from sidelight.pictures.kinds._curves import Curves

#: What can be drawn: attribute of the estimator, and title of the axis.
STAGES = {
    "margins": ("mean_margins_", "mean margin"),
    "steps": ("estimator_weights_", "step size"),
    "errors": ("estimator_errors_", "weighted error of the learner"),
    "objective": ("history_", "objective (lower is better)"),
}


def curves_of(estimator: Any, attribute: str) -> dict[int, FloatArray]:
    """Numbers by round, of the only machine or of one for every pair of classes, by its number.

    Machines without any round are left out; so are numbers that are not finite.
    """
    values = getattr(estimator, attribute, None)
    if values is None:
        return {}
    several = isinstance(values, list | tuple) and any(np.ndim(one) for one in values)
    curves = [np.asarray(one, dtype=np.float64) for one in (values if several else [values])]
    return {
        number: one
        for number, one in enumerate(curves)
        if one.ndim == 1 and len(one) and np.isfinite(one).all()
    }


def mean_by_round(curves: Mapping[int, FloatArray]) -> FloatArray:
    """Mean of every round, over the machines that reached it."""
    rounds = range(max(len(curve) for curve in curves.values()))
    return np.array([np.mean([c[at] for c in curves.values() if len(c) > at]) for at in rounds])


def round_curves(models: Mapping[str, Any], what: str) -> Curves:
    """Curves by round, of every machine of one classifier or of several classifiers.

    The parameters are those of ``StagesDisplay.from_estimator``, with the classifiers by name.
    """
    if what not in STAGES:
        raise InvalidRequest(f"what is one of {', '.join(map(repr, STAGES))}, got {what!r}.")
    attribute, axis_title = STAGES[what]
    curves: dict[str, FloatArray] = {}
    first: dict[str, int] = {}
    for name, model in models.items():
        machines = curves_of(model, attribute)
        if not machines:
            raise InvalidRequest(f"{name} keeps no {attribute} of rounds: nothing to draw.")
        mean = mean_by_round(machines)
        found = {name: mean}
        if len(models) == 1 and len(machines) > 1:
            found = {_machine(model, number): curve for number, curve in machines.items()}
        curves |= found
        # The objective may be known before the first round.
        before = attribute == "history_" and len(mean) > int(getattr(model, "n_iter_", 0))
        first |= dict.fromkeys(found, 0 if before else 1)
    heading = next(iter(models)) if len(models) == 1 else ""
    return replace(by_step(curves, axis_title, step="round", first=first), heading=heading)


def _machine(model: Any, number: int) -> str:
    """Name of a machine of a classifier: the two classes that it tells apart."""
    first, second = list(combinations(class_names(model), 2))[number]
    return f"{first} or {second}"
