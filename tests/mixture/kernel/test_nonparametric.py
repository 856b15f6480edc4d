"""Mixtures of kernel densities: bandwidths and the estimator."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import skops.io
from scipy import sparse
from scipy.integrate import trapezoid
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

import sidelight
from sidelight import Constraints
from sidelight.evaluation import constraint_satisfaction, rand_index
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.mixture import NonparametricMixture
from sidelight.mixture.kernel import _nonparametric, _profiles
from sidelight.mixture.kernel._bandwidths import CANDIDATES, choose, distance_percentiles
from sidelight.mixture.kernel._profiles import (
    ProfileFit,
    StartSweep,
)


def fitted(X: Any, k: int = 2, **params: Any) -> NonparametricMixture:
    return NonparametricMixture(k, random_state=0, **params).fit(X)


@pytest.fixture(scope="module")
def cloud() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (30, 2)), rng.normal(4, 1, (30, 2))])


# ------------------------------------------------------------------ bandwidths


def test_percentile_of_the_distances(cloud: np.ndarray) -> None:
    for percent in (5, 12.5):
        model = fitted(cloud, bandwidth="percentile", percentile=percent, n_init=1)
        assert model.bandwidth_ == pytest.approx(np.percentile(pdist(cloud), percent))
    assert fitted(cloud, n_init=1).bandwidth_ == pytest.approx(np.percentile(pdist(cloud), 5))
    thin = fitted(sparse.csr_array(cloud), n_init=1)
    assert thin.bandwidth_ == pytest.approx(np.percentile(pdist(cloud), 5))


def test_repeated_rows_have_a_bandwidth() -> None:
    X = np.repeat([[0.0], [1.0], [4.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="distances above 0"):
        model = fitted(X, 3)
    assert model.bandwidth_ > 0
    assert len(np.unique(model.labels_)) == 3
    with pytest.warns(ConvergenceWarning, match="distances above 0"):
        assert fitted(np.ones((5, 2)), 1).bandwidth_ == 1.0


def test_fixed_bandwidth_does_not_listen() -> None:
    X, y = make_moons(80, noise=0.06, random_state=0)
    known = Constraints.sample(y, 20, random_state=0)
    for width in (0.3, "percentile"):
        model = NonparametricMixture(2, bandwidth=width, percentile=10.0, random_state=0)
        told = model.fit(X, constraints=known).labels_.copy()
        np.testing.assert_array_equal(model.fit(X).labels_, told)


def test_constraints_are_needed_to_choose_by_them(cloud: np.ndarray) -> None:
    with pytest.raises(SidelightError, match="chooses by what is known"):
        fitted(cloud, bandwidth="constraints")


# ------------------------------------------------------------------ the estimator


def by_hand(model: Any, X: np.ndarray, new: np.ndarray) -> np.ndarray:
    sums = np.exp(-cdist(X, X, "sqeuclidean") / (2 * model.bandwidth_**2)).sum(axis=0) - 1
    values = np.exp(-cdist(new, X, "sqeuclidean") / (2 * model.bandwidth_**2)) / sums
    joint = (values @ model.profiles_) * model.weights_
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kernel", ["rbf", "knn"])
def test_posteriors_of_new_rows(kernel: str, cloud: np.ndarray) -> None:
    model = fitted(cloud, 3, kernel=kernel, n_neighbors=60)
    new = np.random.default_rng(1).uniform(-3, 7, size=(40, 2))
    np.testing.assert_allclose(model.predict_proba(new), by_hand(model, cloud, new), atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), model.predict_proba(new).argmax(axis=1))
    assert np.mean(model.predict(cloud) == model.labels_) > 0.9


@pytest.mark.parametrize("normalize", [True, False])
def test_density_integrates_to_one(normalize: bool) -> None:
    X = np.concatenate([np.linspace(0, 1, 15), np.linspace(5, 6, 10)])[:, None]
    model = fitted(X, normalize=normalize)
    grid = np.linspace(-3, 9, 4_000)
    density = np.exp(model.score_samples(grid[:, None]))
    assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-6)
    drawn, components = model.sample(4_000)
    assert drawn.mean() == pytest.approx(trapezoid(grid * density, grid), abs=0.1)
    assert np.mean(components == 0) == pytest.approx(model.weights_[0], abs=0.05)


def test_few_neighbours_measure_rows_near_the_data_alike(cloud: np.ndarray) -> None:
    few = fitted(cloud, kernel="knn", n_neighbors=20, bandwidth=0.5)
    many = fitted(cloud, kernel="rbf", bandwidth=0.5)
    new = cloud + 0.05
    assert rand_index(few.predict(new), many.predict(new)) > 0.95


def test_precomputed_kernel_equals_the_gaussian_one(cloud: np.ndarray) -> None:
    usual = fitted(cloud, bandwidth=1.0)
    new = cloud[:7] + 0.3
    for kind in (np.asarray, sparse.csr_array):
        matrix = kind(np.exp(-cdist(cloud, cloud, "sqeuclidean") / 2))
        model = fitted(matrix, kernel="precomputed", init_params="dirichlet")
        same = fitted(cloud, bandwidth=1.0, init_params="dirichlet")
        np.testing.assert_array_equal(model.labels_, same.labels_)
        assert model.objective_ == pytest.approx(same.objective_)
        between = kind(np.exp(-cdist(new, cloud, "sqeuclidean") / 2))
        np.testing.assert_allclose(model.predict_proba(between), same.predict_proba(new))
        with pytest.raises(SidelightError, match="cannot be drawn"):
            model.sample()
    seeds = fitted(np.exp(-cdist(cloud, cloud, "sqeuclidean") / 2), kernel="precomputed")
    np.testing.assert_array_equal(seeds.labels_, usual.labels_)
    assert np.isfinite(seeds.predict_proba(np.zeros((1, 60)))).all()


def test_bad_kernel_matrices() -> None:
    with pytest.raises(ValueError, match="square"):
        fitted(np.ones((4, 3)), kernel="precomputed")
    matrix = np.ones((4, 4))
    matrix[2, 1] = -1
    for kind in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=r"rows 2 and 1 is"):
            fitted(kind(matrix), kernel="precomputed")


def test_sparse_rows_equal_dense_ones(cloud: np.ndarray) -> None:
    dense = fitted(cloud)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = fitted(kind(cloud))
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_allclose(thin.predict_proba(kind(cloud)), dense.predict_proba(cloud))
        assert thin.sample(3)[0].shape == (3, 2)


def test_too_many_rows_are_refused_before_anything_is_made() -> None:
    X = np.zeros((100_001, 1), dtype=np.float32)
    with pytest.raises(SidelightError, match=r"at most 100,000 rows.*kernel='knn'"):
        fitted(X, 1, kernel="rbf")


def test_kernel_by_the_number_of_rows() -> None:
    X = np.random.default_rng(0).normal(size=(5_001, 1))
    options: Any = {"n_init": 1, "max_iter": 1, "n_neighbors": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert fitted(X, 1, **options).kernel_ == "knn"
        assert fitted(X[:50], 1, **options).kernel_ == "rbf"


def test_precision_and_saved_state(cloud: np.ndarray) -> None:
    model = fitted(cloud.astype(np.float32), kernel="knn", n_neighbors=10)
    assert model.profiles_.dtype == model.weights_.dtype == np.float32
    proba = model.predict_proba(cloud.astype(np.float32))
    assert proba.dtype == np.float32
    again = pickle.loads(pickle.dumps(model))
    assert "_near" not in vars(again._components)
    np.testing.assert_array_equal(again.predict_proba(cloud.astype(np.float32)), proba)


def test_saved_models_of_sparse_rows_bring_plain_arrays_only(
    cloud: np.ndarray, tmp_path: Any
) -> None:
    model = fitted(sparse.csr_array(cloud), kernel="knn", n_init=1)
    proba = model.predict_proba(sparse.csr_array(cloud))
    skops.io.dump(model, tmp_path / "model.skops")
    types = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("sidelight.") for name in types)
    again = skops.io.load(tmp_path / "model.skops", trusted=types)
    np.testing.assert_array_equal(again.predict_proba(sparse.csr_array(cloud)), proba)


def test_ends_are_told(cloud: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        short = fitted(cloud, max_iter=2)
    assert not short.converged_
    assert short.n_iter_ == len(short.history_) == 2
    model = fitted(cloud, n_init=4)
    assert model.restarts_["objective"].shape == (4,)
    assert model.objective_ == pytest.approx(model.restarts_["objective"].min(), rel=1e-6)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"kernel": "linear"}, "kernel must be"),
        ({"bandwidth": 0.0}, "bandwidth must be"),
        ({"bandwidth": "percentile:5"}, "bandwidth must be"),
        ({"percentile": 0.0}, "percentile must be"),
        ({"percentile": 101}, "percentile must be"),
        ({"bandwidth": "wide"}, "bandwidth must be"),
        ({"normalize": "row"}, "normalize must be"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"init_params": "kmeans"}, "init_params must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_parameters(params: dict[str, Any], match: str, cloud: np.ndarray) -> None:
    with pytest.raises(ValueError, match=match):
        fitted(cloud, **params)


def test_contradictions_are_told(cloud: np.ndarray) -> None:
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=60)
    with pytest.warns(ConstraintWarning, match="contradict"):
        model = NonparametricMixture(2, n_init=2, random_state=0).fit(cloud, constraints=known)
    assert model.n_violations_ >= 1


def test_a_fit_that_searches_nothing_has_no_search(cloud: np.ndarray) -> None:
    known = Constraints([(0, 1), (2, 3)], [(0, 40)], n_samples=len(cloud))
    model = NonparametricMixture(2, random_state=0, n_init=2).fit(cloud, constraints=known)
    assert len(model.search_["bandwidth"]) > 1
    model.set_params(bandwidth=1.0).fit(cloud, constraints=known)
    assert not hasattr(model, "search_")


# --- what it is made of ---


# ------------------------------------------------------------------ bandwidths


def test_percentile_of_a_sample_is_near() -> None:
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    values, repeated = distance_percentiles(X, (5.0, 20.0), np.random.RandomState(0))
    np.testing.assert_allclose(values, np.percentile(pdist(X), (5, 20)), rtol=0.05)
    assert not repeated


def test_constraints_choose_the_bandwidth() -> None:
    X, y = make_moons(150, noise=0.06, random_state=0)
    known = Constraints.sample(y, 40, random_state=0)
    model = NonparametricMixture(2, random_state=0).fit(X, constraints=known)
    search = model.search_
    np.testing.assert_allclose(search["bandwidth"], np.percentile(pdist(X), CANDIDATES))
    best = int(np.flatnonzero(search["bandwidth"] == model.bandwidth_)[0])
    assert search["mean_satisfaction"][best] == search["mean_satisfaction"].max()
    assert model.n_violations_ == known.violations(model.labels_).n
    # The chosen candidate is what a fit with that bandwidth gives.
    again = NonparametricMixture(2, bandwidth=model.bandwidth_, random_state=0).fit(X)
    assert not hasattr(again, "search_")
    other = NonparametricMixture(2, bandwidth="constraints", random_state=0)
    np.testing.assert_array_equal(other.fit(X, constraints=known).labels_, model.labels_)


def test_choice_by_mean_then_agreement_then_the_middle() -> None:
    known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2), (0, 3)], n_samples=4)
    right, wrong = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    half = np.array([0, 1, 0, 1])

    def candidates(*labels: list[np.ndarray]) -> Any:
        return choose(known, labels)

    assert candidates([wrong, wrong], [right, half], [right, right]).best == 2
    level = candidates([right, right], [right, right], [right, right], [wrong, wrong])
    assert level.best == 1
    np.testing.assert_array_equal(level.mean == level.mean.max(), [True, True, True, False])
    shaky = candidates([right, wrong], [half, half])
    assert shaky.mean[0] == constraint_satisfaction(known, wrong) / 2 + 0.5
    steady = candidates([right, wrong], [half, half], [half, right])
    assert steady.best == 2


# ------------------------------------------------------------------ the estimator


def test_components_without_rows_are_told(
    cloud: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_for_all(kernel: Any, starts: np.ndarray, **options: Any) -> list[ProfileFit]:
        labels = np.zeros(len(starts), dtype=np.int32)
        return [ProfileFit(starts[:, 0], labels, np.array([-1.0]), True, False)]

    monkeypatch.setattr(_nonparametric, "fit_profiles", one_for_all)
    with pytest.warns(ConvergenceWarning, match="Only 1 of 2 components have rows"):
        model = fitted(cloud)
    assert model.weights_.tolist() == [1.0, 0.0]
    assert np.isfinite(model.predict_proba(cloud)).all()


def test_interruption_keeps_the_best_so_far(
    cloud: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def sweep(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return StartSweep(*args)

    monkeypatch.setattr(_profiles, "StartSweep", sweep)
    with (
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(ConvergenceWarning, match="interrupted after 3"),
    ):
        model = fitted(cloud)
    assert model.n_iter_ == 3
    assert not model.converged_
