"""scikit-learn's metadata routing hands estimators the relations between their own rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.model_selection import KFold, cross_validate

from sidelight import Relations


class Recorder(ClusterMixin, BaseEstimator):
    """Keeps what it was fitted with; the first feature of each row is its number."""

    seen: ClassVar[list[tuple[Any, Relations]]] = []

    def fit(self, X: Any, y: Any = None, *, relations: Any = None) -> Recorder:
        Recorder.seen.append((X[:, 0].astype(int), relations))
        self.labels_ = np.zeros(len(X), dtype=int)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        return 0.0


def test_folds_get_their_own_edges() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    pairs = np.column_stack(np.triu_indices(20, 1))
    graph = Relations(
        pairs, rng.normal(size=len(pairs)), hyperedges=[range(5), range(12, 20)], n_samples=20
    )
    Recorder.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        recorder = Recorder().set_fit_request(relations=True)
        cross_validate(recorder, X, cv=KFold(4), params={"relations": graph})
    assert len(Recorder.seen) == 4
    for rows, relations in Recorder.seen:
        assert relations == graph[rows]
