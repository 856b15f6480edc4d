"""Held-out statements never follow from the others: checked by closing everything by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.constraints.closure import apart_by_powers, together_by_powers
from tests.strategies import SEEDS, Stated, stated

from sidelight import Constraints
from sidelight.exceptions import SidelightError


def as_stated(known: Constraints) -> Stated:
    return Stated(
        known.n_samples,
        [tuple(pair) for pair in known.must_link.tolist()],
        [tuple(pair) for pair in known.cannot_link.tolist()],
        None if known.labels is None else known.labels.tolist(),
        None if known.groups is None else known.groups.tolist(),
    )


def n_statements(known: Constraints) -> int:
    labels = 0 if known.labels is None else int(np.sum(known.labels >= 0))
    groups = 0 if known.groups is None else int(np.sum(np.bincount(known.groups + 1)[1:] > 1))
    return known.n_pairs + labels + groups


def leaks(train: Constraints, held_out: Constraints) -> list[str]:
    """Held-out statements that the closure of the others entails."""
    together, apart = together_by_powers(as_stated(train)), apart_by_powers(as_stated(train))
    found = [f"must-link {i, j}" for i, j in held_out.must_link.tolist() if together[i, j]]
    found += [f"cannot-link {i, j}" for i, j in held_out.cannot_link.tolist() if apart[i, j]]
    if held_out.groups is not None:
        for group in range(held_out.groups.max() + 1):
            rows = np.flatnonzero(held_out.groups == group)
            pairs = itertools.combinations(rows.tolist(), 2)
            found += [f"group {i, j}" for i, j in pairs if together[i, j]]
    if held_out.labels is not None and train.labels is not None:
        labeled = np.flatnonzero(train.labels >= 0)
        for row in np.flatnonzero(held_out.labels >= 0).tolist():
            found += [f"label {row}"] * bool(together[row, labeled].any())
    return found


def check_split(known: Constraints, train: Constraints, held_out: Constraints) -> None:
    assert leaks(train, held_out) == []
    assert train.n_samples == held_out.n_samples == known.n_samples
    assert not train.is_empty
    assert not held_out.is_empty
    assert n_statements(train) + n_statements(held_out) == n_statements(known)
    assert train | held_out == known
    assert (train & held_out).is_empty


@settings(max_examples=80)
@given(stated(max_rows=12, max_pairs=12), st.sampled_from([0.2, 0.3, 0.5, 0.7]), SEEDS)
def test_nothing_held_out_follows_from_the_rest(s, test_size, seed):
    known = s.constraints()
    try:
        train, held_out = known.split(test_size=test_size, random_state=seed)
    except SidelightError:
        # Every statement touches every row that is taken out: only tiny or star-like sets.
        assert n_statements(known) < 2 or one_atom_touches_all(known)
        return
    check_split(known, train, held_out)


def one_atom_touches_all(known: Constraints) -> bool:
    """Whether all statements are about the rows of one group, or the same two ends."""
    components = np.arange(known.n_samples) + known.n_samples
    if known.groups is not None:
        components = np.where(known.groups >= 0, known.groups, components)
    ends = [
        frozenset(components[pair].tolist())
        for pair in [*known.must_link.tolist(), *known.cannot_link.tolist()]
    ]
    if known.labels is not None:
        ends += [frozenset([int(components[row])]) for row in np.flatnonzero(known.labels >= 0)]
    if known.groups is not None:
        ends += [frozenset([group]) for group in np.unique(known.groups[known.groups >= 0])]
    return all(len(one & other) for one, other in itertools.combinations(ends, 2))


@settings(max_examples=60)
@given(stated(max_rows=12, max_pairs=12), st.integers(2, 4), SEEDS)
def test_folds_do_not_leak_either(s, n_splits, seed):
    known = s.constraints()
    try:
        splits = known.split(n_splits=n_splits, random_state=seed)
    except SidelightError:
        assume(False)
    assert len(splits) == n_splits
    for train, held_out in splits:
        check_split(known, train, held_out)


def pairs_apart(n: int) -> Constraints:
    """Disjoint pairs, half of each kind."""
    pairs = np.arange(2 * n).reshape(n, 2)
    return Constraints(pairs[::2], pairs[1::2], n_samples=2 * n)


def test_the_share_is_met_and_both_kinds_are_held_out():
    train, held_out = pairs_apart(100).split(test_size=0.3, random_state=0)
    assert held_out.n_pairs == 30
    assert len(held_out.must_link) == 15
    assert train.n_pairs == 70


def test_disjoint_folds_part_the_statements():
    known = pairs_apart(20)
    seen: list[tuple[int, int]] = []
    for train, held_out in known.split(n_splits=5, random_state=1):
        assert held_out.n_pairs == 4
        assert leaks(train, held_out) == leaks(held_out, train) == []
        seen += map(tuple, [*held_out.must_link.tolist(), *held_out.cannot_link.tolist()])
    assert len(set(seen)) == len(seen) == 20


def test_a_chain_is_never_cut_where_whole_parts_suffice():
    chains = np.concatenate([np.array([[0, 1], [1, 2], [2, 3]]) + 4 * i for i in range(20)])
    known = Constraints(chains, n_samples=80)
    train, held_out = known.split(test_size=0.3, random_state=3)
    assert len(held_out.must_link) == 18
    assert leaks(held_out, train) == []
    assert set(train.must_link.ravel()).isdisjoint(held_out.must_link.ravel())


def test_one_large_part_is_torn_by_rows():
    # All pairs of twelve rows: any single must-link follows from the others.
    y = np.repeat([0, 1], 6)
    known = Constraints.sample(y, 66, random_state=0)
    train, held_out = known.split(test_size=0.3, random_state=0)
    check_split(known, train, held_out)
    assert held_out.n_pairs == pytest.approx(20, abs=5)


def test_a_hub_does_not_stop_the_split():
    known = Constraints(cannot_link=[(0, i) for i in range(1, 101)], n_samples=101)
    for seed in range(20):
        train, held_out = known.split(test_size=0.3, random_state=seed)
        assert held_out.n_pairs == 30
        assert train.n_pairs == 70
    assert [len(h.cannot_link) for _, h in known.split(n_splits=4, random_state=0)] == [25] * 4


def test_labels_are_held_out_in_proportion_to_their_classes():
    y = np.repeat([0, 1, 2, -1], [100, 50, 20, 30])
    known = Constraints(labels=y)
    train, held_out = known.split(test_size=0.3, random_state=0)
    counts = np.bincount(held_out.labels[held_out.labels >= 0])
    np.testing.assert_allclose(counts, [30, 15, 6], atol=1)
    assert np.all((train.labels >= 0) ^ (held_out.labels >= 0) == (y >= 0))
    assert np.all(np.where(train.labels >= 0, train.labels, held_out.labels) == y)
    for _, fold in known.split(n_splits=5, random_state=0):
        counts = np.bincount(fold.labels[fold.labels >= 0])
        np.testing.assert_allclose(counts, [20, 10, 4], atol=2)


def test_linked_labels_go_together():
    # The label of one end of a must-link would give the other's away.
    pairs = np.arange(40).reshape(20, 2)
    known = Constraints(pairs, labels=np.repeat([0, 1], 20), n_samples=40)
    train, held_out = known.split(test_size=0.3, random_state=0)
    check_split(known, train, held_out)
    assert np.array_equal(held_out.labels[pairs[:, 0]], held_out.labels[pairs[:, 1]])


def test_groups_stay_whole_and_names_and_ids_stay():
    ids = [f"r{i}" for i in range(12)]
    groups = ["a", "a", "b", "b", "c", "c", "c", "", "", "", "", "d"]
    known = Constraints(
        [("r7", "r8")],
        [("r9", "r10")],
        must_link_weight=[2.5],
        groups=groups,
        ids=ids,
    )
    train, held_out = known.split(test_size=0.4, random_state=2)
    check_split(known, train, held_out)
    assert train.ids.tolist() == held_out.ids.tolist() == ids
    for group in ("a", "b", "c"):
        rows = [i for i, name in enumerate(groups) if name == group]
        named = [
            side.group_names[side.groups[rows]].tolist()
            for side in (train, held_out)
            if side.groups is not None and side.groups[rows[0]] >= 0
        ]
        assert named == [[group] * len(rows)]
    weight = {**weights(train), **weights(held_out)}
    assert weight[(7, 8)] == 2.5


def weights(known: Constraints) -> dict[tuple[int, int], float]:
    pairs = map(tuple, known.must_link.tolist())
    return dict(zip(pairs, known.must_link_weight.tolist(), strict=True))


def test_contradictory_statements_can_be_split_for_soft_methods():
    known = Constraints([(0, 1), (1, 2), (3, 4)], [(0, 2), (4, 5)], n_samples=6)
    train, held_out = known.split(random_state=0)
    assert leaks(train, held_out) == []


def test_what_cannot_be_split_is_refused():
    with pytest.raises(SidelightError, match="0 statements: at least two"):
        Constraints(n_samples=3).split()
    with pytest.raises(SidelightError, match="1 statement: at least two"):
        Constraints([(0, 1)], n_samples=3).split()
    with pytest.raises(SidelightError, match="about the same rows"):
        Constraints([(0, 1)], labels=[-1, -1, -1], groups=[0, 0, -1]).split()
    with pytest.raises(SidelightError, match="5 splits"):
        Constraints([(0, 1), (2, 3)], n_samples=4).split(n_splits=5)
    with pytest.raises(SidelightError, match="test_size"):
        Constraints([(0, 1), (2, 3)], n_samples=4).split(test_size=1.0)
    with pytest.raises(SidelightError, match="n_splits"):
        Constraints([(0, 1), (2, 3)], n_samples=4).split(n_splits=1)


def test_the_same_seed_splits_the_same():
    known = Constraints.sample(np.arange(100) % 3, 120, random_state=0)
    assert known.split(random_state=5) == known.split(random_state=5)
    assert known.split(random_state=5) != known.split(random_state=6)


def test_a_hundred_thousand_statements():
    known = Constraints.sample(np.arange(300_000) % 4, 100_000, random_state=0)
    train, held_out = known.split(test_size=0.3, random_state=0)
    assert held_out.n_pairs == pytest.approx(30_000, rel=0.01)
    closure = train.closure()
    component = closure.component
    assert np.all(component[held_out.must_link[:, 0]] != component[held_out.must_link[:, 1]])
    n = closure.n_components
    ends = np.sort(component[held_out.cannot_link], axis=1)
    assert not np.isin(ends @ [n, 1], closure.conflicts @ [n, 1]).any()
