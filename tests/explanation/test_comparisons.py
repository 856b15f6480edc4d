"""Effects and intervals against their definitions, and against planted truths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sidelight.explanation._ranks import Z, compare_ranks, sort_values
from sidelight.explanation._shares import Shares, count_levels


def test_deltas_medians_and_means_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    for _ in range(150):
        n, k = int(rng.integers(2, 30)), int(rng.integers(1, 4))
        values = rng.integers(0, int(rng.integers(1, 12)), n).astype(float)
        codes = rng.integers(-1, k, n).astype(np.int16)
        found = compare_ranks(sort_values(values, codes, k))
        for cluster in range(k):
            x, y = values[codes == cluster], values[codes != cluster]
            assert found.sizes[cluster] == len(x)
            if len(x) == 0 or len(y) == 0:
                continue
            delta = np.sign(x[:, None] - y).mean()
            assert found.delta[cluster] == pytest.approx(delta)
            assert found.medians[cluster] == np.median(x)
            assert found.rest_medians[cluster] == np.median(y)
            assert found.means[cluster] == pytest.approx(x.mean())
            assert found.rest_means[cluster] == pytest.approx(y.mean())
            low, high = wilson(delta, x, y)
            assert found.low[cluster] == pytest.approx(low, abs=1e-9)
            assert found.high[cluster] == pytest.approx(high, abs=1e-9)
            ranks = np.array([np.mean(values < v) + np.mean(values == v) / 2.0 for v in x])
            assert found.totals[cluster] == pytest.approx(ranks.sum())


def wilson(delta, x, y):
    """The interval from the placements of every row."""
    above = ((y < x[:, None]) + 0.5 * (y == x[:, None])).mean(axis=1)
    below = ((x < y[:, None]) + 0.5 * (x == y[:, None])).mean(axis=1)
    m, r = len(x), len(y)
    variance = 4.0 * (above.var() / max(m - 1, 1) + below.var() / max(r - 1, 1))
    most = 3.0 * m * r / (m + r)
    n = most if delta**2 == 1.0 or variance == 0.0 else min((1.0 - delta**2) / variance, most)
    spread = Z**2 / n
    half = math.sqrt(spread * (1.0 - delta**2 + spread))
    return max((delta - half) / (1 + spread), -1.0), min((delta + half) / (1 + spread), 1.0)


@pytest.mark.parametrize(("m", "r", "shift"), [(10, 60, 0.5), (40, 200, 1.0), (8, 40, 2.0)])
def test_intervals_of_delta_cover_the_planted_one(m, r, shift):
    """Two normal distributions, seen through an exponential: delta is 2 Φ(shift / √2) - 1."""
    rng = np.random.default_rng(1)
    truth = math.erf(shift / 2.0)
    codes = np.repeat([0, -1], [m, r]).astype(np.int16)
    hits = 0
    for _ in range(400):
        values = np.exp(np.append(rng.normal(shift, 1.0, m), rng.normal(size=r)))
        found = compare_ranks(sort_values(values, codes, 1))
        hits += found.low[0] <= truth <= found.high[0]
    assert 0.93 <= hits / 400 <= 1.0


def test_separated_values_have_an_interval_all_the_same():
    found = compare_ranks(
        sort_values(np.arange(20.0), np.repeat([0, -1], [5, 15]).astype(np.int16), 1)
    )
    assert found.delta[0] == -1.0
    assert found.low[0] == -1.0
    assert -0.9 < found.high[0] < 0.0


def test_shares_effects_and_lifts_follow_their_formulas():
    rng = np.random.default_rng(2)
    levels, codes = rng.integers(-1, 4, 200), rng.integers(-1, 3, 200)
    shares = count_levels(levels, codes, 3, 3)  # level 3 is known but not compared
    effect, low, high = shares.effect()
    lift, lift_low, lift_high = shares.lift()
    for cluster in range(3):
        inside, rest = (
            levels[(codes == cluster) & (levels >= 0)],
            levels[(codes != cluster) & (levels >= 0)],
        )
        for level in range(3):
            p, q = np.mean(inside == level), np.mean(rest == level)
            at = cluster, level
            assert shares.share[at] == pytest.approx(p)
            assert shares.rest_share[at] == pytest.approx(q)
            h = 2 * math.asin(math.sqrt(p)) - 2 * math.asin(math.sqrt(q))
            assert effect[at] == pytest.approx(math.sin(h / 2))
            assert effect[at] == pytest.approx(math.sqrt(p * (1 - q)) - math.sqrt(q * (1 - p)))
            assert low[at] <= effect[at] <= high[at]
            assert lift[at] == pytest.approx(p / q)
            assert lift_low[at] < lift[at] < lift_high[at]


@pytest.mark.parametrize(("p", "q"), [(0.6, 0.2), (0.3, 0.02), (0.05, 0.5), (0.9, 0.85)])
def test_intervals_of_shares_cover_the_planted_ones(p, q):
    rng = np.random.default_rng(3)
    m, r, n = 60, 300, 600
    found = rng.binomial(m, p, n)
    level = found + rng.binomial(r, q, n)
    covered, n_lifts = {"effect": 0, "lift": 0}, 0
    truth = math.sqrt(p * (1 - q)) - math.sqrt(q * (1 - p))
    for x, hits in zip(found, level, strict=True):
        shares = Shares(np.array([[x]]), np.array([m]), np.array([hits]), m + r)
        _, low, high = shares.effect()
        covered["effect"] += low[0, 0] <= truth <= high[0, 0]
        _, low, high = shares.lift()
        if 0 < x < hits:  # otherwise there is no lift
            n_lifts += 1
            covered["lift"] += low[0, 0] <= p / q <= high[0, 0]
    assert covered["effect"] >= 0.93 * n
    assert n_lifts > 0.9 * n
    assert covered["lift"] >= 0.93 * n_lifts


def test_without_rows_on_one_side_there_is_no_lift():
    """5 of 5 against 0 of 100, 0 of 5 against 40 of 100, 1 of 5 against 20 of 100."""
    shares = Shares(np.array([[5, 0, 1]]), np.array([5]), np.array([5, 40, 21]), 105)
    lift, low, high = shares.lift()
    assert np.isnan(lift[0, :2]).all()
    assert np.isnan(low[0, :2]).all()
    assert np.isnan(high[0, :2]).all()
    assert lift[0, 2] == pytest.approx(1.0)
    assert low[0, 2] < 0.3  # one row of five says little
