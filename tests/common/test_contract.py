"""The estimator contract, checked for every method of the catalog.

A new method is covered the moment its tags put it into the catalog.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sidelight import Constraints, catalog, engine
from sidelight.engine import _memory
from sidelight.exceptions import (
    ConstraintWarning,
    InconsistentConstraints,
    InfeasibleConstraints,
    SidelightError,
)

METHODS = catalog.methods(kind="clusterer")
PAIRS = [m for m in METHODS if {"must-link", "cannot-link"} <= set(m.tags.knowledge)]
HARD = [m for m in METHODS if m.tags.enforcement == "hard"]
K = 4


def named(methods: Any) -> Any:
    return pytest.mark.parametrize("method", methods, ids=lambda m: m.name)


def make(method: Any, **params: Any) -> Any:
    """Make the estimator; parameters that it does not have do not matter to it."""
    wanted = {"n_clusters": K, "random_state": 0, **params}
    wanted["n_components"] = wanted["n_clusters"]
    if "init" in wanted:
        wanted["means_init"] = wanted["init"]
    known = method.cls().get_params()
    return method.cls(**{name: value for name, value in wanted.items() if name in known})


def takes(method: Any, parameter: str) -> bool:
    return parameter in method.cls().get_params()


def number(method: Any) -> str:
    """What the method calls its number of clusters."""
    return "n_components" if takes(method, "n_components") else "n_clusters"


def places(model: Any) -> np.ndarray:
    """Where the clusters are, for methods that say so."""
    return np.asarray(getattr(model, "cluster_centers_", getattr(model, "means_", 0.0)))


def having(attribute: str) -> list[Any]:
    return [m for m in METHODS if hasattr(m.cls, attribute)]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    # All values are positive, so that methods for counts and directions take them too.
    X, y = make_blobs(240, n_features=5, centers=K, cluster_std=3.0, random_state=3)
    return X - X.min() + 1.0, y


def knowledge_for(method: Any, y: np.ndarray, n: int = 60, seed: int = 1) -> Constraints:
    """Some side information of the kinds that the method takes; true to the classes."""
    if "must-link" in method.tags.knowledge:
        pairs = Constraints.sample(y, n, random_state=seed)
        if "cannot-link" in method.tags.knowledge:
            return pairs
        return Constraints(pairs.must_link, n_samples=len(y))
    if "labels" in method.tags.knowledge:
        partial = np.where(np.arange(len(y)) % 7 == 0, y, -1)
        return Constraints.from_labels(partial)
    return Constraints(n_samples=len(y))


ZERO_ROWS = "the data of this check has rows of zeros, which have no direction: a clear error"
NEGATIVE = "the data of this check has negative values although the tags ask for positive ones"
CONTINUOUS = "the data of this check is continuous: every number would be a category of its own"
UNWEIGHTED = "a category that only rows of weight 0 have is still a category"
NO_CLASSIFIER = "the check takes whatever has predict_proba for a classifier of its four classes"
OTHER_START = (
    "it starts from random rows, which are others when rows are repeated, and with twice as many "
    "features as rows every start ends elsewhere"
)
SPARSE = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
ON_ZERO_ROWS = ("check_estimators_dtypes", "check_estimator_sparse_tag")
EXPECTED_TO_FAIL = {
    "SphericalKMeans": dict.fromkeys(ON_ZERO_ROWS, ZERO_ROWS),
    "FrequencySensitiveKMeans": dict.fromkeys(ON_ZERO_ROWS, ZERO_ROWS),
    "FeedbackClustering": {
        **dict.fromkeys(
            (
                *ON_ZERO_ROWS,
                *SPARSE,
                "check_fit2d_1feature",
            ),
            ZERO_ROWS,
        ),
        "check_clustering": NEGATIVE,
    },
    "BernoulliMixture": dict.fromkeys(SPARSE, NO_CLASSIFIER),
    "MultinomialMixture": {"check_clustering": NEGATIVE, **dict.fromkeys(SPARSE, NO_CLASSIFIER)},
    "CategoricalMixture": {
        "check_clustering": CONTINUOUS,
        "check_sample_weight_equivalence_on_dense_data": UNWEIGHTED,
    },
    "DiscriminativeMixture": {"check_sample_weight_equivalence_on_dense_data": OTHER_START},
    "ProjectedDiscriminativeMixture": {
        "check_sample_weight_equivalence_on_dense_data": OTHER_START
    },
    "NonparametricMixture": dict.fromkeys(SPARSE, NO_CLASSIFIER),
    "VonMisesFisherMixture": dict.fromkeys((*ON_ZERO_ROWS, *SPARSE), ZERO_ROWS),
}


@parametrize_with_checks(
    # One component, the default of mixtures, parts nothing.
    [m.cls(n_components=3) if takes(m, "n_components") else m.cls() for m in METHODS],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL.get(type(estimator).__name__, {}),
)
def test_scikit_learn_estimator_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        # The checks hand fractions to y on purpose; we say that they are ignored.
        warnings.simplefilter("ignore", ConstraintWarning)
        check(estimator)


@named(METHODS)
def test_fitted_attributes(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    model = make(method).fit(X, constraints=known)
    assert model.labels_.shape == (len(X),)
    assert set(np.unique(model.labels_)) <= set(range(K))
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ >= 1
    assert isinstance(model.converged_, bool)
    history = np.asarray(model.history_)
    assert history.ndim == 1
    assert len(history) >= 1
    assert np.isfinite(history).all()
    # The value at the end, which a method that keeps its best iterate finds on the way.
    ends = (history.min(), history[-1])
    assert any(model.objective_ == pytest.approx(end, rel=1e-9) for end in ends)
    assert model.n_violations_ == known.violations(model.labels_).n
    if hasattr(model, "predict"):
        assert model.predict(X).shape == (len(X),)


@named(METHODS)
def test_history_never_rises_where_promised(method: Any, blobs: Any) -> None:
    X, y = blobs
    for seed in range(4):
        model = make(method, random_state=seed).fit(X, constraints=knowledge_for(method, y))
        if method.tags.monotone:
            history = np.asarray(model.history_)
            assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))


@named(METHODS)
def test_clone_and_pickle(method: Any, blobs: Any) -> None:
    X, y = blobs
    model = make(method)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, constraints=knowledge_for(method, y))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@named(having("transform"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(method: Any, dtype: Any, blobs: Any) -> None:
    X, y = blobs
    model = make(method).fit(X.astype(dtype), constraints=knowledge_for(method, y))
    assert getattr(model, "weights_", places(model)).dtype == dtype
    assert not hasattr(model, "means_") or model.means_.dtype == dtype
    assert model.transform(X.astype(dtype)).dtype == dtype


def with_start(methods: Any) -> list[Any]:
    return [m for m in methods if takes(m, "init") or takes(m, "means_init")]


@named(with_start(m for m in METHODS if m.tags.sparse))
def test_sparse_equals_dense(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    start = X[:K].copy()
    dense = make(method, init=start, n_init=1).fit(X, constraints=known)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = make(method, init=start, n_init=1).fit(kind(X), constraints=known)
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_allclose(places(thin), places(dense))


@named(with_start(m for m in METHODS if m.tags.out_of_core))
def test_rows_on_disk_equal_rows_in_memory(method: Any, blobs: Any, tmp_path: Any) -> None:
    X, y = blobs
    np.save(tmp_path / "rows.npy", X)
    known = knowledge_for(method, y)
    memory = make(method, init=X[:K].copy(), n_init=1).fit(X, constraints=known)
    rows = engine.open_rows(tmp_path / "rows.npy", memory_budget=5_000)
    disk = make(method, init=X[:K].copy(), n_init=1).fit(rows, constraints=known)
    np.testing.assert_array_equal(disk.labels_, memory.labels_)
    np.testing.assert_allclose(places(disk), places(memory))


@named(METHODS)
def test_same_result_for_any_number_of_threads(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_memory, "BLOCK_BYTES", 2**16)
    # More blocks of rows than threads, except for methods on all pairs of rows.
    n = 20_000 if takes(method, "max_iter") else 500
    X, y = make_blobs(n, n_features=4, centers=K, cluster_std=4.0, random_state=0)
    X = (X - X.min() + 1.0).astype(np.float32)
    assert n == 500 or len(engine.as_rows(X).blocks) > 3
    known = knowledge_for(method, y)
    results = []
    for n_threads in (1, 2, 3):
        with engine.threads(n_threads):
            results.append(make(method, n_init=1, max_iter=8).fit(X, constraints=known))
    for other in results[1:]:
        np.testing.assert_array_equal(other.labels_, results[0].labels_)
        np.testing.assert_array_equal(other.history_, results[0].history_)
        np.testing.assert_array_equal(places(other), places(results[0]))


@named(METHODS)
def test_same_seed_same_result(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    first = make(method, random_state=5).fit(X, constraints=known)
    second = make(method, random_state=5).fit(X, constraints=known)
    np.testing.assert_array_equal(first.labels_, second.labels_)


@named(HARD)
@pytest.mark.parametrize("seed", range(5))
def test_hard_methods_satisfy_everything(method: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 3, size=(90, 2))  # no structure: the constraints fight the geometry
    y = rng.integers(0, K, size=90)
    known = knowledge_for(method, y, n=120, seed=seed)
    model = make(method, random_state=seed).fit(X, constraints=known)
    assert known.violations(model.labels_).n == 0
    assert model.n_violations_ == 0


@named([m for m in PAIRS if m.tags.enforcement == "soft"])
def test_soft_methods_report_what_they_left_violated(method: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, size=(200, 2))
    y = rng.integers(0, K, size=200)
    known = Constraints.sample(y, 150, random_state=0)
    model = make(method, penalty=1e-6).fit(X, constraints=known)
    assert model.n_violations_ == known.violations(model.labels_).n
    if takes(method, "penalty"):
        assert model.n_violations_ > 0


@named([m for m in METHODS if "labels" in m.tags.knowledge])
def test_partial_labels_through_y(method: Any, blobs: Any) -> None:
    X, y = blobs
    partial = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    by_y = make(method).fit(X, partial)
    by_constraints = make(method).fit(X, constraints=Constraints.from_labels(partial))
    np.testing.assert_array_equal(by_y.labels_, by_constraints.labels_)


@named(METHODS)
def test_metadata_routing_carries_constraints(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = make(method).set_fit_request(constraints=True)
        pipeline = make_pipeline(MinMaxScaler((1, 2)), estimator).fit(X, constraints=known)
        direct = make(method).fit(MinMaxScaler((1, 2)).fit_transform(X), constraints=known)
        np.testing.assert_array_equal(pipeline[-1].labels_, direct.labels_)
        if hasattr(estimator, "score"):
            folds = KFold(3, shuffle=True, random_state=0)
            search = GridSearchCV(estimator, {"max_iter": [3, 30]}, cv=folds)
            search.fit(X, constraints=known)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@named(METHODS)
def test_tables_in(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    names = [f"feature {j}" for j in range(X.shape[1])]
    plain = make(method).fit(X, constraints=known)
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = make(method).fit(table, constraints=known)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_array_equal(model.feature_names_in_, names)


@named(METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_are_located(method: Any, bad: float, blobs: Any) -> None:
    X = blobs[0].copy()
    X[17, 2] = bad
    if np.isnan(bad) and method.tags.missing:  # a value that was not measured
        labels = make(method).fit(X).labels_
        assert labels.min() >= 0
        return
    with pytest.raises(ValueError, match=r"(?s)(NaN|infinity).*row 17, column 2"):
        make(method).fit(X)


@named(METHODS)
def test_wrong_shapes(method: Any, blobs: Any) -> None:
    X, _ = blobs
    with pytest.raises(ValueError, match="2D"):
        make(method).fit(X[:, 0])
    with pytest.raises(ValueError, match=r"0 sample"):
        make(method).fit(X[:0])
    if hasattr(method.cls, "predict"):
        with pytest.raises(ValueError, match="features"):
            make(method).fit(X).predict(X[:, :2])


@named(METHODS)
def test_too_many_clusters(method: Any, blobs: Any) -> None:
    X, _ = blobs
    with pytest.raises(ValueError, match=rf"n_samples=3 should be >= {number(method)}=4"):
        make(method).fit(X[:3])
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="at least 1"):
            make(method, n_clusters=wrong).fit(X)
    with pytest.raises(TypeError, match="whole number"):
        make(method, n_clusters=2.5).fit(X)


@named(METHODS)
def test_single_row(method: Any) -> None:
    model = make(method, n_clusters=1).fit([[1.0, 2.0]])
    assert list(model.labels_) == [0]
    assert getattr(model, "inertia_", 0.0) == pytest.approx(0.0)


@named(METHODS)
def test_duplicated_rows_and_constant_features(method: Any) -> None:
    X = np.repeat([[1.0, 5.0], [2.0, 5.0]], 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        same = make(method, n_clusters=3).fit(X)
    assert np.isfinite(same.objective_)
    if "sizes" not in method.tags.knowledge:  # bounds may part what is the same
        assert getattr(same, "inertia_", 0.0) == pytest.approx(0.0)
    assert np.isfinite(places(same)).all()
    two = make(method, n_clusters=2).fit(X)
    assert len(np.unique(two.labels_[:20])) == len(np.unique(two.labels_[20:])) == 1
    constant = make(method, n_clusters=1).fit(np.ones((10, 3)))
    assert getattr(constant, "inertia_", 0.0) == pytest.approx(0.0)


@named(METHODS)
def test_words_instead_of_numbers(method: Any) -> None:
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"]})
    with pytest.raises(ValueError, match="colour"):
        make(method, n_clusters=2).fit(table)


@named(METHODS)
def test_constraints_about_other_rows(method: Any, blobs: Any) -> None:
    X, _ = blobs
    with pytest.raises(SidelightError, match=r"about 10 rows but X has 240"):
        make(method).fit(X, constraints=Constraints([(0, 1)], n_samples=10))
    with pytest.raises(TypeError, match=r"sidelight\.Constraints"):
        make(method).fit(X, constraints=[(0, 1)])


@named([m for m in METHODS if "labels" in m.tags.knowledge])
def test_labels_of_the_wrong_length(method: Any, blobs: Any) -> None:
    with pytest.raises(ValueError, match="one label per row"):
        make(method).fit(blobs[0], np.zeros(7, dtype=int))


@named(PAIRS)
def test_contradictory_constraints(method: Any, blobs: Any) -> None:
    X, _ = blobs
    contradictory = Constraints(
        must_link=[("a0", "a1"), ("a1", "a2")],
        cannot_link=[("a0", "a2")],
        ids=[f"a{i}" for i in range(len(X))],
    )
    if method.tags.enforcement == "hard":
        with pytest.raises(InconsistentConstraints, match="a1") as caught:
            make(method).fit(X, constraints=contradictory)
        assert caught.value.chain == (0, 1, 2)
    else:
        with pytest.warns(ConstraintWarning, match="contradict"):
            model = make(method).fit(X, constraints=contradictory)
        assert model.n_violations_ >= 1


@named(PAIRS)
def test_too_few_clusters_for_the_cannot_links(method: Any, blobs: Any) -> None:
    X, _ = blobs
    five = [(i, j) for i in range(5) for j in range(i)]
    clique = Constraints(cannot_link=five, n_samples=len(X))
    if method.tags.enforcement == "hard":
        with pytest.raises(InfeasibleConstraints, match="5 clusters would suffice") as caught:
            make(method).fit(X, constraints=clique)
        assert sorted(caught.value.clique) == [0, 1, 2, 3, 4]
        assert make(method, n_clusters=5).fit(X, constraints=clique).n_violations_ == 0
    else:
        assert make(method).fit(X, constraints=clique).n_violations_ >= 1
