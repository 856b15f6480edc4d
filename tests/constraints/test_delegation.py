"""The contracted problem, feasibility, sampling and the rest, asked of the object itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from tests.strategies import SEEDS, stated

from sidelight import Constraints
from sidelight.exceptions import InconsistentConstraints, InfeasibleConstraints, SidelightError

# ------------------------------------------------------------------------- the contracted problem


@given(stated(max_rows=8), SEEDS)
def test_weighted_means_and_scatter_replace_the_rows(s, seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(s.n, 3)) + 5, rng.random(s.n) + 0.1
    reduced = s.constraints().reduce(X, sample_weight=weight)
    center = rng.normal(size=3)
    for c in range(len(reduced.means)):
        rows = reduced.component == c
        direct = np.sum(weight[rows] * np.sum((X[rows] - center) ** 2, axis=1))
        contracted = reduced.weights[c] * np.sum((reduced.means[c] - center) ** 2)
        np.testing.assert_allclose(contracted + reduced.scatter[c], direct, rtol=1e-10)
    csr = s.constraints().reduce(sparse.csr_matrix(X), sample_weight=weight)
    np.testing.assert_allclose(csr.means.toarray(), reduced.means)
    np.testing.assert_allclose(csr.scatter, reduced.scatter, atol=1e-8)


def test_reduction_keeps_the_dtype_and_single_rows_exactly():
    known = Constraints([(0, 2)], n_samples=4)
    X = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    reduced = known.reduce(X)
    assert reduced.means.dtype == np.float32
    np.testing.assert_array_equal(reduced.means[[1, 2]], X[[1, 3]])
    assert reduced.weights.tolist() == [2.0, 1.0, 1.0]
    assert reduced.scatter[1:].tolist() == [0.0, 0.0]
    assert known.reduce(np.eye(4, dtype=int)).means.dtype == np.float64


def test_rows_without_weight_still_have_a_place():
    reduced = Constraints([(0, 1)], n_samples=3).reduce(
        np.array([[0.0], [2.0], [5.0]]), sample_weight=[0, 0, 1]
    )
    assert reduced.means.ravel().tolist() == [1.0, 5.0]
    assert reduced.weights.tolist() == [0.0, 1.0]


def test_bad_data_for_the_reduction_is_explained():
    known = Constraints(n_samples=3)
    with pytest.raises(SidelightError, match=r"3 rows but X has shape \(2, 2\)"):
        known.reduce(np.eye(2))
    with pytest.raises(SidelightError, match="sample_weight must hold 3 numbers"):
        known.reduce(np.eye(3), sample_weight=[1, -1, 1])


# ------------------------------------------------------------------------- feasibility


def test_too_few_clusters_show_a_clique_by_ids():
    ids = list("abcdef")
    apart = [(x, y) for x in "abcd" for y in "abcd" if x < y]
    known = Constraints([("a", "f")], apart, ids=ids)
    found = known.feasibility(4)
    assert found.answer == "yes"
    assert len(found.coloring) == known.closure().n_components
    clusters = found.coloring[known.components()]
    assert not known.violations(clusters)
    with pytest.raises(InfeasibleConstraints) as caught:
        known.check_feasible(3)
    message = str(caught.value)
    assert message.startswith("No 3 clusters can satisfy the cannot-links")
    assert all(repr(name) in message for name in "abcd")
    assert "pairwise apart; 4 clusters would suffice. Use more clusters" in message
    assert sorted(caught.value.clique) == [0, 1, 2, 3]
    assert caught.value.sufficient_k == 4
    assert caught.value.k == 3


def test_an_odd_cycle_is_told_in_rows():
    # Rows 0, 1 are one component; the components form a cycle of length five.
    known = Constraints([(0, 1)], [(1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], n_samples=7)
    found = known.feasibility(2)
    assert found.answer == "no"
    assert sorted(found.odd_cycle) == [0, 2, 3, 4, 5]
    with pytest.raises(InfeasibleConstraints, match="row 3"):
        known.check_feasible(2)
    assert known.check_feasible(3).answer == "yes"


def test_without_cannot_links_one_cluster_suffices():
    assert Constraints([(0, 1)], n_samples=3).feasibility(1).answer == "yes"
    assert Constraints(n_samples=3).check_feasible(1).upper == 1


def test_feasibility_of_contradictory_constraints_is_no_question():
    with pytest.raises(InconsistentConstraints):
        Constraints([(0, 1)], [(0, 1)], n_samples=2).feasibility(5)


# ------------------------------------------------------------------------- sampling and the rest


@pytest.mark.parametrize(
    "options",
    [
        {"n": 30},
        {"protocol": "level", "level": 0.5},
        {"n": 10, "protocol": "disjoint"},
        {"n": 20, "protocol": "balanced"},
        {"protocol": "chunklets", "fraction": 0.5, "size": 3},
        {"protocol": "teachers", "n_teachers": 3, "size": 6},
    ],
)
def test_drawn_constraints_agree_with_the_classes(options):
    y = np.array(["cat", "dog", "", "eel"] * 15)
    ids = [f"id {i}" for i in range(60)]
    known = Constraints.sample(y, random_state=0, ids=ids, **options)
    assert not known.is_empty
    assert known.ids.tolist() == ids
    clusters = np.unique(y, return_inverse=True)[1]
    assert not known.violations(clusters)
    stated_rows = np.concatenate([known.must_link.ravel(), known.cannot_link.ravel()])
    if known.has_groups:
        stated_rows = np.flatnonzero(known.groups >= 0)
    assert np.all(y[stated_rows] != "")  # nothing is said about rows of unknown class
    assert known == Constraints.sample(y, random_state=0, ids=ids, **options)


def test_nothing_can_be_drawn_from_nothing():
    with pytest.raises(SidelightError, match="y knows no class"):
        Constraints.sample([-1, -1, -1], 2)


def test_flipping_turns_pairs_over_and_keeps_the_rest():
    y = np.arange(40) % 4
    known = Constraints.sample(y, 50, random_state=0) | Constraints(
        labels=np.where(np.arange(40) < 4, y, -1)
    )
    flipped = known.flip(0.2, random_state=0)
    assert flipped.violations(y).n == 10
    assert flipped.n_pairs == 50
    assert known.flip(0.0, random_state=0) == known
    assert (flipped.labels == known.labels).all()
    assert known.flip(1.0).must_link.tolist() == known.cannot_link.tolist()


def test_splitting_covers_what_was_stated():
    known = Constraints.sample(np.arange(60) % 3, 40, random_state=1, ids=range(100, 160))
    train, held_out = known.split(test_size=0.25, random_state=0)
    assert held_out.n_pairs > 0
    assert (train & held_out).n_pairs == 0
    assert (train - known).is_empty
    assert (held_out - known).is_empty
    assert train.ids.tolist() == held_out.ids.tolist() == known.ids.tolist()
    folds = known.split(n_splits=3, random_state=0)
    assert len(folds) == 3


def test_quality_is_measured_on_the_data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 10 * y[:, None]
    known = Constraints.sample(y, 20, random_state=0)
    quality = known.quality(X, labels=y)
    assert quality.informativeness == 0.0  # the labels satisfy everything already
