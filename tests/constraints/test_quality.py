"""Informativeness, coherence and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale
from tests.strategies import SEEDS, pairs_and_rows

from sidelight import Constraints
from sidelight.constraints import _quality as quality
from sidelight.exceptions import SidelightError


def one_and_one(*points) -> quality.Quality:
    """A must-link between the first two points and a cannot-link between the others."""
    return Constraints([(0, 1)], [(2, 3)], n_samples=4).quality(np.array(points, dtype=float))


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Overlap of segment a with b, as a share of b, as the paper defines it."""
    length = np.linalg.norm(b[1] - b[0])
    if length == 0:
        return 0.0
    t = sorted((a - b[0]) @ (b[1] - b[0]) / length)
    return max(0.0, min(t[1], length) - max(t[0], 0.0)) / length


def brute_force(known: Constraints, X: np.ndarray) -> tuple[float, float]:
    shares = np.array(
        [
            (overlap(X[ml], X[cl]), overlap(X[cl], X[ml]))
            for ml in known.must_link
            for cl in known.cannot_link
        ]
    )
    return float(np.mean(np.all(shares <= 1e-12, axis=1))), float(shares.mean())


def test_parallel_segments_side_by_side_overlap():
    found = one_and_one([0, 0], [2, 0], [1, 1], [3, 1])
    assert (found.coherence, found.overlap) == (0.0, 0.5)
    assert one_and_one([0, 0], [2, 0], [0, 5], [2, 5]).overlap == 1.0


def test_direction_of_a_pair_does_not_matter():
    assert one_and_one([0, 0], [2, 0], [3, 1], [1, 1]).overlap == 0.5
    assert one_and_one([2, 0], [0, 0], [1, 1], [3, 1]).overlap == 0.5


def test_orthogonal_segments_do_not_overlap():
    # The cannot-link projects to one point inside the must-link: length zero.
    found = one_and_one([0, 0], [2, 0], [1, 1], [1, 4])
    assert (found.coherence, found.overlap) == (1.0, 0.0)


def test_touching_ends_do_not_overlap():
    assert one_and_one([0, 0], [1, 0], [1, 0], [2, 0]).coherence == 1.0
    assert one_and_one([0, 0], [1, 0], [5, 0], [6, 0]).coherence == 1.0


def test_segments_of_no_length_do_not_overlap():
    found = one_and_one([0, 0], [0, 0], [-1, 0], [1, 0])
    assert (found.coherence, found.overlap) == (1.0, 0.0)


@settings(max_examples=80)
@given(pairs_and_rows(), st.integers(1, 4))
def test_matrix_products_are_the_definition(case, block):
    known, X = case
    coherence, graded = brute_force(known, X)
    found = quality.measure_quality(known, X, block=block)
    assert found.coherence == pytest.approx(coherence)
    assert found.overlap == pytest.approx(graded)
    assert found.n_compared == len(known.must_link) * len(known.cannot_link)
    in_rows = known.quality(sparse.csr_matrix(X))
    assert in_rows.overlap == pytest.approx(graded)


@settings(max_examples=40)
@given(SEEDS)
def test_moved_turned_and_scaled_data_are_the_same(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    known = Constraints.sample(np.arange(20) % 2, 30, random_state=seed % 1000)
    found = known.quality(X)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    other = known.quality(X @ turn * 17.0 + rng.normal(size=3) * 100)
    assert other.coherence == pytest.approx(found.coherence)
    assert other.overlap == pytest.approx(found.overlap)


def test_roles_are_symmetric():
    X = np.random.default_rng(0).normal(size=(30, 2))
    known = Constraints.sample(np.arange(30) % 2, 60, random_state=0)
    turned = Constraints(known.cannot_link, known.must_link, n_samples=30)
    assert turned.quality(X).coherence == known.quality(X).coherence
    assert turned.quality(X).overlap == pytest.approx(known.quality(X).overlap)


def test_many_pairs_are_sampled(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 2))
    known = Constraints.sample(np.arange(100) % 2, 2000, random_state=0)
    full = known.quality(X)
    monkeypatch.setattr(quality, "_MAX_COMPARED", 300)
    some = known.quality(X)
    assert some.n_compared == 300 * 300
    assert some.overlap == pytest.approx(full.overlap, abs=0.03)


def test_informativeness_is_the_share_that_labels_violate():
    known = Constraints([(0, 1), (2, 3)], [(0, 2), (0, 3)], n_samples=5)
    X = np.eye(5)
    assert known.quality(X).informativeness is None
    assert known.quality(X, labels=[0, 0, 1, 1, 0]).informativeness == 0.0
    assert known.quality(X, labels=[0, 1, 1, 1, 0]).informativeness == 0.25
    assert known.quality(X, labels=[0, 0, 0, 0, 0]).informativeness == 0.5
    both = [[0, 0, 0, 0, 0], [0, 0, 1, 1, 0]]
    assert known.quality(X, labels=both).informativeness == 0.25


def test_coverage_and_components():
    known = Constraints([(0, 1)], [(2, 3)], labels=[-1] * 5 + [0] + [-1] * 4)
    found = known.quality(np.eye(10))
    assert found.coverage == 0.5
    assert found.n_components == 3


def test_what_is_missing_is_none():
    known = Constraints([(0, 1)], n_samples=3)
    found = known.quality(np.eye(3))
    assert (found.coherence, found.overlap, found.n_compared) == (None, None, 0)
    assert Constraints(n_samples=3).quality(np.eye(3), labels=[0, 0, 0]).informativeness is None


def test_data_of_another_size_is_refused():
    with pytest.raises(SidelightError, match="3 rows but X has 4"):
        Constraints([(0, 1)], n_samples=3).quality(np.eye(4))


@pytest.mark.parametrize(
    ("load", "coherence", "informativeness"),
    [(load_iris, (0.09, 0.21), (0.1, 0.28)), (load_wine, (0.0, 0.03), (0.01, 0.12))],
)
def test_measured_values_of_the_specification(load, coherence, informativeness):
    # 50 random pairs, standardised: iris .146 and .19, wine .007 and .05.
    X, y = load(return_X_y=True)
    X = scale(X)
    plain = KMeans(3, n_init=5, random_state=0).fit(X).labels_
    found = [Constraints.sample(y, 50, random_state=seed).quality(X, plain) for seed in range(10)]
    low, high = coherence
    assert low <= np.mean([one.coherence for one in found]) <= high
    low, high = informativeness
    assert low <= np.mean([one.informativeness for one in found]) <= high
