"""Greedy EM: mixtures of 1, 2, ... components, each from the one before (Verbeek 2004, 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from sidelight._fit.lowest import not_a_number
from sidelight._fit.tiles import OnesExcept
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.engine.inner import count_codes, map_values
from sidelight.mixture._core import EMResult, em, log_joint_blocks
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.mixture.growing._candidates import (
    Candidates,
    CurrentMixture,
    draw_candidates,
    join,
    partial_em,
)

#: EM on candidates, while all else stands still, needs a rough answer only. The authors go on with
#: the chosen one to 1e-5; that ties it too closely to rows it shares with the others, and ends in
#: mixtures of lower likelihood: in ``experiments.greedy_mixture``, 5 features and 10 components,
#: by 0.02 to 0.05 per row, and by 0.02 to 0.11 on new rows (50 sets each).
CANDIDATE_TOL = 1e-2
CANDIDATE_ITERATIONS = 20

#: Where components overlap, one more gains less than that in all, and a rough answer may be below
#: the mixture without it. EM on the candidates then goes on as far as the authors'.
FINE_TOL = 1e-5
FINE_ITERATIONS = 200

#: A gain below this per unit of weight is one of rounding.
MIN_GAIN = 1e-9

#: A candidate this heavy would replace the mixture, not join it.
LARGEST_SHARE = 0.99

#: Why candidates are not taken.
REASONS = ("small", "heavy", "thin")

#: A candidate is too thin when it is this many times thinner than a kernel estimate would be.
THINNESS = 20.0


@dataclass(frozen=True)
class Step:
    """A mixture of the path.

    Attributes
    ----------
    result : EMResult
        The mixture; its history begins where the component was inserted.
    tried : dict of str to int
        How many candidates there were for the last component and how many of them were too
        ``small``, too ``heavy`` or too ``thin``.
    """

    result: EMResult
    tried: dict[str, int]


def greedy_path(
    source: RowSource,
    whole: GaussianComponents,
    rng: np.random.RandomState,
    *,
    n_candidates: int,
    sample_weight: Array | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    description: str = "GreedyMixture",
    verbose: int = 0,
) -> Iterator[Step]:
    """Yield mixtures of 1, 2, ... components until no candidate raises the likelihood.

    ``whole`` is the Gaussian of all rows: one component with a covariance of the wanted kind, which
    is not shared.
    """
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight, float)

    def improve(components: GaussianComponents, log_weights: Array) -> EMResult:
        return em(
            source,
            components,
            log_weights,
            sample_weight=sample_weight,
            max_iter=max_iter,
            tol=tol,
            description=f"{description}, {len(log_weights)} components",
            verbose=verbose,
        )

    first = improve(whole, np.zeros(1))
    if np.isnan(first.objective):
        raise not_a_number("mixtures")
    result: EMResult | None = first
    tried: dict[str, int] = {}
    while result is not None:
        yield Step(result, tried)
        if result.interrupted:
            return
        mixture = current_mixture(source, result, sample_weight)
        candidates, tried = find_candidates(mixture, result, whole, n_candidates, rng)
        result = _first_that_helps(result, candidates, improve)


def _first_that_helps(
    now: EMResult,
    candidates: Sequence[Candidates],
    improve: Callable[[GaussianComponents, Array], EMResult],
) -> EMResult | None:
    """The mixture with the first candidate that raises the likelihood after EM on everything.

    Where the component joins below the mixture without it, the way up to there is no part of the
    history, and a way that ends there brought the component nowhere.
    """
    for candidate in candidates:
        result = improve(*_inserted(now, candidate))
        gained = now.objective - result.objective
        if candidate.gains[0] > 0 and gained > 0:
            return result
        if gained > FINE_TOL:
            return replace(result, history=result.history[result.history < now.objective])
        if result.interrupted:
            break
    return None


def current_mixture(
    source: RowSource, result: EMResult, sample_weight: Array | None
) -> CurrentMixture:
    """Most probable component and density of every row."""
    weights: Any = OnesExcept() if sample_weight is None else sample_weight
    found = log_joint_blocks(source, result.components, result.log_weights, _density_and_owner)
    owner, log_density = map_values(_apart, found, weights)[1]
    return CurrentMixture(source, sample_weight, owner, log_density)


def _density_and_owner(joint: Array) -> Array:
    return np.column_stack((logsumexp(joint, axis=1), np.argmax(joint, axis=1)))


def _apart(values: Array, weights: Array) -> tuple[tuple[()], tuple[Array, Array]]:
    """Owners of rows that count, -1 for the others, and densities."""
    owner = np.where(weights > 0, values[:, 1].astype(np.int64), -1)
    return (), (owner, np.ascontiguousarray(values[:, 0]))


def find_candidates(
    mixture: CurrentMixture,
    result: EMResult,
    whole: GaussianComponents,
    n_candidates: int,
    rng: np.random.RandomState,
) -> tuple[list[Candidates], dict[str, int]]:
    """Find a component whose insertion raises the likelihood, or some to try in turn.

    The candidate of the largest bound after a few steps comes first. Where the likelihood is not
    higher with it, EM on all candidates goes on. Where that brings none above the mixture as it is
    (on rows flatter than a Gaussian, all end as copies of it), EM on all components has to decide:
    then these are the ``n_candidates`` of the largest bounds.
    """
    drawn = draw_candidates(mixture, whole, result.log_weights, n_candidates, rng)
    if not drawn:
        return [], {}
    n_rows = int(count_codes(mixture.owner, len(result.log_weights)).sum())
    grown = join(partial_em(mixture, drawn, max_iter=CANDIDATE_ITERATIONS, tol=CANDIDATE_TOL))
    kept, tried = _sound(replace(grown, owner=0), whole, n_rows)
    if not len(kept):
        return [], tried
    least = MIN_GAIN * mixture.total
    seen = mixture.everywhere()
    ranked = _ranked(kept)
    (best,) = partial_em(seen, ranked[:1], max_iter=CANDIDATE_ITERATIONS, tol=CANDIDATE_TOL)
    if best.gains[0] > least:
        return [best], tried
    finer = join(partial_em(seen, [kept], max_iter=FINE_ITERATIONS, tol=FINE_TOL))
    finer, _ = _sound(finer, whole, n_rows)
    if np.any(finer.gains > least):
        return _ranked(finer)[:1], tried
    return ranked[:n_candidates], tried


def _ranked(candidates: Candidates) -> list[Candidates]:
    """The candidates one by one, by their gains; those that are no numbers last."""
    order = np.argsort(-candidates.gains, kind="stable")
    return [candidates.pick(order[i : i + 1]) for i in range(len(order))]


def _sound(
    candidates: Candidates, whole: GaussianComponents, n_rows: int
) -> tuple[Candidates, dict[str, int]]:
    """Drop candidates that would take hardly any or all of the rows, or have no width."""
    d = whole.means.shape[1]
    # Width of a Gaussian kernel estimate, as a share of the spread of the data; the authors take
    # the largest spread, ours in every direction makes the choice of units irrelevant.
    kernel = 0.5 * (4 / ((d + 2) * n_rows)) ** (1 / (d + 4))
    reasons = np.select(
        [
            candidates.shares < 2 * d / n_rows,
            candidates.shares > LARGEST_SHARE,
            relative_width(candidates.components, whole) < (kernel / THINNESS) ** 2,
        ],
        list(REASONS),
        default="",
    )
    tried = {"candidates": len(candidates), **Counter(str(r) for r in reasons if r)}
    return candidates.pick(reasons == ""), tried


def relative_width(components: GaussianComponents, whole: GaussianComponents) -> Array:
    """Least variance of every component in any direction, over that of the whole there."""
    if components.kind == "spherical":
        return components.covariances / whole.covariances[0]
    if components.kind == "diag":
        ratios: Array = components.covariances / whole.covariances[0]
        return ratios.min(axis=1)
    factor = np.linalg.cholesky(whole.full_covariances()[0])
    half = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    widths: Array = np.linalg.eigvalsh(half @ components.covariances @ half.T)[:, 0]
    return widths


def _inserted(result: EMResult, new: Candidates) -> tuple[GaussianComponents, Array]:
    """Put the new component into the mixture."""
    old = result.components
    components = replace(
        old,
        means=np.concatenate((old.means, new.components.means)),
        covariances=np.concatenate((old.covariances, new.components.covariances)),
    )
    share = float(new.shares[0])
    return components, np.append(result.log_weights + np.log1p(-share), np.log(share))
