"""Checks of estimators that give every row or object a cluster, whatever they are told."""

from __future__ import annotations

import numpy as np
import pytest
from tests.common.applies import applies_to, has, knows
from tests.common.models import data_for, fitted, fresh, make

from sidelight import Constraints
from sidelight.catalog import Method
from sidelight.exceptions import InconsistentConstraints

takes_pairs = knows("must-link", "cannot-link")


def is_hard(method: Method) -> bool:
    return method.tags.enforcement == "hard"


def check_labels_and_the_end_of_the_search(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    assert model.labels_.shape == (len(data.X),)
    assert model.labels_.dtype == np.int32
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ >= 1
    assert isinstance(model.converged_, bool)
    assert isinstance(model.objective_, float)
    assert model.n_violations_ == data.known.violations(model.labels_).n


def check_history(method: Method) -> None:
    """``history_`` leads to ``objective_``: its last value, or its best where that is kept."""
    model = fitted(method)
    history = np.asarray(model.history_)
    assert history.ndim == 1
    assert len(history) >= 1
    assert np.isfinite(history).all()
    ends = (history.min(), history[-1])
    assert any(model.objective_ == pytest.approx(end, rel=1e-9) for end in ends)


@applies_to(lambda method: method.tags.monotone)
def check_history_never_rises(method: Method) -> None:
    others = (fresh(method, random_state=seed, n_init=1) for seed in range(1, 4))
    for model in (fitted(method), *others):
        history = np.asarray(model.history_)
        assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))


def check_cluster_sizes(method: Method) -> None:
    model = fitted(method)
    placed = model.labels_[model.labels_ >= 0]
    np.testing.assert_array_equal(
        model.cluster_sizes_, np.bincount(placed, minlength=len(model.cluster_sizes_))
    )
    assert model.cluster_sizes_.sum() == len(placed)


def check_summary_counts_clusters_and_violations(method: Method) -> None:
    model = fitted(method)
    lines = model.summary().split("\n")
    assert f"{len(model.labels_)} rows" in lines[1]
    if method.tags.kind != "anonymizer":  # whose search could tell what it did not publish
        assert str(model.n_iter_) in lines[2]
    assert f"{model.cluster_sizes_.min()} to {model.cluster_sizes_.max()} rows" in lines[3]
    assert (str(model.n_violations_) if model.n_violations_ else "No constraint") in lines[4]


@applies_to(has("fit_predict"))
def check_fit_predict_gives_the_labels(method: Method) -> None:
    data = data_for(method)
    labels = make(method).fit_predict(data.X, constraints=data.known)
    np.testing.assert_array_equal(labels, fitted(method).labels_)


@applies_to(knows("labels"))
def check_partial_labels_through_y(method: Method) -> None:
    data = data_for(method)
    partial = np.where(np.arange(len(data.y)) % 5 == 0, data.y, -1)
    known = Constraints.from_labels(partial)
    by_y = make(method, n_init=1).fit(data.X, partial)
    by_constraints = make(method, n_init=1).fit(data.X, constraints=known)
    np.testing.assert_array_equal(by_y.labels_, by_constraints.labels_)


@applies_to(knows("labels"))
def check_labels_of_the_wrong_length(method: Method) -> None:
    with pytest.raises(ValueError, match="one label per row"):
        make(method).fit(data_for(method).X, np.zeros(7, dtype=int))


def contradictory(X: np.ndarray) -> Constraints:
    return Constraints(
        must_link=[("a0", "a1"), ("a1", "a2")],
        cannot_link=[("a0", "a2")],
        ids=[f"a{i}" for i in range(len(X))],
    )


@applies_to(lambda method: takes_pairs(method) and is_hard(method))
def check_hard_methods_refuse_contradictions(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(InconsistentConstraints, match="a1") as caught:
        make(method).fit(X, constraints=contradictory(X))
    assert caught.value.chain == (0, 1, 2)
