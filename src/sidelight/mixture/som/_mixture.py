"""Self-organizing mixtures: constrained EM on a grid of nodes (Verbeek 2004, chapter 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_weights
from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    FinitePositive,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    Whole,
    estimator,
    n_restarts,
)
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.constraints.inner import check_one_index
from sidelight.engine import as_rows
from sidelight.engine.inner import opened
from sidelight.exceptions import SidelightError
from sidelight.mixture.som._base import (
    MAP_ATTRIBUTES,
    MAP_PARAMETERS,
    Annealed,
    Growth,
    MapBase,
    Mass,
    anneal,
    distances_to_nodes,
    map_joint,
    temper,
    two_best,
)
from sidelight.mixture.som._blocks import Blocks, parts_of
from sidelight.mixture.som._categories import CategoricalPart
from sidelight.mixture.som._families import complete_nodes, has_exact_m_step
from sidelight.mixture.som._grid import (
    Grid,
    GridNeighborhood,
    StartName,
    most_frequent,
    start_winners,
)
from sidelight.mixture.som._parts import FamilyColumns, FamilySettings
from sidelight.mixture.som._steps import (
    ConstrainedEM,
    GroupMode,
    NodeParameters,
    Winners,
)
from sidelight.tags import MethodTags

AnyFamily: TypeAlias = Literal[
    "spherical", "diag", "full", "ppca", "bernoulli", "categorical", "multinomial", "mixed"
]

#: Families that read counts, codes or answers, which scaling would spoil.
RAW_COLUMNS = ("bernoulli", "categorical", "multinomial", "mixed")


@estimator
class SelfOrganizingMixture(MapBase):
    """Self-organizing map as a mixture whose responsibilities are neighborhoods on a grid.

    A mixture ``p(x) = Σ_s π_s p(x | s)`` has a node ``s`` of a grid for every component. The
    responsibilities of a row are the neighborhood of its winning node ``r_n``,
    ``h_r(s) ∝ exp(-λ |g_r - g_s|²)``. Maximized is

        ``F = Σ_n Σ_s h_{r_n}(s) [log π_s + log p(x_n | s) - log h_{r_n}(s)]``
        ``  = Σ_n log p(x_n) - KL(h_{r_n} ‖ p(· | x_n))``

    by turns over the winners and over the parameters, which never lowers it (Verbeek 2004, section
    4.2.1). The neighborhoods shrink by stages, each from the end of the one before. The components
    may be of any family; a value that is NaN was not measured, and the values there are count by
    their marginal density (section 4.2.2). Rows of a must-link component, a group or a class are an
    episode: they share their winner (section 4.2.3). Read more in the
    :doc:`user guide </mixture/som>`.

    Parameters
    ----------
    component : {"spherical", "diag", "full", "ppca", "bernoulli", "categorical", "multinomial", \
"mixed"}, default="spherical"
        Family of the components: Gaussians with one variance, with a variance per column, with a
        covariance matrix, of low rank plus noise; yes or no; categories; counts; or several
        families side by side, as ``blocks`` says. Missing values go with all but counts.
    blocks : sequence of tuple or None, default=None
        For mixed tables: pairs of a family and its columns, by name or number. By default columns
        of at most 10 different whole numbers are categorical and all others ``"diag"``.
    column_pairs : bool, default=False
        Whether categorical columns are modeled in pairs, chosen by mutual information.
    n_factors : int >= 0, default=1
        Number of factors of ``"ppca"``, below the number of columns.
    centered : bool, default=True
        Whether the subspaces of ``"ppca"`` have means; False for subspaces through the origin, as
        the adaptive-subspace map has them.
    shared_variance : bool, default=True
        Whether ``"spherical"`` components of all nodes have the same variance.
    mixing_weights : {"equal", "learned"}, default="equal"
        Whether the mixing weights are all the same or learned.
    binarize : float, default=0.0
        Values above ``binarize`` are a yes of ``"bernoulli"``.
    alpha : float > 0, finite, default=0.1
        Number of imagined observations of every outcome of ``"bernoulli"``, ``"categorical"`` and
        ``"multinomial"`` per node.
    reg_covar : float >= 0, finite, default=1e-06
        Added to variances, as a multiple of the mean variance of the columns.
    n_candidates : int >= 1 or None, default=None
        Number of nodes of largest density among which a new winner is looked for; the winner so far
        is kept where none is better. All nodes by default.
    group_mode : {"shared-responsibility", "shared-label"}, default="shared-responsibility"
        What rows of an episode share: responsibilities, each row having a label of its own, or one
        label, so that mixing weights and entropy count once per episode.

    Attributes
    ----------
    means_ : ndarray of shape (n_nodes, n_features)
        Means of the nodes: probabilities of a yes, shares of counts, most probable categories.
    weights_ : ndarray of shape (n_nodes,)
        Mixing weights ``π``.
    covariances_ : ndarray
        Covariances of one Gaussian family: of shape (n_nodes,), (n_nodes, n_features) or (n_nodes,
        n_features, n_features).
    loadings_, noise_variances_ : ndarray
        Loadings and noise of ``"ppca"``.
    category_probabilities_ : list of ndarray
        Probabilities of the categories of every categorical column.
    neighborhood_ : ndarray of shape (n_nodes, n_nodes)
        Neighborhoods ``h_r(s)`` at the end, a row for every node ``r``.
    objective_ : float
        ``-F`` per row at the end (with the log-prior of probabilities).
    history_ : ndarray
        ``-F`` per row at every iteration of all stages; it does not rise within a stage.
    neighborhood_divergence_ : float
        Sum of the divergences ``KL(h_{r_n} ‖ p(· | x_n))`` at the end.
    search_ : dict of str to ndarray
        By stage: ``rate`` (``λ``), ``bound`` (``F``), ``neighborhood_divergence`` and ``n_iter``.

    Notes
    -----
    The winner of a row maximizes ``F_n(r)``, which also weighs the entropy of the neighborhoods:
    those of nodes at the border are narrower. Only on a periodic grid it is the node with the least
    mean squared distance ``Σ_s h_r(s) |x_n - μ_s|²``.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import SelfOrganizingMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 2))
    >>> som = SelfOrganizingMixture((5, 5), random_state=0).fit(X)
    >>> som.topographic_error_ < 0.1
    True
    >>> X[0, 1] = np.nan  # a value that was not measured
    >>> som.transform(X[:1]).shape, som.impute(X[:1]).shape
    ((1, 2), (1, 2))
    """

    _common_parameters: ClassVar[Mapping[str, str]] = MAP_PARAMETERS
    _common_attributes: ClassVar[Mapping[str, str]] = MAP_ATTRIBUTES

    _: KW_ONLY
    component: AnyFamily = "spherical"
    blocks: Sequence[tuple[str, Any]] | None = None
    column_pairs: bool = False
    n_factors: Whole = 1
    centered: bool = True
    shared_variance: bool = True
    mixing_weights: Literal["equal", "learned"] = "equal"
    binarize: float = 0.0
    alpha: FinitePositive = 0.1
    reg_covar: FiniteNonNegative = 1e-6
    winner_mass: Mass = 0.8
    cooling: Growth = 1.1
    n_candidates: Count | None = None
    group_mode: GroupMode = "shared-responsibility"
    init: StartName = "pca"
    n_init: Restarts = 1
    tol: NonNegative = 1e-5
    max_iter: Count = 200
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="self-organizing map as a mixture of any family, with groups of rows",
            knowledge=("must-link", "groups"),
            enforcement="hard",
            source="Verbeek 2004, chapter 4",
            complexity="O(n k d) per iteration, O(n d + k²) memory",
            sparse=self.component in ("bernoulli", "multinomial"),
            missing=self.component != "multinomial",
            raw_columns=self.component in RAW_COLUMNS,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        given = check_weights(sample_weight, as_rows(rows), X)
        weights = np.ones(rows.shape[0]) if given is None else given.astype(np.float64)
        nodes = self._make_grid()
        self._parts = self._learn_parts(rows)
        order, episodes = _episodes(known)
        sorted_rows = rows if episodes is None else rows[order]
        tables = [part.encode(sorted_rows) for part in self._parts]
        steps = ConstrainedEM(
            tables,
            weights[order],
            episodes=episodes,
            group_mode=self.group_mode,
            learn_weights=self.mixing_weights == "learned",
        )
        best = self._best_restart(
            n_restarts(self),
            partial(self._anneal, steps, tables, weights[order], nodes, episodes),
            steps.source,
        )
        winners = np.empty_like(best.last.winners)
        winners[order] = best.last.winners
        self.winners_ = winners
        self._set_map(nodes, rows.dtype)
        self._set_fitted(best, steps)
        self._set_places(rows)
        return self

    def _learn_parts(self, rows: Any) -> list[FamilyColumns]:
        settings = FamilySettings(
            n_factors=self.n_factors,
            centered=self.centered,
            shared_variance=self.shared_variance,
            reg_covar=float(self.reg_covar),
            alpha=float(self.alpha),
            threshold=float(self.binarize),
            pairs=self.column_pairs,
        )
        if self.blocks is not None and self.component != "mixed":
            raise SidelightError(
                f"{setting('blocks')} belongs to {setting('component', 'mixed')}, but "
                f"{setting('component', self.component)}."
            )
        names = getattr(self, "feature_names_in_", None)
        blocks: Blocks | None = (
            self.blocks
            if self.component == "mixed"
            else [(self.component, np.arange(rows.shape[1]))]
        )
        return parts_of(rows, blocks, settings, names)

    def _anneal(
        self,
        steps: ConstrainedEM,
        tables: list[Any],
        weights: Array,
        nodes: Grid,
        episodes: Array | None,
        number: int,
        rng: np.random.RandomState,
    ) -> Annealed[Winners]:
        """One restart: all stages from a start of its own."""
        stages = [nodes.neighborhood(rate) for rate in nodes.rates(self.winner_mass, self.cooling)]
        init: StartName = self.init if number == 0 else "random"
        winners = start_winners(_numbers(self._parts, tables), weights, nodes, init, rng)
        if episodes is not None:
            winners = most_frequent(winners, weights, episodes)
        whole = NodeParameters(
            tuple(
                part.whole(table, weights, nodes.n_nodes)
                for part, table in zip(self._parts, tables, strict=True)
            ),
            np.full(nodes.n_nodes, -np.log(nodes.n_nodes)),
        )
        first = steps.e_step(whole, stages[0], winners, 0)

        def evaluate(
            stage: GridNeighborhood, parameters: NodeParameters, before: Winners | None
        ) -> Winners:
            known = None if before is None else before.winners
            return steps.e_step(parameters, stage, known, self.n_candidates)

        return anneal(
            stages,
            steps.m_step(first),
            evaluate,
            steps.m_step,
            settled=_same_winners,
            tol=self.tol,
            max_iter=self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )

    def _set_fitted(self, best: Annealed[Winners], steps: ConstrainedEM) -> None:
        """Set what the search found."""
        last = best.last
        self._components = [complete_nodes(part) for part in last.parameters.parts]
        self._log_weights = last.parameters.log_weights
        self._neighborhood = last.neighborhood
        self.neighborhood_ = last.neighborhood.shares
        penalties = [steps.log_likelihood(end.parameters) - end.bound for end in best.ends]
        self.objective_, self.history_ = last.objective, best.history
        self.n_iter_, self.converged_ = int(best.n_iters.sum()), best.converged
        self.neighborhood_divergence_ = float(penalties[-1])
        self.search_ = {
            "rate": np.array([end.neighborhood.rate for end in best.ends]),
            "bound": np.array([end.bound for end in best.ends]),
            "neighborhood_divergence": np.array(penalties),
            "n_iter": best.n_iters,
        }
        self._warn_unless_converged(best)

    def _set_places(self, rows: Any) -> None:
        """Set the parameters of the nodes as the user sees them, the places and the errors."""
        dtype = rows.dtype
        means = np.empty((self._nodes.n_nodes, rows.shape[1]))
        for part, components in zip(self._parts, self._components, strict=True):
            means[:, part.columns] = part.centers(components)
        self.means_ = means.astype(dtype)
        self.weights_ = np.exp(self._log_weights).astype(dtype)
        for name in ("covariances_", "loadings_", "noise_variances_", "category_probabilities_"):
            self.__dict__.pop(name, None)  # those of an earlier fit with another family
        if len(self._parts) == 1:
            for name, value in self._components[0].attributes(dtype).items():
                if name in ("covariances_", "loadings_", "noise_variances_"):
                    setattr(self, name, value)
        for part, components in zip(self._parts, self._components, strict=True):
            if isinstance(part, CategoricalPart):
                self.category_probabilities_ = part.probabilities(components)
        readers = self._readers(rows)
        self.embedding_ = self._place(readers, dtype)
        best, second = two_best(readers, self._components, self._log_weights)
        distances = distances_to_nodes(readers, self._components, best)
        self._set_errors(as_rows(rows), best, second, distances)

    def _readers(self, rows: Any) -> list[tuple[FamilyColumns, Any]]:
        return [(part, part.encode(rows)) for part in self._parts]

    def _map_joint(self, rows: Any, finish: Any) -> Array:
        """Map ``finish(log_joint)`` over rows that have been checked."""
        joint: Array = map_joint(
            self._components,
            self._log_weights,
            self._readers(rows),
            lambda tables, joint: finish(joint),
        )
        return joint

    def _place(
        self,
        readers: list[tuple[FamilyColumns, Any]],
        dtype: np.dtype[Any],
        bits: float | None = None,
    ) -> Array:
        nodes = self._nodes

        def finish(tables: list[Any], joint: Array) -> Array:
            resp = softmax(joint, axis=1) if bits is None else temper(joint, bits)
            return nodes.place(resp).astype(dtype)

        places: Array = map_joint(self._components, self._log_weights, readers, finish)
        return places

    def _transform(self, rows: Any) -> Array:
        return self._place(self._readers(rows), rows.dtype)

    def transform_for_display(self, X: Any, *, entropy_bits: float = 2.0) -> Array:
        """Return places of the rows for a picture, by tempered posteriors.

        In many dimensions posteriors are nearly 0 or 1, and rows pile up on the nodes. Here
        ``p'(s | x) ∝ p(s | x)^a`` takes their place, with an exponent ``a`` in (0, 1] for every row
        at which the entropy is ``entropy_bits``; ``a = 1`` where it is larger already (Verbeek
        2004, section 4.4).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        entropy_bits : float, default=2.0
            Entropy of the posteriors, in bits.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_axes)
            Places on the map.
        """
        check_is_fitted(self)
        if not entropy_bits >= 0:
            raise SidelightError(f"entropy_bits must not be negative, got {entropy_bits!r}.")
        rows: Any = self._check_rows(X, reset=False)
        return self._place(self._readers(rows), rows.dtype, float(entropy_bits))

    def _nodes_of(self, rows: Any) -> Array:
        """Winning nodes, those of the largest ``F_n(r)``."""
        shares, entropy = self._neighborhood.shares, self._neighborhood.entropy
        return self._map_joint(
            rows,
            lambda joint: np.argmax(joint @ shares.T + entropy, axis=1).astype(np.int32),
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the posterior ``p(s | x)`` of every node for every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_nodes)
            Probabilities, in the element type of the rows.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        dtype = rows.dtype
        return self._map_joint(rows, lambda joint: softmax(joint, axis=1).astype(dtype))

    def score_samples(self, X: Any) -> Array:
        """Return the log-density ``log p(x)`` of every row, of the values that it has.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_density : ndarray of float64, shape (n_samples,)
            Logarithms of the density.
        """
        check_is_fitted(self)
        return self._map_joint(
            self._check_rows(X, reset=False), lambda joint: logsumexp(joint, axis=1)
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the average log-density of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger the better.
        """
        X = opened(X)
        check_one_index(sample_weight, X, "sample_weight")
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def impute(self, X: Any) -> Array:
        """Return the rows with missing values replaced by their expectation given the rest.

        ``E[x_h | x_o] = Σ_s p(s | x_o) E[x_h | x_o, s]``; the most probable category of nominal
        columns, the probability of a yes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, NaN where a value is missing.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows without missing values.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        if sparse.issparse(rows):
            raise SidelightError("Sparse rows miss no values: there is nothing to impute.")
        readers, width, of_parts = self._readers(rows), rows.shape[1], self._components
        parts = [part for part, _ in readers]

        def finish(tables: list[Any], joint: Array) -> Array:
            resp = softmax(joint, axis=1)
            expected = np.empty((len(resp), width))
            for part, components, table in zip(parts, of_parts, tables, strict=True):
                expected[:, part.columns] = part.expected(components, table, resp)
            return expected

        expected = map_joint(self._components, self._log_weights, readers, finish)
        return np.where(np.isnan(rows), expected, rows).astype(rows.dtype)


def _episodes(known: Constraints) -> tuple[Array, Array | None]:
    """Order of the rows by episode, and their episodes in this order; None if all are single."""
    joined = Constraints(known.must_link, groups=known.groups, n_samples=known.n_samples)
    component = joined.components()
    if len(np.unique(component)) == len(component):
        return np.arange(len(component)), None
    order = np.argsort(component, kind="stable")
    return order, component[order]


def _same_winners(before: Winners, now: Winners) -> bool:
    """Whether the m-step would give the same parameters once more."""
    exact = all(has_exact_m_step(part) for part in now.parameters.parts)
    return exact and np.array_equal(before.winners, now.winners)


def _numbers(parts: Sequence[FamilyColumns], tables: Sequence[Any]) -> Any:
    """Numbers of all parts side by side; of several parts all are dense."""
    numbers = [part.numbers(table) for part, table in zip(parts, tables, strict=True)]
    if len(numbers) == 1:
        return numbers[0]
    return np.hstack([one.toarray() if sparse.issparse(one) else one for one in numbers])
