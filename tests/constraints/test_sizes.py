"""Bounds on sizes: what they resolve to, and what is said when they cannot be met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.constraints import SizeBounds
from sidelight.exceptions import SidelightError


def test_no_bounds() -> None:
    lower, upper = SizeBounds().resolve(3, 10)
    np.testing.assert_array_equal(lower, [0, 0, 0])
    np.testing.assert_array_equal(upper, [10, 10, 10])


def test_one_bound_or_one_per_cluster() -> None:
    lower, upper = SizeBounds(2, [5, 6, 100]).resolve(3, 12)
    np.testing.assert_array_equal(lower, [2, 2, 2])
    np.testing.assert_array_equal(upper, [5, 6, 12])


@given(n=st.integers(1, 500), k=st.integers(1, 20))
def test_one_over_k_is_balance(n: int, k: int) -> None:
    lower, upper = SizeBounds(1 / k if k > 1 else None, 1 / k if k > 1 else None).resolve(k, n)
    if k > 1:
        np.testing.assert_array_equal(lower, n // k)
        np.testing.assert_array_equal(upper, -(-n // k))
    assert lower.sum() <= n <= upper.sum()


def test_fractions_of_weights_are_not_rounded() -> None:
    lower, upper = SizeBounds(0.25, 0.5).resolve(3, 10.0, weighted=True)
    np.testing.assert_allclose(lower, 2.5)
    np.testing.assert_allclose(upper, 5.0)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (SizeBounds(40), "add up to 120, more than the 100 rows: ask for at most 33 per cluster"),
        (SizeBounds(40), "at most 2 clusters"),
        (SizeBounds(None, 30), "add up to 90, less than the 100 rows: allow at least 34 per"),
        (SizeBounds(None, 30), "at least 4 clusters"),
        (SizeBounds([50, 50, 20]), r"lower them by 20 in all"),
        (SizeBounds(None, [50, 20, 20]), r"raise them by 10 in all"),
        (SizeBounds([1, 60, 1], [90, 50, 90]), "Cluster 1 is to have at least 60 and at most 50"),
        (SizeBounds([1, 2]), r"one for each of the 3 clusters, got an array of shape \(2,\)"),
        (SizeBounds(-1), "not negative; cluster 0 has -1"),
        (SizeBounds([1, np.nan, 1]), "cluster 1 has nan"),
        (SizeBounds(2.5), "whole number of rows"),
        (SizeBounds("many"), "must be a number"),
    ],
)
def test_errors_name_what_is_possible(bounds: SizeBounds, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        bounds.resolve(3, 100)


@given(n=st.integers(1, 300), k=st.integers(1, 12), size=st.integers(1, 300))
def test_the_setting_that_an_error_names_is_the_nearest(n: int, k: int, size: int) -> None:
    def works(**bounds: Any) -> bool:
        try:
            SizeBounds(**bounds).resolve(k, n)
        except SidelightError:
            return False
        return True

    assert works(lower=size) == (size <= n // k)
    assert works(upper=size) == (size >= -(-n // k))
    if not works(lower=size):
        with pytest.raises(SidelightError, match=rf"at most {n // k} per cluster"):
            SizeBounds(lower=size).resolve(k, n)
    if not works(upper=size):
        with pytest.raises(SidelightError, match=rf"at least {-(-n // k)} per cluster"):
            SizeBounds(upper=size).resolve(k, n)


def test_rows_may_stay_outside() -> None:
    _, upper = SizeBounds(None, 10).resolve(3, 100, others_take=True)
    np.testing.assert_array_equal(upper, 10)
