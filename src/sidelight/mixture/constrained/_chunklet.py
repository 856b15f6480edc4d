"""Gaussian mixtures under equivalence constraints (Shental et al.; Book 2009, chapter 3)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Restarts, estimator
from sidelight._typing import Array
from sidelight.cluster import COPKMeans
from sidelight.constraints import Constraints, without_weights
from sidelight.engine import RowSource
from sidelight.engine.inner import map_values, opened
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import EMResult, Parameters, StartName, rough_clusters
from sidelight.mixture.constrained._penalized import AFFORDABLE, LARGEST
from sidelight.mixture.field._rows import FieldRows, Sampling, hard_rows
from sidelight.mixture.gaussian._components import GaussianEMBase
from sidelight.tags import own_tags


@estimator
class ChunkletMixture(GaussianEMBase):
    r"""Gaussian mixture in which every constraint holds: EM over the labelings that comply.

    Must-link components ("chunklets") ``X_j`` come from one component of the mixture as a whole,
    and cannot-links ``C`` keep chunklets apart. Maximized is the likelihood of the rows given that
    everything holds,

    .. math::

        L = \log \frac{
            \sum_z \prod_j \pi_{z_j}^{e_j} \prod_{i \in X_j} N(x_i; \mu_{z_j}, \Sigma_{z_j})
            \prod_{(j, j') \in C} [z_j \ne z_{j'}]}{
            \sum_z \prod_j \pi_{z_j}^{e_j} \prod_{(j, j') \in C} [z_j \ne z_{j'}]} ,

    with ``e_j = |X_j|`` where rows are drawn one by one and linked afterwards, and ``e_j = 1``
    where every chunklet is one draw. The e-step sums over the labelings that comply, by messages
    between chunklets; the m-step is that of any mixture, except that the mixing weights are those
    under which the prior expects the counts of the posterior. The knowledge ends up in the
    parameters, and new rows are judged by the plain mixture. Read more in the
    :doc:`user guide </mixture/constrained>`.

    With full covariances and fewer rows per component than features (digits), must-links can make
    it worse than no knowledge at all: use ``covariance_type="diag"`` there
    (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    sampling_unit : {"points", "chunklets"}, default="points"
        Origin of must-linked rows. ``"points"``: rows were drawn independently, and some were found
        to belong together, as when people are shown random pairs. ``"chunklets"``: groups were
        drawn, as tracks of one object are; a group then counts once in the mixing weights.
    inference : {"auto", "exact", "forest"}, default="auto"
        Method for sums over cannot-links. ``"auto"``: exact, by belief propagation on trees and a
        junction tree with tables of up to 10,000 entries elsewhere; parts too entangled for that
        keep a spanning forest of their shortest links, with a warning. ``"exact"``: tables of up to
        a million entries, and an error beyond. ``"forest"``: a spanning forest wherever there is a
        cycle.
    variant : {"default", "published"}, default="default"
        Denominator of the likelihood, on which the mixing weights depend. ``"default"``: that of
        the e-step. ``"published"``: only cannot-links that share no chunklet count in it (the
        source's pseudo-likelihood, kept to where it is sound), which costs next to nothing.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from, in which every constraint holds. ``"kmeans"``: by turns
        constrained k-means and random ones, which commit themselves to no split, so that linked
        rows lead. Or a single step of constrained k-means from k-means++ or random rows, or random
        ones only.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable components of all rows together; every constraint holds. :meth:`predict`
        gives those of the mixture alone.
    inference_ : dict of str to int
        Number of chunklets (single rows under cannot-links included) by method of inference.
    n_dropped_ : int
        Number of cannot-links between chunklets that the sums left out.
    objective_ : float
        ``-L`` per row at the end.
    history_ : ndarray
        ``-L`` per row at every iteration; never rises.

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

    _: KW_ONLY
    sampling_unit: Sampling = "points"
    inference: Literal["auto", "exact", "forest"] = "auto"
    variant: Literal["default", "published"] = "default"
    n_init: Restarts = 2

    _own_tags = own_tags(
        summary="Gaussian mixture in which every constraint holds",
        enforcement="hard",
        source="Shental et al., in Book 2009, chapter 3",
        complexity="O(n k d²) per iteration; cannot-links linear on trees, k^(width + 1) else",
    )

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        k = self.n_components
        rows = hard_rows(
            known,
            k,
            source,
            weights,
            sampling=self.sampling_unit,
            inference=self.inference,
            budget=LARGEST if self.inference == "exact" else AFFORDABLE,
            match_prior=self.variant == "published",
        )
        whole = self._whole_data(source, k, weights)

        def start(number: int, rng: np.random.RandomState, own: FieldRows) -> Parameters:
            def clusters() -> Array:
                if len(own.rows):
                    return complying_clusters(source, own, known, self.init_params, rng, number)
                return rough_clusters(source, k, self.init_params, rng, sample_weight=weights)

            return self._start(source, whole, clusters, weights)

        self.classes_ = rows.classes
        self.inference_ = rows.field.methods(k)
        self.n_dropped_ = rows.field.n_dropped(k)
        return self._best_em(source, weights, rows, start, n_init=self._n_restarts())

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
        X = opened(X)
        source = self._validate_rows(X, reset=False)
        known = self._check_constraints(constraints, None, source.n_rows, X)
        if known.has_labels:
            raise SidelightError(
                "Labels of new rows are what predict_jointly finds; give it must-links, "
                "cannot-links and groups."
            )
        rows = hard_rows(known, len(self.weights_), source, sampling=self.sampling_unit)
        return self._labels(source, rows)


def complying_clusters(
    source: RowSource,
    constrained: FieldRows,
    known: Constraints,
    how: StartName,
    rng: np.random.RandomState,
    number: int,
) -> Array:
    """Clusters of the rows that satisfy everything; class ``c`` of the labels is cluster ``c``.

    Constrained k-means commits itself to a split that linked rows alone may not be able to change
    later. So every other start (by its ``number``) is random instead: then nothing but the linked
    rows tells the components apart, and they lead.
    """
    k = constrained.n_components
    if how == "random" or (how == "kmeans" and number % 2 == 1):
        clusters = rng.randint(k, size=source.n_rows).astype(np.int32)
        scores = rng.random_sample((len(constrained.rows), k))
        clusters[constrained.rows] = constrained.labels(scores, np.zeros(k))
        return clusters
    init: Any = {"kmeans": "k-means++" if number else "auto", "random_from_data": "random"}.get(
        how, how
    )
    max_iter = 100 if how == "kmeans" else 1
    model = COPKMeans(k, init=init, n_init=1, max_iter=max_iter, random_state=rng)
    clusters = model.fit(source, constraints=without_weights(known)).labels_
    return _numbered_by_class(clusters, constrained.components, k)


def _numbered_by_class(clusters: Any, components: Array, k: int) -> Any:
    """Renumber clusters such that rows of a known component are in the cluster of its number."""
    labelled = np.flatnonzero(components >= 0)
    new = np.full(k, -1)
    new[clusters[labelled]] = components[labelled]
    new[new < 0] = np.setdiff1d(np.arange(k), components[labelled])
    new = new.astype(np.int32)
    return map_values(lambda values: ((), (new[values],)), clusters)[1][0]
