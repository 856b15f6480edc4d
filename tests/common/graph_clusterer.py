"""Checks of estimators that cluster the objects of a graph of scored pairs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from tests.common.applies import applies_to, has
from tests.common.models import data_for, fitted, knowledge_for, make
from tests.common.partition import is_hard

from sidelight import Relations, engine
from sidelight.catalog import Method
from sidelight.exceptions import SidelightError


def check_bound_and_gap(method: Method) -> None:
    model = fitted(method)
    assert 0 <= model.lower_bound_ <= model.objective_ * (1 + 1e-9)
    cost = model.objective_
    gap = 0.0 if cost == 0 else (cost - model.lower_bound_) / cost
    assert model.gap_ == pytest.approx(max(gap, 0.0), abs=1e-9)


def check_forms_of_the_same_graph(method: Method) -> None:
    data = data_for(method)
    scored = Relations.from_matrix(data.X)
    forms = [sparse.csr_array(data.X), sparse.csr_matrix(data.X), scored, scored.to_networkx()]
    for given in forms:
        model = make(method).fit(given, constraints=data.known)
        np.testing.assert_array_equal(model.labels_, fitted(method).labels_)
    assert isinstance(forms[-1], nx.Graph)


def check_any_number_of_threads(method: Method) -> None:
    data = data_for(method)
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(data.X, constraints=data.known)
        np.testing.assert_array_equal(model.labels_, fitted(method).labels_)


@applies_to(is_hard)
def check_hard_methods_satisfy_everything(method: Method) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 4, size=60)
        scores = np.triu(rng.normal(size=(60, 60)), 1)  # no structure: the constraints fight it
        known = knowledge_for(method, y, n=50, seed=seed)
        model = make(method, random_state=seed).fit(scores + scores.T, constraints=known)
        assert known.violations(model.labels_).n == 0
        assert model.n_violations_ == 0


def check_bad_graphs(method: Method) -> None:
    with pytest.raises(SidelightError, match=r"row 0 - row 1 has the scores 1 and 2"):
        make(method).fit(np.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(SidelightError, match="square"):
        make(method).fit(np.ones((4, 3)))


def check_single_object(method: Method) -> None:
    model = make(method).fit([[0.0]])
    assert list(model.labels_) == [0]
    assert model.objective_ == model.gap_ == 0.0


@applies_to(has("predict"))
def check_predict(method: Method) -> None:
    X, model = data_for(method).X, fitted(method)
    labels = model.predict(X)
    assert labels.shape == (len(X),)
    assert labels.dtype == model.labels_.dtype
    np.testing.assert_array_equal(model.predict(X[:7]), labels[:7])
