"""DiscriminativeMixture and its projection: limits, the published illustration, sound behaviour."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import entr, logsumexp, softmax
from scipy.stats import norm
from sklearn.datasets import make_blobs
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as TheirMixture

import sidelight
from sidelight import Constraints, engine
from sidelight.cluster import PCKMeans
from sidelight.datasets import make_four_gaussians
from sidelight.evaluation import adjusted_rand_index, clustering_accuracy
from sidelight.mixture import DiscriminativeMixture, ProjectedDiscriminativeMixture
from sidelight.mixture.discriminative import _base
from sidelight.mixture.discriminative._descent import descend_in_stages, schedule
from sidelight.mixture.discriminative._penalty_search import (
    choose_penalty,
    penalties,
    train_and_validate,
)

BOTH = (DiscriminativeMixture, ProjectedDiscriminativeMixture)


@pytest.fixture(scope="module")
def clouds() -> Any:
    return make_four_gaussians(random_state=0)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(150, n_features=3, centers=3, cluster_std=2.5, random_state=4)


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("kind", ["tied", "full", "diag"])
def test_without_constraints_it_ends_where_em_ends(kind: str, blobs: Any) -> None:
    X, _ = blobs
    start = X[[0, 50, 100]]
    ours = DiscriminativeMixture(
        3, covariance_type=kind, means_init=start, n_init=1, tol=1e-7, reg_covar=0.0
    ).fit(X)
    theirs = TheirMixture(
        3, covariance_type=kind, means_init=ours.means_, weights_init=ours.weights_,
        precisions_init=ours.precisions_, tol=1e-12, max_iter=500, reg_covar=0.0,
    ).fit(X)  # fmt: skip
    # EM does not find anything better from there: it is a stationary point of EM.
    assert theirs.lower_bound_ == pytest.approx(-ours.objective_, abs=1e-6)
    np.testing.assert_allclose(theirs.means_, ours.means_, atol=1e-2)
    assert ours.score(X) == pytest.approx(-ours.objective_, abs=1e-9)


@pytest.mark.parametrize("kind", ["tied", "full", "diag"])
def test_without_a_price_constraints_do_not_matter(kind: str, blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 40, random_state=0)
    settings = {"covariance_type": kind, "n_init": 2, "random_state": 0}
    free = DiscriminativeMixture(3, penalty=0.0, **settings).fit(X, constraints=known)
    none = DiscriminativeMixture(3, **settings).fit(X)
    np.testing.assert_array_equal(free.means_, none.means_)
    assert none.penalty_ == 0.0
    assert free.n_violations_ == known.violations(free.labels_).n


def test_brute_force_over_a_grid_finds_nothing_better() -> None:
    X = np.array([-2.0, -1.5, -0.2, 0.3, 1.0, 2.5])
    known = Constraints([(1, 4)], [(2, 3)], n_samples=6)
    settings = {"penalty": 2.0, "sharpness": (4.0,), "reg_covar": 0.0, "random_state": 0}
    model = DiscriminativeMixture(2, n_init=20, **settings).fit(X[:, None], constraints=known)

    def objective(first: Any, second: Any, sigma: Any, alpha: Any) -> np.ndarray:
        means = np.stack([first, second], axis=-1)[..., None, :]
        logs = np.log(np.stack([alpha, 1 - alpha], axis=-1))[..., None, :]
        sigma = np.asarray(sigma)[..., None, None]
        joint = logs + norm.logpdf((X[:, None] - means) / sigma) - np.log(sigma)
        s = softmax(4.0 * joint, axis=-1)

        def divergence(i: int, j: int) -> np.ndarray:
            mixed = entr((s[..., i, :] + s[..., j, :]) / 2)
            own = (entr(s[..., i, :]) + entr(s[..., j, :])) / 2
            return np.sum(mixed - own, axis=-1) / np.log(2)

        violated = divergence(1, 4) + 1 - divergence(2, 3)
        return np.sum(logsumexp(joint, axis=-1), axis=-1) - 2.0 * violated

    places = np.linspace(-3, 3, 25)
    scales, weights = np.linspace(0.2, 2.1, 20), np.linspace(0.1, 0.9, 9)
    grid = np.meshgrid(places, places, scales, weights, indexing="ij")
    highest = objective(*grid).max()
    assert highest - 1e-9 <= -model.objective_ * 6 <= highest + 0.1
    sigma = np.sqrt(model.covariances_[0, 0])
    ours = objective(*model.means_[:, 0], sigma, model.weights_[0])
    assert -model.objective_ * 6 == pytest.approx(float(ours), abs=1e-9)


# ------------------------------------------------------------------ the thesis' illustration


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "newton"])
def test_two_links_turn_the_mixture(clouds: Any, solver: str) -> None:
    settings = {"solver": solver, "n_init": 10, "random_state": 0}
    low = DiscriminativeMixture(2, penalty=50.0, **settings)
    low.fit(clouds.data, constraints=clouds.constraints)
    assert low.n_violations_ == 2  # cheap: top and bottom stay
    assert clustering_accuracy(clouds.data[:, 1] > 0, low.labels_) == 1.0
    high = DiscriminativeMixture(2, penalty=250.0, **settings)
    high.fit(clouds.data, constraints=clouds.constraints)
    assert high.n_violations_ == 0
    assert clustering_accuracy(clouds.target, high.labels_) > 0.95
    # The best of several local optima is the same for all solvers.
    assert -high.objective_ * 400 == pytest.approx(-2221.57, abs=0.5)


@pytest.mark.parametrize("penalty", [1.0, 300.0, 1e6])
def test_relabelling_points_never_gets_there(clouds: Any, penalty: float) -> None:
    model = PCKMeans(2, penalty=penalty, random_state=0)
    labels = model.fit(clouds.data, constraints=clouds.constraints).labels_
    assert clustering_accuracy(clouds.target, labels) < 0.55


def test_the_default_price_is_enough_for_the_illustration() -> None:
    for seed in range(3):
        data = make_four_gaussians(random_state=seed)
        model = DiscriminativeMixture(2, random_state=0).fit(
            data.data, constraints=data.constraints
        )
        assert model.penalty_ == pytest.approx(1.3 * 400 / 2)
        assert clustering_accuracy(data.target, model.labels_) > 0.95


def three_clouds(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(3) / 3
    means = np.zeros((3, 5))
    means[:, :2] = 2.6 * np.column_stack([np.cos(angle), np.sin(angle)])
    y = np.repeat(np.arange(3), 100)
    return means[y] + rng.normal(size=(300, 5)), y


@pytest.mark.parametrize("seed", [2, 7])
def test_few_pairs_do_no_harm_and_one_wrong_pair_little(seed: int) -> None:
    X, y = three_clouds(seed)
    free = DiscriminativeMixture(3, random_state=0).fit(X)
    index = adjusted_rand_index(y, free.labels_)
    right = Constraints.sample(y, 10, random_state=0)
    model = DiscriminativeMixture(3, random_state=0).fit(X, constraints=right)
    assert adjusted_rand_index(y, model.labels_) > index - 0.05
    wrong = right.flip(0.1, random_state=seed)
    assert len(set(map(tuple, wrong.must_link)) ^ set(map(tuple, right.must_link))) == 1
    misled = DiscriminativeMixture(3, random_state=0).fit(X, constraints=wrong)
    assert adjusted_rand_index(y, misled.labels_) > index - 0.1


def test_the_fit_without_constraints_is_a_start() -> None:
    """No worse than a descent from there on the sharp loss, which skips the smooth ones."""
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(3), 100)
    X = (3 * rng.normal(size=(3, 2)))[y]
    X += rng.normal(size=(300, 2)) * rng.uniform(0.5, 1.5, size=(3, 1))[y]
    known = Constraints.sample(y, 10, random_state=1)
    options = {"penalty": 450.0, "random_state": 0}
    model = DiscriminativeMixture(3, **options).fit(X, constraints=known)
    free = DiscriminativeMixture(3, random_state=0).fit(X)
    alone = DiscriminativeMixture(3, means_init=free.means_, sharpness=(4.0,), **options)
    assert model.objective_ <= alone.fit(X, constraints=known).objective_ + 1e-3


def test_alike_rows_are_labelled_alike(clouds: Any) -> None:
    model = DiscriminativeMixture(2, n_init=5, random_state=0)
    model.fit(clouds.data, constraints=clouds.constraints)
    np.testing.assert_array_equal(model.labels_, model.predict(clouds.data))
    assert model.labels_.dtype == np.int32


def test_annealing_helps_where_posteriors_are_sharp(clouds: Any) -> None:
    """From the wrong partition, only a smooth loss feels the violated links."""
    start = np.array([[0.0, 8.0], [0.0, -8.0]])
    settings = {"penalty": 500.0, "means_init": start, "n_init": 1}
    sharp = DiscriminativeMixture(2, sharpness=(4.0,), **settings)
    sharp.fit(clouds.data, constraints=clouds.constraints)
    assert sharp.n_violations_ == 2
    annealed = DiscriminativeMixture(2, **settings)
    annealed.fit(clouds.data, constraints=clouds.constraints)
    assert annealed.n_violations_ == 0


# ------------------------------------------------------------------ the search


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "newton"])
@pytest.mark.parametrize("cls", BOTH)
def test_the_path_never_rises(cls: Any, solver: str, blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 40, random_state=2)
    for seed in range(3):
        model = cls(3, solver=solver, n_init=1, random_state=seed).fit(X, constraints=known)
        assert np.all(np.diff(model.history_) <= 0)
        assert model.objective_ == model.history_[-1]
        assert model.converged_


def test_newton_with_products_of_the_hessian(monkeypatch: pytest.MonkeyPatch, blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 40, random_state=2)
    start = np.array([X[y == c].mean(axis=0) for c in range(3)])
    settings = {"solver": "newton", "means_init": start, "n_init": 1}
    exact = DiscriminativeMixture(3, **settings).fit(X, constraints=known)
    monkeypatch.setattr("sidelight.mixture.discriminative._descent.SMALL", 0)
    by_products = DiscriminativeMixture(3, **settings).fit(X, constraints=known)
    assert by_products.objective_ == pytest.approx(exact.objective_, abs=1e-5)


def test_consistent_constraints_on_separable_rows_are_kept() -> None:
    X, y = make_blobs(120, centers=4, cluster_std=1.0, random_state=7)
    known = Constraints.sample(y, 200, random_state=0)
    model = DiscriminativeMixture(4, n_init=5, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 0
    assert clustering_accuracy(y, model.labels_) > 0.98


def test_an_affine_map_of_the_rows_changes_nothing_but_the_scale(clouds: Any) -> None:
    X, known = clouds.data, clouds.constraints
    stretch = np.array([[3.0, 1.0], [-20.0, 5.0]])
    settings = {"reg_covar": 0.0, "n_init": 8, "tol": 1e-6, "random_state": 0}
    plain = DiscriminativeMixture(2, **settings).fit(X, constraints=known)
    mapped = DiscriminativeMixture(2, **settings).fit(X @ stretch + 1e3, constraints=known)
    assert clustering_accuracy(plain.labels_, mapped.labels_) == 1.0
    shift = np.linalg.slogdet(stretch)[1]
    assert mapped.objective_ == pytest.approx(plain.objective_ + shift, abs=1e-5)


def test_weights_count_like_copies(blobs: Any) -> None:
    X, _ = blobs
    copies = np.arange(len(X)) % 3 + 1
    settings = {"means_init": X[[0, 50, 100]], "n_init": 1, "tol": 1e-6}
    weighted = DiscriminativeMixture(3, **settings).fit(X, sample_weight=copies)
    repeated = DiscriminativeMixture(3, **settings).fit(np.repeat(X, copies, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, abs=1e-6)
    np.testing.assert_allclose(weighted.means_, repeated.means_, atol=1e-2)


def test_rows_on_disk_and_threads(tmp_path: Any, blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 30, random_state=0)
    np.save(tmp_path / "rows.npy", X)
    settings = {"covariance_type": "full", "n_init": 1, "random_state": 0, "max_iter": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        memory = DiscriminativeMixture(3, **settings).fit(X, constraints=known)
        rows = engine.open_rows(tmp_path / "rows.npy", memory_budget=2_000)
        disk = DiscriminativeMixture(3, **settings).fit(rows, constraints=known)
        with engine.threads(3):
            threaded = DiscriminativeMixture(3, **settings).fit(rows, constraints=known)
    assert disk.objective_ == pytest.approx(memory.objective_, abs=1e-6)
    np.testing.assert_array_equal(threaded.history_, disk.history_)


# ------------------------------------------------------------------ the price


def test_price_by_validation(clouds: Any) -> None:
    known = Constraints.sample(clouds.target, 24, random_state=1)
    model = DiscriminativeMixture(2, penalty="validate", n_init=4, random_state=0)
    model.fit(clouds.data, constraints=known)
    tried, *violated = model.search_.values()
    assert list(model.search_) == ["penalty", "n_violations_validation", "n_violations_train"]
    assert tried[0] == 0.0
    assert violated[0][0] > 0  # the plain mixture violates pairs that it does not see
    pairs = list(zip(*violated, strict=True))
    assert pairs[list(tried).index(model.penalty_)] == min(pairs)
    assert model.penalty_ > 1
    assert clustering_accuracy(clouds.target, model.labels_) > 0.95


def test_no_price_is_chosen_when_nothing_is_violated(clouds: Any) -> None:
    top = clouds.data[:, 1] > 0
    model = DiscriminativeMixture(2, penalty="validate", n_init=3, random_state=0)
    model.fit(clouds.data, constraints=Constraints.sample(top, 30, random_state=0))
    assert model.penalty_ == 0.0
    assert len(model.search_["penalty"]) == 1


# ------------------------------------------------------------------ projection


def test_projection_finds_the_direction_that_was_meant() -> None:
    for seed in range(3):
        data = make_four_gaussians(random_state=seed)
        X = data.data / data.data.std(axis=0)
        model = ProjectedDiscriminativeMixture(2, n_directions=1, penalty=250.0, random_state=0)
        model.fit(X, constraints=data.constraints)
        direction = model.projection_[:, 0] / np.linalg.norm(model.projection_)
        assert abs(direction[0]) > np.cos(np.radians(8))
        assert clustering_accuracy(data.target, model.labels_) > 0.95
        free = ProjectedDiscriminativeMixture(2, n_directions=1, n_init=5, random_state=0).fit(X)
        natural = free.projection_[:, 0] / np.linalg.norm(free.projection_)
        assert abs(natural[1]) > np.cos(np.radians(8))


def test_all_directions_are_the_common_precision(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 40, random_state=0)
    settings = {"penalty": 10.0, "random_state": 0, "n_init": 3, "tol": 1e-6}
    whole = ProjectedDiscriminativeMixture(3, n_directions=3, **settings).fit(X, constraints=known)
    tied = DiscriminativeMixture(3, **settings).fit(X, constraints=known)
    np.testing.assert_array_equal(whole.labels_, tied.labels_)
    precision = whole.projection_ @ whole.projection_.T
    np.testing.assert_allclose(precision, tied.precisions_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(whole.predict_proba(X), tied.predict_proba(X), atol=1e-8)


def test_what_a_projection_can_be_asked(blobs: Any) -> None:
    X, _ = blobs
    model = ProjectedDiscriminativeMixture(3, n_directions=2, n_init=3, random_state=0).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(Z, (X - model.mean_) @ model.projection_, atol=1e-12)
    assert list(model.get_feature_names_out()) == [
        f"projecteddiscriminativemixture{i}" for i in range(2)
    ]
    # Without a price the bound is the likelihood, but for what was added to the variances.
    assert model.score(X) == pytest.approx(-model.objective_, abs=1e-5)
    within = np.zeros((2, 2))
    for c in range(3):
        resp = model.predict_proba(X)[:, c]
        gaps = Z - model.means_[c]
        within += (gaps * resp[:, None]).T @ gaps
    np.testing.assert_allclose(within / len(X), np.eye(2), atol=2e-3)
    spread = np.average((model.means_ - model.weights_ @ model.means_) ** 2, axis=0,
                        weights=model.weights_)  # fmt: skip
    assert spread[0] >= spread[1]
    rows, labels = model.sample(50)
    assert rows.shape == (50, X.shape[1])
    assert labels.shape == (50,)
    assert np.isfinite(model.bic(X))


def test_two_rings_through_kernel_pca() -> None:
    rng = np.random.default_rng(0)
    radius = np.repeat([0.3, 0.6], 100) + 0.03 * rng.normal(size=200)
    angle = rng.uniform(0, 2 * np.pi, size=200)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    y = np.repeat([0, 1], 100)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(200, 1)]
    width = np.percentile(distances, 20)
    features = KernelPCA(20, kernel="rbf", gamma=1 / (2 * width**2)).fit_transform(X)
    known = Constraints.sample(y, 60, random_state=0)
    model = ProjectedDiscriminativeMixture(2, penalty=100.0, n_init=5, random_state=0)
    model.fit(features, constraints=known)
    assert model.n_violations_ == 0
    assert clustering_accuracy(y, model.labels_) > 0.98


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("cls", BOTH)
def test_degenerate_rows(cls: Any) -> None:
    repeated = np.repeat([[0.0, 5.0], [1.0, 5.0]], 20, axis=0)
    model = cls(2, n_init=3, random_state=0).fit(
        repeated, constraints=Constraints([(0, 1)], [(0, 30)], n_samples=40)
    )
    for array in (model.means_, model.covariances_, model.weights_, model.history_):
        assert np.isfinite(array).all()
    assert clustering_accuracy(np.repeat([0, 1], 20), model.labels_) == 1.0
    constant = cls(2, n_init=2, random_state=0, reg_covar=0.0).fit(np.ones((10, 2)))
    assert np.isfinite(constant.means_).all()


def test_coincident_components_are_told() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    everything = Constraints(must_link=[(0, i) for i in range(1, 60)], n_samples=60)
    with pytest.warns(ConvergenceWarning, match="coincides"):
        DiscriminativeMixture(2, n_init=2, random_state=0).fit(X, constraints=everything)


def test_a_component_each_does_not_collapse_onto_single_rows() -> None:
    X = np.random.default_rng(0).normal(size=(12, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DiscriminativeMixture(4, covariance_type="full", n_init=3, random_state=0).fit(X)
    assert np.isfinite(model.objective_)
    assert np.linalg.eigvalsh(model.covariances_).min() > 0


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": "much"}, "penalty"),
        ({"solver": "adam"}, "solver"),
        ({"sharpness": ()}, "sharpness"),
        ({"sharpness": (1.0, -1.0)}, "sharpness"),
        ({"inverse_temperature": (0.0, 1.0)}, "inverse_temperature"),
        ({"n_init": 0}, "n_init"),
        ({"reg_covar": -1.0}, "reg_covar"),
        ({"means_init": np.zeros((1, 1))}, "means_init"),
    ],
)
def test_wrong_parameters(cls: Any, wrong: dict[str, Any], message: str, blobs: Any) -> None:
    with pytest.raises(ValueError, match=message):
        cls(2, **wrong).fit(blobs[0])


def test_wrong_parameters_of_one(blobs: Any) -> None:
    with pytest.raises(ValueError, match="covariance_type"):
        DiscriminativeMixture(2, covariance_type="spherical").fit(blobs[0])
    with pytest.raises(ValueError, match="n_directions"):
        ProjectedDiscriminativeMixture(2, n_directions=0).fit(blobs[0])


def test_projected_rows_are_drawn_with_all_features(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    rng = np.random.default_rng(0)
    X = blobs[0] @ rng.normal(size=(blobs[0].shape[1], 5)) + 0.3 * rng.normal(
        size=(len(blobs[0]), 5)
    )
    known = Constraints.sample(blobs[1], 40, random_state=0)
    model = ProjectedDiscriminativeMixture(3, n_directions=2, random_state=0)
    rows, labels = model.fit(X, constraints=known).sample(40_000)
    assert rows.shape == (40_000, 5)
    seen = model.transform(rows)
    for s in range(3):  # in the directions, the mixture
        np.testing.assert_allclose(seen[labels == s].mean(axis=0), model.means_[s], atol=0.05)
        np.testing.assert_allclose(np.cov(seen[labels == s].T), np.eye(2), atol=0.05)
    # Elsewhere, what is left of the covariance of the data when the directions are known.
    covariance, P = np.cov(X.T), model.projection_
    across = np.linalg.svd(covariance @ P)[0][:, 2:]  # not correlated with the directions
    np.testing.assert_allclose(
        np.cov((rows @ across).T), across.T @ covariance @ across, atol=0.05 * covariance.max()
    )


# --- what it is made of ---


# ------------------------------------------------------------------ limits


def test_stationary_with_constraints(blobs: Any) -> None:
    """EM's fixed point with the derivative ``c`` in the place of responsibilities."""
    from sidelight.mixture.discriminative._objective import statements, violation

    X, y = blobs
    known = Constraints.sample(y, 60, random_state=1)
    model = DiscriminativeMixture(
        3, penalty=3.0, n_init=2, tol=1e-8, reg_covar=0.0, random_state=0
    ).fit(X, constraints=known)
    told = statements(known, 3)
    joint = np.log(model.predict_proba(X)) + model.score_samples(X)[:, None]
    c = model.predict_proba(X)
    c[told.rows] -= 3.0 * violation(joint[told.rows], told, 4.0).slope
    totals = c.sum(axis=0)
    np.testing.assert_allclose(model.weights_, totals / len(X), atol=1e-4)
    np.testing.assert_allclose(model.means_, (c.T @ X) / totals[:, None], atol=1e-3)
    spread = X.T @ X - model.means_.T @ (totals[:, None] * model.means_)
    np.testing.assert_allclose(model.covariances_, spread / len(X), atol=1e-2)


