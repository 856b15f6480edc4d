"""Checks of estimators that give every row a cluster."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from tests.common.applies import applies_to, has
from tests.common.models import (
    K,
    data_for,
    fitted,
    fresh,
    knowledge_for,
    make,
    places,
    takes,
)
from tests.common.partition import contradictory, is_hard, takes_pairs

from sidelight import Constraints, engine
from sidelight._fit import restarts
from sidelight.catalog import Method
from sidelight.engine import _memory
from sidelight.exceptions import ConstraintWarning, InfeasibleConstraints

#: One method for every loop over rows and for every kind of restart; CI runs all methods.
LOOPS = {
    *("kmeans", "copkmeans", "pckmeans", "mpckmeans", "global-kmeans", "size-constrained-kmeans"),
    *("balanced-kmeans", "frequency-sensitive-kmeans", "soft-balanced-kmeans"),
    *("constrained-agglomeration", "feedback-clustering", "spectral-clustering"),
    "information-bottleneck",
    *("gaussian-mixture", "chunklet-mixture", "penalized-mixture", "mean-field-mixture"),
    *("greedy-mixture", "accelerated-mixture", "mml-mixture", "discriminative-mixture"),
    *("nonparametric-mixture",),
}


def stands_for_a_loop(method: Method) -> bool:
    return method.name in LOOPS or "CI" in os.environ


def number(method: Method) -> str:
    """What the method calls its number of clusters."""
    return "n_components" if takes(method, "n_components") else "n_clusters"


def takes_start(method: Method) -> bool:
    return takes(method, "init") or takes(method, "means_init")


def check_clusters_are_those_asked_for(method: Method) -> None:
    assert set(np.unique(fitted(method).labels_)) <= set(range(K))


@applies_to(has("predict"))
def check_predict(method: Method) -> None:
    X, model = data_for(method).X, fitted(method)
    labels = model.predict(X)
    assert labels.shape == (len(X),)
    assert labels.dtype == model.labels_.dtype
    assert set(np.unique(labels)) <= set(range(K))
    np.testing.assert_array_equal(model.predict(X[:7]), labels[:7])


@applies_to(has("transform"))
def check_precision_is_kept(method: Method) -> None:
    data = data_for(method)
    single = make(method).fit(data.X.astype(np.float32), constraints=data.known)
    for dtype, model in ((np.float32, single), (np.float64, fitted(method))):
        assert getattr(model, "weights_", places(model)).dtype == dtype
        assert not hasattr(model, "means_") or model.means_.dtype == dtype
        assert model.transform(data.X.astype(dtype)).dtype == dtype


def from_first_rows(method: Method, rows: Any, **params: Any) -> Any:
    """The method fitted to the shared rows, given in another form, from the first K of them."""
    data = data_for(method)
    model = make(method, init=data.X[:K].copy(), n_init=1, **params)
    return model.fit(rows, constraints=data.known)


@applies_to(lambda method: method.tags.sparse and takes_start(method))
def check_sparse_equals_dense(method: Method) -> None:
    X = data_for(method).X
    dense = from_first_rows(method, X)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = from_first_rows(method, kind(X))
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_allclose(places(thin), places(dense))


@contextmanager
def rows_on_disk(X: np.ndarray) -> Iterator[engine.RowSource]:
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", X)
        yield engine.open_rows(Path(folder) / "rows.npy", memory_budget=5_000)


@applies_to(lambda method: method.tags.out_of_core and takes_start(method))
def check_rows_on_disk_equal_rows_in_memory(method: Method) -> None:
    X = data_for(method).X
    memory = from_first_rows(method, X)
    with rows_on_disk(X) as rows:
        disk = from_first_rows(method, rows)
    np.testing.assert_array_equal(disk.labels_, memory.labels_)
    np.testing.assert_allclose(places(disk), places(memory))


@applies_to(lambda method: takes_start(method) and takes(method, "n_init"))
def check_a_given_start_is_run_once(method: Method) -> None:
    X = data_for(method).X
    precisions = np.tile(np.eye(X.shape[1]), (K, 1, 1))
    start = {"init": X[:K].copy(), "precisions_init": precisions}
    once, often = (fresh(method, n_init=n_init, **start) for n_init in (1, 3))
    np.testing.assert_array_equal(often.labels_, once.labels_)
    np.testing.assert_array_equal(often.history_, once.history_)


@contextmanager
def other_warnings() -> Iterator[None]:
    """Let pass warnings that a check is not about, such as that the constraints are too few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        yield


def in_threads(method: Method, X: np.ndarray, known: Constraints, **params: Any) -> Any:
    """Assert that a fit on one thread and on three ends in the same, to the last bit."""
    results = []
    for n_threads in (1, 3):
        with engine.threads(n_threads), other_warnings():
            results.append(make(method, max_iter=8, **params).fit(X, constraints=known))
    one, other = results
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_array_equal(other.history_, one.history_)
    np.testing.assert_array_equal(places(other), places(one))


@applies_to(stands_for_a_loop)
def check_blocks_in_any_number_of_threads(method: Method) -> None:
    X, y = make_blobs(1_200, n_features=4, centers=K, cluster_std=4.0, random_state=0)
    X = (X - X.min() + 1.0).astype(np.float32)
    with (
        mock.patch.object(_memory, "TILE_ROWS", 200),
        mock.patch.object(_memory, "BLOCK_BYTES", 200 * X.strides[0]),
    ):
        assert len(engine.as_rows(X).blocks) == 6 > restarts.FEW_BLOCKS
        in_threads(method, X, knowledge_for(method, y), n_init=2)


