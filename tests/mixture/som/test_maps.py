"""Fitted maps: attributes, stages, display places, mixed tables, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import softmax, xlogy
from sklearn.exceptions import ConvergenceWarning
from tests.mixture.som.nodes import rows_of

from sidelight.exceptions import SidelightError
from sidelight.mixture import KohonenMap, SelfOrganizingMixture
from sidelight.mixture.som._base import temper
from sidelight.mixture.som._blocks import default_blocks

X = rows_of("spherical", 120)


@pytest.fixture(scope="module")
def som() -> SelfOrganizingMixture:
    return SelfOrganizingMixture((4, 4), mixing_weights="learned", component="diag").fit(X)


def test_objective_and_penalty_add_up_to_the_likelihood(som: SelfOrganizingMixture) -> None:
    likelihood = som.score_samples(X).sum()
    assert -som.objective_ * len(X) + som.neighborhood_divergence_ == pytest.approx(
        likelihood, rel=1e-9
    )
    assert som.neighborhood_divergence_ > 0
    assert som.search_["neighborhood_divergence"][-1] == som.neighborhood_divergence_
    assert som.search_["bound"][-1] == pytest.approx(-som.objective_ * len(X))
    assert (som.search_["neighborhood_divergence"] > 0).all()
    assert np.median(np.diagonal(som.neighborhood_)) == pytest.approx(0.8)


def test_history_does_not_rise_within_a_stage(som: SelfOrganizingMixture) -> None:
    assert som.search_["n_iter"].sum() == som.n_iter_ == len(som.history_)
    stages = np.split(som.history_, np.cumsum(som.search_["n_iter"])[:-1])
    assert all((np.diff(stage) <= 0).all() for stage in stages)
    ends = [stage[-1] for stage in stages]
    np.testing.assert_allclose(ends, -som.search_["bound"] / len(X))


def test_rows_get_back_their_winners_and_mean_places(som: SelfOrganizingMixture) -> None:
    np.testing.assert_array_equal(som.predict(X), som.winners_)
    resp = som.predict_proba(X)
    np.testing.assert_allclose(resp.sum(axis=1), 1)
    np.testing.assert_allclose(som.embedding_, resp @ som.node_positions_, atol=1e-12)
    np.testing.assert_array_equal(som.inverse_transform(som.node_positions_), som.means_)
    with pytest.raises(SidelightError, match="3 columns"):
        som.inverse_transform(np.zeros((1, 3)))


def test_errors_are_those_of_their_definitions() -> None:
    model = KohonenMap((4, 4)).fit(X)
    distances = np.linalg.norm(X[:, None] - model.means_, axis=2)
    assert model.quantization_error_ == pytest.approx(distances.min(axis=1).mean())
    best, second = np.argsort(distances, axis=1)[:, :2].T
    apart = np.abs(np.subtract(np.divmod(best, 4), np.divmod(second, 4))).max(axis=0) > 1
    assert model.topographic_error_ == pytest.approx(apart.mean())
    shared = SelfOrganizingMixture((4, 4)).fit(X)
    distances = np.linalg.norm(X[:, None] - shared.means_, axis=2)
    assert shared.quantization_error_ == pytest.approx(distances.min(axis=1).mean())


def test_wide_posteriors_are_shown_as_they_are(som: SelfOrganizingMixture) -> None:
    np.testing.assert_allclose(som.transform_for_display(X, entropy_bits=0.0), som.transform(X))
    spread = som.transform_for_display(X, entropy_bits=3.0)
    assert np.linalg.norm(spread, axis=1).mean() < np.linalg.norm(som.embedding_, axis=1).mean()
    with pytest.raises(SidelightError, match="entropy_bits"):
        som.transform_for_display(X, entropy_bits=-1.0)


def test_stages_reach_hard_winners() -> None:
    model = SelfOrganizingMixture((3,), winner_mass=1.0).fit(X)
    assert model.search_["rate"][-1] == np.inf
    np.testing.assert_array_equal(model.neighborhood_, np.eye(3))
    for node in range(3):
        np.testing.assert_allclose(model.means_[node], X[model.winners_ == node].mean(axis=0))


def test_restarts_keep_the_best() -> None:
    one = SelfOrganizingMixture((3, 3), init="random", random_state=0).fit(X)
    best = SelfOrganizingMixture((3, 3), init="random", n_init=4, random_state=0).fit(X)
    assert best.objective_ <= one.objective_ + 1e-7
    planar = SelfOrganizingMixture((3, 3), n_init=3, random_state=0).fit(X)
    assert planar.objective_ <= SelfOrganizingMixture((3, 3)).fit(X).objective_ + 1e-7


def test_a_last_stage_that_is_cut_off_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        SelfOrganizingMixture((3, 3), max_iter=1, tol=0.0).fit(X)


@pytest.mark.parametrize("family", ["bernoulli", "multinomial"])
def test_sparse_rows_equal_dense_rows(family: str) -> None:
    rows = rows_of(family, 60)
    dense = SelfOrganizingMixture((3,), component=family).fit(rows)  # type: ignore[arg-type]
    thin = SelfOrganizingMixture((3,), component=family).fit(sparse.csr_array(rows))  # type: ignore[arg-type]
    np.testing.assert_allclose(thin.means_, dense.means_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(
        thin.transform(sparse.csr_matrix(rows)), dense.embedding_, rtol=1e-7, atol=1e-9
    )
    assert thin.quantization_error_ == pytest.approx(dense.quantization_error_)


def test_blocks_are_columns_by_name_or_number() -> None:
    rows = rows_of("mixed", 80)
    table = pd.DataFrame(rows, columns=["size", "weight", "answer", "color"])
    named = [("full", ["size", "weight"]), ("bernoulli", "answer"), ("categorical", ["color"])]
    numbered = [("full", [0, 1]), ("bernoulli", [2]), ("categorical", [-1])]
    one = SelfOrganizingMixture((3,), component="mixed", blocks=named).fit(table)
    two = SelfOrganizingMixture((3,), component="mixed", blocks=numbered).fit(rows)
    np.testing.assert_array_equal(one.means_, two.means_)
    assert set(one.means_[:, 3]) <= set(rows[:, 3])
    assert [p.shape for p in one.category_probabilities_] == [(3, len(np.unique(rows[:, 3])))]


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([("full", [0, 1])], "in no family"),
        ([("full", [0, 1, 2, 3]), ("diag", [0])], "in several families"),
        ([("full", [0, 1, 2, 7])], "column 7"),
        ([("wishart", [0, 1, 2, 3])], "'wishart'"),
        ([("full", [0, 1, 2, 3]), ("diag", [])], "has no column"),
    ],
)
def test_blocks_that_do_not_fit_are_told(blocks: object, words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        SelfOrganizingMixture((2,), component="mixed", blocks=blocks).fit(X)  # type: ignore[arg-type]


def test_parameters_that_do_not_go_together_are_told() -> None:
    with pytest.raises(SidelightError, match="blocks belongs to component=mixed"):
        SelfOrganizingMixture((2,), blocks=[("full", [0])]).fit(X)
    with pytest.raises(SidelightError, match="n_factors=4 is not below the 4 columns"):
        SelfOrganizingMixture((2,), component="ppca", n_factors=4).fit(X)
    with pytest.raises(SidelightError, match="row 0 has"):
        SelfOrganizingMixture((2,), component="multinomial").fit(-np.abs(X))


@pytest.mark.parametrize("component", ["spherical", "diag", "full", "ppca", "bernoulli"])
def test_equal_rows_and_more_nodes_than_rows_are_mapped(component: str) -> None:
    for rows in (np.ones((6, 3)), np.arange(6.0).reshape(3, 2), np.ones((1, 3))):
        model = SelfOrganizingMixture((3, 3), component=component).fit(rows)  # type: ignore[arg-type]
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.objective_)


def test_posteriors_are_those_of_the_gaussians_of_the_attributes() -> None:
    model = SelfOrganizingMixture((3,), shared_variance=False).fit(X)
    squares = ((X[:, None] - model.means_) ** 2).sum(axis=2)
    joint = -0.5 * squares / model.covariances_ - 2 * np.log(model.covariances_)
    np.testing.assert_allclose(model.predict_proba(X), softmax(joint, axis=1), atol=1e-9)


def test_words_of_topics_on_a_ring_find_their_neighbors() -> None:
    """Words are rows, documents are answers: a map of the words (Verbeek 2004, section 4.4)."""
    rng = np.random.default_rng(0)
    place = np.sort(rng.uniform(0, 2 * np.pi, 60))
    topic = rng.uniform(0, 2 * np.pi, 800)
    near = np.exp(2 * (np.cos(place[:, None] - topic) - 1))
    words = (rng.uniform(size=near.shape) < 0.6 * near).astype(float)
    model = SelfOrganizingMixture((10,), periodic=True, component="bernoulli").fit(words)
    angle = 2 * np.pi * model.embedding_[:, 0] * model._nodes.scale / 10
    apart = np.abs(np.angle(np.exp(1j * (angle[1:] - angle[:-1]))))
    assert np.median(apart) < 0.5
    assert np.abs(np.angle(np.exp(1j * (angle[:30] - angle[30:])))).mean() > 1.5


# --- what it is made of ---


@pytest.mark.parametrize("bits", [0.5, 2.0, 3.5, 10.0])
def test_tempered_posteriors_have_the_entropy_that_was_asked_for(bits: float) -> None:
    joint = np.random.default_rng(0).normal(scale=5000, size=(30, 16))
    joint[0] = 0.0  # as wide as can be
    shares = temper(joint, bits)
    entropy = -xlogy(shares, shares).sum(axis=1) / np.log(2)
    np.testing.assert_allclose(entropy[1:], min(bits, 4.0), atol=1e-6)
    assert entropy[0] == pytest.approx(4.0)
    # A power of the posterior: logarithms are proportional.
    logs = np.log(np.maximum(shares[5], 1e-300))
    fitted = np.polyfit(joint[5] - joint[5].max(), logs - logs.max(), 1)
    assert 0 < fitted[0] <= 1 if bits < 4 else fitted[0] == pytest.approx(0, abs=1e-6)


def test_families_by_default_are_those_of_the_values() -> None:
    rows = rows_of("mixed", 80)
    assert [(f, c.tolist()) for f, c in default_blocks(rows)] == [
        ("diag", [0, 1]),
        ("categorical", [2, 3]),
    ]
    assert SelfOrganizingMixture((3,), component="mixed").fit(rows).embedding_.shape == (80, 1)
