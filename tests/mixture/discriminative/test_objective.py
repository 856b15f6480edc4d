"""Likelihood minus violations: the definition by other means, derivatives, invariances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal
from tests.mixture.discriminative.test_violation_loss import count_by_hand

from sidelight import Constraints
from sidelight.engine import as_rows
from sidelight.mixture.discriminative._base import symmetric_inverse_root
from sidelight.mixture.discriminative._descent import (
    find_lost,
    recover_lost,
    split_component,
)
from sidelight.mixture.discriminative._factor_models import DiagonalModel, FullModel, TiedModel
from sidelight.mixture.discriminative._objective import Objective, WhiteRows, statements, violation

N, D, K = 40, 3, 3
MODELS = ("tied", "projected", "full", "diag")


def knowledge() -> Constraints:
    labels = np.full(N, -1)
    labels[[0, 1, 2, 3, 4, 5, 6]] = [0, 0, 0, 1, 1, 2, 2]
    groups = np.full(N, -1)
    groups[[15, 16, 17, 18]] = [0, 0, 1, 1]
    return Constraints(
        [(7, 8), (8, 9), (15, 30)],
        [(9, 10), (20, 32)],
        n_samples=N,
        must_link_weight=[1.0, 2.0, 0.5],
        labels=labels,
        groups=groups,
    )


def problem(kind: str, seed: int = 0) -> tuple[Objective, Any, np.ndarray, np.ndarray]:
    """An objective with everything in it, random parameters, the rows and their weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) + 20.0
    weights = rng.uniform(0.5, 1.5, size=N)
    mean = np.average(X, axis=0, weights=weights)
    covariance = np.cov(X.T, bias=True, aweights=weights) + 0.01 * np.eye(D)
    if kind == "diag":
        whitener = np.diag(1 / np.sqrt(np.diagonal(covariance)))
    else:
        whitener = symmetric_inverse_root(covariance)
    rows = WhiteRows(as_rows(X), mean, whitener, weights, statements(knowledge(), K))
    ridge = 0.01 * whitener @ whitener
    model: Any = {
        "tied": TiedModel(K, D, D, weights.sum()),
        "projected": TiedModel(K, D, 2, weights.sum()),
        "full": FullModel(K, ridge, weights.sum()),
        "diag": DiagonalModel(K, np.diagonal(ridge).copy(), weights.sum()),
    }[kind]
    beta, m, factor = model.split(model.start(rng.normal(size=(K, D))))
    theta = model.join(beta + rng.normal(size=K), m, factor + 0.2 * rng.normal(size=factor.shape))
    objective = Objective(rows, model, penalty=7.0, sharpness=1.3, inverse_temperature=0.7)
    return objective, theta, X, weights


