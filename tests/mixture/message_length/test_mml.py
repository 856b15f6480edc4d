from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import sidelight
from sidelight import Constraints, engine
from sidelight._kernels.mixture.componentwise import all_shares, component_shares
from sidelight.engine import as_rows
from sidelight.mixture import FeatureSaliencyMixture, GaussianMixture, MMLMixture
from sidelight.mixture._core import aic, bic, mdl, mml
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.mixture.message_length._componentwise import (
    ComponentwiseEM,
    revised_weight,
    search_components,
    with_weight,
)
from sidelight.mixture.message_length._revisable_gaussians import (
    _factored,
    parameters_of,
    round_gaussians,
)

KINDS = ("full", "tied", "diag", "spherical")


def three_clouds(seed: int, n: int = 200, d: int = 4, apart: float = 8.0) -> Any:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n)
    return rng.normal(size=(3 * n, d)) + apart * np.eye(d)[y], y


# ------------------------------------------------------------------ the search


@pytest.mark.parametrize("kind", KINDS)
def test_one_component_is_the_moments_of_the_data(kind: str) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 2, 3] + 5
    model = MMLMixture(1, covariance_type=kind).fit(X)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0))
    covariance = np.cov(X.T, ddof=0)
    expected = {
        "full": covariance[None],
        "tied": covariance,
        "diag": np.diag(covariance)[None],
        "spherical": [np.trace(covariance) / 3],
    }[kind]
    np.testing.assert_allclose(model.covariances_, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_separated_clouds_are_counted(kind: str) -> None:
    lengths = []
    for seed in range(3):
        X, y = three_clouds(1)
        model = MMLMixture(12, covariance_type=kind, random_state=seed).fit(X)
        assert model.n_components_ == 3
        lengths.append(len(X) * model.objective_)
        assert len({(a, b) for a, b in zip(model.labels_, y, strict=True)}) == 3
    np.testing.assert_allclose(lengths, lengths[0], atol=1e-2)


def test_iris_has_three_or_four_kinds() -> None:
    found = [MMLMixture(random_state=s).fit(load_iris().data).n_components_ for s in range(3)]
    assert set(found) <= {3, 4}


def test_without_structure_one_component() -> None:
    X = np.random.default_rng(2).normal(size=(300, 5))
    assert MMLMixture(10, random_state=0).fit(X).n_components_ == 1


def test_components_are_not_removed_below_the_minimum() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = MMLMixture(6, min_components=4, random_state=0).fit(X)
    assert model.n_components_ >= 4
    assert np.isfinite(model.search_["message_length"]).all()


def test_rows_on_disk(tmp_path: Any) -> None:
    X, _ = three_clouds(0, n=60)
    np.save(tmp_path / "rows.npy", X)
    rows = engine.open_rows(tmp_path / "rows.npy", memory_budget=4_000)
    disk = MMLMixture(6, random_state=0).fit(rows)
    memory = MMLMixture(6, random_state=0).fit(X)
    np.testing.assert_array_equal(disk.labels_, memory.labels_)
    np.testing.assert_allclose(disk.means_, memory.means_)


def test_bad_parameters() -> None:
    X, _ = three_clouds(0, n=10, d=3)
    with pytest.raises(ValueError, match="min_components=4 must not exceed n_components=2"):
        MMLMixture(2, min_components=4).fit(X)
    with pytest.raises(ValueError, match="covariance_type"):
        MMLMixture(covariance_type="round").fit(X)
    with pytest.raises(ValueError, match="reg_covar"):
        MMLMixture(reg_covar=0.0).fit(X)
    with pytest.raises(ValueError, match="n_init"):
        MMLMixture(n_init=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="30 rows are too few for 20 components"):
        MMLMixture(20, min_components=20, random_state=0).fit(X)
    model = MMLMixture(3, random_state=0).fit(X, constraints=Constraints([(0, 29)], n_samples=30))
    assert model.n_violations_ == int(model.labels_[0] != model.labels_[29])


def test_duplicates_and_constant_features_give_no_nan() -> None:
    X = np.repeat([[0.0, 1.0, 7.0], [5.0, 1.0, 7.0]], 30, axis=0)
    for kind in KINDS:
        model = MMLMixture(covariance_type=kind, random_state=0).fit(X)
        assert np.isfinite(model.covariances_).all()
        assert np.isfinite(model.score_samples(X)).all()
        assert model.n_components_ == 2


@pytest.mark.parametrize("method", [MMLMixture, FeatureSaliencyMixture])
def test_the_unit_of_weights_does_not_matter(method: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 1, (60, 2)) for center in (0, 4, 8)])
    weights = rng.integers(0, 4, len(X)).astype(float)
    settings = {"n_components": 8, "random_state": 0, "tol": 1e-4}
    one = method(**settings).fit(X, sample_weight=weights)
    for unit in (0.01, 64.0):
        other = method(**settings).fit(X, sample_weight=unit * weights)
        assert other.n_components_ == one.n_components_
        np.testing.assert_allclose(other.means_, one.means_, rtol=1e-6)
        assert other.objective_ == pytest.approx(one.objective_)
    plain = method(**settings).fit(X)
    same = method(**settings).fit(X, sample_weight=np.full(len(X), 7.0))
    np.testing.assert_allclose(same.means_, plain.means_, rtol=1e-6)


