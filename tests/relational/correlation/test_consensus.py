"""Consensus clustering: the sum of Mirkin distances, by enumeration and by its identities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.relational.correlation.enumerate import partitions

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.relational import ConsensusClustering, CorrelationClustering


def mirkin(first: np.ndarray, second: np.ndarray) -> int:
    """Distance by its definition, over pairs with labels in both."""
    a, b = np.triu_indices(len(first), 1)
    known = (first[a] >= 0) & (first[b] >= 0) & (second[a] >= 0) & (second[b] >= 0)
    return int((((first[a] == first[b]) != (second[a] == second[b])) & known).sum())


def noisy(seed: int, n: int, m: int, k: int = 3, noise: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return np.where(rng.random((n, m)) < noise, rng.integers(k, size=(n, m)), y[:, None])


@pytest.fixture
def by_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve by contingency tables, whatever the size."""
    monkeypatch.setattr("sidelight.relational.correlation._consensus.FEW_ROWS", 0)
    monkeypatch.setattr("sidelight.relational.correlation._consensus.FEW_PAIRS", 0)


def check_against_enumeration(X: np.ndarray, known: Constraints, exact: bool) -> None:
    model = ConsensusClustering(random_state=0).fit(X, constraints=known)
    costs = [
        sum(mirkin(labels, column) for column in X.T)
        for labels in partitions(len(X))
        if known.violations(labels).n == 0
    ]
    assert model.objective_ == sum(mirkin(model.labels_, column) for column in X.T)
    assert model.objective_ == model.distances_.sum()
    assert model.lower_bound_ <= min(costs) <= model.objective_
    assert model.n_violations_ == 0
    if exact:
        assert model.objective_ == min(costs)


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_against_enumeration(seed: int, missing: bool, constrained: bool) -> None:
    X = noisy(seed, 7, 4)
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < 0.2 * missing, -1, X)
    X[0] = np.maximum(X[0], 0)
    known = (
        Constraints([(0, 1)], [(1, 2)], n_samples=7) if constrained else Constraints(n_samples=7)
    )
    check_against_enumeration(X, known, exact=True)


@pytest.mark.usefixtures("by_tables")
@pytest.mark.parametrize("seed", range(12))
def test_tables_against_enumeration(seed: int) -> None:
    X = noisy(seed, 7, 4)
    if seed % 3 == 0:
        X = np.where(np.random.default_rng(seed).random(X.shape) < 0.2, -1, X)
        X[0] = 0
    known = Constraints([(0, 1)], [(1, 2)] if seed % 2 else None, n_samples=7)
    check_against_enumeration(X, known, exact=False)


def test_it_is_correlation_clustering_of_the_counts() -> None:
    X = noisy(1, 40, 5)
    together = (X[:, None, :] == X[None, :, :]).sum(axis=2)
    scores = 2.0 * together - 5
    np.fill_diagonal(scores, 0.0)
    signed = CorrelationClustering(random_state=0).fit(scores)
    minimum = np.minimum(together, 5 - together)[np.triu_indices(40, 1)].sum()
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.objective_ == signed.objective_ + minimum


@pytest.mark.parametrize("few", [True, False])
def test_a_single_partition_is_its_own_consensus(few: bool, request: pytest.FixtureRequest) -> None:
    if not few:
        request.getfixturevalue("by_tables")
    y = np.array([3, 1, 1, 0, 3, 0])
    model = ConsensusClustering(random_state=0).fit(y[:, None])
    assert model.objective_ == 0
    np.testing.assert_array_equal(model.labels_, [0, 1, 1, 2, 0, 2])


@pytest.mark.parametrize("few", [True, False])
def test_no_worse_than_the_given_partitions(few: bool, request: pytest.FixtureRequest) -> None:
    if not few:
        request.getfixturevalue("by_tables")
    X = noisy(0, 200, 6, k=5)
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.input_costs_.shape == (6,)
    costs = [sum(mirkin(one, other) for other in X.T) for one in X.T]
    np.testing.assert_array_equal(model.input_costs_, costs)
    assert model.objective_ <= min(costs) <= 2 * model.objective_
    assert sum(costs) / 2 / 5 <= model.lower_bound_ <= model.objective_
    assert "of optimal" in model.summary() or "optimal" in model.summary()


def test_tables_come_near_the_written_out_scores(request: pytest.FixtureRequest) -> None:
    X = noisy(3, 400, 7, k=4, noise=0.25)
    written = ConsensusClustering(random_state=0).fit(X)
    request.getfixturevalue("by_tables")
    tables = ConsensusClustering(random_state=0).fit(X)
    assert tables.objective_ <= 1.01 * written.objective_
    assert np.all(np.diff(tables.history_) <= 0)


def test_sparse_pairs_of_many_rows() -> None:
    # 600 clusters of 5: more rows than are written out in full, but few pairs.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(600), 5)
    X = np.where(rng.random((3000, 8)) < 0.1, rng.integers(600, size=(3000, 8)), y[:, None])
    model = ConsensusClustering(random_state=0).fit(X)
    planted = sum(mirkin(y, column) for column in X.T)
    assert model.objective_ <= planted
    assert model.gap_ < 0.25


@pytest.mark.usefixtures("by_tables")
def test_everything_known_holds_in_tables() -> None:
    rng = np.random.default_rng(0)
    X = noisy(2, 150, 5, k=4)
    known = Constraints.sample(rng.integers(6, size=150), 80, random_state=0)
    model = ConsensusClustering(random_state=0).fit(X, constraints=known)
    assert known.violations(model.labels_).n == 0


def test_names_of_labels_do_not_matter() -> None:
    X = noisy(4, 30, 4)
    words = pd.DataFrame({f"run {i}": np.array(["x", "y", "z"])[X[:, i]] for i in range(4)})
    first = ConsensusClustering(random_state=0).fit(X)
    second = ConsensusClustering(random_state=0).fit(words)
    assert first.objective_ == second.objective_
    np.testing.assert_array_equal(first.labels_, second.labels_)


def test_missing_labels_in_words_and_numbers_are_the_same() -> None:
    X = noisy(5, 30, 4).astype(float)
    X[::7, 1] = -1
    names = np.array(["a", "b", "c", None], dtype=object)[X.astype(int)]
    with_nan = np.where(X < 0, np.nan, X)
    costs = {
        ConsensusClustering(random_state=0).fit(form).objective_ for form in (X, names, with_nan)
    }
    assert len(costs) == 1


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SidelightError, match="Partition 1 has no label at all"):
        ConsensusClustering().fit(np.array([[0, -1], [1, -1]]))
    monkeypatch.setattr("sidelight.relational.correlation._consensus.FEW_ROWS", 0)
    monkeypatch.setattr("sidelight.relational.correlation._consensus.FEW_PAIRS", 0)
    monkeypatch.setattr("sidelight.relational.correlation._consensus.LARGEST_TABLE", 10)
    with pytest.raises(SidelightError, match="merge their smallest clusters"):
        ConsensusClustering().fit(noisy(0, 30, 3))