def log_joint(objective: Objective, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
    """``log α_j p(x_i | j)`` by SciPy's normal distribution in the units of the rows."""
    rows, model = objective.rows, objective.model
    log_weights, means, factors = model.moments(theta)
    if isinstance(model, TiedModel) and model.rank < D:
        Z, centres = rows.white(X) @ factors, means
        volume = 0.5 * np.linalg.slogdet(factors.T @ factors)[1]
        return (
            log_weights
            + volume
            + np.stack(
                [multivariate_normal(c, np.eye(model.rank)).logpdf(Z) for c in centres], axis=1
            )
        )
    colourer = np.linalg.inv(rows.whitener)
    columns = []
    for j in range(K):
        factor = factors if factors.ndim == 2 and model.is_linear else factors[j]
        factor = np.diag(factor) if factor.ndim == 1 else factor
        covariance = colourer @ np.linalg.inv(factor @ factor.T) @ colourer
        centre = rows.mean + means[j] @ colourer
        columns.append(multivariate_normal(centre, (covariance + covariance.T) / 2).logpdf(X))
    return log_weights + np.stack(columns, axis=1)


@pytest.mark.parametrize("kind", MODELS)
def test_value_equals_the_definition(kind: str) -> None:
    objective, theta, X, weights = problem(kind)
    gamma = objective.inverse_temperature
    joint = log_joint(objective, theta, X)
    likelihood = weights @ logsumexp(gamma * joint, axis=1) / gamma
    violated = count_by_hand(knowledge(), joint, objective.sharpness)
    _, _, factors = objective.model.moments(theta)
    white = objective.rows.white(X)
    if kind in ("tied", "projected"):
        # The scatter of the rows is that of white rows, with what was added to the variances.
        scatter = objective.rows.total * np.eye(D) - (white * weights[:, None]).T @ white
        ridge = 0.5 * np.trace(factors.T @ scatter @ factors)
    else:
        ridges = 0.01 * objective.rows.whitener**2 if kind == "diag" else objective.model.ridge
        squares = np.array([np.diag(f) @ np.diag(f) if f.ndim == 1 else f @ f.T for f in factors])
        ridge = 0.5 * objective.rows.total / K * np.sum(ridges * squares)
    volume = 0.0 if kind == "projected" else objective.rows.log_volume
    expected = (likelihood - objective.penalty * violated - ridge) / weights.sum() - volume
    value, _ = objective.value_and_gradient(theta)
    assert -value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kind", MODELS)
def test_gradient_and_hessian_by_finite_differences(kind: str) -> None:
    objective, theta, *_ = problem(kind)
    _, gradient = objective.value_and_gradient(theta)
    hessian = objective.hessian(theta)
    step = 1e-5
    for place in range(len(theta)):
        shift = np.zeros_like(theta)
        shift[place] = step
        (above, g_above), (below, g_below) = (
            objective.value_and_gradient(theta + s * shift) for s in (1, -1)
        )
        assert gradient[place] == pytest.approx((above - below) / (2 * step), abs=1e-6, rel=1e-6)
        np.testing.assert_allclose(hessian[place], (g_above - g_below) / (2 * step), 1e-6, 1e-6)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-10)


def test_directions_in_pieces_give_the_same_products(monkeypatch: pytest.MonkeyPatch) -> None:
    objective, theta, *_ = problem("full")
    whole = objective.hessian(theta)
    monkeypatch.setattr("sidelight.mixture.discriminative._objective.DIRECTION_NUMBERS", 1)
    np.testing.assert_allclose(objective.hessian(theta), whole, rtol=1e-12, atol=1e-12)


def test_the_derivative_by_log_q_adds_up_to_one_per_row() -> None:
    objective, theta, _, weights = problem("tied")
    objective = replace(objective, inverse_temperature=1.0)
    eta, offset = objective.model.scores(theta)
    totals = objective._likelihood(eta, offset)[1].totals
    scores = objective.rows.known_rows @ eta + offset
    slope = violation(scores, objective.rows.known, objective.sharpness).slope
    assert totals.sum() - objective.penalty * slope.sum() == pytest.approx(weights.sum())
    # It is no responsibility: entries leave [0, 1] once violations are dear.
    c = softmax(scores, axis=1) - objective.penalty * slope
    assert c.min() < 0
    np.testing.assert_allclose(c.sum(axis=1), 1.0)


def natural_gradient(objective: Objective, theta: np.ndarray) -> tuple[np.ndarray, ...]:
    """Gradient by ``ν`` and the common ``Υ``, (5.24) and the collapsed (5.25) of the source."""
    eta, offset = objective.model.scores(theta)
    _, sums = objective._likelihood(eta, offset)
    loss = objective._violation(eta, offset)
    assert loss is not None
    totals, sums = objective._without(loss, sums)
    _, means, factor = objective.model.moments(theta)
    total = objective.rows.total
    sigma = np.linalg.inv(factor @ factor.T)
    by_nu = sums - totals[:, None] * means
    by_precision = 0.5 * (means.T @ (totals[:, None] * means) + total * (sigma - np.eye(D)))
    return by_nu, by_precision


def test_chain_rule_from_the_natural_parameters() -> None:
    objective, theta, *_ = problem("tied")
    by_nu, by_precision = natural_gradient(objective, theta)
    _, m, factor = objective.model.split(theta)
    of_m = by_nu @ factor
    of_factor = np.tril(2 * by_precision @ factor + by_nu.T @ m)
    _, gradient = objective.value_and_gradient(theta)
    _, g_m, g_factor = objective.model.split(-gradient * objective.rows.total)
    np.testing.assert_allclose(g_m, of_m, atol=1e-9)
    np.testing.assert_allclose(g_factor, of_factor, atol=1e-9)


