"""Probabilities that two objects are the same, as log-odds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints.algebra._canonical import name_rows
from sidelight.constraints.relations._edges import Edges, as_scores, canonical_edges
from sidelight.exceptions import SidelightError

#: Probabilities of exactly 0 and 1 are taken to be this far from it, or as far as the closest
#: other one where that is nearer: no certain pair scores below an uncertain one.
CLOSEST = 1e-6


def check_prior(prior: Any) -> None:
    """Raise unless the prior is strictly between 0 and 1."""
    if (
        isinstance(prior, bool)
        or not isinstance(prior, int | float | np.number)
        or not 0 < prior < 1
    ):
        raise SidelightError(
            f"prior must be a number strictly between 0 and 1, got {prior!r}; 0.5 takes "
            "probabilities as they are."
        )


def outside_unit_interval(probability: FloatArray) -> IntArray:
    """Positions of the values that are no probabilities."""
    return np.flatnonzero(~((probability >= 0) & (probability <= 1)))


def edges_of_probabilities(
    pairs: IntArray,
    probability: Any,
    prior: float,
    n_samples: int,
    ids: Array | None,
    duplicates: str,
) -> Edges:
    """Edges with log-odds from pairs of positions and their probabilities."""
    check_prior(prior)
    given = as_scores(probability, pairs, ids)
    outside = outside_unit_interval(given)
    if len(outside):
        named = " - ".join(name_rows(pairs[outside[0]], ids))
        raise SidelightError(
            f"The probability of {named} is {given[outside[0]]:g}, which is not between 0 and 1; "
            "pass log-odds as scores."
        )
    scores, notes = log_odds(given, prior)
    found = canonical_edges(pairs, scores, max(n_samples, 1), ids, duplicates)
    return found._replace(notes=(*notes, *found.notes))


def log_odds(probability: FloatArray, prior: float) -> tuple[FloatArray, tuple[str, ...]]:
    """``log(p / (1 - p)) + log(prior / (1 - prior))``, and notes on what was done.

    Parameters
    ----------
    probability : ndarray of shape (m,)
        Probabilities ``p``, all between 0 and 1.
    prior : float
        Share of pairs that are the same; 0.5 takes the probabilities as they are.
    """
    certain = (probability == 0) | (probability == 1)
    notes = [f"Probabilities became log-odds{prior_words(prior)}."]
    if certain.any():
        others = probability[~certain]
        closest = min(CLOSEST, np.minimum(others, 1 - others).min(initial=CLOSEST))
        notes.append(
            f"{counted(int(certain.sum()), 'pair')} of probability exactly 0 or 1 taken as "
            f"{closest:g} and 1 - {closest:g}; what is certain is a must-link or cannot-link of "
            "the constraints."
        )
        probability = np.where(certain, np.clip(probability, closest, 1 - closest), probability)
    return np.log(probability) - np.log1p(-probability) + shift(prior), tuple(notes)


def shift(prior: float) -> float:
    """Log-odds that the prior adds to every pair."""
    return math.log(prior / (1 - prior))


def prior_words(prior: float) -> str:
    """Words for a prior that changes something."""
    return "" if prior == 0.5 else f", shifted by {shift(prior):.3g} for the prior {prior:g}"


def from_log2_odds(weight: Array, prior: float) -> tuple[FloatArray, tuple[str, ...]]:
    """Log-odds to the base 2, such as the match weights of Splink, as natural ones."""
    note = (
        "Match weights, which are log-odds to the base 2, became natural log-odds"
        f"{prior_words(prior)}."
    )
    return weight * math.log(2) + shift(prior), (note,)


def hold_log_odds(notes: tuple[str, ...]) -> bool:
    """Whether notes record that scores were made from probabilities or match weights."""
    return any("became log-odds" in note or "natural log-odds" in note for note in notes)