# --- what it is made of ---


def start(X: np.ndarray, k: int, kind: str, seed: int = 0) -> Any:
    rows = np.random.default_rng(seed).choice(len(X), size=k, replace=False)
    return round_gaussians(
        X[rows], X.var() / 10, kind, floor=1e-6, origin=X.mean(axis=0), largest_square=1.0
    )


# ------------------------------------------------------------------ criteria


def test_criteria_by_hand() -> None:
    weights = np.array([0.25, 0.75, 0.0])
    n, own = 40.0, 5
    by_hand = (
        own / 2 * (math.log(n * 0.25 / 12) + math.log(n * 0.75 / 12))
        + 2 / 2 * math.log(n / 12)
        + 2 * (own + 1) / 2
        + 70.0
    )
    assert mml(-70.0, weights, own, n) == pytest.approx(by_hand)
    leading = own / 2 * (math.log(n * 0.25) + math.log(n * 0.75)) + math.log(n) + 70.0
    assert mml(-70.0, weights, own, n, constants=False) == pytest.approx(leading)
    with_shared = mml(-70.0, weights, own, n, shared=3)
    assert with_shared - by_hand == pytest.approx(1.5 * (math.log(n / 12) + 1))
    assert bic(-70.0, 7, n) == pytest.approx(140 + 7 * math.log(40))
    assert mdl(-70.0, 7, n) == pytest.approx(bic(-70.0, 7, n) / 2)
    assert aic(-70.0, 7) == 154.0


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_agree_with_the_core(kind: str) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    g = start(X, 4, kind)
    core = GaussianComponents(g.means, g.covariances, kind, origin=np.zeros(3))
    own, shared = parameters_of(kind, 3)
    assert 4 * own + shared == core.n_parameters


# ------------------------------------------------------------------ mixing weights


@given(st.lists(st.floats(0.5, 50), min_size=2, max_size=6), st.floats(0, 5), st.data())
@settings(max_examples=60, deadline=None)
def test_a_revised_weight_never_makes_the_message_longer(
    masses: list[float], support: float, data: Any
) -> None:
    held = np.array(masses)
    j = data.draw(st.integers(0, len(held) - 1))
    if held[j] <= support:
        return
    weight = data.draw(st.floats(0.01, 0.99))
    n = held.sum()
    own, others = held[j] - support, n - held[j] - (len(held) - 1) * support

    def shorter(a: float) -> float:
        return own * math.log(a) + others * math.log1p(-a)

    new = revised_weight(weight, held, j, support, n)
    assert 0 < new <= 1
    if new < 1:
        assert shorter(new) >= shorter(weight) - 1e-9 * (1 + abs(shorter(weight)))
    if np.all(held > support):  # then it is the best there is
        assert all(shorter(new) >= shorter(a) - 1e-9 for a in np.linspace(0.001, 0.999, 99))


