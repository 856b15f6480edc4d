"""Violations against counting by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.constraints.closure import as_set
from tests.strategies import stated

from sidelight import Constraints
from sidelight.exceptions import SidelightError


def most_agreements(labels, clusters):
    """Best one-to-one match of classes to clusters by trying all."""
    classes = [c for c in set(labels) if c >= 0]
    names = [c for c in set(clusters) if c >= 0] + ["none"] * len(classes)
    best = 0
    for chosen in permutations(names, len(classes)):
        match = dict(zip(classes, chosen, strict=True))
        pairs = zip(labels, clusters, strict=True)
        best = max(best, sum(match.get(c) == k for c, k in pairs if c >= 0))
    return best


@given(stated(max_rows=8), st.data())
def test_violations_equal_counting_by_hand(s, data):
    clusters = data.draw(st.lists(st.integers(-1, 3), min_size=s.n, max_size=s.n))
    known = s.constraints()
    found = known.violations(np.array(clusters))

    def together(pair):
        i, j = pair
        return clusters[i] == clusters[j] != -1

    must_link, cannot_link = as_set(known.must_link), as_set(known.cannot_link)
    assert as_set(found.must_link) == {p for p in must_link if not together(p)}
    assert as_set(found.cannot_link) == {p for p in cannot_link if together(p)}
    labels = s.labels or [-1] * s.n
    groups = s.groups or [-1] * s.n
    n_labels = sum(c >= 0 for c in labels)
    assert len(found.labels) == n_labels - most_agreements(labels, clusters)
    assert all(labels[row] >= 0 for row in found.labels)
    outside = 0
    for g in {g for g in groups if g >= 0}:
        members = [clusters[row] for row in range(s.n) if groups[row] == g]
        inside = [members.count(c) for c in set(members) if c >= 0]
        outside += len(members) - max(inside, default=0)
    assert len(found.groups) == outside
    n_stated = len(must_link) + len(cannot_link) + n_labels + sum(g >= 0 for g in groups)
    total = len(found.must_link) + len(found.cannot_link) + len(found.labels) + len(found.groups)
    assert (found.n, found.n_stated, bool(found)) == (total, n_stated, total > 0)
    assert found.satisfied == pytest.approx(1 - total / n_stated if n_stated else 1)
    assert len(found.describe(limit=3)) == min(total, 3) + (total > 3)


@given(stated(max_rows=8), st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(s, names):
    rng = np.random.default_rng(s.n)
    clusters = rng.integers(5, size=s.n)
    known = s.constraints()
    renamed = np.array([f"cluster {name}" for name in names])[clusters]
    here, there = known.violations(clusters), known.violations(renamed)
    np.testing.assert_array_equal(here.must_link, there.must_link)
    np.testing.assert_array_equal(here.cannot_link, there.cannot_link)
    assert len(here.labels) == len(there.labels)
    assert len(here.groups) == len(there.groups)


def test_weights_are_added():
    known = Constraints(
        [(0, 1), (1, 2)],
        [(0, 2)],
        n_samples=3,
        must_link_weight=[2.0, 5.0],
        cannot_link_weight=[0.5],
    )
    found = known.violations([0, 1, 0])
    assert found.weight == 7.5
    assert found.must_link_weight.tolist() == [2.0, 5.0]
    assert known.violations([0, 0, 0]).weight == 0.5
    assert repr(found) == "Violations(n=3, n_stated=3, weight=7.5)"
    assert str(found) == "\n".join(["3 of 3 violated:", *found.describe()])


def test_sentences_name_ids_clusters_classes_and_groups():
    known = Constraints(
        [("a", "b")],
        [("b", "c")],
        ids=list("abcdefgh"),
        labels=["", "", "", "cat", "dog", "cat", "cat", "cat"],
        groups=["g", "g", "g", "", "", "", "", ""],
    )
    found = known.violations([0, 1, 1, 1, 1, 1, 0, 1])
    assert found.describe() == [
        "must-link 'a' - 'b' is violated: they are in the clusters 0 and 1.",
        "cannot-link 'b' - 'c' is violated: both are in cluster 1.",
        "'e' is labeled 'dog' but is in cluster 1; no cluster is left for 'dog'.",
        "'g' is labeled 'cat' but is in cluster 0, not in cluster 1 that stands for 'cat'.",
        "'a' of group 'g' is in cluster 0, most of the group in cluster 1.",
    ]
    assert found.describe(limit=2)[2:] == ["... and 3 more."]


def test_noise_is_together_with_nothing():
    known = Constraints([("a", "b")], [("a", "c")], ids="abc", groups=[0, 0, -1])
    found = known.violations([-1, -1, -1])
    assert found.describe() == [
        "must-link 'a' - 'b' is violated: both are in no cluster.",
        "'a' of group 0 is in no cluster.",
        "'b' of group 0 is in no cluster.",
    ]
    assert known.violations([-1, 0, 0]).describe()[0] == (
        "must-link 'a' - 'b' is violated: one is in no cluster."
    )
    assert Constraints(labels=[0, 1]).violations([-1, 5]).describe() == [
        "row 0 is labeled 0 but is in no cluster."
    ]


def test_nothing_stated_is_satisfied():
    found = Constraints(n_samples=2).violations([0, 1])
    assert not found
    assert found.satisfied == 1.0
    assert found.describe() == []


def test_many_classes_and_clusters_need_little_memory():
    n = 20_000  # a dense table of classes by clusters would take 3 GB
    labels = np.arange(n)
    assert Constraints(labels=labels).violations(labels[::-1]).n == 0


def test_labels_of_the_wrong_shape_are_explained():
    with pytest.raises(SidelightError, match=r"shape \(3,\), got shape \(2,\)"):
        Constraints(n_samples=3).violations([0, 1])
