"""Rows that share their winner (Verbeek 2004, section 4.2.3)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, xlogy
from tests.mixture.som.nodes import make_nodes, rows_of

from sidelight import Constraints, engine
from sidelight.exceptions import UnusedKnowledge
from sidelight.mixture import SelfOrganizingMixture
from sidelight.mixture.som._steps import EpisodeRows

MODES = ["shared-responsibility", "shared-label"]


@pytest.mark.parametrize("mode", MODES)
def test_episodes_of_one_row_are_rows(mode: str) -> None:
    rows = rows_of("diag")
    plain = make_nodes(rows, "diag")
    single = make_nodes(rows, "diag", episodes=np.arange(len(rows)), group_mode=mode)
    one = plain.steps.e_step(plain.parameters, plain.stage(1.0))
    two = single.steps.e_step(plain.parameters, plain.stage(1.0))
    np.testing.assert_array_equal(one.winners, two.winners)
    assert one.bound == pytest.approx(two.bound, rel=1e-12)
    np.testing.assert_allclose(one.counts, two.counts)


def test_copies_in_an_episode_are_a_weight() -> None:
    rows = rows_of("diag", 30)
    sizes = np.random.default_rng(0).integers(1, 4, 30)
    copies = np.repeat(rows, sizes, axis=0)
    groups = Constraints.from_groups(np.repeat(np.arange(30), sizes))
    together = SelfOrganizingMixture((3,), component="diag").fit(copies, constraints=groups)
    weighted = SelfOrganizingMixture((3,), component="diag").fit(rows, sample_weight=sizes)
    assert together.objective_ == pytest.approx(weighted.objective_, rel=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_bound_of_an_episode_by_its_definition(mode: str) -> None:
    rows = rows_of("full", 40)
    episodes = np.sort(np.random.default_rng(1).integers(0, 12, 40))
    nodes = make_nodes(rows, "full", episodes=episodes, group_mode=mode, reg_covar=0.01)
    stage = nodes.stage(1.0)
    now = nodes.steps.e_step(nodes.parameters, stage)
    log_weights = nodes.parameters.log_weights
    density = nodes.joint() - log_weights
    h, entropy = stage.shares, -xlogy(stage.shares, stage.shares).sum(axis=1)
    bound = likelihood = 0.0
    for episode in np.unique(episodes):
        mine = episodes == episode
        counted = mine.sum() if mode == "shared-responsibility" else 1
        scores = h @ (density[mine].sum(axis=0) + counted * log_weights) + counted * entropy
        bound += scores.max()
        assert (now.winners[mine] == np.argmax(scores)).all()
        if mode == "shared-label":
            likelihood += logsumexp(log_weights + density[mine].sum(axis=0))
        else:
            likelihood += logsumexp(log_weights + density[mine], axis=1).sum()
    assert now.bound == pytest.approx(bound, rel=1e-10)
    found = nodes.steps.log_likelihood(nodes.parameters)
    assert found == pytest.approx(likelihood, rel=1e-10)
    assert found >= now.bound


def test_splitting_an_episode_does_not_lower_the_bound() -> None:
    rows = rows_of("diag", 60)
    whole, halves = np.repeat(np.arange(10), 6), np.repeat(np.arange(20), 3)
    nodes = make_nodes(rows, "diag", episodes=whole)
    finer = make_nodes(rows, "diag", episodes=halves)
    stage = nodes.stage(1.0)
    coarse = nodes.steps.e_step(nodes.parameters, stage).bound
    assert finer.steps.e_step(nodes.parameters, stage).bound >= coarse


@pytest.mark.parametrize("mode", MODES)
def test_must_links_and_groups_share_their_winner(mode: str) -> None:
    rows = rows_of("spherical", 90)
    rng = np.random.default_rng(2)
    order = rng.permutation(90)
    groups = np.full(90, -1)
    groups[order[10:40]] = np.arange(30) % 8
    known = Constraints([order[40:42], order[41:43]], groups=groups, n_samples=90)
    model = SelfOrganizingMixture((3, 3), group_mode=mode).fit(rows, constraints=known)  # type: ignore[arg-type]
    for group in range(8):
        assert len(set(model.winners_[groups == group])) == 1
    assert len(set(model.winners_[order[40:43]])) == 1
    assert len(set(model.winners_)) >= 3


def test_modes_differ_in_how_much_a_group_counts() -> None:
    rows = rows_of("spherical", 60)
    known = Constraints.from_groups(np.arange(60) // 3)
    one, two = (
        SelfOrganizingMixture((3,), group_mode=mode, mixing_weights="learned").fit(
            rows, constraints=known
        )
        for mode in MODES
    )
    assert one.objective_ != two.objective_


def test_classes_do_not_collapse_the_map() -> None:
    rows = rows_of("spherical", 40)
    plain = SelfOrganizingMixture((3, 3)).fit(rows)
    with pytest.warns(UnusedKnowledge, match="labels"):
        told = SelfOrganizingMixture((3, 3)).fit(rows, np.arange(40) % 2)
    np.testing.assert_array_equal(told.winners_, plain.winners_)


def test_nodes_learn_the_frequencies_of_shifted_windows() -> None:
    """The adaptive-subspace map: every node a pair of sine and cosine of one frequency."""
    rng = np.random.default_rng(0)
    frequency = np.linspace(0.2, 1.2, 4)[np.arange(80) % 4]
    phase = rng.uniform(0, 2 * np.pi, 80)
    time = np.arange(32) + np.arange(6)[:, None]
    windows = np.sin(frequency[:, None, None] * time + phase[:, None, None]).reshape(-1, 32)
    noisy = windows + 0.3 * rng.normal(size=windows.shape)
    groups = Constraints.from_groups(np.repeat(np.arange(80), 6))
    model = SelfOrganizingMixture(
        (4,), component="ppca", n_factors=2, centered=False, winner_mass=0.99
    ).fit(noisy, constraints=groups)
    assert (model.means_ == 0).all()
    winners = model.winners_.reshape(80, 6)
    np.testing.assert_array_equal(winners, np.repeat(winners[:, :1], 6, axis=1))
    assert len({tuple(set(winners[frequency == f, 0])) for f in np.unique(frequency)}) == 4
    axes = np.linalg.qr(model.loadings_)[0]
    responses = np.linalg.norm(np.einsum("kdf,nd->knf", axes, windows), axis=2)
    # The length of a window of a slow wave depends on its phase; the share of it does not.
    shares = responses[model.winners_, np.arange(len(windows))] / np.linalg.norm(windows, axis=1)
    assert np.ptp(shares.reshape(80, 6), axis=1).max() < 0.05
    assert shares.min() > 0.95


def test_any_number_of_threads_and_blocks() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 30))
    known = Constraints.from_groups(rng.integers(0, 9000, 20_000))
    found = []
    for n in (1, 2):
        with engine.threads(n):
            model = SelfOrganizingMixture((3,), cooling=3.0, max_iter=3, tol=1.0)
            found.append(model.fit(rows, constraints=known).means_)
    np.testing.assert_array_equal(*found)


# --- what it is made of ---


def test_blocks_begin_with_an_episode() -> None:
    episodes = np.sort(np.random.default_rng(0).integers(0, 3000, 20_000))
    starts = np.flatnonzero(np.append(True, np.diff(episodes) != 0))
    rows = EpisodeRows(np.zeros((20_000, 60)), starts)
    assert len(rows.blocks) > 1
    assert rows.blocks[0][0] == 0
    assert rows.blocks[-1][1] == 20_000
    assert {start for start, _ in rows.blocks} <= set(starts.tolist())
    assert all(a[1] == b[0] for a, b in zip(rows.blocks[:-1], rows.blocks[1:], strict=True))