def test_annealed_likelihood() -> None:
    objective, theta, X, weights = problem("full")
    gammas = (0.1, 0.5, 1.0, 3.0, 1000.0)
    plain = replace(objective, penalty=0.0)
    values = [-replace(plain, inverse_temperature=g).value_and_gradient(theta)[0] for g in gammas]
    assert np.all(np.diff(values) <= 0)  # falls with the inverse temperature
    joint = log_joint(objective, theta, X)
    ridge = objective.model.constant(theta) / weights.sum()
    sharpest = weights @ joint.max(axis=1) / weights.sum() - objective.rows.log_volume + ridge
    assert values[-1] == pytest.approx(sharpest, abs=1e-3)
    hot = replace(plain, inverse_temperature=1e-6)
    assert np.abs(hot.value_and_gradient(theta)[1]).max() < 100


def test_components_may_be_renamed() -> None:
    objective, theta, *_ = problem("full")
    model = objective.model
    beta, m, factors = model.split(theta)
    order = [2, 0, 1]
    renamed = model.join(beta[order], m[order], factors[order])
    assert objective.value_and_gradient(renamed)[0] == pytest.approx(
        objective.value_and_gradient(theta)[0]
    )


def test_a_rotation_of_the_projection_changes_nothing() -> None:
    objective, theta, *_ = problem("projected")
    model = objective.model
    beta, m, factor = model.split(theta)
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(2, 2)))[0]
    turned = model.join(beta, m @ turn, factor @ turn)
    assert objective.value_and_gradient(turned)[0] == pytest.approx(
        objective.value_and_gradient(theta)[0]
    )


def test_singular_parameters_are_infinitely_bad() -> None:
    objective, theta, *_ = problem("tied")
    beta, m, factor = objective.model.split(theta)
    factor[:, 0] = 0.0
    value, gradient = objective.value_and_gradient(objective.model.join(beta, m, factor))
    assert value == np.inf
    assert np.isfinite(gradient).all()


# ------------------------------------------------------------------ lost components


@pytest.mark.parametrize("kind", MODELS)
def test_a_coincident_component_is_found_and_used(kind: str) -> None:
    objective, theta, *_ = problem(kind)
    model = objective.model
    assert find_lost(objective, theta) is None
    assert recover_lost(objective, theta) is None
    twin = model.replace(theta, 2, 0, model.split(theta)[1][0])
    lost = find_lost(objective, twin)
    assert lost is not None
    assert lost[0] == 2
    recovered = recover_lost(objective, twin)
    assert recovered is not None
    assert find_lost(objective, recovered) is None


def test_an_empty_component_is_found() -> None:
    objective, theta, *_ = problem("tied")
    beta, m, factor = objective.model.split(theta.copy())
    beta[1] = -30.0
    lost = find_lost(objective, objective.model.join(beta, m, factor))
    assert lost is not None
    assert lost[0] == 1


def test_a_split_keeps_weight_and_centre() -> None:
    objective, theta, *_ = problem("full")
    model = objective.model
    halved = split_component(objective, theta, 1, 2)
    before, after = model.split(theta), model.split(halved)
    assert after[0][1] == after[0][2] == pytest.approx(before[0][2] - np.log(2))
    np.testing.assert_allclose((after[1][1] + after[1][2]) / 2, before[1][2])
    np.testing.assert_array_equal(after[2][1], before[2][2])


def test_scatter_of_a_component_equals_the_sum_over_rows() -> None:
    objective, theta, X, weights = problem("projected")
    joint = log_joint(objective, theta, X)
    resp = softmax(objective.inverse_temperature * joint, axis=1)[:, 1] * weights
    _, m, factor = objective.model.split(theta)
    gaps = objective.rows.white(X) @ factor - m[1]
    expected = (gaps * resp[:, None]).T @ gaps / resp.sum()
    np.testing.assert_allclose(objective.component_scatter(theta, 1), expected)