def test_without_support_the_weights_are_those_of_em() -> None:
    masses = np.array([3.0, 5.0, 12.0])
    assert revised_weight(0.1, masses, 1, 0.0, 20.0) == pytest.approx(5 / 20)


def test_other_weights_keep_their_proportions() -> None:
    weights = with_weight(np.array([0.2, 0.3, 0.5]), 2, 0.2)
    np.testing.assert_allclose(weights, [0.32, 0.48, 0.2])
    np.testing.assert_array_equal(with_weight(np.array([1.0]), 0, 1.0), [1.0])


# ------------------------------------------------------------------ responsibilities


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e6])
def test_shares_are_a_softmax_at_any_scale(spread: float) -> None:
    rng = np.random.default_rng(0)
    logs = spread * rng.normal(size=(50, 5))
    weights = rng.dirichlet(np.ones(5))
    counts = rng.uniform(0.5, 2, size=50)
    expected = counts[:, None] * softmax(logs + np.log(weights), axis=1)
    # A shift that is far off, as after a change of a column.
    shifts = logs.max(axis=1) + rng.choice([-900.0, 0.0, 900.0], size=50)
    with np.errstate(over="ignore"):
        linear = np.exp(logs - shifts[:, None])
    # The third column is new, and stands beside the others.
    new = (2, logs[:, 2].copy(), linear[:, 2].copy())
    logs[:, 2], linear[:, 2] = np.nan, np.nan
    new_shifts, masses = np.empty(50), np.zeros(5)
    shares = np.full(len(logs), np.nan)
    component_shares(logs, linear, shifts, *new, weights, counts, 2, new_shifts, masses, shares)
    np.testing.assert_allclose(shares, expected[:, 2], atol=1e-12)
    np.testing.assert_allclose(masses, expected.sum(axis=0), atol=1e-10)
    again = new_shifts.copy()
    all_of_them = np.full(logs.shape, np.nan)
    likelihood = all_shares(logs, linear, shifts, *new, weights, counts, new_shifts, all_of_them)
    np.testing.assert_array_equal(new_shifts, again)
    np.testing.assert_allclose(all_of_them, expected, atol=1e-12)
    logs[:, 2] = new[1]
    top = (logs + np.log(weights)).max(axis=1)
    total = np.log(np.exp(logs + np.log(weights) - top[:, None]).sum(axis=1)) + top
    assert likelihood == pytest.approx(counts @ total, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_running_likelihood_is_that_of_the_mixture(kind: str) -> None:
    X, _ = three_clouds(0, n=40, d=3)
    fit = ComponentwiseEM(as_rows(X), start(X, 5, kind), np.full(5, 0.2), None)
    for _ in range(4):
        fit.sweep(1)
        g = fit.components
        core = GaussianComponents(g.means, g.covariances, kind, origin=np.zeros(3))
        densities = np.stack(
            [
                multivariate_normal(m, c).pdf(X)
                for m, c in zip(g.means, core.full_covariances(), strict=True)
            ],
            axis=1,
        )
        expected = np.log(densities @ fit.weights).sum()
        assert fit.log_likelihood == pytest.approx(expected, rel=1e-10)
        assert fit.weights.sum() == pytest.approx(1.0)


# ------------------------------------------------------------------ the search


@pytest.mark.parametrize("kind", KINDS)
def test_the_message_never_gets_longer_between_removals(kind: str) -> None:
    X = load_iris().data
    for seed in range(2):
        fit = ComponentwiseEM(as_rows(X), start(X, 12, kind, seed), np.full(12, 1 / 12), None)
        for _ in range(40):
            before, length = fit.components.structure, fit.length
            fit.sweep(1)
            if fit.components.structure == before:
                assert fit.length <= length + 1e-9 * abs(length)


def test_covariances_at_the_floor_are_the_most_likely_ones() -> None:
    rng = np.random.default_rng(0)
    scatter = np.diag([4.0, 1.0, 1e-4])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    scatter = turn @ scatter @ turn.T
    bounded, factor, log_factor = _factored(scatter, 0.01, 3)
    np.testing.assert_allclose(np.linalg.eigvalsh(bounded), [0.01, 1, 4], rtol=1e-8)
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(bounded), rtol=1e-8)
    assert log_factor == pytest.approx(-0.5 * np.linalg.slogdet(bounded)[1])

    def likelihood(covariance: np.ndarray) -> float:
        return -0.5 * (
            np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, scatter))
        )

    for _ in range(200):
        values, vectors = np.linalg.eigh(bounded + 0.05 * (e := rng.normal(size=(3, 3))) @ e.T)
        other = (vectors * np.maximum(values, 0.01)) @ vectors.T
        assert likelihood(other) <= likelihood(bounded) + 1e-12


