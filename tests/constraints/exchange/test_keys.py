"""Cannot-links of records with different keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.constraints import cannot_links_from_keys
from sidelight.exceptions import SidelightError


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=12))
def test_all_pairs_with_different_keys_and_no_others(keys):
    pairs = [
        [i, j]
        for i in range(len(keys))
        for j in range(i + 1, len(keys))
        if keys[i] is not None and keys[j] is not None and keys[i] != keys[j]
    ]
    if not pairs:
        with pytest.raises(SidelightError, match="no pairs to keep apart"):
            cannot_links_from_keys(keys)
        return
    known = cannot_links_from_keys(keys)
    assert known.cannot_link.tolist() == pairs
    assert len(known.must_link) == 0
    some = cannot_links_from_keys(keys, max(1, len(pairs) // 2), random_state=0)
    assert len(some.cannot_link) == max(1, len(pairs) // 2)  # without repeats
    assert all(pair in pairs for pair in some.cannot_link.tolist())


def test_every_pair_has_the_same_chance():
    keys = ["a", "b", "b", "c", "c", "c"]
    counts = np.zeros((6, 6))
    for seed in range(2000):
        (pair,) = cannot_links_from_keys(keys, 1, random_state=seed).cannot_link
        counts[tuple(pair)] += 1
    drawn = counts[counts > 0]
    assert len(drawn) == 11
    expected = 2000 / 11
    assert np.sum((drawn - expected) ** 2 / expected) < 29.6  # chi-square, 10 degrees, 0.1 %


def test_many_records_never_form_all_pairs():
    keys = np.arange(1_000_000) // 10
    known = cannot_links_from_keys(keys, 1000, random_state=0)
    assert len(known.cannot_link) == 1000
    assert np.all(keys[known.cannot_link[:, 0]] != keys[known.cannot_link[:, 1]])
    again = cannot_links_from_keys(keys, 1000, random_state=0)
    assert known == again


def test_ids_and_wrong_numbers():
    known = cannot_links_from_keys(["x", "y", ""], ids=["r1", "r2", "r3"])
    assert known.ids.tolist() == ["r1", "r2", "r3"]
    assert known.describe_pairs(known.cannot_link) == ["'r1' - 'r2'"]
    with pytest.raises(ValueError, match="n_pairs"):
        cannot_links_from_keys(["x", "y"], 0)
