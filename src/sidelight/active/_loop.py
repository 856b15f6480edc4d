"""Active clustering: fit, choose the most useful pair, ask the oracle, fit again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Seed, Verbosity, Whole, check_parameters, estimator
from sidelight._progress import fit_progress
from sidelight._typing import Array
from sidelight.active._answers import Answers
from sidelight.active._oracles import CallableOracle, Oracle
from sidelight.active._strategies import Strategy, make_strategy
from sidelight.constraints import Constraints
from sidelight.constraints.inner import align
from sidelight.exceptions import SidelightError

# Number of times that the clustering is evaluated on the way.
LOOKS = 10


@estimator
class ActiveClusterer(MetaEstimatorMixin, ClusterMixin, BaseEstimator):
    """Cluster with constraints from an oracle that is asked about one pair after the other.

    A strategy chooses pairs, an oracle answers them, the estimator clusters with the answers: ten
    times on the way (see ``history_``) and at the end. A pair whose answer follows from the others
    is not asked. COBRAS makes clusters of the answers by itself, as many as it finds; once it has
    some, these are the result.

    Parameters
    ----------
    estimator : clusterer
        Clusters with ``fit(X, constraints=...)``. Its ``n_clusters`` is the number of clusters that
        the strategy looks for.
    strategy : str or Strategy, default="explore-consolidate"
        ``"random"``, ``"explore-consolidate"``, ``"min-max"``, ``"npu"``, ``"cobras"``, or a
        strategy with other parameters. NPU and COBRAS use the estimator unless they have one.
    budget : int >= 0, default=100
        Largest number of questions.
    random_state : int or RandomState or None, default=None
        Seed or generator for the strategy; pass an int for reproducible results. The estimator has
        its own.

    Attributes
    ----------
    estimator_ : clusterer
        The estimator, fitted with all answers.
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row: of the strategy if it makes clusters itself (COBRAS), otherwise of
        ``estimator_``.
    answers_ : Answers
        All answers, in order.
    constraints_ : Constraints
        The answers together with what was known before.
    n_queries_ : int
        Number of questions asked, "I do not know" included.
    history_ : list of (int, ndarray)
        Number of questions asked and labels at that time.
    strategy_ : Strategy
        The strategy at its end.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.active import ActiveClusterer, LabelOracle
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.evaluation import adjusted_rand_index
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ActiveClusterer(PCKMeans(3, random_state=0), budget=60, random_state=0)
    >>> model = model.fit(X, oracle=LabelOracle(y))
    >>> first, last = (adjusted_rand_index(y, model.history_[at][1]) for at in (0, -1))
    >>> model.n_queries_, bool(last > first)
    (60, True)
    """

    estimator: Any
    strategy: str | Strategy = "explore-consolidate"
    budget: Whole = 100
    _: KW_ONLY
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(
        self, X: Any, y: Any = None, *, oracle: Any, constraints: Constraints | None = None
    ) -> Self:
        """Ask and cluster.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        oracle : Oracle or callable
            Who answers: anything with ``query(i, j)``, or a function of two positions.
        constraints : Constraints, default=None
            What is known beforehand. It must not contradict itself.

        Returns
        -------
        self : ActiveClusterer
            The fitted clusterer.
        """
        check_parameters(self)
        asked = _as_oracle(oracle)
        X = X if hasattr(X, "shape") else np.asarray(X)
        known = None if constraints is None else align(constraints, X)
        self.answers_ = Answers(X.shape[0], known=known)
        self.strategy_ = make_strategy(self.strategy, self.estimator)
        k = self.estimator.get_params(deep=False).get("n_clusters")
        self.strategy_.start(X, self.answers_, k, check_random_state(self.random_state))
        self.n_queries_ = 0
        self.history_: list[tuple[int, Array]] = []
        self._look(X)
        with fit_progress("Questions", self.budget, verbose=self.verbose) as progress:
            for _ in self._ask(asked):
                progress.step()
                if self.n_queries_ % max(1, self.budget // LOOKS) == 0:
                    self._look(X)
        if self.history_[-1][0] < self.n_queries_:
            self._look(X)
        self.labels_: Array = self._clusterer.labels_
        return self

    def _ask(self, oracle: Oracle) -> Iterator[None]:
        """Ask one question after the other."""
        while self.n_queries_ < self.budget:
            pair = self.strategy_.next_pair()
            if pair is None:
                return
            answer = oracle.query(*pair)
            self.n_queries_ += 1
            if answer is None:
                self.answers_.skip(*pair)
            else:
                self.answers_.add(*pair, same=answer)
            yield

    def _look(self, X: Any) -> None:
        """Cluster with what is known now."""
        self.constraints_ = self.answers_.constraints
        self.estimator_ = clone(self.estimator).fit(X, constraints=self.constraints_)
        self.history_.append((self.n_queries_, self._clusterer.labels_))

    @property
    def _clusterer(self) -> Any:
        """Whose clusters are the result."""
        return self.strategy_ if self.strategy_.has_clusters else self.estimator_

    def predict(self, X: Any) -> Array:
        """Clusters of new rows, numbered as in ``labels_``."""
        check_is_fitted(self, "estimator_")
        labels: Array = self._clusterer.predict(X)
        return labels


def _as_oracle(oracle: Any) -> Oracle:
    if isinstance(oracle, Oracle):
        return oracle
    if callable(oracle):
        return CallableOracle(oracle)
    raise SidelightError(
        "The oracle must have a method query(i, j) or be a function of two positions that returns "
        f"True, False or None; got {type(oracle).__name__}."
    )
