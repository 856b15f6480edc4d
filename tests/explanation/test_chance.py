"""Probabilities under chance against all ways to draw rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

from sidelight.explanation._chance import chance_of_count, chance_of_total, holm


def populations():
    """Small columns: without ties, with ties, of two values, and with one rare value."""
    rng = np.random.default_rng(0)
    for trial in range(120):
        n = int(rng.integers(5, 14))
        values = rng.integers(0, int(rng.integers(1, n + 1)) + 1, size=n)
        if trial % 3 == 0:
            values = (rng.random(n) < rng.random()).astype(int)
        distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        if len(distinct) > 1:
            ranks = (np.cumsum(counts) - counts / 2.0) / n
            yield ranks, counts, places, int(rng.integers(1, n))


def test_totals_of_ranks_are_bounded_by_counting_all_draws():
    ratios = []
    for ranks, counts, places, m in populations():
        draws = np.array(list(itertools.combinations(range(len(places)), m)))
        totals = ranks[places[draws]].sum(axis=1)
        seen = np.unique(np.round(totals, 9))
        seen = seen[seen > m / 2.0 + 1e-6]
        if len(seen) == 0:
            continue
        exact = np.array([(totals >= total - 1e-8).mean() for total in seen])
        tiled = np.tile(ranks, (len(seen), 1)), np.tile(counts.astype(float), (len(seen), 1))
        found = chance_of_total(*tiled, seen, np.full(len(seen), float(m)))
        ratios += list(zip(exact, found, strict=True))
    exact, found = np.array(ratios).T
    assert np.all(found >= exact / 1.1)
    assert np.all(found[exact < 0.05] >= 0.999 * exact[exact < 0.05])
    # Not so careful that nothing could be found either.
    assert np.median(found[exact < 0.05] / exact[exact < 0.05]) < 3.0


def test_totals_of_many_rows_are_those_of_the_normal_distribution():
    """Without ties and with many rows the rank sum is normal with Wilcoxon's variance."""
    n, m, z = 4000, 1000, 3.0
    ranks = (np.arange(n) + 0.5) / n
    total = m / 2.0 + z * np.sqrt(m * (n - m) * (n + 1) / 12.0) / n
    found = chance_of_total(ranks[None], np.ones((1, n)), np.array([total]), np.array([float(m)]))
    assert found[0] == pytest.approx(0.00135, rel=0.03)


def test_counts_are_bounded_tightly_by_the_hypergeometric_distribution():
    rng = np.random.default_rng(1)
    n = rng.integers(2, 300, 2000)
    m, hits = (rng.integers(1, n + 1) for _ in range(2))
    x = rng.hypergeometric(hits, n - hits, m)
    exact = np.minimum(
        1.0, 2.0 * np.minimum(hypergeom.sf(x - 1, n, hits, m), hypergeom.cdf(x, n, hits, m))
    )
    found = chance_of_count(x, hits, m, n)
    assert np.all(found >= exact * (1.0 - 1e-9))
    assert np.all(found[exact < 0.01] <= 1.05 * exact[exact < 0.01])


def test_holm_is_the_smallest_level_at_which_a_step_down_rejects():
    rng = np.random.default_rng(2)
    for _ in range(50):
        chances = rng.random(int(rng.integers(1, 8))) ** 3
        more = int(rng.integers(0, 5))  # tests that failed and were not computed
        adjusted = holm(chances, len(chances) + more)
        everything = np.append(chances, np.ones(more))
        for chance, level in zip(chances, adjusted, strict=True):
            for at, rejected in ((level * 1.001, True), (level * 0.999, False)):
                if at < 1.0:
                    assert _rejected(everything, chance, at) is rejected


def _rejected(chances, chance, level):
    """Holm's procedure as it is written: compare the j-th smallest with level / (n - j)."""
    for step, one in enumerate(np.sort(chances)):
        if one > level / (len(chances) - step):
            return False
        if one >= chance:
            return True
    return True
