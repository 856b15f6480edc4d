"""Which candidate is taken: by score where it is clear, by the middle of the good ones if not."""

from __future__ import annotations

import numpy as np
import pytest

from sidelight.evaluation.comparison._choice import PSEUDO_STATEMENTS, choose, shrink

TWO_CAMPS = np.array(
    [
        [1.0, 0.9, 0.9, 0.1],
        [0.9, 1.0, 0.8, 0.1],
        [0.9, 0.8, 1.0, 0.1],
        [0.1, 0.1, 0.1, 1.0],
    ]
)


def pick(score, error=0.05, stability=0.5, k=3, agreement=TWO_CAMPS, m=30):
    n = len(score)
    return choose(
        np.array(score, dtype=float),
        np.broadcast_to(error, n).astype(float),
        np.broadcast_to(stability, n).astype(float),
        np.broadcast_to(k, n),
        agreement[:n, :n],
        m,
    )


def test_with_many_statements_the_best_score_decides():
    assert pick([0.90, 0.91, 0.90, 0.95], error=0.001, m=5000) == 3


def test_an_outsider_that_is_ahead_by_luck_is_not_taken():
    assert pick([0.90, 0.91, 0.90, 0.92]) == 0


def test_a_candidate_more_than_one_error_behind_is_never_taken():
    assert pick([0.86, 0.93, 0.86, 0.70]) == 1
    assert pick([0.86, 0.80, 0.86, 0.95]) == 3


def test_formula():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = 6
        score, error, stability = rng.random(n), rng.random(n) / 5 + 0.05, rng.random(n)
        labels = rng.normal(size=(n, 4))
        matrix = np.corrcoef(labels)
        drawn = (30 * score + 6 * stability) / 36
        sigma = error[np.argmax(score)]
        weight = np.exp(drawn / sigma)
        expected = {
            c: sum(weight[o] * matrix[c, o] for o in range(n)) / weight.sum()
            for c in range(n)
            if score[c] >= score.max() - sigma
        }
        chosen = choose(score, error, stability, np.full(n, 3), matrix, 30)
        assert chosen == max(expected, key=expected.get)


def test_equal_candidates_the_more_stable_then_fewer_clusters_then_the_first():
    same = np.ones((3, 3))
    assert pick([0.9, 0.9, 0.9], stability=[0.5, 0.8, 0.7], agreement=same) == 1
    assert pick([0.9, 0.9, 0.9], k=[4, 3, 3], agreement=same) == 1
    assert pick([0.9, 0.9, 0.9], agreement=same) == 0


def test_without_statements_the_most_stable():
    nan = [np.nan] * 3
    assert pick(nan, error=np.nan, stability=[0.2, 0.4, 0.9], m=0) == 2
    assert pick(nan, error=np.nan, stability=[0.9, 0.4, 0.9], k=[5, 2, 3], m=0) == 2
    assert pick(nan, error=np.nan, stability=[np.nan, 0.1, np.nan], m=0) == 1


def test_stability_counts_as_six_statements():
    assert PSEUDO_STATEMENTS == 6
    assert shrink(np.array([0.8]), np.array([0.2]), 6)[0] == pytest.approx(0.5)
    assert shrink(np.array([0.8]), np.array([0.2]), 60_000)[0] == pytest.approx(0.8, abs=1e-3)
    assert shrink(np.array([0.8]), np.array([np.nan]), 6)[0] == pytest.approx(0.4)
