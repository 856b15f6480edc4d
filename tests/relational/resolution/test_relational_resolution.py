"""NR and NR*: brute force over companions, limits, and the closure."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from sidelight import Constraints
from sidelight._kernels.relational.resolution.hyperedges import assignment_value
from sidelight.exceptions import SidelightError
from sidelight.relational import AttributeResolution, ColumnComparison, RelationalResolution
from sidelight.relational.resolution import _relational

COMPARE = {"x0": ColumnComparison("number", scale=1.0)}


def case(n: int, m: int, seed: int) -> tuple[np.ndarray, list[list[int]]]:
    """Points, and hyper-edges that overlap; some references are in none."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 1))
    edges = [rng.permutation(n)[: rng.integers(1, min(n, 5) + 1)].tolist() for _ in range(m)]
    return X, edges


def similarity(X: np.ndarray) -> np.ndarray:
    return np.exp(-((X - X.T) ** 2) / 2)


def best_by_hand(S: np.ndarray, edges: list[list[int]], i: int, j: int) -> float:
    """Largest similarity over the members of all pairs of hyper-edges, without i and j."""
    return max(
        (
            S[r, s]
            for h in edges
            if i in h
            for g in edges
            if j in g
            for r in h
            if r not in (i, j)
            for s in g
            if s not in (i, j)
        ),
        default=0.0,
    )


def matching_by_hand(S: np.ndarray, edges: list[list[int]], i: int, j: int) -> float:
    best = 0.0
    for h in edges:
        for g in edges:
            if i not in h or j not in g:
                continue
            mine = [r for r in h if r not in (i, j)]
            theirs = [s for s in g if s not in (i, j)]
            small, large = sorted((mine, theirs), key=len)
            if small:
                value = max(
                    sum(S[a, b] for a, b in zip(small, order, strict=False))
                    for order in permutations(large, len(small))
                )
                best = max(best, value / len(large))
    return best


