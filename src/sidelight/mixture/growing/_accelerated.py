"""Gaussian mixtures of very many rows, by EM on cells of a tree (Verbeek 2004, section 3.4)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.parameters import Count, NonNegative, estimator, n_restarts
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import EMResult
from sidelight.mixture.gaussian._components import (
    GaussianBase,
    GaussianComponents,
    GaussianEMBase,
    given_parameters,
)
from sidelight.mixture.growing._candidates import pick_components
from sidelight.mixture.growing._cell_em import CellResult, em_on_cells
from sidelight.mixture.growing._cells import CellGaussians, CellTree
from sidelight.mixture.growing._greedy_path import greedy_path
from sidelight.tags import PLAIN_TAGS, own_tags

CellStart: TypeAlias = Literal["kmeans", "k-means++", "random_from_data", "random", "greedy"]

#: With fewer cells several components would own the same ones and become the same.
CELLS_PER_COMPONENT = 8

#: Greedy EM takes cells for rows; a component needs many per feature to be split again and again.
GREEDY_CELLS = 32

#: Candidates per component and search, for a greedy start.
CANDIDATES = 10

#: Components this close, in units of their own spread, are the same.
SAME = 1e-3


@estimator
class AcceleratedMixture(GaussianEMBase):
    """Mixture of Gaussians for very many rows: EM on cells of a tree, refined where it matters.

    The rows are divided into cells ``A`` whose rows share their responsibilities ``q_A``. Then

    ``F = Σ_A |A| log Σ_s π_s exp <log N(x; μ_s, Σ_s)>_A  <=  L``

    with averages ``< >_A`` over the cells bounds the log-likelihood ``L`` from below, and depends
    on the number, the mean and the covariance of the rows of each cell only: an iteration of EM
    costs as much as if there were as many rows as cells (Verbeek 2004, section 3.4). It begins with
    the cells of a kd-tree. Where some rows of a cell show that their own posteriors differ from
    those they share, the cell is cut. Neither EM nor a cut can lower ``F``. With a single row in
    each cell it is EM as usual. Read more in the :doc:`user guide </mixture/growing>`.

    Parameters
    ----------
    accuracy : float >= 0, default=0.005
        Cut cells until ``L - F``, estimated from some rows of every cell, is at most this per row.
        The log-likelihood itself ends much closer to that of EM on all rows.
    init_cells : int >= 1 or None, default=None
        Number of cells to begin with; ``8 n_components`` by default, and more for a greedy start.
    max_cells : int >= 1 or None, default=None
        Cut no more cells once there are this many; by default, as many as the accuracy takes.
    max_iter : int >= 1, default=500
        Largest number of iterations of a restart, over all partitions.
    init_params : {"kmeans", "k-means++", "random_from_data", "random", "greedy"}, default="kmeans"
        Rough clusters of the first cells to start from; or greedy EM on them, as in
        :class:`GreedyMixture`.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row, by its own posterior.
    n_cells_ : int
        Number of cells at the end.
    approximation_error_ : float
        ``L - F`` per row at the end, estimated from some rows of every cell.
    search_ : dict of str to ndarray
        One entry for every partition, from coarse to fine: ``n_cells``, ``objective`` (``-F`` per
        row) and ``approximation_error``.
    history_ : ndarray
        ``-F`` per row at every iteration and after every refinement; never rises.
    converged_ : bool
        Whether the gain fell to ``tol`` on cells that are fine enough, before ``max_iter``.

    See Also
    --------
    GaussianMixture : EM on the rows themselves, which may live on disk.

    Notes
    -----
    A cell is cut across the direction in which the log-odds of its components vary most, between
    the rows of its main component and the others. That takes far fewer cells than cuts across the
    widest direction, as the source has them, and loses none of its guarantees. Gains are largest
    for few features and many rows; the number of cells does not grow with the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import AcceleratedMixture, GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(rng.choice([0.0, 5.0, 10.0], size=(20_000, 1)), 1.0, size=(20_000, 2))
    >>> model = AcceleratedMixture(n_components=3, random_state=0).fit(X)
    >>> model.n_cells_ < 500
    True
    >>> exact = GaussianMixture(n_components=3, random_state=0).fit(X)
    >>> bool(abs(model.score(X) - exact.score(X)) < 1e-3)
    True
    """

    _common_attributes = GaussianBase._common_attributes

    _: KW_ONLY
    accuracy: NonNegative = 0.005
    init_cells: Count | None = None
    max_cells: Count | None = None
    max_iter: Count = 500
    init_params: CellStart = "kmeans"  # type: ignore[assignment]

    _elsewhere = "GaussianMixture reads rows block by block, and GreedyMixture finds its start."

    _own_tags = own_tags(
        summary="Gaussian mixture of very many rows by EM on cells of a tree",
        **PLAIN_TAGS,
        source="Verbeek 2004, section 3.4",
        complexity="O(n d²) per level of the tree, O(k d²) per iteration and cell",
        out_of_core=False,
    )

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        if self.init_params == "greedy" and self.covariance_type == "tied":
            raise ValueError(
                "init_params='greedy' does not go with covariance_type='tied': a component joins "
                "with a covariance of its own."
            )
        k = self.n_components
        whole = CellGaussians.of(self._whole_data(source, k, weights))
        first = CellTree(source, weights, full=self.covariance_type in ("full", "tied"))
        leaves = first.partition(self._first_cells(k, source.n_features))

        n_starts = 1 if self._start_is_given() else n_restarts(self)

        def run(number: int, rng: np.random.RandomState) -> CellResult:
            tree = first if n_starts == 1 else first.copy()
            components, log_weights = self._start_on_cells(tree, leaves, whole, rng)
            return em_on_cells(
                tree,
                leaves,
                components,
                log_weights,
                accuracy=self.accuracy,
                max_cells=self.max_cells,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        best = self._best_restart(n_starts, run, source)
        names = ("n_cells", "objective", "approximation_error")
        columns = map(np.array, zip(*best.partitions, strict=True))
        self.search_ = dict(zip(names, columns, strict=True))
        self.n_cells_ = len(best.leaves)
        self.approximation_error_ = best.gap
        self._warn_of_shortcomings(best, k)
        return replace(best, components=best.components.of_rows())

    def _first_cells(self, k: int, d: int) -> int:
        if self.init_cells is not None:
            return int(self.init_cells)
        if self.init_params == "greedy":
            return GREEDY_CELLS * k * (d + 1)
        return CELLS_PER_COMPONENT * k

    def _start_on_cells(
        self,
        tree: CellTree,
        leaves: Array,
        whole: CellGaussians,
        rng: np.random.RandomState,
    ) -> tuple[Any, Array]:
        """Components and mixing weights (as logarithms) to start from."""
        k = whole.n_components
        if self.init_params == "greedy" and not self._start_is_given():
            components, log_weights = self._greedy_start(tree, leaves, whole, rng)
            return given_parameters(
                components,
                log_weights,
                weights=self.weights_init,
                means=self.means_init,
                precisions=self.precisions_init,
            )
        # k-means wants at least as many points as clusters, equal or not.
        copies = -(-k // len(leaves))
        points = np.tile(leaves, copies)
        components, log_weights = self._rough_start(
            as_rows(tree.cells(points)),
            whole,
            rng,
            sample_weight=tree.weights[points] / copies,
            rough=as_rows(tree.means[points]),
        )
        return CellGaussians.of(components), log_weights

    def _greedy_start(
        self,
        tree: CellTree,
        leaves: Array,
        whole: CellGaussians,
        rng: np.random.RandomState,
    ) -> tuple[CellGaussians, Array]:
        """The mixture that greedy EM finds on the first cells."""
        path = greedy_path(
            as_rows(tree.cells(leaves)),
            pick_components(whole, [0]),
            rng,
            n_candidates=CANDIDATES,
            sample_weight=tree.weights[leaves],
            max_iter=self.max_iter,
            tol=self.tol,
            description=f"{type(self).__name__}, start",
            verbose=self.verbose,
        )
        *_, last = islice(path, whole.n_components)
        return last.result.components, last.result.log_weights

    def _warn_of_shortcomings(self, result: CellResult, k: int) -> None:
        """Warn of what the mixture lacks."""
        found = result.components
        if found.n_components < k:
            self._warn(
                f"Greedy EM found only {found.n_components} of {k} components on the "
                "first cells; allow more init_cells, or start by k-means."
            )
        if len(result.leaves) < k:
            self._warn(
                f"There are only {len(result.leaves)} cells for {k} components, so "
                "that some are the same; ask for fewer, or allow more cells if rows differ."
            )
        elif (same := _alike(found)) is not None:
            self._warn(
                f"Components {same[0]} and {same[1]} are the same; ask for fewer, or allow more "
                "init_cells."
            )
        if self.max_cells is not None and result.gap > self.accuracy:
            self._warn(
                f"The bound is about {result.gap:.2g} per row below the log-likelihood, more "
                f"than accuracy={self.accuracy}; allow more than max_cells={self.max_cells}."
            )

    def _warn(self, message: str) -> None:
        warn(message, ConvergenceWarning)


def _alike(components: GaussianComponents) -> tuple[int, int] | None:
    """Two components that are the same, if there are any."""
    covariances = components.full_covariances()
    spreads = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    for s in range(1, components.n_components):
        distances = np.abs(components.means[:s] - components.means[s]) / spreads[s]
        scaled = (covariances[:s] - covariances[s]) / (spreads[s][:, None] * spreads[s])
        same = (distances.max(axis=1) < SAME) & (np.abs(scaled).max(axis=(1, 2)) < SAME)
        if same.any():
            return int(np.argmax(same)), s
    return None