def test_components_of_rows_in_a_line_are_removed() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), 9 + 1e-6 * rng.normal(size=(3, 2))])
    model = MMLMixture(8, random_state=0).fit(X)
    held = model.predict_proba(X).sum(axis=0)
    assert held.min() > 3
    assert start(X, 2, "full").least_rows == 3.0
    assert start(X, 2, "diag").least_rows == 2.0


def test_path_over_the_number_of_components() -> None:
    X, _ = three_clouds(0, n=80)
    model = MMLMixture(8, min_components=2, random_state=0).fit(X)
    tried, lengths = model.search_["n_components"], model.search_["message_length"]
    assert np.all(np.diff(tried) < 0)
    assert tried[-1] == 2
    assert len(X) * model.objective_ == pytest.approx(lengths.min())
    assert model.n_components_ == tried[np.argmin(lengths)]
    log_likelihood = model.score_samples(X).sum()
    expected = mml(log_likelihood, model.weights_, 14, len(X), constants=False)
    assert lengths.min() == pytest.approx(expected, rel=1e-9)


def test_a_row_of_weight_two_counts_as_two() -> None:
    X, _ = three_clouds(0, n=30, d=3)
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    source, repeated = as_rows(X), as_rows(np.repeat(X, times, axis=0))
    first = start(X, 5, "full")
    by_weight = search_components(source, first, np.full(5, 0.2), row_weights=times, max_iter=30)
    by_rows = search_components(repeated, first, np.full(5, 0.2), max_iter=30)
    lengths = [each.table["message_length"] for each in (by_weight, by_rows)]
    np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-9)


def test_an_interruption_keeps_the_best_so_far(monkeypatch: Any) -> None:
    X, _ = three_clouds(0, n=50)
    sweep, done = ComponentwiseEM.sweep, []

    def interrupted(self: Any, least: int) -> Any:
        done.append(1)
        if len(done) > 5:
            raise KeyboardInterrupt
        return sweep(self, least)

    monkeypatch.setattr(ComponentwiseEM, "sweep", interrupted)
    with (
        sidelight.progress(show=False, keep_best=True),
        pytest.warns(ConvergenceWarning, match="interrupted after 6"),
    ):
        model = MMLMixture(6, random_state=0).fit(X)
    assert not model.converged_
    assert model.labels_.shape == (150,)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_criteria_of_a_fitted_mixture(kind: str) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    likelihood = float(model.score_samples(X).sum())
    own = {"full": 9, "tied": 3, "diag": 6, "spherical": 4}[kind]
    shared = 6 if kind == "tied" else 0
    assert model.mdl(X) == pytest.approx(model.bic(X) / 2)
    assert model.bic(X) == pytest.approx(bic(likelihood, 2 * own + shared + 1, 200))
    assert model.mml(X) == pytest.approx(mml(likelihood, model.weights_, own, 200, shared=shared))
