"""Similarity of clusters to known splits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from sidelight import KnownSplits
from sidelight.evaluation import similarity_to_splits, variation_of_information
from sidelight.exceptions import SidelightError


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_measures_are_those_of_the_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known, labels = rng.integers(0, 4, 30), rng.integers(-1, 3, 30)
    (one,) = similarity_to_splits(labels, KnownSplits({"z": known}))
    assert one.name == "z"
    assert one.variation_of_information == pytest.approx(
        variation_of_information(known, labels + 1)
    )
    assert one.nmi == pytest.approx(normalized_mutual_info_score(known, labels))
    assert 0 <= one.variation_of_information <= one.largest + 1e-9
    shared = (one.largest - one.variation_of_information) / 2
    entropy = -sum(p * np.log(p) for p in np.bincount(known) / 30 if p)
    assert one.nmi_reference == pytest.approx(shared / entropy)


def test_the_ends_of_the_scale() -> None:
    z = np.repeat([0, 1], 10)
    same, independent = similarity_to_splits(
        z, KnownSplits({"same": ["b"] * 10 + ["a"] * 10, "other": np.tile([0, 1], 10)})
    )
    assert same.variation_of_information == 0
    assert same.nmi == same.nmi_reference == 1
    assert independent.variation_of_information == pytest.approx(independent.largest)
    assert independent.nmi == pytest.approx(0)


def test_numbers_have_the_share_of_their_variance() -> None:
    values = np.array([1.0, 2.0, 5.0, 7.0])
    known = KnownSplits(numbers={"x": values, "flat": np.ones(4)})
    x, flat = similarity_to_splits([0, 0, 1, 1], known)
    between = 4 * ((np.array([1.5, 6.0]) - 3.75) ** 2).mean()
    assert x.nmi_reference == pytest.approx(between / ((values - 3.75) ** 2).sum())
    assert np.isnan(x.nmi)
    assert np.isnan(x.variation_of_information)
    assert flat.nmi_reference == 0


def test_other_rows() -> None:
    with pytest.raises(SidelightError, match="about 2 rows and the known splits about 3"):
        similarity_to_splits([0, 1], KnownSplits([0, 1, 1]))