@pytest.mark.parametrize(
    ("hyper", "by_hand"), [("best", best_by_hand), ("matching", matching_by_hand)]
)
@given(st.integers(3, 9), st.integers(1, 6), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_similarities_by_brute_force(hyper: Any, by_hand: Any, n: int, m: int, seed: int) -> None:
    X, edges = case(n, m, seed)
    model = RelationalResolution(0.7, relational_share=0.4, hyper=hyper, compare=COMPARE)
    pairs = model.fit(X, relations=edges).pairs_
    S = similarity(X)
    expected = [by_hand(S, edges, i, j) for i, j in zip(pairs["i"], pairs["j"], strict=True)]
    np.testing.assert_allclose(pairs["relational"], expected, atol=1e-12)
    np.testing.assert_allclose(
        pairs["similarity"], 0.6 * pairs["attribute"] + 0.4 * pairs["relational"]
    )


def test_the_two_references_themselves_do_not_count() -> None:
    """Reference 2 is around 0 and nearest to 3, but the pair is 0 and 2: only 1 and 3 are left."""
    X = np.array([[0.0], [1.0], [2.0], [2.5]])
    model = RelationalResolution(compare=COMPARE).fit(X, relations=[[0, 1], [0, 2], [2, 3]])
    found = dict(
        zip(
            zip(model.pairs_["i"], model.pairs_["j"], strict=True),
            model.pairs_["relational"],
            strict=True,
        )
    )
    assert found[0, 2] == pytest.approx(np.exp(-(1.5**2) / 2))


def test_pairs_that_blocking_leaves_out_count_as_nothing() -> None:
    X, edges = case(30, 15, 3)
    blocked = RelationalResolution(compare=COMPARE, blocking=("x0:within0.5",))
    pairs = blocked.fit(X, relations=edges).pairs_
    near = np.abs(X - X.T) <= 0.5
    S = np.where(near, similarity(X), 0.0)
    expected = [best_by_hand(S, edges, i, j) for i, j in zip(pairs["i"], pairs["j"], strict=True)]
    np.testing.assert_allclose(pairs["relational"], expected, atol=1e-12)
    assert 0 < len(expected) < 30 * 29 // 2


def test_limits() -> None:
    X, edges = case(40, 20, 1)
    attributes = AttributeResolution(0.9, compare=COMPARE).fit(X, relations=edges)
    without = RelationalResolution(0.9, relational_share=0.0, compare=COMPARE).fit(
        X, relations=edges
    )
    np.testing.assert_array_equal(without.labels_, attributes.labels_)
    np.testing.assert_array_equal(without.pairs_["joined"], attributes.pairs_["joined"])
    # Without relations there is nothing to mix.
    alone = RelationalResolution(0.9, relational_share=0.5, compare=COMPARE).fit(X)
    np.testing.assert_array_equal(
        alone.labels_, AttributeResolution(0.9, compare=COMPARE).fit(X).labels_
    )
    # With hyper-edges of single references all similarities are (1 - alpha) sim_A.
    singles = [[i] for i in range(40)]
    scaled = RelationalResolution(0.45, relational_share=0.5, compare=COMPARE).fit(
        X, relations=singles
    )
    np.testing.assert_array_equal(scaled.labels_, alone.labels_)
    relations_only = RelationalResolution(0.5, relational_share=1.0, compare=COMPARE).fit(
        X, relations=edges
    )
    pairs = relations_only.pairs_
    np.testing.assert_array_equal(pairs["similarity"], pairs["relational"])


def test_threshold_above_one_leaves_singletons() -> None:
    X, edges = case(12, 6, 2)
    labels = RelationalResolution(1.01, compare=COMPARE).fit(X, relations=edges).labels_
    assert labels.tolist() == list(range(12))


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_order_of_references_does_not_matter(seed: int) -> None:
    X, edges = case(15, 8, seed)
    order = np.random.default_rng(seed).permutation(15)
    place = np.argsort(order)
    known = Constraints(cannot_link=[(0, 1), (2, 3)], n_samples=15)
    model = RelationalResolution(0.6, compare=COMPARE)
    labels = model.fit(X, relations=edges, constraints=known).labels_
    moved = [[int(place[i]) for i in edge] for edge in edges]
    again = model.fit(X[order], relations=moved, constraints=known.restrict(order)).labels_
    one, other = labels[order], again
    np.testing.assert_array_equal(one[:, None] == one, other[:, None] == other)


def test_ambiguous_names_are_told_apart_by_who_is_around_them() -> None:
    """The papers of the chapter: "C. Chen" writes with others than "C. Chen"."""
    papers = [
        ["W. Wang", "C. Chen", "A. Ansari"],
        ["W. Wang", "A. Ansari"],
        ["L. Li", "C. Chen", "W. Wang"],
        ["W. W. Wang", "A. Ansari"],
    ]
    names = [name for paper in papers for name in paper]
    of_paper = np.repeat(np.arange(4), [len(paper) for paper in papers])
    attributes = AttributeResolution(0.9).fit({"name": names})
    assert attributes.labels_.tolist() == [0, 1, 2, 0, 2, 3, 1, 0, 0, 2]
    model = RelationalResolution(0.9).fit({"name": names}, relations=of_paper)
    labels = model.labels_
    assert labels[0] == labels[3] == labels[8]
    assert labels[2] == labels[4] == labels[9]
    assert len(set(labels[[1, 5]])) == 2


# --- what it is made of ---


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_matchings_are_optimal(n: int, m: int, seed: int) -> None:
    n, m = min(n, m), max(n, m)
    gain = np.random.default_rng(seed).uniform(0, 1, (n, m)).round(1)
    rows, columns = linear_sum_assignment(gain, maximize=True)
    assert assignment_value(gain, n, m) == pytest.approx(gain[rows, columns].sum())


def test_hyperedges_that_are_too_long_are_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(_relational, "MAX_COMPANIONS", 20)
    with pytest.raises(SidelightError, match="the largest of 5 references, have 25 pairs"):
        RelationalResolution().fit(np.ones((5, 1)), relations=[1] * 5)
