"""Constrained EM: the bound, its winners, its limits (Verbeek 2004, section 4.2.1)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax, xlogy
from tests.mixture.som.nodes import FAMILIES, make_nodes, rows_of

from sidelight.mixture import GaussianMixture, SelfOrganizingMixture
from sidelight.mixture.som._families import is_linear
from sidelight.mixture.som._grid import GridNeighborhood
from sidelight.mixture.som._steps import NodeParameters

EPISODES = np.repeat(np.arange(45), 2)


def cases() -> list[tuple[str, float, bool]]:
    plain = [(family, 0.0, grouped) for family in FAMILIES for grouped in (False, True)]
    holes = [(family, 0.25, False) for family in FAMILIES if family != "multinomial"]
    return plain + holes


@pytest.mark.parametrize(("family", "missing", "grouped"), cases())
@pytest.mark.parametrize("mode", ["shared-responsibility", "shared-label"])
def test_neither_step_lowers_the_bound(
    family: str, missing: float, grouped: bool, mode: str
) -> None:
    if mode == "shared-label" and not grouped:
        return
    nodes = make_nodes(
        rows_of(family, missing=missing),
        family,
        episodes=EPISODES if grouped else None,
        group_mode=mode,
        learn_weights=grouped,
    )
    parameters, last = nodes.parameters, -np.inf
    winners = None
    for _ in range(8):
        now = nodes.steps.e_step(parameters, nodes.stage(2.0), winners)
        assert now.bound >= last - 1e-9 * abs(now.bound)
        parameters, winners = nodes.steps.m_step(now), now.winners
        last = nodes.bound(parameters, now)
        assert last >= now.bound - 1e-9 * abs(now.bound)


@pytest.mark.parametrize("family", FAMILIES)
def test_bound_is_the_likelihood_less_the_divergences(family: str) -> None:
    nodes = make_nodes(rows_of(family), family)
    now = nodes.steps.e_step(nodes.parameters, nodes.stage(1.5))
    joint = nodes.joint()
    resp = now.neighborhood.shares[now.winners]
    log_posterior = joint - logsumexp(joint, axis=1, keepdims=True)
    divergence = float((xlogy(resp, resp) - resp * log_posterior).sum())
    likelihood = nodes.steps.log_likelihood(nodes.parameters)
    assert likelihood == pytest.approx(
        logsumexp(joint, axis=1).sum() + nodes.parameters.log_prior, rel=1e-10
    )
    assert divergence > 0
    assert likelihood - now.bound == pytest.approx(divergence, rel=1e-6)


@pytest.mark.parametrize("family", ["spherical", "full", "categorical", "mixed"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_winners_are_those_of_an_enumeration(family: str, missing: float) -> None:
    nodes = make_nodes(rows_of(family, 30, missing=missing), family, (3,), reg_covar=1e-2)
    stage = nodes.stage(0.7)
    now = nodes.steps.e_step(nodes.parameters, stage)
    joint = nodes.joint()
    for row, winner in zip(joint, now.winners, strict=True):
        values = [float(np.sum(h * (row - np.log(h)))) for h in stage.shares]
        assert values[winner] == pytest.approx(max(values), rel=1e-10)


def test_hard_winners_are_steps_of_k_means() -> None:
    rows = rows_of("spherical")
    nodes = make_nodes(rows, "spherical")
    parameters = nodes.parameters
    hard = nodes.stage(np.inf)
    centers = parameters.parts[0].means
    for _ in range(6):
        now = nodes.steps.e_step(parameters, hard)
        labels = np.argmin(((rows[:, None] - centers) ** 2).sum(axis=2), axis=1)
        np.testing.assert_array_equal(now.winners, labels)
        parameters = nodes.steps.m_step(now)
        centers = np.array(
            [
                rows[labels == s].mean(axis=0) if np.any(labels == s) else centers[s]
                for s in range(4)
            ]
        )
        np.testing.assert_allclose(parameters.parts[0].means, centers, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_at_rate_zero_all_nodes_are_the_component_of_all_rows(family: str) -> None:
    rows = rows_of(family)
    nodes = make_nodes(rows, family)
    now = nodes.steps.e_step(nodes.parameters, nodes.stage(0.0))
    parameters = nodes.steps.m_step(now)
    one = make_nodes(rows, family, (1,))
    same = nodes.joint(parameters) + np.log(4)
    # The prior of probabilities weighs four times as much against a quarter of the rows each.
    tolerance = (
        0.05 if family in ("bernoulli", "categorical", "paired", "multinomial", "mixed") else 1e-8
    )
    np.testing.assert_allclose(same, np.repeat(same[:, :1], 4, axis=1), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(same[:, :1], one.joint(), rtol=tolerance, atol=tolerance)
    if family in ("spherical", "diag", "full", "ppca"):
        bound = nodes.bound(parameters, now)
        assert bound == pytest.approx(float(one.joint().sum()), rel=1e-9)


def test_on_a_ring_winners_are_those_of_distances() -> None:
    rows = rows_of("spherical")
    for periodic, agree in ((True, True), (False, False)):
        nodes = make_nodes(rows, "spherical", (8,), periodic=periodic, rate=2.0)
        stage = nodes.stage(2.0)
        now = nodes.steps.e_step(nodes.parameters, stage)
        squares = ((rows[:, None] - nodes.parameters.parts[0].means) ** 2).sum(axis=2)
        nearest = np.argmin(squares @ stage.shares.T, axis=1)
        assert np.array_equal(nearest, now.winners) == agree


@pytest.mark.parametrize("n_candidates", [1, 2, 4])
def test_sparse_search_is_monotone_and_complete_with_all_candidates(n_candidates: int) -> None:
    rows = rows_of("full", 120)
    nodes = make_nodes(rows, "full", (2, 2))
    stage = nodes.stage(1.5)
    parameters, last = nodes.parameters, -np.inf
    first = nodes.steps.e_step(parameters, stage)
    winners = np.zeros(len(rows), dtype=np.int32)
    if n_candidates == 4:
        found = nodes.steps.e_step(parameters, stage, winners, 4)
        assert found.bound == pytest.approx(first.bound, rel=1e-12)
    for _ in range(6):
        now = nodes.steps.e_step(parameters, stage, winners, n_candidates)
        assert now.bound >= last - 1e-9 * abs(now.bound)
        parameters, winners, last = nodes.steps.m_step(now), now.winners, now.bound


def test_candidates_among_all_but_one_are_searched_one_by_one() -> None:
    """Three of four candidates and the winner so far are all four where that is the fourth."""
    rows = rows_of("full", 120)
    nodes = make_nodes(rows, "full", (2, 2))
    stage = nodes.stage(1.5)
    exact = nodes.steps.e_step(nodes.parameters, stage)
    worst = np.argmin(nodes.joint(), axis=1).astype(np.int32)
    found = nodes.steps.e_step(nodes.parameters, stage, worst, 3)
    np.testing.assert_array_equal(found.winners, exact.winners)
    assert found.bound == pytest.approx(exact.bound, rel=1e-12)


def test_sparse_search_ends_as_high_as_the_exact_one() -> None:
    rows = np.random.default_rng(1).uniform(size=(500, 2))
    exact = SelfOrganizingMixture((5, 5)).fit(rows).objective_
    sparse = SelfOrganizingMixture((5, 5), n_candidates=1).fit(rows).objective_
    constant = np.log(2 * np.pi)  # the published 1 percent is without it
    assert sparse - constant == pytest.approx(exact - constant, rel=0.01)


@pytest.mark.parametrize("family", ["spherical", "bernoulli", "mixed"])
def test_weights_count_like_repeated_rows(family: str) -> None:
    rows = rows_of(family, 40)
    weights = np.random.default_rng(0).integers(1, 4, 40)
    name = {"mixed": "mixed"}.get(family, family)
    options = {"component": name}
    if name == "mixed":
        options["blocks"] = [("spherical", [0, 1]), ("bernoulli", [2]), ("categorical", [3])]
    weighted = SelfOrganizingMixture((3,), **options).fit(rows, sample_weight=weights)
    repeated = SelfOrganizingMixture((3,), **options).fit(np.repeat(rows, weights, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-6, atol=1e-8)


# --- what it is made of ---


@pytest.mark.parametrize("family", FAMILIES)
def test_sums_by_winner_are_those_with_responsibilities(family: str) -> None:
    rows = rows_of(family)
    nodes = make_nodes(rows, family)
    now = nodes.steps.e_step(nodes.parameters, nodes.stage(1.0))
    resp = now.neighborhood.shares[now.winners]
    for part, table, found in zip(
        nodes.parameters.parts, nodes.tables, now.statistics, strict=True
    ):
        assert is_linear(part)
        features = part.features(table)
        features = features.toarray() if hasattr(features, "toarray") else features
        np.testing.assert_allclose(found[0], resp.sum(axis=0), rtol=1e-10)
        np.testing.assert_allclose(found[1], resp.T @ features, rtol=1e-8, atol=1e-9)


def test_all_distributions_instead_of_neighborhoods_give_plain_em() -> None:
    """With every posterior among the candidates each row takes its own: that is EM."""
    rows = rows_of("diag", 60)
    nodes = make_nodes(rows, "diag", (3,), learn_weights=True)
    parameters = nodes.parameters
    (start,) = parameters.parts
    steps = 5
    for _ in range(steps):
        posterior = softmax(nodes.joint(parameters), axis=1)
        entropy = -xlogy(posterior, posterior).sum(axis=1)
        now = nodes.steps.e_step(parameters, GridNeighborhood(0.0, posterior, entropy))
        np.testing.assert_array_equal(now.winners, np.arange(len(rows)))
        assert now.bound == pytest.approx(nodes.steps.log_likelihood(parameters), rel=1e-10)
        parameters = nodes.steps.m_step(now)
    with pytest.warns(UserWarning, match="did not converge"):
        model = GaussianMixture(
            3,
            covariance_type="diag",
            reg_covar=0.0,
            tol=0.0,
            max_iter=steps,
            weights_init=np.exp(nodes.parameters.log_weights),
            means_init=start.means,
            precisions_init=1 / start.covariances,
        ).fit(rows)
    np.testing.assert_allclose(parameters.parts[0].means, model.means_, rtol=1e-8)
    np.testing.assert_allclose(parameters.parts[0].covariances, model.covariances_, rtol=1e-8)
    np.testing.assert_allclose(np.exp(parameters.log_weights), model.weights_, rtol=1e-8)


def test_a_different_numbering_of_the_nodes_changes_nothing() -> None:
    rows = rows_of("spherical")
    nodes = make_nodes(rows, "spherical", (2, 3))
    order = np.random.default_rng(1).permutation(6)
    stage = nodes.stage(1.0)
    other = GridNeighborhood(1.0, stage.shares[order][:, order], stage.entropy[order])
    (part,) = nodes.parameters.parts
    moved = NodeParameters(
        (part.with_parameters(means=part.means[order], covariances=part.covariances[order]),),
        nodes.parameters.log_weights,
    )
    one = nodes.steps.e_step(nodes.parameters, stage)
    two = nodes.steps.e_step(moved, other)
    np.testing.assert_array_equal(order[two.winners], one.winners)
    assert two.bound == pytest.approx(one.bound, rel=1e-12)
