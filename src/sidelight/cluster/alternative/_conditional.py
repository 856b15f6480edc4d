"""The (coordinated) conditional information bottleneck: clusters besides those that are known."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    Positive,
    Restarts,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import setting, worded
from sidelight.cluster.alternative._bottleneck import Cooling
from sidelight.cluster.alternative._bottleneck_base import BottleneckBase, Method, costs_of_rows
from sidelight.cluster.alternative._bottleneck_cells import CellModel, Sums
from sidelight.cluster.alternative._bottleneck_common import (
    Baseline,
    common_effects,
    effect_factors,
    effect_offsets,
)
from sidelight.cluster.alternative._bottleneck_features import (
    Features,
    Items,
    ItemWeight,
    prepare_items,
)
from sidelight.cluster.alternative._conditional_known import seen_splits
from sidelight.cluster.alternative._glm import (
    Regression,
    RegressionBaseline,
    RegressionModel,
    with_constant,
)
from sidelight.constraints import Constraints, KnownSplits, as_known_splits
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

KnownAs: TypeAlias = Literal["auto", "product", "regression"]

#: Numbers of a table of means that fits into memory several times over.
LARGEST_TABLE = 200_000_000

#: Rows for every column of a regression, at least: fewer leave nothing to explain.
ROWS_PER_COLUMN = 3


@estimator
class ConditionalInformationBottleneck(BottleneckBase):
    """Clusters with much information about the features beyond that of known splits.

    Maximizes, over memberships ``q(c|x)`` and with a temperature ``ρ`` that falls to zero::

        J = I(C;F|Z) + λ I(C;F∖Z) - ρ I(C;X)

    ``F`` are the features, ``Z`` is what is known, ``C`` the cluster. The first term looks for
    clusters inside every class of ``Z``; the second, of weight ``coordination``, makes them the
    same ones across the classes (Constrained Clustering, section 11.4: CIB for ``λ = 0``,
    coordinated CIB otherwise). By turns::

        q(c|x) ∝ Q(c) exp(-(d(x, μ_{c,z}) + λ d(x, μ_z + r_c)) / ρ)

    and the means ``μ_{c,z}`` of clusters within classes and the effects ``r_c`` of clusters beside
    the means ``μ_z`` of classes; ``d`` is the squared distance, or the divergence of counts, whose
    effects are factors. ``I(C;F∖Z)`` is what the effects explain. The source has ``I(C;F)`` and the
    mean of all rows of a cluster instead, which also rewards the split that is known; for clusters
    that are independent of it both are the same. Without known splits it is the information
    bottleneck with weight ``1 + λ``. Read more in the :doc:`user guide </cluster/alternative>`.

    Parameters
    ----------
    features : {"gaussian", "multinomial", "poisson"}, default="gaussian"
        Model of the features: measurements by their squared distances, counts of which only the
        shares within a row matter (words of documents), or counts of which the size matters too.
    coordination : float >= 0, finite, default=0.3
        ``λ``, weight of the clusters over all classes of what is known. With 0 the clusters of
        different classes have nothing to do with each other but their numbers.
    variant : {"default", "published"}, default="default"
        Second term of the objective: adjusted for what is known, as above, or ``I(C;F)`` as in the
        source, for which large weights lead back to the clusters that ignore what is known.
    lagrangian : 1, 2, default=1
        1 as above; 2 subtracts ``I(C;Z)`` as well, a price on clusters of unequal shares in the
        classes of what is known, and shortens steps that would raise the free energy. For squared
        distances the price is in units of twice the mean variance of a feature within classes.
    known_as : {"auto", "product", "regression"}, default="auto"
        Means for every combination of the known classes, or a regression of the features on
        indicators of the classes and on numbers: least squares for measurements, logarithmic link
        for counts. By default the product, and the regression where a known split is numbers.

    Attributes
    ----------
    information_ : float
        ``I(C;F)`` of the labels: in nats for counts; the mean squared error that the clusters save
        for measurements.
    conditional_information_ : float
        ``I(C;F|Z)`` in the same units.
    coordinated_information_ : float
        Second term of the objective in the same units: the part of the conditional information that
        is the same in all classes of what is known, or ``I(C;F)`` as published.
    objective_ : float
        ``-(conditional_information_ + λ coordinated_information_)``, plus the price of ``I(C;Z)``
        with the second Lagrangian; it was minimized.

    See Also
    --------
    InformationBottleneck : Clusters that ignore what is known.

    Examples
    --------
    Four blobs in a square, of which the split into left and right is known:

    >>> import numpy as np
    >>> from sidelight.cluster import ConditionalInformationBottleneck
    >>> rng = np.random.default_rng(0)
    >>> left, up = rng.integers(0, 2, (2, 80))
    >>> X = np.column_stack((9 * left, 7 * up)) + rng.standard_normal((80, 2))
    >>> model = ConditionalInformationBottleneck(2, random_state=0).fit(X, known=left)
    >>> bool(np.all(model.labels_ == up) or np.all(model.labels_ != up))
    True
    """

    n_clusters: Count = 8
    _: KW_ONLY
    features: Features = "gaussian"
    coordination: FiniteNonNegative = 0.3
    variant: Literal["default", "published"] = "default"
    method: Method = "annealing"
    lagrangian: Literal[1, 2] = 1
    known_as: KnownAs = "auto"
    item_weight: ItemWeight = "uniform"
    n_init: Restarts = 10
    cooling: Cooling = 1.3
    tol: Positive = 0.01
    max_iter: Count = 1000
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters that say about the features what known splits do not say",
            knowledge=("splits",),
            enforcement="soft",
            source="Gondek, Hofmann 2004; Constrained Clustering 11.4",
            complexity="O(nnz k) per iteration, O(n k + z k d) memory",
            kind="alternative",
            sparse=True,
            monotone=self.method == "sequential",
            raw_columns=self.features != "gaussian",
        )

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None, known: Any = None
    ) -> Self:
        """Find clusters besides the known splits.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Not used.
        constraints : Constraints, default=None
            Side information about pairs and labels of rows; it is only compared with the result.
        known : KnownSplits or anything that it takes, default=None
            What the clusters are to differ from: a labeling of the rows, several as a table, a list
            or ``{name: labels}``, or columns of numbers. None: there is nothing to avoid.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, stated = self._validate_fit_in_memory(X, y, constraints)
        splits = as_known_splits(known, rows.shape[0], X)
        items = prepare_items(rows, self.features, self.item_weight, stated)
        model, cells = self._model(items, splits)
        best = self._search_labels(model, items)
        sums, self.conditional_information_ = self._set_fitted_attributes(
            model, items, best, rows.dtype, stated
        )
        self.coordinated_information_ = model.common(sums).information
        self._seen = seen_splits(splits, cells)
        self._adjusted = model.adjusted
        self._baseline = model.baseline
        self._within: Regression | FloatArray
        if isinstance(model, RegressionModel):
            self._baseline = model.baseline.at(np.empty((0, model.designs.shape[1])))
            self._within = model.new_rows(sums)
            weights, features = sums.weights, sums.overall.features[0]
        else:
            self._within = self._means_in_cells(sums)
            weights, features = sums.masses, sums.features.sum(axis=0)
        if self._adjusted:
            effects = common_effects(model.family, features, weights, model.baseline)
            self._effects = self._smoothed_effects(effects)
        return self

    def predict(self, X: Any, *, known: Any = None) -> Array:
        """Return the cluster of every row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows. With their known splits, those of the fit are in the clusters of ``labels_``
            where the fit has converged (but for rows near a tie with ``lagrangian=2``, whose price
            is about all rows at once). Where the cluster never had a word of a new row, all
            clusters have one more row with the shares of all rows, so that this word does not
            exclude them.
        known : KnownSplits or anything that it takes, default=None
            The known splits of the rows, the same ones as in ``fit``. Without them a row goes
            to the cluster that costs least in any of the known classes (with a regression: to the
            nearest of ``cluster_centers_``), which for rows of the fit need not be that of
            ``labels_``. A combination of classes that ``fit`` has not seen goes to the nearest of
            ``cluster_centers_``.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        check_is_fitted(self)
        rows = self._new_rows(X)
        overall = self._overall_costs(rows)
        if not self._seen.names:  # one cell of all rows
            where = np.zeros(rows.shape[0], dtype=np.int64)
            return self._placed(rows, self._fitted_costs(rows, where), overall, where)
        if known is None:
            if isinstance(self._within, Regression):
                return self._nearest(overall)
            least, where = self._fitted_costs.least(rows)
            return self._placed(rows, least, overall, where)
        splits = self._seen.read(known, rows.shape[0], X)
        if isinstance(self._within, Regression):
            columns = with_constant(self._seen.design(splits))
            assert isinstance(self._baseline, RegressionBaseline)
            baseline = self._baseline.at(columns)
            second = self._second_costs(rows, overall, np.arange(len(columns)), baseline)
            smoothed = self._within.costs(rows, columns) + second
            return self._placed(rows, self._fitted_costs(rows, columns), smoothed, columns)
        cells = self._seen.cells(splits)
        seen = np.flatnonzero(cells >= 0)
        second = self._second_costs(rows, overall, np.maximum(cells, 0), self._baseline)
        for z in np.unique(cells[seen]):
            here = np.flatnonzero(cells == z)
            within = costs_of_rows(self._smoothed_family(), rows[here], self._within[z])
            overall[here] = within + second[here]
        labels = self._nearest(overall)
        rows, cells = rows[seen], cells[seen]
        labels[seen] = self._placed(rows, self._fitted_costs(rows, cells), overall[seen], cells)
        return labels

    def _second_costs(
        self, rows: Any, overall: FloatArray, which: IntArray, baseline: Baseline
    ) -> FloatArray:
        """Weighted costs of the coordinating term, rows by their classes in the baseline."""
        weight = float(self.coordination)
        if not self._adjusted:
            return weight * overall
        family = self._smoothed_family()
        offsets = effect_offsets(family, self._effects, baseline)
        products = np.asarray(rows @ effect_factors(family, self._effects))
        return weight * (offsets[which] - products)

    def _model(
        self, items: Items, splits: KnownSplits
    ) -> tuple[CellModel | RegressionModel, IntArray | None]:
        """The model of the known splits, and the cell of every row where it has cells."""
        weight = float(self.coordination)
        regression = self.known_as == "regression" and not splits.is_empty
        if self.known_as == "auto":
            regression = splits.has_numbers
        adjusted = self.variant == "default"
        if regression:
            self._check_regression(splits)
            design = splits.design()
            return RegressionModel(items, design, coordination=weight, adjusted=adjusted), None
        self._check_product(splits)
        cells = splits.product()
        size = (int(cells.max()) + 1) * items.rows.shape[1] * self.n_clusters
        if size > LARGEST_TABLE:
            raise SidelightError(
                f"The means of {self.n_clusters} clusters in {int(cells.max()) + 1:,} cells of the "
                f"known splits are {size:,} numbers; avoid fewer splits, join rare classes into "
                f"one, or take {setting('known_as', 'regression')}."
            )
        price = self._price_of_redundancy(items, cells) if self.lagrangian == 2 else 0.0
        model = CellModel(items, cells, coordination=weight, redundancy=price, adjusted=adjusted)
        return model, cells

    def _check_product(self, splits: KnownSplits) -> None:
        if splits.has_numbers:
            names = ", ".join(repr(name) for name in splits.number_names)
            raise SidelightError(
                f"{setting('known_as', 'product')} takes classes, and the known splits {names} are "
                f"numbers; take {setting('known_as', 'regression')}, or cut them into classes."
            )

    def _check_regression(self, splits: KnownSplits) -> None:
        """Raise on options that are only available with means for every cell."""
        why = worded(
            " (the default for known splits that are numbers)" if self.known_as == "auto" else "",
            "",
        )
        instead = f"cut numbers into classes and take {setting('known_as', 'product')}"
        if self.method == "sequential":
            raise SidelightError(
                f"{setting('method', 'sequential')} needs the means of every known class, not a "
                f"regression{why}; take {setting('method', 'annealing')}, or {instead}."
            )
        if self.lagrangian == 2:
            raise SidelightError(
                f"{setting('lagrangian', 2)} counts the rows of every known class, which a "
                f"regression{why} does not have; take {setting('lagrangian', 1)}, or {instead}."
            )
        n_columns = splits.design().shape[1]
        if n_columns * ROWS_PER_COLUMN > splits.n_samples:
            raise SidelightError(
                f"The known splits are {n_columns:,} columns of a regression of "
                f"{splits.n_samples:,} rows, which leaves nothing to explain: avoid fewer splits, "
                "or join rare classes into one."
            )

    def _price_of_redundancy(self, items: Items, cells: IntArray) -> float:
        """Units of the features of one nat of ``I(C;Z)``."""
        if items.family.counts:
            return 1.0
        within = CellModel(items, cells, coordination=0.0).mean_square_within_cells()
        return 2.0 * within / items.rows.shape[1]

    def _means_in_cells(self, sums: Sums) -> FloatArray:
        """Means within cells for new rows; those of the whole cluster where there is no row."""
        overall = self._smoothed_means()
        rows = self._one_row if self.features != "gaussian" else 0.0
        masses = sums.masses[:, None, :] + rows
        means = (sums.features + rows * overall) / np.where(masses > 0, masses, 1.0)
        return np.where(masses > 0, means, overall)

    def _smoothed_effects(self, effects: FloatArray) -> FloatArray:
        """Effects for new rows; with counts one more row without an effect in every cluster."""
        if self.features == "gaussian":
            return effects
        return (self._masses * effects + self._one_row) / (self._masses + self._one_row)
