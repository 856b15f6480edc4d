"""CDK-Means: clusters of both sides, and what holds of them."""

from __future__ import annotations

import collections
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests.cluster.coclustering.tables import TOY, blocks
from tests.strategies import tables_with_pairs

from sidelight import Constraints
from sidelight.cluster import CDKMeans, mine_concepts
from sidelight.constraints import CrossLinks, Ordering
from sidelight.exceptions import (
    ConstraintWarning,
    InconsistentConstraints,
    InfeasibleConstraints,
    SidelightError,
    UnknownIds,
)

PRINTED = ([0, 1, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1])


def fit(table: Any, k: int = 2, seed: int = 0, **given: Any) -> CDKMeans:
    """A fit without its warnings about elements in no cluster."""
    names = ("constraints", "column_constraints", "cross_constraints", "row_order", "column_order")
    knowledge = {name: given.pop(name) for name in names if name in given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return CDKMeans(k, random_state=seed, **given).fit(table, **knowledge)


def test_printed_table_in_most_runs() -> None:
    found = collections.Counter(
        (tuple(model.labels_.tolist()), tuple(model.column_labels_.tolist()))
        for model in (fit(TOY, seed=seed, n_init=1) for seed in range(50))
    )
    assert found.most_common(1)[0][0] == (tuple(PRINTED[0]), tuple(PRINTED[1]))
    assert found.most_common(1)[0][1] >= 35


def test_blocks_are_recovered() -> None:
    table, rows, columns = blocks()
    model = fit(table, 3)
    np.testing.assert_array_equal(model.labels_, rows)
    np.testing.assert_array_equal(model.column_labels_, columns)
    assert model.objective_ == pytest.approx(0)
    assert model.n_concepts_ == 3


def dice(one: np.ndarray, other: np.ndarray) -> float:
    return 1 - 2 * np.sum(one * other) / (one.sum() + other.sum())


def test_distance_of_two_sets_is_that_of_dice() -> None:
    """With a cluster for each of two bi-sets, the third is as far as the nearer of them."""
    concepts = mine_concepts(TOY)
    rows, columns = concepts.rows().toarray(), concepts.columns().toarray()
    model = fit(TOY, k=1, max_iter=1, n_init=1, variant="published")
    # One cluster: the objective after the first assignment is the sum over a random bi-set.
    sums = [
        sum(0.5 * dice(rows[b], rows[c]) + 0.5 * dice(columns[b], columns[c]) for b in range(6))
        for c in range(6)
    ]
    assert min(abs(model.history_[0] - total) for total in sums) < 1e-12


@pytest.mark.parametrize("variant", ["default", "published"])
def test_objective_of_the_clusters_by_the_formula(variant: str) -> None:
    rng = np.random.default_rng(0)
    table = rng.random((20, 12)) < 0.3
    model = fit(table, 3, variant=variant)
    tau, gamma = model.row_weights_, model.column_weights_
    t, g = model.concepts_.rows().toarray(), model.concepts_.columns().toarray()
    covers = t.T @ g
    once = np.divide(1.0, covers, where=covers > 0, out=np.zeros(covers.shape))
    weights = np.ones(len(t)) if variant == "published" else np.sum((t @ once) * g, axis=1)
    assert variant == "published" or weights.sum() == pytest.approx(table.sum())

    def distance(sets: np.ndarray, shares: np.ndarray) -> np.ndarray:
        shared = 0.5 * (sets @ (shares > 0).T + sets @ shares.T)
        return 1 - shared / (0.5 * (sets.sum(axis=1)[:, None] + shares.sum(axis=1)))

    distances = 0.5 * (distance(t, tau) + distance(g, gamma))
    if model.converged_ and model.history_[-1] == model.objective_:
        np.testing.assert_array_equal(model.concept_labels_, distances.argmin(axis=1))
        assert model.objective_ == pytest.approx(weights @ distances.min(axis=1))
    for cluster in range(3):
        members = model.concept_labels_ == cluster
        mean = np.average(t[members], axis=0, weights=weights[members])
        np.testing.assert_allclose(tau[cluster], mean)


def test_blocks_of_few_columns_are_not_lost_to_large_ones() -> None:
    """Concepts of a large block are exponentially more; every cell counts once all the same."""
    rng = np.random.default_rng(0)
    rows, columns = np.repeat([0, 1, 2], 30), np.repeat([0, 1, 2], [14, 7, 6])
    table = rng.random((90, 27)) < np.where(rows[:, None] == columns, 0.7, 0.05)
    model = fit(table, 3, min_rows=4, min_columns=2, n_init=3)
    assert adjusted_rand_score(rows, model.labels_) > 0.9
    assert adjusted_rand_score(columns, model.column_labels_) == 1
    published = fit(table, 3, min_rows=4, min_columns=2, n_init=3, variant="published")
    assert adjusted_rand_score(rows, published.labels_) < 0.6


def test_best_iterate_is_kept() -> None:
    rng = np.random.default_rng(3)
    rose = 0
    for seed in range(20):
        model = fit(rng.random((15, 10)) < 0.4, 3, seed=seed, n_init=1)
        assert model.objective_ == model.history_.min()
        rose += bool(np.any(np.diff(model.history_) > 1e-12))
    assert rose  # the sum of distances is not monotone


def test_restarts_and_their_agreement() -> None:
    model = fit(TOY, n_init=7)
    told = model.restarts_
    assert {len(values) for values in told.values()} == {7}
    assert model.objective_ == pytest.approx(told["objective"].min())
    best = told["objective"].argmin()
    assert told["row_agreement"][best] == told["column_agreement"][best] == 1


def clear_table(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks with a little noise."""
    table, rows, columns = blocks((8, 8, 8), (6, 6, 6))
    noise = np.random.default_rng(seed).random(table.shape) < 0.04
    return np.where(noise, 1 - table, table), rows, columns


def test_order_of_rows_and_columns_does_not_matter() -> None:
    table, _, _ = clear_table()
    model = fit(table, 3, n_init=20)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(24), rng.permutation(18)
    other = fit(table[rows][:, columns], 3, n_init=20)
    assert adjusted_rand_score(model.labels_[rows], other.labels_) == 1
    assert adjusted_rand_score(model.column_labels_[columns], other.column_labels_) == 1


def test_transposition_swaps_the_sides() -> None:
    table, _, _ = clear_table()
    model, turned = fit(table, 3, n_init=20), fit(table.T, 3, n_init=20)
    assert adjusted_rand_score(model.labels_, turned.column_labels_) == 1
    assert adjusted_rand_score(model.column_labels_, turned.labels_) == 1


def test_clusters_are_numbered_along_the_rows() -> None:
    table, _, _ = clear_table()
    shuffle = np.random.default_rng(0).permutation(24)
    order = Ordering(shuffle)  # row i of the shuffled table is at place shuffle[i]
    model = fit(table[shuffle], 3, row_order=order)
    means = [np.mean(order.rank[model.labels_ == cluster]) for cluster in range(3)]
    assert means == sorted(means)


# ------------------------------------------------------------------ must-links and cannot-links


@settings(max_examples=40, deadline=None)
@given(tables_with_pairs(), st.sampled_from(["default", "published"]))
def test_pairs_hold(case, variant) -> None:
    table, rows, columns = case
    k = min(3, len(table))
    try:
        model = fit(
            table, k, constraints=rows, column_constraints=columns, variant=variant, n_init=2
        )
    except InfeasibleConstraints:  # fewer rows than classes
        assert k < 3
        return
    except SidelightError as error:
        assert "There is no solution" in str(error)  # noqa: PT017
        assert variant == "published" or len(rows.cannot_link) + len(columns.cannot_link)
        return
    for known, labels in ((rows, model.labels_), (columns, model.column_labels_)):
        for i, j in known.must_link:
            assert labels[i] == labels[j]
        for i, j in known.cannot_link:
            assert labels[i] != labels[j] or labels[i] == labels[j] == -1
    covered = np.concatenate([model.labels_, model.column_labels_]) >= 0
    lost = {*model.uncovered_rows_, *(len(table) + c for c in model.uncovered_columns_)}
    assert lost == set(np.flatnonzero(~covered))


def test_a_cannot_link_of_equal_rows() -> None:
    known = Constraints(None, [(0, 2)], n_samples=7)
    model = fit(TOY, constraints=known)
    assert model.labels_[0] != model.labels_[2]
    assert model.labels_.min() >= 0
    with pytest.raises(SidelightError, match=r"no solution.*row 0: the cannot-link with row 2"):
        fit(TOY, constraints=known, variant="published")


def test_elements_that_must_be_apart_share_no_cluster() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((30, 15)) < 0.3
    few, more = [(8, 20)], [(0, 1), (0, 2), (5, 6), (8, 20)]
    for variant, pairs in (("default", more), ("published", few)):
        known = Constraints(None, pairs, n_samples=30)
        model = fit(table, 4, constraints=known, variant=variant)
        for i, j in known.cannot_link:
            assert not np.any((model.row_weights_[:, i] > 0) & (model.row_weights_[:, j] > 0))
            assert model.labels_[i] != model.labels_[j]


def test_must_linked_rows_are_one_with_the_ones_of_half_of_them() -> None:
    """Of three rows a column counts if two have it: the bi-sets are those of the smaller table."""
    table = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]])
    known = Constraints.from_groups([0, 0, 0, -1])
    model = fit(table, constraints=known)
    assert model.labels_.tolist() == [0, 0, 0, 1]
    small = mine_concepts([[1, 0, 0, 0], [0, 1, 1, 0]])
    assert model.n_concepts_ == len(small)


def test_rows_that_share_nothing_are_linked_all_the_same() -> None:
    table, _, _ = blocks((3, 3), (3, 3))
    model = fit(table, constraints=Constraints([(0, 5)], n_samples=6))
    assert model.labels_[0] == model.labels_[5] >= 0
    published = fit(table, constraints=Constraints([(0, 5)], n_samples=6), variant="published")
    assert published.labels_.tolist() == [-1] * 6
    assert "the must-link with row 5 removed every bi-set" in published.uncovered_rows_[0]


def test_partial_labels() -> None:
    table, rows, _ = clear_table()
    labels = np.where(np.arange(24) % 4 == 0, rows, -1)
    model = fit(table, 3, constraints=Constraints.from_labels(labels))
    assert adjusted_rand_score(rows, model.labels_) == 1
    assert model.n_violations_ == 0
    assert model.cluster_names_.tolist() == ["0", "1", "2"] or list(model.cluster_names_) == [
        0,
        1,
        2,
    ]


def test_contradictions_are_told_with_their_chain() -> None:
    known = Constraints([("a", "b"), ("b", "c")], [("a", "c")], ids=list("abcdefg"))
    with pytest.raises(InconsistentConstraints, match="'a' - 'b' - 'c'"):
        fit(TOY, constraints=known)
    across = CrossLinks(must_link=[(0, 0), (1, 0)])
    apart = Constraints(None, [(0, 1)], n_samples=7)
    with pytest.raises(InconsistentConstraints, match=r"row 0.*column 0.*row 1"):
        fit(TOY, constraints=apart, cross_constraints=across)


def test_too_few_clusters() -> None:
    clique = Constraints(None, [(0, 1), (0, 2), (1, 2)], n_samples=7)
    with pytest.raises(InfeasibleConstraints, match="3 clusters would suffice"):
        fit(TOY, constraints=clique)
    columns = Constraints(None, [(0, 1), (0, 2), (1, 2)], n_samples=5)
    with pytest.raises(InfeasibleConstraints):
        fit(TOY, column_constraints=columns)


def test_blocked_bi_sets_fail_or_are_skipped() -> None:
    table = np.random.default_rng(6).random((12, 8)) < 0.4
    known = Constraints(None, [(0, 1), (2, 3)], n_samples=12)
    skipped = fit(table, constraints=known, variant="published", n_init=1, seed=1)
    assert skipped.n_skipped_ == np.count_nonzero(skipped.concept_labels_ < 0) > 0
    with pytest.raises(SidelightError, match="no cluster may take"):
        fit(table, constraints=known, variant="published", on_blocked="fail", n_init=1, seed=1)
    assert fit(table, constraints=known, on_blocked="fail").n_skipped_ == 0


# ------------------------------------------------------------------ rows and columns together


def test_links_between_a_row_and_a_column() -> None:
    names = [f"t{i + 1}" for i in range(7)]
    table = pd.DataFrame(TOY, index=names, columns=[f"g{j + 1}" for j in range(5)])
    for variant in ("default", "published"):
        apart = fit(table, cross_constraints=CrossLinks(None, [("t5", "g1")]), variant=variant)
        assert apart.labels_[4] != apart.column_labels_[0]
        joined = fit(table, cross_constraints=CrossLinks([("t7", "g5")]), variant=variant)
        assert joined.labels_[6] == joined.column_labels_[4]
        np.testing.assert_array_equal(
            joined.row_weights_[:, 6], joined.column_weights_[:, 4], strict=True
        )
    by_place = fit(table, cross_constraints=CrossLinks(None, [(4, 0)]))
    np.testing.assert_array_equal(
        by_place.labels_, fit(table, cross_constraints=CrossLinks(None, [("t5", "g1")])).labels_
    )
    with pytest.raises(UnknownIds, match="column 'g9'"):
        fit(table, cross_constraints=CrossLinks(None, [("t5", "g9")]))
    with pytest.raises(UnknownIds, match="row 7"):
        fit(TOY, cross_constraints=CrossLinks(None, [(7, 0)]))


@pytest.mark.parametrize("seed", range(6))
def test_a_true_link_over_a_zero_does_not_tear_its_ends_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    of_row, of_column = np.repeat(range(3), [5, 5, 4]), np.repeat(range(3), 4)
    same = of_row[:, None] == of_column
    table = (same != (rng.random(same.shape) < 0.1)).astype(int)
    row, column = np.argwhere(same & (table == 0))[0].tolist()
    other = int(np.flatnonzero(of_column != of_row[row])[-1])
    for apart in ([], [(row, other)]):
        known = CrossLinks(must_link=[(row, column)], cannot_link=apart)
        model = fit(table, 3, cross_constraints=known)
        assert adjusted_rand_score(of_row, model.labels_) == 1.0
        assert adjusted_rand_score(of_column, model.column_labels_) == 1.0
        assert model.labels_[row] == model.column_labels_[column]


@pytest.mark.parametrize("seed", range(60))
def test_what_can_be_satisfied_is(seed: int) -> None:
    # Statements that are true of random classes always have a solution: the classes.
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    of_row, of_column = (rng.integers(0, k, rng.integers(3, 8)) for _ in range(2))
    same = of_row[:, None] == of_column
    table = (rng.random(same.shape) < np.where(same, 0.7, 0.3)).astype(int)
    table[table.sum(axis=1) == 0, 0] = 1
    table[0, table.sum(axis=0) == 0] = 1

    def pairs(one: np.ndarray, other: np.ndarray, alike: bool) -> list[tuple[int, int]]:
        fits = (one[:, None] == other) == alike
        if one is other:
            fits = np.triu(fits, 1)
        every = rng.permutation(np.argwhere(fits))
        return [(int(i), int(j)) for i, j in every[: rng.integers(0, 3)]]

    cross = CrossLinks(pairs(of_row, of_column, True), pairs(of_row, of_column, False))
    sides = [
        Constraints(pairs(one, one, True), pairs(one, one, False), n_samples=len(one))
        for one in (of_row, of_column)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstraintWarning)  # no row or column without a cluster
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CDKMeans(k, n_init=3, random_state=0).fit(
            table, constraints=sides[0], column_constraints=sides[1], cross_constraints=cross
        )
    assert model.n_violations_ == model.n_column_violations_ == 0
    for links, alike in ((cross.must_link, True), (cross.cannot_link, False)):
        for row, column in links:
            assert (model.labels_[int(row)] == model.column_labels_[int(column)]) == alike


def test_column_constraints_follow_names() -> None:
    table = pd.DataFrame(TOY, columns=list("vwxyz"))
    known = Constraints([("z", "v")], ids=list("zyxwv"))
    model = fit(table, column_constraints=known)
    assert model.column_labels_[0] == model.column_labels_[4]
    assert model.n_column_violations_ == 0
    with pytest.raises(SidelightError, match="about 3 columns but X has 5"):
        fit(table, column_constraints=Constraints(n_samples=3))


# ------------------------------------------------------------------ orders


def test_intervals_of_rows() -> None:
    times = np.arange(30)
    start = np.arange(0, 30, 2)
    table = ((times[:, None] - start) % 30 < 8).astype(int)
    table = table | (np.random.default_rng(0).random(table.shape) < 0.05)
    model = fit(table, 3, row_order=Ordering(times, max_gap=1, circular=True))
    for rows, _ in model.concepts_:
        assert Ordering(times, max_gap=1, circular=True).admits(rows)
    plain = fit(table, 3)
    assert model.n_concepts_ < plain.n_concepts_


def test_loose_orders_change_nothing() -> None:
    plain = fit(TOY)
    for order in (Ordering(range(7), max_gap=7), Ordering(range(7), min_gap=0), Ordering(range(7))):
        model = fit(TOY, row_order=order)
        assert model.n_concepts_ == plain.n_concepts_
        np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_the_order_is_named_where_it_leaves_nothing() -> None:
    with pytest.warns(ConstraintWarning, match="order of the rows"):
        model = CDKMeans(1, random_state=0).fit(TOY, row_order=Ordering(range(7), max_gap=0))
    assert set(model.uncovered_rows_) == {0, 1, 2, 3, 5, 6}
    assert "at most 0 elements in a gap" in model.uncovered_rows_[0]
    with pytest.raises(SidelightError, match=r"no solution.*row 0: .*order of the rows"):
        fit(
            TOY,
            row_order=Ordering(range(7), max_gap=0),
            constraints=Constraints(None, [(0, 4)], n_samples=7),
        )


def test_orders_follow_names_and_are_checked() -> None:
    table = pd.DataFrame(TOY, columns=list("vwxyz"))
    scores = pd.Series(range(5), index=list("zyxwv"))
    one = fit(table, column_order=Ordering(scores, max_gap=0))
    other = fit(table, column_order=Ordering([4, 3, 2, 1, 0], max_gap=0))
    np.testing.assert_array_equal(one.column_labels_, other.column_labels_)
    with pytest.raises(SidelightError, match="3 scores but the table has 7 rows"):
        fit(TOY, row_order=Ordering(range(3)))
    with pytest.raises(TypeError, match="Ordering"):
        fit(TOY, row_order=[1, 2, 3])


# ------------------------------------------------------------------ tables, sizes, new rows


def test_minimum_sizes_name_themselves() -> None:
    model = fit(TOY, min_rows=4)
    assert model.n_concepts_ == 1
    assert set(model.uncovered_rows_) == {0, 2, 3}
    assert "min_rows" in model.uncovered_rows_[0]


def test_empty_rows_and_columns() -> None:
    table = np.pad(TOY, ((0, 1), (0, 1)))
    model = fit(table)
    assert model.labels_[-1] == model.column_labels_[-1] == -1
    assert model.uncovered_rows_ == {7: "it has no ones"}
    nothing = fit(np.zeros((3, 3)))
    assert nothing.labels_.tolist() == [-1] * 3
    with pytest.warns(ConvergenceWarning, match="0 bi-sets for 2 clusters"):
        CDKMeans(2).fit(np.zeros((3, 3)))


def test_overlap() -> None:
    plain, wide, all_with_weight = (fit(TOY, overlap=share) for share in (None, 0.3, 0.0))
    one_hot = plain.labels_[:, None] == np.arange(2)
    np.testing.assert_array_equal(plain.row_memberships_, one_hot)
    assert np.all(wide.row_memberships_ >= one_hot)
    assert np.all(all_with_weight.row_memberships_ >= wide.row_memberships_)
    np.testing.assert_array_equal(
        all_with_weight.column_memberships_, all_with_weight.column_weights_.T > 0
    )
    assert all_with_weight.row_memberships_[4].sum() == 2  # t5 has g1 as well as g2 and g5


def test_new_rows_go_where_their_columns_are() -> None:
    table, _, _ = clear_table()
    model = fit(table, 3)
    fresh, truth, _ = blocks((2, 2, 2), (6, 6, 6))
    np.testing.assert_array_equal(model.predict(fresh), truth)
    assert model.predict(np.zeros((1, 18))).tolist() == [-1]
    np.testing.assert_array_equal(model.predict(sparse.csr_matrix(fresh)), truth)


def test_tables_of_numbers() -> None:
    table, _, _ = clear_table()
    numbers = table * np.linspace(1, 5, 18) + 0.1
    with pytest.raises(SidelightError, match=r"Row 0, column 0 holds .* binarize=mean"):
        fit(numbers, 3)
    for rule in ("mean", 0.5):
        model = fit(numbers, 3, binarize=rule)
        np.testing.assert_array_equal(model.labels_, fit(table, 3).labels_)
        np.testing.assert_array_equal(model.predict(numbers[:5]), model.predict(numbers)[:5])
    np.testing.assert_allclose(fit(numbers, 3, binarize=0.5).thresholds_, 0.5 * numbers.max(axis=0))


def test_precision_and_sparse_tables() -> None:
    single = fit(TOY.astype(np.float32))
    assert single.row_weights_.dtype == single.column_weights_.dtype == np.float32
    thin = fit(sparse.csr_matrix(TOY))
    np.testing.assert_array_equal(thin.labels_, fit(TOY).labels_)
