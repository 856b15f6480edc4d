"""Sequential optimization: rows are reinserted one by one where the objective loses least.

Every move lowers ``-(I(C;F|Z) + λ I)`` by the exact difference, so that passes in random order
end in labels that no single move improves (Constrained Clustering, figure 11.7, with the
subtraction of a row and the loop put right).
"""

from __future__ import annotations

import numpy as np

from sidelight._fit.restarts import fit_progress
from sidelight._kernels.cluster.alternative.insertion import reinsert_rows
from sidelight._typing import Array, FloatArray
from sidelight.cluster.alternative._annealing import AnnealedRestart, one_hot
from sidelight.cluster.alternative._bottleneck_cells import CellModel

#: Sums, totals, masses and numbers of rows of groups.
Groups = tuple[FloatArray, FloatArray, FloatArray, Array]


def random_labels(n: int, n_clusters: int, rng: np.random.RandomState) -> Array:
    """A random partition into clusters of equal sizes."""
    return rng.permutation(np.arange(n) % n_clusters)


def reinsert(
    model: CellModel,
    n_clusters: int,
    labels: Array,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    description: str,
    verbose: int,
) -> AnnealedRestart:
    """Pass over the rows in random order until a pass moves none."""
    n = len(model.masses)
    labels = labels.astype(np.int64)
    weights = float(model.coordination), float(model.redundancy)
    counts = model.family.counts
    history = [_energy(model, labels, n_clusters)]
    moved, n_iter = 1, 0
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        while moved and n_iter < max_iter:
            # Sums are recomputed for every pass: no error of rounding outlives it.
            in_cells, whole = groups_of(model, labels, n_clusters)
            moved = reinsert_rows(
                model.sorted.entries,
                rng.permutation(n),
                model.sorted.cells,
                model.masses,
                counts,
                weights,
                in_cells,
                whole,
                expectations_of(model, in_cells[2]),
                labels,
            )
            n_iter += 1
            history.append(_energy(model, labels, n_clusters))
            progress.step(history[-1])
    return AnnealedRestart(
        labels=labels,
        objective=history[-1],
        history=history,
        n_iter=n_iter,
        converged=moved == 0,
        interrupted=progress.interrupted,
    )


def groups_of(model: CellModel, labels: Array, n_clusters: int) -> tuple[Groups, Groups]:
    """Sums, totals, masses and sizes of the clusters in every cell, and in all rows."""
    sums = model.sums(one_hot(labels, n_clusters))
    n_cells = len(sums.masses)
    sizes = np.bincount(model.sorted.cells * n_clusters + labels, minlength=n_cells * n_clusters)
    sizes = sizes.reshape(n_cells, n_clusters)
    features = np.ascontiguousarray(sums.features.sum(axis=0))
    counts = model.family.counts
    in_cells = sums.features, _totals(sums.features, counts), sums.masses, sizes
    whole = features, _totals(features, counts), sums.masses.sum(axis=0), sizes.sum(axis=0)
    return in_cells, whole


def expectations_of(model: CellModel, masses: FloatArray) -> tuple[bool, Array, Array, Array]:
    """Whether the coordination is adjusted, means of cells, expected sums, and zeros."""
    if not model.adjusted:
        return False, np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1)
    means = model.baseline.means
    return True, means, np.ascontiguousarray(means.T @ masses), np.zeros(means.shape[1])


def _totals(features: FloatArray, counts: bool) -> FloatArray:
    totals: FloatArray = np.sum(features if counts else features**2, axis=-2)
    return totals


def _energy(model: CellModel, labels: Array, n_clusters: int) -> float:
    return model.energy(model.sums(one_hot(labels, n_clusters)))