# ------------------------------------------------------------------ the thesis' illustration


def test_annealing_the_likelihood(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 30, random_state=0)
    gammas = (0.2, 0.5, 1.0)
    model = DiscriminativeMixture(3, inverse_temperature=gammas, n_init=2, random_state=0)
    plain = DiscriminativeMixture(3, n_init=5, random_state=0)
    hot = model.fit(X, constraints=known).objective_
    assert hot == pytest.approx(plain.fit(X, constraints=known).objective_, abs=0.02)
    stages = [(s.sharpness, s.inverse_temperature) for s in schedule((0.25, 1, 4), gammas, 1e-4)]
    assert stages == [(0.25, 0.2), (0.25, 0.5), (0.25, 1.0), (1, 1.0), (4, 1.0)]


def test_schedule_of_the_source() -> None:
    stages = schedule((0.25, 1.0, 4.0), (1.0,), 1e-4)
    np.testing.assert_allclose([s.tol for s in stages], [1e-2, 1e-3, 1e-4])


# ------------------------------------------------------------------ the search


def test_interrupted_keeps_the_best(monkeypatch: pytest.MonkeyPatch, blobs: Any) -> None:
    X, y = blobs
    from sidelight._progress import FitProgress

    step = FitProgress.step

    def impatient(self: FitProgress, objective: float | None = None) -> None:
        step(self, objective)
        if self.n_steps == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "step", impatient)
    model = DiscriminativeMixture(3, random_state=0)
    with (
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(ConvergenceWarning, match="interrupted"),
    ):
        model.fit(X, constraints=Constraints.sample(y, 30, random_state=0))
    assert not model.converged_
    assert np.isfinite(model.means_).all()


