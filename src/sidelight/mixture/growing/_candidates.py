"""Candidates for a further component, and EM on them alone (Verbeek 2004, section 3.2.2).

A candidate ``φ`` with weight ``a`` turns the mixture ``p`` into ``(1 - a) p + a φ``. It belongs to
one component ``i`` and looks at the rows ``A_i`` that are most probably of that component; its
responsibility for all others is taken to be zero. With the log-odds
``o_n = log a φ(x_n) - log (1 - a) p(x_n)`` the log-likelihood rises by at least

    Σ_n w_n log(1 - a) + Σ_{n in A_i} w_n log(1 + exp o_n).

The sets ``A_i`` are a partition, so one pass over the rows serves ``m`` candidates of every
component at the price of ``m`` components.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import Buffers, buffers
from sidelight._fit.tiles import OnesExcept
from sidelight._kernels.mixture.insertion_em import join_rows
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.engine.inner import map_values
from sidelight.mixture._core import Statistics, feature_tiles, in_buffers, prepared
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.mixture.growing._members import Members, OwnedRows

#: At most this many pairs of rows are drawn per candidate that is wanted: rows may all be equal.
DRAWS_PER_CANDIDATE = 50

#: The weight of a new component stays this far from 0 and 1.
MIN_SHARE = 1e-12


@dataclass(frozen=True)
class Candidates:
    """Candidates that look at the rows of one component.

    Attributes
    ----------
    owner : int
        The component.
    components : GaussianComponents
        One candidate each.
    shares : ndarray of shape (m,)
        Their mixing weights ``a``.
    gains : ndarray of shape (m,)
        Rise of the bound on the log-likelihood, ``-inf`` until it is known.
    """

    owner: int
    components: GaussianComponents
    shares: Array
    gains: Array

    def __len__(self) -> int:
        return len(self.shares)

    def pick(self, which: Array) -> Self:
        """Return some of the candidates."""
        return replace(
            self,
            components=pick_components(self.components, which),
            shares=self.shares[which],
            gains=self.gains[which],
        )

    def maximized(self, statistics: Statistics, total: float) -> Self:
        """M-step of every candidate by itself."""
        return replace(
            self,
            components=self.components.m_step(statistics),
            shares=np.clip(statistics[0] / total, MIN_SHARE, 1 - MIN_SHARE),
            gains=np.full(len(self), -np.inf),
        )


def pick_components(components: GaussianComponents, which: Any) -> GaussianComponents:
    """Return some of the components; each has a covariance of its own."""
    return replace(
        components, means=components.means[which], covariances=components.covariances[which]
    )


def join(groups: Sequence[Candidates]) -> Candidates:
    """Join candidates of the same component."""
    components = replace(
        groups[0].components,
        means=np.concatenate([group.components.means for group in groups]),
        covariances=np.concatenate([group.components.covariances for group in groups]),
    )
    return replace(
        groups[0],
        components=components,
        shares=np.concatenate([group.shares for group in groups]),
        gains=np.concatenate([group.gains for group in groups]),
    )


@dataclass(frozen=True)
class CurrentMixture:
    """The rows as the mixture so far sees them.

    Attributes
    ----------
    source : RowSource
        The rows.
    sample_weight : ndarray of shape (n,) or None
        Their weights; 1 for None.
    owner : ndarray of int or RowValues, shape (n,)
        Most probable component of every row; -1 for rows that do not count.
    log_density : ndarray or RowValues of shape (n,)
        ``log p(x_n)``.
    """

    source: RowSource
    sample_weight: Array | None
    owner: Any
    log_density: Any

    @property
    def weights(self) -> Any:
        """Weights of the rows, as passes over them are aligned with."""
        return OnesExcept() if self.sample_weight is None else self.sample_weight

    @property
    def total(self) -> float:
        """Weight of all rows."""
        if self.sample_weight is None:
            return float(self.source.n_rows)
        return float(self.sample_weight.sum())

    def everywhere(self) -> Self:
        """All rows belong to component 0: candidates look at all of them."""
        return replace(self, owner=map_values(_all_of_one, self.owner)[1][0])

    def e_step(self, groups: Sequence[Candidates]) -> tuple[list[Candidates], list[Statistics]]:
        """Return the candidates with their gains, and the statistics for their M-steps."""
        work = _PartialPass(groups)
        sums = self.source.map_reduce(work, aligned=(self.owner, self.log_density, self.weights))[0]
        measured, statistics = [], []
        width = len(sums) // len(groups)
        for number, group in enumerate(groups):
            gains, *of_group = sums[number * width : (number + 1) * width]
            gains = gains + self.total * np.log1p(-group.shares)
            measured.append(replace(group, gains=gains))
            statistics.append(tuple(of_group)[: _n_sums(group.components)])
        return measured, statistics


def _all_of_one(owner: Array) -> tuple[tuple[()], tuple[Array]]:
    return (), (np.where(owner >= 0, 0, -1),)


def _n_sums(components: GaussianComponents) -> int:
    return 3 if components.is_local else 2


class _PartialPass:
    """Gains and statistics of candidates on the rows of their components."""

    def __init__(self, groups: Sequence[Candidates]) -> None:
        self.groups = groups
        for group in groups:
            prepared(group.components)
        self.log_odds = [np.log(group.shares) - np.log1p(-group.shares) for group in groups]

    def __call__(
        self, block: Any, owner: Array, log_density: Array, weights: Array
    ) -> tuple[tuple[Array, ...], tuple[()]]:
        sums: list[Array] = []
        members = Members(owner)
        for group, log_odds in zip(self.groups, self.log_odds, strict=True):
            gains = np.zeros(len(group))
            of_group = no_statistics(group.components, block)
            with buffers() as memory:
                components = in_buffers(group.components, memory)
                rows = members.of(group.owner)
                for tile, features in feature_rows(components, block, rows, memory):
                    odds = components.log_density(features)
                    odds += log_odds
                    odds -= log_density[tile, None]
                    join_rows(odds, weights[tile], gains)
                    add_to(of_group, components.statistics(features, odds))
            sums += [gains, *of_group]
            sums += [np.zeros(0)] * (3 - len(of_group))  # so that all groups take the same space
        return tuple(sums), ()


def no_statistics(components: GaussianComponents, block: Any) -> list[Array]:
    """Statistics of no rows of the block: zeros."""
    features = components.features(block[:0])
    resp = np.zeros((0, components.n_components))
    return [np.array(sums, dtype=np.float64) for sums in components.statistics(features, resp)]


def add_to(sums: list[Array], parts: Statistics) -> None:
    """Add statistics to others, in place."""
    for total, part in zip(sums, parts, strict=True):
        total += part


def feature_rows(
    components: GaussianComponents, block: Any, rows: Array, memory: Buffers
) -> Iterator[tuple[Array, Array]]:
    """Some rows of a block and their features, in tiles that fit the cache."""
    for start, stop in feature_tiles(components, rows):
        tile = rows[start:stop]
        taken = memory.array("taken rows", (len(tile), block.shape[1]), block.dtype)
        np.take(block, tile, axis=0, out=taken, mode="clip")
        yield tile, components.features(taken)


def partial_em(
    mixture: CurrentMixture, groups: Sequence[Candidates], *, max_iter: int, tol: float
) -> list[Candidates]:
    """EM on every candidate, all other components fixed.

    Each candidate stops by itself, when an iteration gains less than ``tol`` per unit of weight.
    """
    least = tol * mixture.total
    measured, sums = mixture.e_step(groups)
    steps = [(at, at.maximized(s, mixture.total)) for at, s in zip(measured, sums, strict=True)]
    finished: list[Candidates] = []
    for _ in range(max_iter):
        measured, sums = mixture.e_step([ahead for _, ahead in steps])
        following = []
        for (before, _), now, statistics in zip(steps, measured, sums, strict=True):
            climbing = now.gains - before.gains > least
            finished.append(_better(now, before).pick(~climbing))
            if climbing.any():
                ahead = now.maximized(statistics, mixture.total)
                following.append((now.pick(climbing), ahead.pick(climbing)))
        steps = following
        if not steps:
            break
    finished += [at for at, _ in steps]
    return [group for group in finished if len(group)]


def _better(one: Candidates, other: Candidates) -> Candidates:
    """Of every candidate the version with the larger gain."""
    first = one.gains >= other.gains
    covariances = one.components.covariances
    components = replace(
        one.components,
        means=np.where(first[:, None], one.components.means, other.components.means),
        covariances=np.where(
            first.reshape(-1, *[1] * (covariances.ndim - 1)),
            covariances,
            other.components.covariances,
        ),
    )
    return replace(
        one,
        components=components,
        shares=np.where(first, one.shares, other.shares),
        gains=np.maximum(one.gains, other.gains),
    )


def draw_candidates(
    mixture: CurrentMixture,
    whole: GaussianComponents,
    log_weights: Array,
    n_candidates: int,
    rng: np.random.RandomState,
) -> list[Candidates]:
    """Split the rows of every component at random, ``n_candidates`` halves each.

    Two of its rows are drawn, and the rows nearer to the one are parted from those nearer to the
    other; each half gives a candidate with its mean and covariance and half of the component's
    weight. Components of ``2 D`` rows or fewer are not split, and halves of ``D`` rows or fewer
    give no candidate. ``whole`` is a single Gaussian of the right kind.
    """
    d = whole.means.shape[1]
    members = OwnedRows(mixture.owner, len(log_weights))
    found: dict[int, list[Candidates]] = {}
    missing = {i: n_candidates for i in range(len(log_weights)) if members.counts[i] > 2 * d}
    draws_left = dict.fromkeys(missing, DRAWS_PER_CANDIDATE * n_candidates)
    effort = 1
    while missing:
        drawn = {}
        for i, wanted in missing.items():
            n_draws = min(effort * -(-wanted // 2), draws_left[i])
            draws_left[i] -= n_draws
            drawn[i] = rng.randint(members.counts[i], size=(n_draws, 2))
        splits = list(members.at(drawn).items())
        for half in _halves(mixture, whole, splits, log_weights):
            some = half.pick(np.arange(min(len(half), missing[half.owner])))
            found.setdefault(half.owner, []).append(some)
            missing[half.owner] -= len(some)
        missing = {i: n for i, n in missing.items() if n > 0 and draws_left[i] > 0}
        effort *= 2
    return [join(groups) for groups in found.values()]


def _halves(
    mixture: CurrentMixture,
    whole: GaussianComponents,
    splits: Sequence[tuple[int, Array]],
    log_weights: Array,
) -> list[Candidates]:
    """Candidates from the halves that pairs of rows make of their components."""
    d = whole.means.shape[1]
    cuts = []
    for _, pairs in splits:
        ends = np.asarray(mixture.source.take(pairs.ravel()), dtype=np.float64)
        left, right = ends[0::2, :d] - whole.origin, ends[1::2, :d] - whole.origin
        heights = 0.5 * (np.sum(left**2, axis=1) - np.sum(right**2, axis=1))
        cuts.append(((left - right).T, heights))
    origin = whole.origin
    copies = [pick_components(whole, np.zeros(2 * len(pairs), int)) for _, pairs in splits]

    def add(block: Any, owner: Array, weights: Array) -> tuple[tuple[Array, ...], tuple[()]]:
        members = Members(owner)
        sums: list[Array] = []
        for (i, _), (normals, heights), components in zip(splits, cuts, copies, strict=True):
            of_split = no_statistics(components, block)
            counts = np.zeros(components.n_components)
            with buffers() as memory:
                own = in_buffers(components, memory)
                for tile, features in feature_rows(own, block, members.of(i), memory):
                    nearer = (block[tile][:, :d] - origin) @ normals > heights
                    inside = np.stack((nearer, ~nearer), axis=2).reshape(len(tile), -1)
                    counts += inside.sum(axis=0)
                    resp = memory.array("inside", inside.shape)
                    np.multiply(inside, weights[tile, None], out=resp)
                    add_to(of_split, own.statistics(features, resp))
            sums += [counts, *of_split]
        return tuple(sums), ()

    sums = mixture.source.map_reduce(add, aligned=(mixture.owner, mixture.weights))[0]
    width = 1 + _n_sums(copies[0])
    halves = []
    for number, ((i, _), components) in enumerate(zip(splits, copies, strict=True)):
        counts, *statistics = sums[number * width : (number + 1) * width]
        good = np.flatnonzero((counts > d) & (counts[_partner(len(counts))] > 0))
        if len(good):
            shares = np.full(len(good), 0.5 * np.exp(log_weights[i]))
            fitted = pick_components(components.m_step(tuple(statistics)), good)
            gains = np.full(len(good), -np.inf)
            halves.append(Candidates(i, fitted, shares, gains))
    return halves


def _partner(n: int) -> Array:
    """Position of the other half of every split."""
    return np.arange(n) ^ 1
