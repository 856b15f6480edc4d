"""The closure against boolean matrix powers, and the smallest proof of a contradiction."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tests.constraints.closure import (
    apart_by_powers,
    as_set,
    distances,
    is_consistent,
    linked,
    pair_set,
    separated,
    together_by_powers,
)
from tests.strategies import stated

from sidelight import Constraints
from sidelight.constraints.algebra import _closure
from sidelight.exceptions import InconsistentConstraints, SidelightError


@given(stated())
def test_components_are_the_classes_of_the_transitive_closure(s):
    component = s.constraints().components()
    assert component.dtype == np.int64
    together = together_by_powers(s)
    np.testing.assert_array_equal(component[:, None] == component[None, :], together)
    # Numbered by smallest row, without gaps.
    first = [int(np.flatnonzero(component == c)[0]) for c in range(component.max() + 1)]
    assert first == sorted(first)


@given(stated())
def test_entailed_pairs_equal_brute_force(s):
    closure = s.constraints().closure(on_contradiction="keep")
    together = pair_set(together_by_powers(s))
    assert as_set(closure.must_link_pairs()) == together
    assert closure.n_entailed_must_link == len(together)
    # Between components only: inside one, "apart" is a contradiction.
    apart = pair_set(apart_by_powers(s) & ~together_by_powers(s))
    assert as_set(closure.cannot_link_pairs()) == apart
    assert closure.n_entailed_cannot_link == len(apart)
    assert len(closure.cannot_link_pairs()) == len(apart)


@given(stated())
def test_a_set_raises_if_and_only_if_it_is_contradictory(s):
    known = s.constraints()
    kept = known.closure(on_contradiction="keep")
    contradicted = together_by_powers(s) & separated(s)
    assert (len(kept.contradictions) == 0) == is_consistent(s)
    assert all(contradicted[i, j] for i, j in kept.contradictions)
    stated_inside = {tuple(sorted(p)) for p in s.cannot_link if contradicted[p]}
    assert as_set(kept.contradicted) == stated_inside
    if is_consistent(s):
        assert known.closure() is kept
    else:
        with pytest.raises(InconsistentConstraints):
            known.closure()


@given(stated())
def test_witness_is_a_chain_of_statements_of_minimal_length(s):
    error = s.constraints().contradiction()
    if is_consistent(s):
        assert error is None
        return
    link, apart, distance = linked(s), separated(s), distances(s)
    chain = error.chain
    assert error.pair == (chain[0], chain[-1])
    assert apart[error.pair]
    assert all(link[a, b] for a, b in pairwise(chain))
    assert len(chain) - 1 == distance[apart].min()


@given(stated())
def test_closing_the_closure_changes_nothing(s):
    closure = s.constraints().closure(on_contradiction="keep")
    again = Constraints(
        closure.must_link_pairs(), closure.cannot_link_pairs(), n_samples=s.n
    ).closure()
    np.testing.assert_array_equal(again.component, closure.component)
    np.testing.assert_array_equal(again.conflicts, closure.conflicts)


@given(stated(), st.randoms(use_true_random=False))
def test_order_and_direction_of_pairs_do_not_matter(s, random):
    def shuffled(pairs):
        turned = [pair[:: random.choice([1, -1])] for pair in pairs]
        random.shuffle(turned)
        return turned

    other = s._replace(must_link=shuffled(s.must_link), cannot_link=shuffled(s.cannot_link))
    assert other.constraints() == s.constraints()


@given(stated(), st.randoms(use_true_random=False))
def test_renaming_rows_renames_the_closure(s, random):
    to = list(range(s.n))
    random.shuffle(to)
    back = np.argsort(to)
    renamed = s._replace(
        must_link=[(to[i], to[j]) for i, j in s.must_link],
        cannot_link=[(to[i], to[j]) for i, j in s.cannot_link],
        labels=None if s.labels is None else [s.labels[i] for i in back],
        groups=None if s.groups is None else [s.groups[i] for i in back],
    )
    here = s.constraints().closure(on_contradiction="keep")
    there = renamed.constraints().closure(on_contradiction="keep")
    for pairs in ("must_link_pairs", "cannot_link_pairs"):
        moved = {tuple(sorted((to[i], to[j]))) for i, j in getattr(here, pairs)()}
        assert moved == as_set(getattr(there, pairs)())


@given(stated())
def test_parts_of_the_closure_agree_with_each_other(s):
    known = s.constraints()
    closure = known.closure(on_contradiction="keep")
    order, indptr = closure.members()
    for c in range(closure.n_components):
        rows = order[indptr[c] : indptr[c + 1]]
        np.testing.assert_array_equal(rows, np.flatnonzero(closure.component == c))
        assert closure.sizes[c] == len(rows)
        assert closure.first_row[c] == rows[0]
        classes = set() if known.labels is None else set(known.labels[rows].tolist()) - {-1}
        assert closure.component_label[c] == min(classes, default=-1)
    touched = set(np.flatnonzero(closure.sizes > 1)) | set(closure.conflicts.ravel().tolist())
    assert closure.constrained_components().tolist() == sorted(touched)
    assert np.all(closure.conflicts[:, 0] < closure.conflicts[:, 1])


def test_example_of_the_book():
    closure = Constraints([(1, 2), (2, 3)], [(3, 4)], n_samples=5).closure()
    assert as_set(closure.cannot_link_pairs()) == {(1, 4), (2, 4), (3, 4)}
    assert as_set(closure.must_link_pairs()) == {(1, 2), (1, 3), (2, 3)}


def test_a_pair_that_is_both_is_named():
    with pytest.raises(InconsistentConstraints, match="cannot-link row 1 - row 2") as caught:
        Constraints([(1, 2)], [(1, 2)], n_samples=3).closure()
    assert caught.value.pair == (1, 2)
    assert caught.value.chain == (1, 2)


def test_message_shows_the_chain_by_ids():
    known = Constraints([("a", "b"), ("b", "c"), ("c", "d")], [("a", "d")], ids=list("abcd"))
    with pytest.raises(InconsistentConstraints) as caught:
        known.closure()
    assert str(caught.value) == (
        "cannot-link 'a' - 'd' contradicts the must-links 'a' - 'b' - 'c' - 'd'; "
        "remove one of these links."
    )


def test_message_says_what_joins_rows_that_no_pair_joins():
    known = Constraints(
        [("b", "d")], [("d", "c")], ids=list("abcd"), groups=[7, 7, -1, -1], labels=list("x x ")
    )
    with pytest.raises(InconsistentConstraints) as caught:
        known.closure()
    assert str(caught.value) == (
        "cannot-link 'c' - 'd' contradicts the chain 'c' - 'a' (both labeled 'x'), "
        "'a' - 'b' (both in group 7), 'b' - 'd' (must-link); remove one of these statements."
    )


def test_two_classes_in_one_component_contradict_each_other():
    known = Constraints(
        [("a", "b"), ("b", "c")], ids=list("abcd"), labels=["cat", "", "dog", "cat"]
    )
    with pytest.raises(InconsistentConstraints) as caught:
        known.closure()
    assert str(caught.value) == (
        "The labels 'cat' of 'a' and 'dog' of 'c' contradict the must-links 'a' - 'b' - 'c'; "
        "remove one of these statements."
    )
    assert known.components().tolist() == [0, 0, 0, 0]


def test_the_shortest_of_many_contradictions_is_shown():
    # A ring of must-links with cannot-links across; only the last spans two links.
    ring = [(i, (i + 1) % 1000) for i in range(1000)]
    known = Constraints(ring, [(0, 500), (100, 300), (700, 702)], n_samples=1000)
    assert known.contradiction().chain == (700, 701, 702)


def test_conflict_weight_adds_stated_weights_and_one_per_two_classes():
    known = Constraints(
        [(0, 1)],
        [(0, 2), (1, 2), (2, 3)],
        cannot_link_weight=[2.0, 0.5, 3.0],
        labels=[5, -1, 6, -1, -1],
    )
    closure = known.closure()
    assert closure.conflicts.tolist() == [[0, 1], [1, 2]]
    assert closure.conflict_weight.tolist() == [3.5, 3.0]


def test_many_classes_are_counted_without_listing_their_conflicts():
    closure = Constraints(labels=np.arange(20_000)).closure()
    assert closure.n_entailed_cannot_link == 20_000 * 19_999 // 2
    assert len(closure.constrained_components()) == 20_000
    with pytest.raises(SidelightError, match="199,990,000 conflicts between classes"):
        _ = closure.conflicts


def test_expansion_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(_closure, "MAX_PAIRS", 5)
    closure = Constraints.from_groups([0] * 4).closure()
    assert closure.n_entailed_must_link == 6
    with pytest.raises(SidelightError, match="6 entailed must-links, too many"):
        closure.must_link_pairs()


def test_closure_agrees_with_scipy_on_a_larger_set():
    rng = np.random.default_rng(0)
    n, m = 50_000, 30_000
    known = Constraints(rng.integers(n, size=(m, 2)), n_samples=n)
    i, j = known.must_link.T
    graph = coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    count, part = connected_components(graph, directed=False)
    closure = known.closure()
    assert closure.n_components == count
    # SciPy numbers by first appearance too.
    np.testing.assert_array_equal(closure.component, part)


def test_results_cannot_be_changed():
    closure = Constraints([(0, 1)], n_samples=3).closure()
    for array in (closure.component, closure.sizes, closure.conflicts, *closure.members()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        closure.n_components = 1


def test_nothing_known_is_closed_too():
    closure = Constraints(n_samples=3).closure()
    assert closure.component.tolist() == [0, 1, 2]
    assert closure.conflicts.shape == (0, 2)
    assert closure.must_link_pairs().shape == (0, 2)
    empty = Constraints(n_samples=0).closure()
    assert empty.n_components == 0
    assert empty.n_entailed_cannot_link == 0


def test_unknown_treatment_of_contradictions_is_refused():
    with pytest.raises(ValueError, match="'raise' or 'keep'"):
        Constraints(n_samples=1).closure(on_contradiction="ignore")