# ------------------------------------------------------------------ the price


def test_how_pairs_are_held_out() -> None:
    y = np.arange(200) % 2
    rng = np.random.RandomState(0)
    for m, train_size, validation_size in ((5, 5, 5), (8, 6, 6), (40, 20, 20)):
        known = Constraints.sample(y, m, random_state=0)
        train, validation = train_and_validate(known, 2, rng)
        assert (train.n_pairs, validation.n_pairs) == (train_size, validation_size)
        assert (train | validation).n_pairs == m
    np.testing.assert_allclose(list(itertools.islice(penalties(0.2), 3)), [0, 0.1 * 10**0.5, 1.0])


@pytest.mark.parametrize("nats_per_row", [0.5, 12.0])
def test_the_search_goes_on_until_prices_matter(nats_per_row: float) -> None:
    y = np.arange(200) % 2
    known = Constraints.sample(y, 40, random_state=0)

    class Fit:
        def __init__(self, labels: np.ndarray) -> None:
            self.labels = labels

    def fit_at(constraints: Constraints, penalty: float, before: Fit | None) -> Fit:
        listens = penalty * 20 >= nats_per_row * 200  # to 20 pairs that are not held out
        return Fit(y if listens else np.arange(200) // 100)

    choice = choose_penalty(fit_at, known, 2, np.random.RandomState(0))
    assert choice.penalty >= 10 * nats_per_row
    unseen, seen = choice.table["n_violations_validation"], choice.table["n_violations_train"]
    assert (unseen[-1], seen[-1]) == (0, 0)
    assert np.all(unseen[:-1] > 0)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("known", [False, True])
def test_a_start_is_run_once_however_often_it_is_drawn(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    pairs = Constraints(n_samples=12, must_link=[(0, 1)]) if known else None
    descents = []
    monkeypatch.setattr(
        _base, "descend_in_stages", lambda *a, **k: descents.append(1) or descend_in_stages(*a, **k)
    )

    def fit(n_components: int, n_init: int) -> tuple[DiscriminativeMixture, int]:
        descents.clear()
        model = DiscriminativeMixture(n_components, n_init=n_init, max_iter=15, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, constraints=pairs), len(descents)

    # As many components as rows: all rows are the only start that there is. With pairs, the fit
    # without them is one more descent, and from its end there is another.
    many, n_descents = fit(12, 5)
    once, _ = fit(12, 1)
    assert n_descents == (3 if known else 1)
    np.testing.assert_array_equal(many.means_, once.means_)
    # Of two components there are many starts.
    assert fit(2, 5)[1] == (11 if known else 5)
