"""Kohonen's, soft, generative and probabilistic maps: their identities and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax, xlogy
from tests.mixture.som.nodes import rows_of

from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.mixture import (
    GaussianMixture,
    GenerativeTopographicMap,
    KohonenMap,
    ProbabilisticMap,
    SoftTopographicMap,
)
from sidelight.mixture.som._generative import BasisWeights, SheetEM, make_basis
from sidelight.mixture.som._grid import Grid
from sidelight.mixture.som._kohonen import BatchMap
from sidelight.mixture.som._parts import FamilySettings, NumericPart
from sidelight.mixture.som._probabilistic import ProbabilisticSteps, posterior
from sidelight.mixture.som._soft import SoftQuantization, implied_mixture

X = rows_of("spherical", 120)


# ------------------------------------------------------------------ Kohonen


def test_centers_lie_within_the_rows_and_do_not_depend_on_their_order() -> None:
    for algorithm in ("batch", "online"):
        model = KohonenMap((4, 4), method=algorithm, random_state=0).fit(X)  # type: ignore[arg-type]
        assert (model.means_ >= X.min(axis=0)).all()
        assert (model.means_ <= X.max(axis=0)).all()
    one = KohonenMap((4, 4)).fit(X)
    other = KohonenMap((4, 4)).fit(X[::-1])
    np.testing.assert_allclose(one.means_, other.means_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("algorithm", ["batch", "online"])
def test_square_unfolds_without_twists(algorithm: str) -> None:
    rows = np.random.default_rng(1).uniform(size=(400, 2))
    model = KohonenMap((6, 6), method=algorithm, n_epochs=30, random_state=0).fit(rows)  # type: ignore[arg-type]
    corner = model.means_.reshape(6, 6, 2)
    across, up = np.diff(corner, axis=1)[:-1], np.diff(corner, axis=0)[:, :-1]
    orientation = across[..., 0] * up[..., 1] - across[..., 1] * up[..., 0]
    assert (np.sign(orientation) == np.sign(orientation[0, 0])).all()
    assert model.topographic_error_ < 0.05


def test_shrinking_after_convergence_ends_with_winners_that_stay() -> None:
    model = KohonenMap((3, 3), n_epochs=None, max_iter=50).fit(X)
    assert model.converged_
    with pytest.raises(SidelightError, match="number of passes"):
        KohonenMap((3, 3), method="online", n_epochs=None).fit(X)


# ------------------------------------------------------------------ soft


def test_soft_map_takes_the_temperature_that_is_given() -> None:
    model = SoftTopographicMap((3, 3), beta=0.7).fit(X)
    assert model.beta_ == 0.7
    assert model.search_["beta"][-1] == 0.7
    assert (np.diff(model.search_["beta"]) > 0).all()


# ------------------------------------------------------------------ generative


def test_generative_map_recovers_a_sheet() -> None:
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=(400, 2))
    rows = np.column_stack([t, t[:, 0] ** 2]) + 0.02 * rng.normal(size=(400, 3))
    model = GenerativeTopographicMap((10, 10)).fit(rows)
    error = np.linalg.norm(model.inverse_transform(model.transform(rows)) - rows, axis=1)
    plane = GaussianMixture(1).fit(rows).score(rows)
    assert model.score_samples(rows).mean() > plane
    assert error.mean() < 0.1


def test_numbers_of_bumps_are_those_of_the_axes() -> None:
    with pytest.raises(SidelightError, match="n_basis has 1"):
        GenerativeTopographicMap((4, 4), n_basis=(3,)).fit(X)


# ------------------------------------------------------------------ probabilistic


@pytest.mark.parametrize("component", ["spherical", "diag", "full"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_probabilistic_map_predicts_what_it_fitted(component: str, missing: float) -> None:
    rows = rows_of("full", 90, missing=missing)
    model = ProbabilisticMap((3,), covariance_type=component, cooling=1.5).fit(rows)  # type: ignore[arg-type]
    assert np.isfinite(model.embedding_).all()
    assert model.history_[-1] == model.objective_
    np.testing.assert_array_equal(model.predict(rows), model.winners_)


# --- what it is made of ---


def squares(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return ((rows[:, None] - centers) ** 2).sum(axis=2)


# ------------------------------------------------------------------ Kohonen


def test_batch_map_is_its_formula() -> None:
    nodes = Grid((3, 3))
    batch = BatchMap(as_rows(X), X.mean(axis=0), nodes, missing=False)
    means = X[:9].copy()
    for rate in (0.5, 2.0, 5.0):
        now = batch.evaluate(rate, means, None)
        winners = np.argmin(squares(X, means), axis=1)
        np.testing.assert_array_equal(now.found.winners, winners)
        assert now.objective == pytest.approx(squares(X, means).min(axis=1).mean())
        pull = np.exp(-rate * nodes.squared_distances)[winners]
        means = batch.update(now)
        np.testing.assert_allclose(means, pull.T @ X / pull.sum(axis=0)[:, None], rtol=1e-9)


def test_hard_batch_map_is_k_means_step_for_step() -> None:
    batch = BatchMap(as_rows(X), X.mean(axis=0), Grid((5,)), missing=False)
    means = X[:5].copy()
    for _ in range(8):
        labels = np.argmin(squares(X, means), axis=1)
        centers = np.array(
            [X[labels == s].mean(axis=0) if np.any(labels == s) else means[s] for s in range(5)]
        )
        means = batch.update(batch.evaluate(np.inf, means, None))
        np.testing.assert_allclose(means, centers, rtol=1e-9, atol=1e-12)


def test_batch_map_at_rate_zero_has_all_centers_at_the_mean() -> None:
    batch = BatchMap(as_rows(X), X.mean(axis=0), Grid((5,)), missing=False)
    means = batch.update(batch.evaluate(0.0, X[:5], None))
    np.testing.assert_allclose(means, np.tile(X.mean(axis=0), (5, 1)), atol=1e-12)


def test_missing_values_leave_distances_and_means_to_the_others() -> None:
    rows = rows_of("spherical", 60, missing=0.3)
    batch = BatchMap(as_rows(rows), np.nanmean(rows, axis=0), Grid((3,)), missing=True)
    means = np.nan_to_num(rows[:3])
    now = batch.evaluate(1.0, means, None)
    distances = np.nansum((rows[:, None] - means) ** 2, axis=2)
    np.testing.assert_array_equal(now.found.winners, np.argmin(distances, axis=1))
    pull = np.exp(-Grid((3,)).squared_distances)[now.found.winners]
    known = ~np.isnan(rows)
    expected = pull.T @ np.nan_to_num(rows) / (pull.T @ known)
    np.testing.assert_allclose(batch.update(now), expected, rtol=1e-9)
    for algorithm in ("batch", "online"):
        model = KohonenMap((3,), method=algorithm, random_state=0).fit(rows)  # type: ignore[arg-type]
        assert np.isfinite(model.means_).all()


def test_online_map_of_one_pass_is_its_formula() -> None:
    model = KohonenMap((4,), method="online", n_epochs=1, random_state=3).fit(X[:20])
    nodes = Grid((4,))
    start = KohonenMap((4,), method="online", n_epochs=1, random_state=3)
    rng = np.random.RandomState(3)
    from sidelight.mixture.som._grid import means_on_plane
    from sidelight.mixture.som._kohonen import _ends

    means = means_on_plane(X[:20], np.ones(20), nodes)[0]
    times = np.linspace(0, 1, 20)
    first, last = _ends(nodes, start.winner_mass)
    for number, time in zip(rng.permutation(20), times, strict=True):
        row = X[number]
        winner = np.argmin(squares(row[None], means)[0])
        rate = first ** (1 - time) * last**time
        step = 0.5 + time * (0.01 - 0.5)
        share = step * np.exp(-rate * nodes.squared_distances[winner])
        means = means + share[:, None] * (row - means)
    np.testing.assert_allclose(model.means_, means, rtol=1e-8)


# ------------------------------------------------------------------ soft


def test_soft_map_identities() -> None:
    rng = np.random.default_rng(0)
    grid = Grid((3, 2))
    shares, beta = grid.neighborhood(0.8).shares, 1.7
    origin = X.mean(axis=0)
    centers = rng.normal(size=(6, 4))
    mixture = implied_mixture(centers, shares, beta)
    rows = X - origin
    costs = 0.5 * squares(rows, centers) @ shares.T
    np.testing.assert_allclose(
        costs, 0.5 * squares(rows, mixture.means) + mixture.spreads, rtol=1e-10
    )
    steps = SoftQuantization(as_rows(X), origin, shares)
    now = steps.evaluate(beta, centers, None)
    resp = softmax(-beta * costs, axis=1)
    bound = float((-xlogy(resp, resp) - beta * resp * costs).sum())
    assert -now.objective * len(X) == pytest.approx(bound, rel=1e-10)
    # ... which is the log-likelihood of the mixture and a constant.
    density = -0.5 * beta * squares(rows, mixture.means) + 2 * np.log(beta / (2 * np.pi))
    likelihood = logsumexp(density + mixture.log_weights, axis=1).sum()
    constant = logsumexp(-beta * mixture.spreads) - 2 * np.log(beta / (2 * np.pi))
    assert bound == pytest.approx(likelihood + len(X) * constant, rel=1e-10)
    weights = resp @ shares
    np.testing.assert_allclose(
        steps.update(now), weights.T @ rows / weights.sum(axis=0)[:, None], rtol=1e-8, atol=1e-12
    )


def test_soft_map_does_not_lose_at_a_temperature() -> None:
    shares = Grid((4,)).neighborhood(1.0).shares
    steps = SoftQuantization(as_rows(X), X.mean(axis=0), shares)
    centers, last = np.random.default_rng(0).normal(size=(4, 4)), np.inf
    for _ in range(15):
        now = steps.evaluate(1.0, centers, None)
        assert now.objective <= last + 1e-10
        last, centers = now.objective, steps.update(now)


def test_cold_soft_map_without_neighbors_is_k_means() -> None:
    origin = X.mean(axis=0)
    steps = SoftQuantization(as_rows(X), origin, np.eye(3))
    centers = X[:3] - origin
    moved = steps.update(steps.evaluate(1e5, centers, None))
    labels = np.argmin(squares(X - origin, centers), axis=1)
    expected = [(X - origin)[labels == s].mean(axis=0) for s in range(3)]
    np.testing.assert_allclose(moved, expected, rtol=1e-6, atol=1e-8)


# ------------------------------------------------------------------ generative


def test_generative_map_with_a_basis_function_for_each_node_is_a_plain_mixture() -> None:
    start = X[:5]
    origin = X.mean(axis=0)
    steps = SheetEM(as_rows(X), origin, np.eye(5), alpha=0.0)
    sheet = BasisWeights(start - origin, 1.0)
    means, variance = start.copy(), 1.0
    for _ in range(6):
        now = steps.evaluate(sheet, None)
        density = -0.5 * squares(X, means) / variance - 2 * np.log(2 * np.pi * variance)
        assert -now.objective * len(X) == pytest.approx(
            float((logsumexp(density, axis=1) - np.log(5)).sum()), rel=1e-10
        )
        sheet = steps.update(now)
        resp = softmax(density, axis=1)
        means = resp.T @ X / resp.sum(axis=0)[:, None]
        variance = float((resp * squares(X, means)).sum() / X.size)
        np.testing.assert_allclose(sheet.weights + origin, means, rtol=1e-8, atol=1e-10)
        assert sheet.variance == pytest.approx(variance, rel=1e-9)


def test_generative_map_never_loses_and_its_step_solves_the_equations() -> None:
    model = GenerativeTopographicMap((6, 6), tol=0.0, max_iter=30, alpha=0.1)
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(X)
    assert (np.diff(model.history_) <= 1e-10).all()
    np.testing.assert_allclose(model.inverse_transform(model.node_positions_), model.means_)
    basis = make_basis(Grid((6, 6)), (3, 3), 1.0)(Grid((6, 6)).positions)
    steps = SheetEM(as_rows(X), X.mean(axis=0), basis, alpha=0.3)
    now = steps.evaluate(BasisWeights(np.zeros((10, 4)), 2.0), None)
    weights = steps.update(now).weights
    totals, sums = now.statistics
    gradient = basis.T @ (sums[:, :4] - totals[:, None] * (basis @ weights)) / 2.0 - 0.3 * weights
    np.testing.assert_allclose(gradient, 0, atol=1e-9)


def test_periodic_bumps_meet_at_the_seam() -> None:
    nodes = Grid((8,), periodic=True)
    basis = make_basis(nodes, (4,), 1.0)
    period = nodes.periods / nodes.scale
    places = np.linspace(-1, 1, 7)[:, None]
    np.testing.assert_allclose(basis(places), basis(places + period), atol=1e-12)


# ------------------------------------------------------------------ probabilistic


def test_probabilistic_winners_are_those_of_an_enumeration() -> None:
    rng = np.random.default_rng(0)
    stage = Grid((2, 3)).neighborhood(1.0)
    log_density = rng.normal(scale=3, size=(20, 6)) - 500.0
    winners, density, resp = posterior(log_density, stage)
    joint = logsumexp(np.log(stage.shares)[None] + log_density[:, None], axis=2)
    np.testing.assert_array_equal(winners, np.argmax(joint, axis=1))
    np.testing.assert_allclose(density, joint.max(axis=1))
    expected = softmax(np.log(stage.shares)[winners] + log_density, axis=1)
    np.testing.assert_allclose(resp, expected, rtol=1e-10)


@pytest.mark.parametrize("component", ["spherical", "diag", "full"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_probabilistic_map_does_not_lose_within_a_stage(component: str, missing: float) -> None:
    rows = rows_of("full", 90, missing=missing)
    part = NumericPart(np.arange(4), component, FamilySettings(reg_covar=0.0))
    components = part.whole(rows, np.ones(90), 3)
    inner = getattr(components, "inner", components)
    spread = inner.with_parameters(means=inner.means + np.arange(3.0)[:, None])
    components = type(components)(spread) if inner is not components else spread
    steps = ProbabilisticSteps(as_rows(rows))
    last = np.inf
    for _ in range(12):
        now = steps.evaluate(Grid((3,)).neighborhood(1.0), components, None)
        assert now.objective <= last + 1e-10
        last, components = now.objective, steps.update(now)


def test_hard_probabilistic_map_is_classification_em() -> None:
    hard = Grid((3,)).neighborhood(np.inf)
    log_density = np.random.default_rng(0).normal(size=(15, 3))
    winners, density, resp = posterior(log_density, hard)
    np.testing.assert_array_equal(winners, np.argmax(log_density, axis=1))
    np.testing.assert_allclose(density, log_density.max(axis=1))
    np.testing.assert_array_equal(resp, np.eye(3)[winners])
