"""The bound and its closed-form steps, by its definition and by finite differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.manifold.atlas.charted import (
    Case,
    best_responsibilities,
    bound,
    dense_log_joint,
    make_case,
    spd,
)

from sidelight.manifold.atlas._bound import ChartState, Estimates
from sidelight.manifold.atlas._charts import Charts
from sidelight.manifold.atlas._steps import Tile

RULES: dict[str, dict[str, Any]] = {
    "one view": {"widths": (4,), "masked": False},
    "views missing": {},
    "three views": {"widths": (2, 3, 2)},
    "isotropic": {"isotropic": True},
    "ridge": {"ridge": 0.3},
    "floor": {"floor": 0.05},
    "conformal": {"conformal": True, "widths": (3, 2)},
    "conformal with ridge": {"conformal": True, "widths": (4,), "masked": False, "ridge": 0.3},
}


every_rule = pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())


@every_rule
def test_objective_is_the_bound_by_its_definition(rules: dict[str, Any]) -> None:
    case = make_case(0, **rules)
    found = case.steps.e_step(case.state, free=False)
    wanted = -bound(case, case.state) / case.steps.weights.sum()
    np.testing.assert_allclose(found.objective, wanted, rtol=1e-10)


def test_estimates_stay_in_the_first_phase_and_where_they_are_clamped() -> None:
    case = make_case(2)
    clamped = np.arange(40) % 3 == 0
    steps = replace(case.steps, clamped=clamped)
    first = steps.e_step(case.state, free=False).estimates
    np.testing.assert_array_equal(first.means, case.state.estimates.means)
    second = steps.e_step(case.state, free=True).estimates
    same = np.all(second.means == case.state.estimates.means, axis=1)
    np.testing.assert_array_equal(same, clamped)


def old_m_step(
    C: np.ndarray, G: np.ndarray, S: np.ndarray, A: np.ndarray, cap: int
) -> tuple[np.ndarray, int]:
    """The iterative m-step (Verbeek 2004, 5.26-5.28) from a root ``A``; S is the diagonal S_xx."""
    inverse = np.linalg.inv(A)
    for step in range(1, cap + 1):
        loadings = C @ np.linalg.solve(G, np.linalg.inv(inverse))
        B = loadings @ inverse
        psi = S - 2 * np.sum(B * C, axis=1) + np.sum((B @ G) * B, axis=1)
        scaled = loadings / psi[:, None]
        gamma = np.eye(len(G)) + loadings.T @ scaled
        new = np.linalg.solve(gamma, (np.linalg.inv(inverse).T + scaled.T @ C) @ np.linalg.inv(G))
        old_root, inverse = np.linalg.inv(inverse), new
        if np.max(np.abs(1 - np.linalg.inv(new) / old_root)) < 1e-10:
            return np.linalg.inv(inverse), step
    return np.linalg.inv(inverse), cap


def test_closed_form_is_the_fixed_point_of_the_iterative_m_step() -> None:
    rng = np.random.default_rng(0)
    G = spd(rng, 1, 2, 1.0)[0]
    B = rng.normal(size=(5, 2))
    S = np.sum((B @ G) * B, axis=1) + rng.uniform(0.5, 1.0, 5)
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    root = np.linalg.cholesky(G) @ turn
    stays, n_steps = old_m_step(B @ G, G, S, root, 1)
    np.testing.assert_allclose(stays, root, atol=1e-10)
    assert n_steps == 1
    found, n_steps = old_m_step(B @ G, G, S, rng.normal(size=(2, 2)) + np.eye(2), 20_000)
    np.testing.assert_allclose(found @ found.T, G, atol=1e-4)
    assert n_steps > 10


# --- what it is made of ---


@every_rule
@pytest.mark.parametrize("free", [False, True])
def test_no_single_step_lowers_the_bound(rules: dict[str, Any], free: bool) -> None:
    case = make_case(1, n=25, **rules)
    state, before = case.state, -np.inf
    for _ in range(3):
        resp = best_responsibilities(case, state)
        values = [bound(case, state, resp)]
        now = case.steps.e_step(state, free=free)
        values.append(bound(case, ChartState(state.charts, now.estimates), resp))
        state = case.steps.m_step(now)
        values.append(bound(case, state, resp))
        steps = np.diff([before, *values])
        assert (steps > -1e-9 * abs(values[-1])).all()
        before = values[-1]


def test_a_tile_in_which_nobody_has_a_view_adds_nothing_to_it() -> None:
    case = make_case(2)
    charts, (means, covariances) = case.state
    rows = case.steps.source.to_memory()[:5]
    tile = Tile(charts, rows, np.array([[True, False]] * 5))
    resp, _ = tile.responsibilities(means[:5], covariances[:5])
    _, *of_views = tile.sums(resp, means[:5], covariances[:5])
    assert of_views[0][:, 0].sum() > 0
    assert all(not total.any() for total in of_views[4:])


def slope(
    case: Case, state: ChartState, resp: np.ndarray, change: Any, size: float = 1e-5
) -> float:
    """Derivative of the bound along a change of the state, responsibilities fixed."""
    ahead, back = (bound(case, change(state, sign * size), resp) for sign in (1, -1))
    return (ahead - back) / (2 * size)


def chart_change(name: str, direction: np.ndarray) -> Any:
    def change(state: ChartState, size: float) -> ChartState:
        values = getattr(state.charts, name)
        if name == "noise":  # along logarithms, so that all directions are of one size
            moved = values * np.exp(size * direction)
        elif name == "spreads":
            roots = np.linalg.cholesky(values) + size * np.tril(direction)
            moved = roots @ np.swapaxes(roots, 1, 2)
        else:
            moved = values + size * direction
        return ChartState(replace(state.charts, **{name: moved}), state.estimates)

    return change


@pytest.mark.parametrize("name", ["means", "loadings", "noise", "offsets", "spreads"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gradients_vanish_after_the_m_step(name: str, ridge: float) -> None:
    """The bound has no slope in any parameter; with the old ones it had."""
    case = make_case(3, n=30, ridge=ridge)
    resp = best_responsibilities(case, case.state)
    old = case.state
    new = case.steps.m_step(case.steps.e_step(old, free=True))
    rng = np.random.default_rng(0)
    for _ in range(3):
        direction = rng.normal(size=getattr(new.charts, name).shape)
        change = chart_change(name, direction)
        scale = abs(slope(case, ChartState(old.charts, new.estimates), resp, change))
        assert abs(slope(case, new, resp, change)) < 1e-4 * max(scale, 1.0)


def test_gradients_vanish_after_the_step_of_the_estimates() -> None:
    case = make_case(4, n=30)
    charts = case.state.charts
    resp = best_responsibilities(case, case.state)
    new = ChartState(charts, case.steps.e_step(case.state, free=True).estimates)
    rng = np.random.default_rng(0)
    shift, turn = rng.normal(size=new.estimates.means.shape), rng.normal(size=(30, 2, 2))

    def move(state: ChartState, size: float) -> ChartState:
        return ChartState(
            charts, state.estimates._replace(means=state.estimates.means + size * shift)
        )

    def widen(state: ChartState, size: float) -> ChartState:
        roots = np.linalg.cholesky(state.estimates.covariances) @ (np.eye(2) + size * turn)
        covariances = roots @ np.swapaxes(roots, 1, 2)
        return ChartState(charts, state.estimates._replace(covariances=covariances))

    for change in (move, widen):
        scale = abs(slope(case, case.state, resp, change))
        assert abs(slope(case, new, resp, change)) < 1e-5 * max(scale, 1.0)


@pytest.mark.parametrize("k", [1, 3])
def test_bound_is_below_the_likelihood_and_equal_for_one_chart(k: int) -> None:
    case = make_case(5, n=25, k=k)
    state = case.state
    for _ in range(4):
        now = case.steps.e_step(state, free=True)
        evaluated = ChartState(state.charts, now.estimates)
        likelihood = log_likelihood(case, state.charts)
        found = -case.steps.e_step(evaluated, free=False).objective * case.steps.weights.sum()
        assert found <= likelihood + 1e-9 * abs(likelihood)
        if k == 1:
            np.testing.assert_allclose(found, likelihood, rtol=1e-10)
        state = case.steps.m_step(now)


def log_likelihood(case: Case, charts: Charts) -> float:
    steps = case.steps
    ends = [np.arange(view.start, view.stop) for view in charts.views]
    total = 0.0
    for row, seen, weight in zip(steps.source.to_memory(), steps.seen, steps.weights, strict=True):
        columns = np.concatenate([ends[v] for v in np.flatnonzero(seen)])
        total += weight * float(logsumexp(dense_log_joint(charts, row, columns)))
    return total


def test_bound_does_not_depend_on_the_coordinates_of_the_map() -> None:
    """Any invertible map of the coordinates leaves the bound and its further ascent alone."""
    case = make_case(6)
    rng = np.random.default_rng(1)
    turn, shift = rng.normal(size=(2, 2)) + 2 * np.eye(2), rng.normal(size=2)
    charts, (means, covariances) = case.state
    turned = ChartState(
        replace(
            charts,
            offsets=charts.offsets @ turn.T + shift,
            spreads=turn @ charts.spreads @ turn.T,
            loadings=charts.loadings @ np.linalg.inv(turn),
        ),
        Estimates(means @ turn.T + shift, turn @ covariances @ turn.T),
    )
    state = case.state
    for _ in range(5):
        one, other = (case.steps.e_step(each, free=True) for each in (state, turned))
        np.testing.assert_allclose(other.objective, one.objective, rtol=1e-9)
        moved = one.estimates.means @ turn.T + shift
        np.testing.assert_allclose(other.estimates.means, moved, atol=1e-8)
        state, turned = case.steps.m_step(one), case.steps.m_step(other)


def test_conformal_charts_are_scaled_rotations_with_a_lower_bound_than_free_ones() -> None:
    free = make_case(7, widths=(4,), masked=False)
    rigid = replace(free.steps, rules=replace(free.steps.rules, conformal=True))
    now = free.steps.e_step(free.state, free=False)
    resp = best_responsibilities(free, free.state)
    state = rigid.m_step(now)
    for loadings, spread, noise in zip(
        state.charts.loadings, state.charts.spreads, state.charts.noise, strict=True
    ):
        inner = loadings.T @ loadings
        np.testing.assert_allclose(inner, inner[0, 0] * np.eye(2), atol=1e-12)
        np.testing.assert_allclose(spread, spread[0, 0] * np.eye(2), atol=1e-12)
        np.testing.assert_allclose(noise, noise[0])
    best = bound(free, state, resp)
    assert best <= bound(free, free.steps.m_step(now), resp)
    rng = np.random.default_rng(0)
    for _ in range(8):  # other scaled frames, close by and far away
        turns = np.linalg.qr(rng.normal(size=(3, 4, 2)))[0]
        near = np.linalg.qr(state.charts.loadings + 0.02 * rng.normal(size=(3, 4, 2)))
        sizes = np.linalg.norm(state.charts.loadings, axis=1)[:, None, :1]
        for frames in (turns, near[0] * np.sign(np.diagonal(near[1], axis1=1, axis2=2))[:, None]):
            other = replace(state.charts, loadings=frames * sizes * rng.uniform(0.9, 1.1))
            assert bound(free, ChartState(other, state.estimates), resp) <= best + 1e-9
