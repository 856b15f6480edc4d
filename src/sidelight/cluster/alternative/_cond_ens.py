"""Conditional ensembles: clusterings of every class of a known split, combined into one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    ArrayLike,
    Count,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.restarts import best_of, fit_progress, numbers_in, run_restarts
from sidelight._progress import progress
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, setting
from sidelight.base import Clusterer
from sidelight.cluster.alternative._ensemble_score import INDEPENDENT, PRICE, ConditionalScore
from sidelight.cluster.alternative._local_models import (
    KnownClass,
    LocalModel,
    check_base,
    fit_local,
    split_rows,
    takes_sparse,
)
from sidelight.cluster.alternative._median_partition import (
    Labelings,
    MedianPartition,
    category_utility,
    directions_of_cells,
    median_partition,
)
from sidelight.constraints import Constraints, as_known_splits
from sidelight.engine import as_rows
from sidelight.exceptions import InvalidParameter
from sidelight.tags import MethodTags


@estimator
class CondEns(Clusterer):
    r"""Conditional ensemble: clusters that reappear inside of every class of the known splits.

    The rows of every class ``r`` of the known split are clustered by themselves, which cannot find
    the known split again; every local model then labels *all* rows, ``Y^r``, and the labelings are
    combined into the partition that says most about them:

    .. math::
        \max_C \sum_r w_r U(C, Y^r), \qquad
        U(C, Y) = \sum_c p(c) \sum_j p(Y_j \mid c)^2 - \sum_j p(Y_j)^2

    which is k-means on the labelings side by side, an indicator column per local cluster
    (Constrained Clustering, section 11.3, figure 11.1). Several known splits are avoided through
    their product. Where a known split moves the rows, the local models may order all rows by it,
    and their combination repeats it; by default a second combination leaves out the directions in
    which the labelings of the known classes differ on average, and the better one is kept. Read
    more in the :doc:`user guide </cluster/alternative>`.

    Parameters
    ----------
    estimator : BaseEstimator or None, default=None
        Clusterer of the rows of a class: anything with ``fit`` and ``predict``, of this library or
        of scikit-learn. Its ``n_clusters`` or ``n_components`` and its ``random_state`` are set
        here where it has them. By default :class:`~sidelight.cluster.KMeans` with 3 starts.
    n_local : int >= 1 or array or None, default=None
        Number of clusters within every class, or one number for each class (cell of the product of
        several splits) in their order; by default ``n_clusters``. A class with fewer rows gets
        fewer clusters, with a warning.
    class_weight : {"size", "equal"}, default="size"
        Weight ``w_r`` of the labeling of a class: its share of the rows, or the same for all.
    variant : {"default", "published"}, default="default"
        "published" has the combination of the labelings alone, and compares runs by ``score_``
        alone.
    n_init : int >= 1 or "auto", default=3
        Number of runs. The run with the largest ``I(C;F|Z) + 0.3 I(C;F)`` is kept, where
        information on the features ``F`` is measured by the squared error that the clusters save,
        within the known classes ``Z`` and in all rows. By default twice the adjusted mutual
        information with a known split beyond 0.1 is subtracted.
        ``"auto"`` takes 10.

    Attributes
    ----------
    objective_ : float
        Mean squared distance of the labelings to the combined partition, ``Σ_r w_r (1 - Σ_j
        p(Y_j^r)² - U(C, Y^r))`` with weights of mean 1; it was minimized. Of what is left of the
        labelings where directions were left out (``n_left_out_``).
    n_left_out_ : int
        Number of directions of the labelings that the combination leaves out since the known
        classes differ in them; 0 for the combination as published.
    score_ : float
        ``I(C;F|Z) + 0.3 I(C;F)`` of the clusters, both as shares of the squared error within the
        known classes and in all rows.
    restarts_ : dict of str to ndarray
        ``objective``, ``score`` and ``redundancy`` of every run; the last is the largest adjusted
        mutual information with a known split.
    local_agreement_ : ndarray of shape (n_classes,)
        Share of the local labeling of every known class that the combined partition explains,
        ``U(C, Y^r) / U(Y^r, Y^r)``: 1 where they are the same, 0 where they are independent. NaN
        for classes of one local cluster.
    local_models_ : list of estimators
        Fitted base clusterer of every known class; None for classes of one local cluster.

    See Also
    --------
    ConditionalInformationBottleneck : Takes columns of numbers as known splits, too.
    find_alternatives : Several clusterings, each different from all before.

    Notes
    -----
    New rows are placed without knowing their class in the known split: local models label them,
    and the nearest center in the combination is their cluster. A split that is best in few of the
    known classes can be outvoted; ``local_agreement_`` shows it.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import CondEns
    >>> X = np.array([[0, 0], [0, 1], [9, 0], [9, 1], [0, 0.1], [0, 1.1], [9, 0.1], [9, 1.1]])
    >>> left = X[:, 0] < 5
    >>> labels = CondEns(2, random_state=0).fit(X, known=left).labels_
    >>> np.array_equal(labels == labels[0], X[:, 1] < 0.5)
    True
    """

    n_clusters: Count = 8
    _: KW_ONLY
    estimator: BaseEstimator | None = None
    n_local: Count | ArrayLike | None = None
    class_weight: Literal["size", "equal"] = "size"
    variant: Literal["default", "published"] = "default"
    n_init: Restarts = 3
    random_state: Seed = None
    verbose: Verbosity = 0

    _uses_pairs = "PCKMeans and COPKMeans use them, without known splits."

    def __sidelight_tags__(self) -> MethodTags:
        own = (
            None
            if isinstance(self.estimator, type)
            else getattr(self.estimator, "__sidelight_tags__", None)
        )
        return MethodTags(
            summary="clusterings of every class of a known split, combined into one",
            knowledge=("splits",),
            enforcement="soft",
            source="Constrained Clustering (2009), 11.3; Gondek, Hofmann 2005",
            complexity="that of the base clusterer on every class, and O(n k R) for R classes",
            kind="alternative",
            sparse=self.estimator is None or takes_sparse(self.estimator),
            raw_columns=bool(own is not None and own().raw_columns),
        )

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None, known: Any = None
    ) -> Self:
        """Fit to the rows, away from the splits that are known already.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows; a CSR matrix where the base clusterer takes it.
        y : array of shape (n_samples,), default=None
            Not used; known classes, which only the result is compared with.
        constraints : Constraints, default=None
            Not used; ``n_violations_`` counts those that the clusters violate.
        known : KnownSplits, labels, list of labels, mapping or table, default=None
            Splits that the clusters are to differ from. None for the base clustering itself.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_base(self.estimator, self.n_local)
        rows, constrained = self._validate_fit_in_memory(X, y, constraints)
        splits = as_known_splits(known, rows.shape[0], X)
        cells = splits.product()
        parts = split_rows(rows, cells, splits, self._local_numbers(int(cells.max()) + 1))
        score = ConditionalScore(rows, cells, splits)

        def run(number: int, rng: np.random.RandomState) -> _Run:
            return self._run(number, rows, parts, score, rng)

        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=n_restarts(self)
        )
        runs = run_restarts(
            run,
            seeds,
            numbers_in(as_rows(rows)),
            description=type(self).__name__,
            verbose=self.verbose,
        )
        self.restarts_ = {
            "objective": np.array([one.median.history[-1] for one in runs]),
            "score": np.array([one.score for one in runs]),
            "redundancy": np.array([one.redundancy for one in runs]),
        }
        self._set_fitted_attributes(best_of(runs), len(parts), constrained)
        return self

    def _local_numbers(self, n_classes: int) -> IntArray:
        """Number of clusters to look for in every class."""
        given = self.n_clusters if self.n_local is None else self.n_local
        numbers = np.asarray(given)
        if numbers.ndim == 0:
            numbers = np.full(n_classes, numbers)
        if numbers.shape != (n_classes,):
            raise InvalidParameter(
                f"{setting('n_local')} must be one number, or one for each of the {n_classes} "
                f"classes of the known splits, got {counted(numbers.size, 'number')}."
            )
        if np.any(numbers < 1) or np.any(numbers != np.round(numbers)):
            raise InvalidParameter(
                f"{setting('n_local')} must hold whole numbers of at least 1, got {given!r}."
            )
        return numbers.astype(np.int64)

    def _run(
        self,
        number: int,
        rows: Any,
        parts: list[KnownClass],
        score: ConditionalScore,
        rng: np.random.RandomState,
    ) -> _Run:
        """One run: a model for every class, the labels of all rows, and their combination."""
        voting = [place for place, part in enumerate(parts) if part.n_clusters > 1] or [0]
        models: list[LocalModel] = []
        labels: list[IntArray] = []
        description = f"{type(self).__name__}, run {number + 1}"
        with fit_progress(description, len(voting), verbose=self.verbose) as following:
            for place in voting:
                with progress(show=False):
                    local = fit_local(self.estimator, parts[place], _seed(rng))
                    model, given = LocalModel.of(local, rows)
                models.append(model)
                labels.append(given)
                following.step()
        if following.interrupted:
            raise KeyboardInterrupt
        sizes = np.array([len(model.classes) for model in models])
        weights = self._class_weights([parts[place] for place in voting])
        labelings = Labelings.of(labels, sizes)
        seed = _seed(rng)
        directions: list[FloatArray | None] = [None]
        if self.variant == "default":
            directions += [directions_of_cells(labelings, weights, score.cells)]
        with progress(show=False):
            medians = [
                median_partition(labelings, weights, int(self.n_clusters), seed, one)
                for one in directions
                if one is None or len(one)
            ]
        return best_of([self._judged(one, score, models, voting, labelings) for one in medians])

    def _judged(
        self,
        median: MedianPartition,
        score: ConditionalScore,
        models: list[LocalModel],
        voting: list[int],
        labelings: Labelings,
    ) -> _Run:
        """A combination with what it is compared by."""
        value, redundancy = score(median.labels), score.redundancy(median.labels)
        excess = PRICE * max(redundancy - INDEPENDENT, 0.0) if self.variant == "default" else 0.0
        return _Run(excess - value, models, voting, labelings, median, value, redundancy)

    def _class_weights(self, parts: list[KnownClass]) -> FloatArray:
        """Weights of the labelings of the classes, with mean 1."""
        sizes = np.array([part.rows.shape[0] for part in parts], dtype=np.float64)
        return sizes / sizes.mean() if self.class_weight == "size" else np.ones(len(parts))

    def _set_fitted_attributes(self, best: _Run, n_classes: int, known: Constraints) -> None:
        median = best.median
        self.labels_ = median.labels
        self.score_ = best.score
        self.n_left_out_ = len(median.left_out)
        self.objective_ = float(median.history[-1])
        self.history_ = median.history
        self.n_iter_ = int(median.model.n_iter_)
        self.converged_ = bool(median.model.converged_)
        self.local_agreement_ = np.full(n_classes, np.nan)
        self.local_models_: list[Any] = [None] * n_classes
        for place, local, codes in zip(
            best.voting, best.models, best.labelings.combinations.T, strict=True
        ):
            labels = codes[best.labelings.of_row]
            most = category_utility(labels, labels)
            if most > 0:
                self.local_agreement_[place] = category_utility(median.labels, labels) / most
            self.local_models_[place] = local.model
        self._models = best.models
        self._median = median
        self._compare_with(known)

    def _n_clusters_found(self) -> int:
        return int(self.n_clusters)

    def predict(self, X: Any) -> Array:
        """Return the cluster of new rows, whose known classes need not be known.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_new, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_new,)
            Cluster of every row: the local models of all known classes label it, and the nearest
            center of the combination decides.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        sizes = np.array([len(model.classes) for model in self._models])
        return self._median.place(Labelings.of([one.labels(rows) for one in self._models], sizes))


@dataclass(frozen=True)
class _Run:
    """One run; the objective is what runs are compared by, the smallest is kept."""

    objective: float
    models: list[LocalModel]
    voting: list[int]
    labelings: Labelings
    median: MedianPartition
    score: float
    redundancy: float
    interrupted: bool = False


def _seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(np.iinfo(np.int32).max))
