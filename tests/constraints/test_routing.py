"""scikit-learn's metadata routing hands estimators the constraints on their own rows."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight import Constraints


class Recorder(ClusterMixin, BaseEstimator):
    """Keeps what it was fitted with; the first feature of each row is its number."""

    seen: list[tuple[np.ndarray, Constraints]] = []  # noqa: RUF012

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y=None, *, constraints=None):
        assert constraints is None or constraints.n_samples == len(X)
        Recorder.seen.append((np.asarray(X)[:, 0], constraints))
        self.labels_ = np.zeros(len(X), dtype=int)
        return self

    def score(self, X, y=None):
        return float(self.shift)


@pytest.fixture
def recorder():
    Recorder.seen = []
    with sklearn.config_context(enable_metadata_routing=True):
        yield Recorder().set_fit_request(constraints=True)


@pytest.fixture
def known():
    rng = np.random.default_rng(0)
    return Constraints(
        rng.integers(30, size=(6, 2)),
        [(0, 29), (1, 15), (3, 4)],
        n_samples=30,
        labels=np.where(np.arange(30) % 10 == 7, 1, -1),
    )


X = np.column_stack([np.arange(30.0), np.ones(30)])


def check_seen(known, folds):
    trained = {tuple(rows.tolist()): constraints for rows, constraints in Recorder.seen}
    for train, _ in folds:
        assert trained[tuple(train.astype(float).tolist())] == known[train]


def test_cross_validation(recorder, known):
    cross_validate(recorder, X, cv=KFold(3), params={"constraints": known})
    assert len(Recorder.seen) == 3
    check_seen(known, KFold(3).split(X))


def test_grid_search_refits_on_everything(recorder, known):
    search = GridSearchCV(recorder, {"shift": [0, 1]}, cv=KFold(2))
    search.fit(X, constraints=known)
    assert search.best_params_ == {"shift": 1}
    assert len(Recorder.seen) == 2 * 2 + 1
    check_seen(known, KFold(2).split(X))
    assert Recorder.seen[-1][1] == known


def test_pipeline(recorder, known):
    make_pipeline(StandardScaler(with_mean=False, with_std=False), recorder).fit(
        X, constraints=known
    )
    assert Recorder.seen[-1][1] is known


def test_pipeline_inside_cross_validation(recorder, known):
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), clone(recorder))
    cross_validate(pipeline, X, cv=KFold(3), params={"constraints": known}, scoring=lambda *_: 0.0)
    check_seen(known, KFold(3).split(X))


def test_without_constraints_nothing_is_passed(recorder):
    cross_validate(recorder, X, cv=KFold(3))
    assert [constraints for _, constraints in Recorder.seen] == [None, None, None]
