"""EM on cells that are cut where it raises the bound most (Verbeek 2004, section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from sidelight._kernels.mixture.cells import dividing_directions
from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.mixture._core import EMResult, em, log_joint_blocks
from sidelight.mixture.growing._cells import EQUAL, UNCUT, CellGaussians, CellSamples, CellTree

#: Iterations on cells that will be cut anyway. More make components alike that own the same cells.
COARSE_ITERATIONS = 3

#: Cells that stand for this share of what the bound loses are cut.
WORTHWHILE = 0.9

#: One in this many rows of a cell, and the least number of them, show what the bound loses there.
ONE_ROW_IN = 16
MIN_ROWS = 4
ENOUGH_ROWS = 25_000
GOLDEN = 0.6180339887498949

#: A smaller share of other components in a cell is no evidence on where to cut.
MIN_OUTSIDE = 1e-9


@dataclass(frozen=True)
class CellResult(EMResult):
    """Final state of EM on cells; ``history`` is the bound ``F`` per unit of weight.

    Attributes
    ----------
    leaves : ndarray of int
        Nodes of the tree that are the cells at the end.
    partitions : list of tuple
        Number of cells, ``-F`` and ``L - F`` per unit of weight of every partition, the latter
        from some rows of every cell.
    """

    leaves: Array
    partitions: list[tuple[int, float, float]]

    @property
    def gap(self) -> float:
        """``L - F`` per unit of weight at the end."""
        return self.partitions[-1][2]


@dataclass(frozen=True)
class Slack:
    """How much the bound loses in every cell because its rows share their responsibilities.

    Attributes
    ----------
    samples : CellSamples
        Some rows of every cell.
    posterior : ndarray of shape (l, k)
        Posteriors of these rows by themselves.
    losses : ndarray of shape (m,)
        ``Σ_{n in A} KL(q_A || p(s | x_n))`` of every cell, from these rows; summed over all cells
        it is ``L - F``.
    """

    samples: CellSamples
    posterior: Array
    losses: Array


def measure_slack(
    tree: CellTree, leaves: Array, components: CellGaussians, log_weights: Array, number: int = 0
) -> Slack:
    """Measure it on some rows of every cell, on others for every ``number``.

    A cell whose rows looked harmless is not cut; looking at the same rows again would hide for
    good what they do not show.
    """
    one_in = int(np.clip(tree.sizes[0] // ENOUGH_ROWS, 1, ONE_ROW_IN))
    samples = tree.sample(leaves, one_in, MIN_ROWS, (0.5 + number * GOLDEN) % 1.0)
    shared = log_joint_blocks(as_rows(tree.cells(leaves)), components, log_weights, _log_posterior)
    own = log_joint_blocks(as_rows(samples.rows), components.of_rows(), log_weights, _log_posterior)
    losses = tree.weights[leaves] * np.einsum(
        "ak,ak->a", np.exp(shared), shared - samples.average(own)
    )
    losses[(tree.sizes[leaves] == 1) | (tree.parts[leaves] == EQUAL)] = 0.0
    return Slack(samples, np.exp(own), np.maximum(losses, 0.0))


def _log_posterior(joint: Array) -> Array:
    posterior: Array = log_softmax(joint, axis=1)
    return posterior


def em_on_cells(
    tree: CellTree,
    leaves: Array,
    components: CellGaussians,
    log_weights: Array,
    *,
    accuracy: float,
    max_cells: int | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    description: str = "AcceleratedMixture",
    verbose: int = 0,
) -> CellResult:
    """Run EM and cut cells by turns, until ``L - F`` is at most ``accuracy`` per unit of weight.

    The bound rises with every iteration and every cut. A few iterations are enough while cells
    are coarse; only cells that are fine enough are worth convergence.
    """
    history: list[Array] = []
    partitions: list[tuple[int, float, float]] = []
    n_iter = 0
    settled = False
    while True:
        left = max_iter - n_iter
        result = em(
            as_rows(tree.cells(leaves)),
            components,
            log_weights,
            sample_weight=tree.weights[leaves],
            max_iter=left if settled else min(left, COARSE_ITERATIONS),
            tol=tol,
            description=f"{description}, {len(leaves)} cells",
            verbose=verbose,
        )
        components, log_weights = result.components, result.log_weights
        history.append(result.history)
        n_iter += result.n_iter
        slack = measure_slack(tree, leaves, components, log_weights, len(partitions) + 1)
        gap = float(slack.losses.sum() / tree.weights[0])
        partitions.append((len(leaves), result.objective, gap))
        settled = gap <= accuracy or (max_cells is not None and len(leaves) >= max_cells)
        if result.interrupted or n_iter >= max_iter or (settled and result.converged):
            break
        if not settled:
            leaves = tree.replaced(leaves, cut_where_it_pays(tree, leaves, slack, components))
    return CellResult(
        components=components,
        log_weights=log_weights,
        history=np.concatenate(history),
        n_iter=n_iter,
        converged=settled and result.converged,
        interrupted=result.interrupted,
        leaves=leaves,
        partitions=partitions,
    )


def cut_where_it_pays(
    tree: CellTree, leaves: Array, slack: Slack, components: CellGaussians
) -> Array:
    """Cut the fewest cells that stand for most of the loss; return those that have parts now."""
    order = np.argsort(-slack.losses, kind="stable")
    reached = np.cumsum(slack.losses[order])
    worst = order[: int(np.searchsorted(reached, WORTHWHILE * reached[-1])) + 1]
    chosen = worst[tree.parts[leaves[worst]] == UNCUT]
    nodes = leaves[chosen]
    shares = slack.samples.average(slack.posterior)
    directions = tree.widest(nodes)
    dividing_directions(
        shares[chosen],
        tree.means[nodes],
        tree.spreads[nodes],
        components.means,
        _precision_matrices(components),
        directions,
    )
    normals = np.zeros((len(leaves), directions.shape[1]))
    normals[chosen] = directions
    heights = _heights(slack, shares, tree.means[leaves], normals)[chosen]
    tree.cut(nodes, directions, heights)
    return leaves[worst][tree.parts[leaves[worst]] >= 0]


def _heights(slack: Slack, shares: Array, means: Array, normals: Array) -> Array:
    """Where to cut: midway between rows of the cell's main component and all its other rows.

    A cell inside one component may hold a few rows of another, which a cut through the mean would
    part from the rest only after many more cuts.
    """
    samples = slack.samples
    offsets = samples.rows - means[samples.owner]
    heights = np.einsum("ld,ld->l", offsets, normals[samples.owner])
    main = np.argmax(shares, axis=1)
    inside = slack.posterior[np.arange(len(heights)), main[samples.owner]]
    n_inside = samples.average(inside)
    n_outside = 1.0 - n_inside
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = 0.5 * (
            samples.average(inside * heights) / n_inside
            + samples.average((1.0 - inside) * heights) / n_outside
        )
    return np.where(n_outside > MIN_OUTSIDE, middle, 0.0)


def _precision_matrices(components: CellGaussians) -> Array:
    k, d = components.means.shape
    precisions = components.precisions
    if components.kind == "spherical":
        precisions = precisions[:, None, None] * np.eye(d)
    elif components.kind == "diag":
        precisions = precisions[:, :, None] * np.eye(d)
    return np.ascontiguousarray(np.broadcast_to(precisions, (k, d, d)))
