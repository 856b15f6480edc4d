"""Constrained EM of self-organizing mixtures (Verbeek 2004, section 4.2).

Responsibilities are the neighborhood of a winning node, ``q_n = h_{r_n}``. With
``J_ns = log π_s + log p(x_n | s)``

    F_n(r) = Σ_s h_r(s) [J_ns - log h_r(s)] = log p(x_n) - KL(h_r ‖ p(· | x_n))

is maximized over the winner ``r`` (e-step) and over the parameters (m-step). Where log-densities
are linear in features, ``log p(x | s) = T(x)·η_s + a_s``, the neighborhoods are averaged over once
for all rows, ``Σ_s h_r(s) log p(x | s) = T(x)·(η Hᵀ)_r + (a Hᵀ)_r``, and the sums of the m-step are
those of the winners, ``Σ_n h_{r_n}(s) T(x_n) = (Hᵀ Σ_{n: r_n = ·} T(x_n))_s``: a factor ``k``
cheaper than with a matrix of responsibilities.

Rows of an episode share their winner (section 4.2.3). Either each has a label of its own, with
shared responsibilities, so that an episode counts ``Σ_n F_n(r)``; or they share one label, and
weights and entropy count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import logsumexp

from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import Statistics, normalized_log
from sidelight.mixture.som._families import add_by_winner, is_linear, natural_form
from sidelight.mixture.som._grid import GridNeighborhood

GroupMode: TypeAlias = Literal["shared-responsibility", "shared-label"]

#: Features and scores of a tile of rows should stay in the cache.
TILE_BYTES = 2**20


class NodeParameters(NamedTuple):
    """Components of every part of the table, and logarithms of the mixing weights."""

    parts: tuple[Any, ...]
    log_weights: Array

    @property
    def log_prior(self) -> float:
        """Logarithm of the prior density of all parts."""
        return float(sum(part.log_prior for part in self.parts))


@dataclass(frozen=True)
class Winners:
    """Result of the e-step.

    Attributes
    ----------
    parameters : NodeParameters
        Parameters that were evaluated.
    neighborhood : GridNeighborhood
        Neighborhoods of the nodes.
    bound : float
        ``F`` and the log-prior.
    objective : float
        The same, negative and per unit of weight.
    winners : ndarray of int32, shape (n,)
        Winning node of every row.
    statistics : list of tuple of ndarray
        Sums for the m-step of every part.
    counts : ndarray of shape (k,)
        Sums of responsibilities that the mixing weights are proportional to.
    """

    parameters: NodeParameters
    neighborhood: GridNeighborhood
    bound: float
    objective: float
    winners: Array
    statistics: list[Statistics]
    counts: Array


class EpisodeRows(RowSource):
    """Rows in memory whose blocks begin with an episode; rows of an episode are neighbors."""

    def __init__(self, table: Any, starts: Array) -> None:
        inner = as_rows(table)
        self.n_rows, self.n_features = inner.shape
        self.dtype, self.is_sparse = inner.dtype, inner.is_sparse
        self._table = inner.to_memory()
        cuts = np.searchsorted(starts, [start for start, _ in inner.blocks])
        ends = np.append(np.unique(np.append(starts, self.n_rows)[cuts]), self.n_rows)
        ends = np.unique(ends)
        self._blocks = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are worked on together."""
        return self._blocks

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the rows at these positions."""
        return self._table[np.asarray(rows, dtype=np.intp)]

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        for number in task:
            start, stop = self._blocks[number]
            yield self._table[start:stop]


class ConstrainedEM:
    """The two steps on the tables of all parts.

    Parameters
    ----------
    tables : sequence of array or CSR matrix
        One table for every part, of the same rows.
    weights : ndarray of shape (n,)
        Weights of the rows.
    episodes : ndarray of int, shape (n,), or None
        Episode of every row, ascending; None where every row is by itself.
    group_mode : {"shared-responsibility", "shared-label"}
        What the rows of an episode share.
    learn_weights : bool
        Whether mixing weights are learned, or fixed.
    """

    def __init__(
        self,
        tables: Sequence[Any],
        weights: Array,
        *,
        episodes: Array | None = None,
        group_mode: GroupMode = "shared-responsibility",
        learn_weights: bool = False,
    ) -> None:
        self._tables = list(tables)
        self._weights = np.asarray(weights, dtype=np.float64)
        self._total = float(self._weights.sum())
        self._shared_label = group_mode == "shared-label"
        self._learn_weights = learn_weights
        self._episodes = episodes
        if episodes is None:
            self._source = as_rows(self._tables[0])
        else:
            starts = np.flatnonzero(np.append(True, np.diff(episodes) != 0))
            self._source = EpisodeRows(self._tables[0], starts)

    @property
    def source(self) -> RowSource:
        """The rows of the first part."""
        return self._source

    def e_step(
        self,
        parameters: NodeParameters,
        neighborhood: GridNeighborhood,
        before: Array | None = None,
        n_candidates: int | None = None,
    ) -> Winners:
        """Find the winners.

        Parameters
        ----------
        parameters : NodeParameters
            Parameters of the nodes.
        neighborhood : GridNeighborhood
            Neighborhoods of the nodes.
        before : ndarray of int, shape (n,), default=None
            Winners so far, which are kept where no other is better.
        n_candidates : int, default=None
            Look only at the winner so far and this many nodes of largest joint density; all by
            default. 0 keeps the winners.
        """
        step = _MapEStep(parameters, neighborhood, n_candidates, self._shared_label, self._tables)
        totals, (winners,) = self._map(step, before)
        found, mass, counts, sums = totals
        shares = neighborhood.shares
        statistics = [
            one if form is None else (shares.T @ mass, shares.T @ one[0])
            for one, form in zip(sums, step.forms, strict=True)
        ]
        bound = float(found) + parameters.log_prior
        return Winners(
            parameters,
            neighborhood,
            bound,
            -bound / self._total,
            winners,
            statistics,
            shares.T @ counts,
        )

    def m_step(self, now: Winners) -> NodeParameters:
        """Components of highest expected likelihood, and the mixing weights if they are learned."""
        parts = tuple(
            part.m_step(statistics)
            for part, statistics in zip(now.parameters.parts, now.statistics, strict=True)
        )
        log_weights = now.parameters.log_weights
        return NodeParameters(
            parts, normalized_log(now.counts) if self._learn_weights else log_weights
        )

    def log_likelihood(self, parameters: NodeParameters) -> float:
        """Log-likelihood of the rows (of the episodes, if these share a label) and log-prior."""
        step = _Likelihood(parameters, self._shared_label)
        return float(self._map(step, None)[0][0]) + parameters.log_prior

    def _map(self, step: Any, before: Array | None) -> tuple[Any, tuple[Array, ...]]:
        nothing = range(self._source.n_rows)
        aligned = (
            self._weights,
            nothing if before is None else before,
            nothing if self._episodes is None else self._episodes,
            *self._tables[1:],
        )
        return self._source.map_reduce(step, aligned=aligned)


class _Units(NamedTuple):
    """Rows of a tile by episode: sums over them, and back."""

    starts: Array | None
    weights: Array
    of_rows: Array

    def sums(self, values: Array) -> Array:
        """Weighted sums of the values of the rows of every episode, for rows their values."""
        if self.starts is None:
            return values
        weighted = values * self.of_rows[:, None]
        return np.asarray(np.add.reduceat(weighted, self.starts, axis=0))

    def rows(self, values: Array) -> Array:
        """Values of the episodes, for every row."""
        if self.starts is None:
            return values
        return np.repeat(values, np.diff(np.append(self.starts, len(self.of_rows))))


def _units(weights: Array, episodes: Any, shared_label: bool) -> tuple[_Units, Array]:
    """Episodes of a tile with their weights, and how much weights and entropy count in each.

    Of single rows the scores are per unit of weight, of episodes they are sums.
    """
    if isinstance(episodes, range):
        return _Units(None, weights, weights), np.ones(len(weights))
    starts = np.flatnonzero(np.append(True, np.diff(episodes) != 0))
    sums = np.add.reduceat(weights, starts)
    sizes = np.diff(np.append(starts, len(weights)))
    return _Units(starts, np.ones(len(starts)), weights), sums / sizes if shared_label else sums


def cache_tiles(width: int, block: Any, episodes: Any) -> Iterator[slice]:
    """Ranges of rows of a block that fit the cache, each of whole episodes."""
    n = block.shape[0]
    size = int(np.clip(TILE_BYTES // (8 * max(width, 1)), 128, 4000))
    start = 0
    while start < n:
        stop = min(start + size, n)
        if not isinstance(episodes, range) and stop < n:
            stop = int(np.searchsorted(episodes, episodes[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


class _PartSums:
    """Sums of all parts, which are added over the blocks."""

    def __init__(self, parts: list[Statistics]) -> None:
        self.parts = parts

    def join(self, other: _PartSums) -> _PartSums:
        """Add the sums of another block."""
        return _PartSums(
            [
                tuple(a + b for a, b in zip(one, more, strict=True))
                for one, more in zip(self.parts, other.parts, strict=True)
            ]
        )

    def result(self) -> list[Statistics]:
        """The sums of every part."""
        return self.parts


class _MapEStep:
    """E-step of a block: bound, weights of winners and episodes, sums of the parts, winners."""

    def __init__(
        self,
        parameters: NodeParameters,
        neighborhood: GridNeighborhood,
        n_candidates: int | None,
        shared_label: bool,
        tables: Sequence[Any],
    ) -> None:
        self.parts = parameters.parts
        self.log_weights = parameters.log_weights
        self.shares = neighborhood.shares
        self.constant = self.shares @ self.log_weights + neighborhood.entropy
        self.n_candidates = n_candidates
        self.shared_label = shared_label
        self.forms = [
            natural_form(part, sparse.issparse(table)) if is_linear(part) else None
            for part, table in zip(self.parts, tables, strict=True)
        ]
        self.averaged = [
            None if form is None else (form[0] @ self.shares.T, form[1] @ self.shares.T)
            for form in self.forms
        ]
        self.width = sum(part.n_statistics for part in self.parts) + len(self.shares)

    def __call__(
        self, block: Any, weights: Array, before: Any, episodes: Any, *others: Any
    ) -> tuple[tuple[Any, ...], tuple[Array]]:
        tables = (block, *others)
        k = len(self.shares)
        bound, mass, counts = 0.0, np.zeros(k), np.zeros(k)
        sums: _PartSums | None = None
        winners = np.empty(block.shape[0], dtype=np.int32)
        for tile in cache_tiles(self.width, block, episodes):
            units, constants = _units(weights[tile], episodes[tile], self.shared_label)
            features = [
                part.features(table[tile]) for part, table in zip(self.parts, tables, strict=True)
            ]
            previous = None if isinstance(before, range) else np.asarray(before[tile])
            if previous is not None and units.starts is not None:
                previous = previous[units.starts]
            chosen, scores = self._choose(features, units, constants, previous)
            bound += float(units.weights @ scores)
            winners[tile] = own = units.rows(chosen)
            mass += np.bincount(own, weights[tile], minlength=k)
            of_units = constants if units.starts is not None else units.weights
            counts += np.bincount(chosen, of_units, minlength=k)
            more = self._sums(features, own, weights[tile])
            sums = more if sums is None else sums.join(more)
        assert sums is not None
        return (bound, mass, counts, sums), (winners,)

    def _choose(
        self, features: list[Any], units: _Units, constants: Array, previous: Array | None
    ) -> tuple[Array, Array]:
        """Winner of every row or episode, and its part of the bound."""
        n = self.n_candidates
        if n is not None and n < len(self.shares) and previous is not None:
            return self._choose_among(features, units, constants, previous)
        scores = self._averaged_scores(features)
        if units.starts is None:
            scores += self.constant
        else:
            scores = units.sums(scores) + constants[:, None] * self.constant
        chosen = np.argmax(scores, axis=1).astype(np.int32)
        rows = np.arange(len(scores))
        best = scores[rows, chosen]
        if previous is not None:  # of equal nodes the winner so far stays
            stays = scores[rows, previous] >= best
            chosen = np.where(stays, previous, chosen).astype(np.int32)
        return chosen, best

    def _averaged_scores(self, features: list[Any]) -> Array:
        """``Σ_s h_r(s) log p(x_n | s)`` of every row and node ``r``."""
        scores: Array | None = None
        for part, own, averaged in zip(self.parts, features, self.averaged, strict=True):
            if averaged is None:
                more = part.log_density(own) @ self.shares.T
            else:
                more = own @ averaged[0]
                more += averaged[1]
            scores = more if scores is None else scores + more
        assert scores is not None
        return scores

    def _choose_among(
        self, features: list[Any], units: _Units, constants: Array, previous: Array
    ) -> tuple[Array, Array]:
        """Winners among the nodes of largest joint density and the winners so far."""
        density = units.sums(_log_densities(self.parts, features))
        assert self.n_candidates is not None
        joint = density + constants[:, None] * self.log_weights
        n = self.n_candidates
        candidates = np.argpartition(joint, -n, axis=1)[:, joint.shape[1] - n :]
        chosen = previous.astype(np.int32)
        best = self._bounds(density, chosen, constants)
        for candidate in candidates.T:
            scores = self._bounds(density, candidate, constants)
            better = scores > best
            chosen = np.where(better, candidate, chosen).astype(np.int32)
            best = np.where(better, scores, best)
        return chosen, best

    def _bounds(self, density: Array, nodes: Array, constants: Array) -> Array:
        """``F_n(r)`` for one node ``r`` of every row."""
        averages = np.einsum("nk,nk->n", density, self.shares[nodes])
        return np.asarray(averages + constants * self.constant[nodes])

    def _sums(self, features: list[Any], winners: Array, weights: Array) -> _PartSums:
        """Sums by winner of linear parts, with responsibilities of the others."""
        resp: Array | None = None
        sums: list[Statistics] = []
        for part, own, form in zip(self.parts, features, self.forms, strict=True):
            if form is not None:
                sums.append((add_by_winner(own, winners, weights, len(self.shares)),))
                continue
            if resp is None:
                resp = self.shares[winners] * weights[:, None]
            sums.append(tuple(part.statistics(own, resp)))
        return _PartSums(sums)


def _log_densities(parts: Sequence[Any], features: Sequence[Any]) -> Array:
    """``log p(x_n | s)`` of every row and node: the sum over the parts."""
    densities = [part.log_density(own) for part, own in zip(parts, features, strict=True)]
    return np.asarray(sum(densities[1:], densities[0]))


class _Likelihood:
    """Log-likelihood of a block."""

    def __init__(self, parameters: NodeParameters, shared_label: bool) -> None:
        self.parts, self.log_weights = parameters
        self.shared_label = shared_label
        self.width = sum(part.n_statistics for part in self.parts) + len(self.log_weights)

    def __call__(
        self, block: Any, weights: Array, before: Any, episodes: Any, *others: Any
    ) -> tuple[tuple[float], tuple[()]]:
        tables = (block, *others)
        total = 0.0
        together = self.shared_label and not isinstance(episodes, range)
        for tile in cache_tiles(self.width, block, episodes):
            features = [
                part.features(table[tile]) for part, table in zip(self.parts, tables, strict=True)
            ]
            density = _log_densities(self.parts, features)
            if together:
                units, counts = _units(weights[tile], episodes[tile], shared_label=True)
                safe = np.where(counts > 0, counts, 1.0)
                joint = units.sums(density) / safe[:, None] + self.log_weights
                total += float(counts @ logsumexp(joint, axis=1))
            else:
                total += float(weights[tile] @ logsumexp(density + self.log_weights, axis=1))
        return (total,), ()