@applies_to(lambda method: stands_for_a_loop(method) and takes(method, "n_init"))
def check_restarts_in_any_number_of_threads(method: Method) -> None:
    data = data_for(method)
    with mock.patch.object(restarts, "FEW_NUMBERS", 0):
        in_threads(method, data.X, data.known, n_init=3)


@applies_to(is_hard)
def check_hard_methods_satisfy_everything(method: Method) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(1, 3, size=(90, 2))  # no structure: the constraints fight the geometry
        y = rng.integers(0, K, size=90)
        known = knowledge_for(method, y, n=80, seed=seed)
        model = make(method, random_state=seed).fit(X, constraints=known)
        assert known.violations(model.labels_).n == 0
        assert model.n_violations_ == 0


@applies_to(lambda method: takes_pairs(method) and method.tags.enforcement == "soft")
def check_soft_methods_report_what_they_left_violated(method: Method) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(120, 2))
    y = rng.integers(0, K, size=120)
    known = Constraints.sample(y, 100, random_state=0)
    model = make(method, penalty=1e-6).fit(X, constraints=known)
    assert model.n_violations_ == known.violations(model.labels_).n
    if takes(method, "penalty"):
        assert model.n_violations_ > 0


def check_metadata_routing_carries_constraints(method: Method) -> None:
    data = data_for(method)
    scaled = MinMaxScaler((1, 2)).fit_transform(data.X)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = make(method, n_init=1).set_fit_request(constraints=True)
        pipeline = make_pipeline(MinMaxScaler((1, 2)), estimator)
        pipeline.fit(data.X, constraints=data.known)
        direct = make(method, n_init=1).fit(scaled, constraints=data.known)
        np.testing.assert_array_equal(pipeline[-1].labels_, direct.labels_)


@applies_to(lambda method: hasattr(method.cls, "score") and takes(method, "max_iter"))
def check_grid_search_carries_constraints(method: Method) -> None:
    data = data_for(method)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = make(method, n_init=1).set_fit_request(constraints=True)
        folds = KFold(2, shuffle=True, random_state=0)
        search = GridSearchCV(estimator, {"max_iter": [3, 30]}, cv=folds)
        search.fit(data.X, constraints=data.known)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def check_wrong_numbers_of_clusters(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(ValueError, match=rf"n_samples=3 should be >= {number(method)}=4"):
        make(method).fit(X[:3])
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="at least 1"):
            make(method, n_clusters=wrong).fit(X)
    with pytest.raises(TypeError, match="whole number"):
        make(method, n_clusters=2.5).fit(X)


def distances_left(model: Any) -> float:
    """Distances of the rows to their centers, if the method minimizes them."""
    if getattr(model, "_has_inertia", None) is None:
        return 0.0
    return float(model.inertia_ if model._has_inertia else model.objective_)


def check_single_row(method: Method) -> None:
    model = make(method, n_clusters=1).fit([[1.0, 2.0]])
    assert list(model.labels_) == [0]
    assert distances_left(model) == pytest.approx(0.0)


def check_duplicated_rows_and_constant_features(method: Method) -> None:
    X = np.repeat([[1.0, 5.0], [2.0, 5.0]], 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        same = make(method, n_clusters=3).fit(X)
    assert np.isfinite(same.objective_)
    if "sizes" not in method.tags.knowledge:  # bounds may part what is the same
        assert distances_left(same) == pytest.approx(0.0)
    assert np.isfinite(places(same)).all()
    two = make(method, n_clusters=2).fit(X)
    assert len(np.unique(two.labels_[:20])) == len(np.unique(two.labels_[20:])) == 1
    constant = make(method, n_clusters=1).fit(np.ones((10, 3)))
    assert distances_left(constant) == pytest.approx(0.0)


def clique(X: np.ndarray) -> Constraints:
    """Five rows that are all apart from each other: too many for four clusters."""
    return Constraints(cannot_link=[(i, j) for i in range(5) for j in range(i)], n_samples=len(X))


@applies_to(lambda method: takes_pairs(method) and not is_hard(method))
def check_soft_methods_warn_of_contradictions(method: Method) -> None:
    X = data_for(method).X
    with other_warnings(), pytest.warns(ConstraintWarning, match="contradict"):
        model = make(method).fit(X, constraints=contradictory(X))
    assert model.n_violations_ >= 1


@applies_to(lambda method: takes_pairs(method) and is_hard(method))
def check_hard_methods_refuse_too_few_clusters(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(InfeasibleConstraints, match="5 clusters would suffice") as caught:
        make(method).fit(X, constraints=clique(X))
    assert sorted(caught.value.clique) == [0, 1, 2, 3, 4]
    assert make(method, n_clusters=5).fit(X, constraints=clique(X)).n_violations_ == 0


@applies_to(lambda method: takes_pairs(method) and not is_hard(method))
def check_soft_methods_violate_with_too_few_clusters(method: Method) -> None:
    X = data_for(method).X
    with other_warnings():
        assert make(method).fit(X, constraints=clique(X)).n_violations_ >= 1
