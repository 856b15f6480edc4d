"""Gaussian mixtures under equivalence constraints (Shental et al.; Book 2009, chapter 3)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import EMResult, Parameters, rough_clusters
from sidelight.mixture.constrained._chunklet_starts import complying_clusters
from sidelight.mixture.field._chunklet_rows import INFERENCE, NORMALIZER, SAMPLING, ChunkletRows
from sidelight.mixture.gaussian._components import GaussianBase, GaussianComponents
from sidelight.tags import MethodTags


class ChunkletMixture(GaussianBase):
    r"""Gaussian mixture in which every constraint holds: EM over the labellings that comply.

    Must-link components ("chunklets") ``X_j`` come from one component of the mixture as a whole,
    and cannot-links ``C`` keep chunklets apart. Maximised is the likelihood of the rows given that
    everything holds,

    .. math::

        L = \log \frac{
            \sum_z \prod_j \pi_{z_j}^{e_j} \prod_{i \in X_j} N(x_i; \mu_{z_j}, \Sigma_{z_j})
            \prod_{(j, j') \in C} [z_j \ne z_{j'}]}{
            \sum_z \prod_j \pi_{z_j}^{e_j} \prod_{(j, j') \in C} [z_j \ne z_{j'}]} ,

    with ``e_j = |X_j|`` where rows are drawn one by one and linked afterwards, and ``e_j = 1``
    where every chunklet is one draw. The E-step sums over the labellings that comply, by messages
    between chunklets; the M-step is that of any mixture, except that the mixing weights are those
    under which the prior expects the counts of the posterior. The knowledge ends up in the
    parameters, and new rows are judged by the plain mixture.

    Parameters
    ----------
    n_components : int, default=1
        Number of components ``k``.
    sampling : {"points", "chunklets"}, default="points"
        How must-linked rows came about. ``"points"``: rows were drawn independently, and some were
        found to belong together, as when people are shown random pairs. ``"chunklets"``: groups
        were drawn, as tracks of one object are; a group then counts once in the mixing weights.
    inference : {"auto", "exact", "forest"}, default="auto"
        How cannot-links are summed over. ``"auto"``: exactly, by messages on trees and tables of
        up to a million entries elsewhere; parts too entangled for that keep a spanning forest of
        their shortest links, with a warning. ``"exact"``: an error there. ``"forest"``: a spanning
        forest wherever there is a cycle.
    normalizer : {"exact", "pseudo"}, default="exact"
        Denominator of the likelihood, on which the mixing weights depend. ``"exact"``: that of the
        E-step. ``"pseudo"``: only cannot-links that share no chunklet count in it (the source's
        pseudo-likelihood, kept to where it is sound), which costs next to nothing.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component.
    tol : float, default=1e-5
        Stop when an iteration gains less log-likelihood than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    max_iter : int, default=200
        At most this many iterations per start.
    n_init : int, default=2
        Number of starts, of which the one of highest likelihood is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from, in which every constraint holds. ``"kmeans"``: by turns
        constrained k-means and random ones, which commit themselves to no split, so that linked
        rows lead. Or a single step of constrained k-means from k-means++ or random rows, or random
        ones only.
    weights_init, means_init, precisions_init : array, default=None
        Parameters to start from, shaped like the fitted ones; what is not given comes from the
        rough clusters.
    warm_start : bool, default=False
        Start from the parameters of the last fit.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Mixing weights ``π``.
    means_ : ndarray of shape (n_components, n_features)
        Means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable components of all rows together; every constraint holds. :meth:`predict`
        tells what the mixture says about each row alone.
    classes_ : ndarray
        Known class that each of the first components stands for.
    inference_ : dict of str to int
        How many chunklets (single rows under cannot-links included) each method of inference
        answered for.
    n_dropped_ : int
        Number of cannot-links between chunklets that the sums left out.
    objective_, history_ : float, ndarray
        ``-L`` per row at the end, and at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the gain fell to ``tol`` before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate: 0.

    See Also
    --------
    PenalizedMixture : Weighs every pair; its limit of infinite weights is this one.
    sidelight.cluster.COPKMeans : The limit of components of vanishing width.

    Notes
    -----
    Shental, Bar-Hillel, Hertz, Weinshall, Gaussian mixture models with equivalence constraints,
    chapter 3 of Basu, Davidson, Wagstaff (eds.), Constrained Clustering (2009). The mixing weights
    are found by matching moments instead of the chapter's gradient networks. Hard constraints
    should be certain: a few wrong ones can make the result worse than without any.

    Examples
    --------
    Two rows of two blobs each; the pairs ask for left and right, not for above and below:

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.mixture import ChunkletMixture
    >>> rng = np.random.default_rng(0)
    >>> corner = np.repeat([[-1, -1.2], [-1, 1.2], [1, -1.2], [1, 1.2]], 30, axis=0)
    >>> X = corner + rng.normal(0, 0.3, (120, 2))
    >>> known = Constraints([(0, 30), (1, 31), (60, 90)], [(0, 60), (31, 91)], n_samples=120)
    >>> model = ChunkletMixture(n_components=2, random_state=0).fit(X, constraints=known)
    >>> len(set(model.labels_[:60])), len(set(model.labels_[60:])), model.n_violations_
    (1, 1, 0)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        sampling: str = "points",
        inference: str = "auto",
        normalizer: str = "exact",
        covariance_type: str = "full",
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 200,
        n_init: int = 2,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.sampling = sampling
        self.inference = inference
        self.normalizer = normalizer
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="Gaussian mixture in which every constraint holds",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="hard",
            source="Shental et al., in Book 2009, chapter 3",
            complexity="O(n k d²) per iteration; cannot-links linear on trees, k^(width + 1) else",
            monotone=True,
            out_of_core=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the mixture to the rows such that everything known about them holds.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Must-links, cannot-links, labels and groups; the weights of pairs do not matter.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows. Rows that constraints tie together are repeated by their average
            weight.

        Returns
        -------
        self : ChunkletMixture
            The fitted mixture.

        Raises
        ------
        InconsistentConstraints
            If the constraints contradict themselves.
        InfeasibleConstraints
            If ``n_components`` are too few for the cannot-links.
        """
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_choices()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        held = ChunkletRows(
            known,
            k,
            source,
            weights,
            sampling=self.sampling,
            inference=self.inference,
            normalizer=self.normalizer,
        )
        self.classes_ = held.classes
        whole = self._whole_data(source, k, weights)

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            start = self._begin(source, whole, rng, weights, held, known, number=number)
            return self._run_em(source, start, weights, held)

        self._set_fitted_attributes(self._best_restart(self.n_init, run, source), source, known)
        self.inference_ = held.field.methods(k)
        self.n_dropped_ = held.field.n_dropped(k)
        return self

    def predict_jointly(self, X: Any, constraints: Constraints) -> Array:
        """Return the most probable components of new rows about which something is known.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.
        constraints : Constraints
            Must-links, cannot-links and groups among the new rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Component of every row; all constraints hold.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        known = self._check_constraints(constraints, None, source.n_rows)
        if known.has_labels:
            raise SidelightError(
                "Labels of new rows are what predict_jointly finds; give it must-links, "
                "cannot-links and groups."
            )
        held = ChunkletRows(known, len(self.weights_), source, sampling=self.sampling)
        return self._labels(source, held)

    def _check_choices(self) -> None:
        for name, choices in (
            ("sampling", SAMPLING),
            ("inference", INFERENCE),
            ("normalizer", NORMALIZER),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, choices))}, got "
                    f"{getattr(self, name)!r}."
                )

    def _begin(
        self,
        source: RowSource,
        whole: GaussianComponents,
        rng: np.random.RandomState,
        sample_weight: Array | None,
        held: ChunkletRows,
        known: Constraints,
        *,
        number: int,
    ) -> Parameters:
        """Parameters of rough clusters in which every constraint holds."""

        def clusters() -> Array:
            if len(held.rows):
                return complying_clusters(source, held, known, self.init_params, rng, number=number)
            return rough_clusters(
                source, held.n_components, self.init_params, rng, sample_weight=sample_weight
            )

        return self._start(source, whole, clusters, sample_weight)
