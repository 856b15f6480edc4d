"""A fit of rows elsewhere brings sums and a few rows to the client, and never a value per row."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tests.common.partitions import cut
from tests.engine.test_purity import SETTINGS, knowledge

from sidelight import Constraints, catalog
from sidelight.cluster import KMeans, PCKMeans
from sidelight.engine.inner import (
    count_changes,
    count_codes,
    largest_value,
    map_values,
    rows_where,
    smaller_values,
    total_of,
)
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import MAX_LINEAGE, PartitionedRows
from sidelight.engine.partitioned._values import RowValues

#: Methods that bring values of all rows to the client, what they need them for, and the parameter
#: whose settings do so, where not all of them do.
ON_CLIENT = {
    "BalancedKMeans": ("the cheapest assignment under a minimum size is solved over all costs", ""),
    "FrequencySensitiveKMeans": ("rows win clusters one after the other, in an order", "mode"),
    "SizeConstrainedKMeans": ("the cheapest assignment under bounds is solved over all costs", ""),
    "ExistentialKMeans": ("rows with a property move by a graph of all of them", "conditions"),
}


def is_on_client(method: Any, setting: Mapping[str, Any]) -> bool:
    reason, parameter = ON_CLIENT.get(method.cls.__name__, ("", "-"))
    return bool(reason) and (not parameter or parameter in setting)


CLUSTERERS = [
    method
    for method in catalog.methods()
    if method.tags.out_of_core
    and method.cls.__module__.startswith(("sidelight.cluster.", "sidelight.privacy."))
]
CASES = [
    pytest.param(method, setting, id=f"{method.name}-{'-'.join(map(str, setting.values()))}")
    for method in CLUSTERERS
    for setting in ({}, *SETTINGS.get(method.cls.__name__, ()))
    if not is_on_client(method, setting)
]


@pytest.fixture
def pulls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record where values of all rows are brought to the client."""
    found: list[str] = []
    plain = PartitionedRows.pull_values

    def pull(source: PartitionedRows, values: RowValues) -> Any:
        frames = traceback.extract_stack()[-9:-1]
        found.append(" < ".join(f"{f.filename.split('/')[-1]}:{f.lineno}" for f in frames[::-1]))
        return plain(source, values)

    monkeypatch.setattr(PartitionedRows, "pull_values", pull)
    return found


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(240, n_features=4, centers=3, cluster_std=4.0, random_state=3)
    return X - X.min() + 1.0, y


def fitted(method: Any, setting: Mapping[str, Any], X: Any, y: np.ndarray, rows: Any) -> Any:
    taken = method.cls().get_params()
    wanted = {"n_clusters": 3, "init": X[[5, 90, 200]], "random_state": 0, "max_iter": 30}
    params = {name: value for name, value in wanted.items() if name in taken} | dict(setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.cls(**params).fit(rows, constraints=knowledge(method, y))


@pytest.mark.parametrize(("method", "setting"), CASES)
def test_a_fit_from_given_centers_pulls_nothing(
    method: Any, setting: Any, blobs: Any, pulls: list[str]
) -> None:
    X, y = blobs
    here = fitted(method, setting, X, y, X)
    there = fitted(method, setting, X, y, PartitionedRows(LocalEngine(cut(X, 3))))
    assert here.n_iter_ > 2
    assert there.n_iter_ == here.n_iter_
    np.testing.assert_array_equal(there.cluster_sizes_, here.cluster_sizes_)
    assert there.n_violations_ == here.n_violations_
    assert not pulls
    assert isinstance(there.labels_, RowValues)
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert len(pulls) == 1


@pytest.mark.parametrize("method", CLUSTERERS, ids=lambda method: method.name)
def test_scores_come_as_sums(method: Any, blobs: Any, pulls: list[str]) -> None:
    X, y = blobs
    rows = PartitionedRows(LocalEngine(cut(X, 3)))
    model = fitted(method, {}, X, y, X)
    weights = np.random.RandomState(0).uniform(size=len(X))
    for some in (None, weights):
        assert model.score(rows, sample_weight=some) == pytest.approx(
            model.score(X, sample_weight=some)
        )
    assert not pulls


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.UnusedKnowledge")
def test_long_fits_pull_nothing_either(blobs: Any, pulls: list[str]) -> None:
    X = np.random.RandomState(1).uniform(size=(2000, 2))
    known = Constraints.sample((X[:, 0] > 0.5).astype(int), 20, random_state=0)
    for model in (KMeans(12, init=X[:12], tol=0), PCKMeans(12, init=X[:12], tol=0)):
        found = model.fit(PartitionedRows(LocalEngine(cut(X, 3))), constraints=known)
        assert found.n_iter_ > MAX_LINEAGE + 2
    assert not pulls


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.UnusedKnowledge")
def test_statements_are_compared_by_the_rows_that_they_mention(
    blobs: Any, pulls: list[str]
) -> None:
    X, y = blobs
    rng = np.random.RandomState(4)
    pairs = rng.choice(len(X), size=(2, 25, 2), replace=False)
    both = np.concatenate([pairs[1], pairs[0][:3]])  # three contradict what is together
    labels = np.where(rng.uniform(size=len(X)) < 0.1, y, -1)
    groups = np.where(rng.uniform(size=len(X)) < 0.2, rng.randint(9, size=len(X)), -1)
    nothing = Constraints(n_samples=len(X))
    everything = Constraints(pairs[0], both, labels=labels, groups=groups)
    for known in (everything, Constraints(labels=labels), nothing):
        here = KMeans(3, init=X[:3]).fit(X, constraints=known)
        rows = PartitionedRows(LocalEngine(cut(X, 3)))
        there = KMeans(3, init=X[:3]).fit(rows, constraints=known)
        assert there.n_violations_ == here.n_violations_
        assert (here.n_violations_ > 0) == (known is not nothing)
        assert there.cluster_names_.tolist() == here.cluster_names_.tolist()
    assert not pulls


def test_empty_clusters_are_filled_without_pulling(pulls: list[str]) -> None:
    X = np.random.RandomState(1).normal(size=(300, 2))
    init = np.vstack([X[:3], [[1e3, 1e3], [1001.0, 1001.0]]])
    weights = np.random.RandomState(2).uniform(size=300) * (np.arange(300) % 3 > 0)
    for some in (None, weights):
        here = KMeans(5, init=init).fit(X, sample_weight=some)
        there = KMeans(5, init=init).fit(
            PartitionedRows(LocalEngine(cut(X, 3))), sample_weight=some
        )
        assert here.cluster_sizes_.min() > 0
        np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_)
    assert not pulls


def test_questions_about_values_have_the_same_answers_beside_partitions(pulls: list[str]) -> None:
    rng = np.random.RandomState(0)
    X = rng.randint(0, 7, size=(50, 2)).astype(float)
    rows = PartitionedRows(LocalEngine(cut(X, 4)))
    (there, codes), (here, here_codes) = (
        source.map_reduce(lambda b: ((), (b[:, 0], b[:, 1].astype(np.int32) - 1)))[1]
        for source in (rows, PartitionedRows(LocalEngine([X])))
    )
    here, here_codes = np.array(here), np.array(here_codes)
    pulls.clear()
    weights = rng.uniform(size=50)
    assert largest_value(there) == largest_value(here) == (6.0, int(np.argmax(X[:, 0])))
    assert total_of(there) == total_of(here) == X[:, 0].sum()
    assert total_of(there, weights) == pytest.approx(X[:, 0] @ weights)
    assert total_of(here, weights) == pytest.approx(X[:, 0] @ weights)
    for own in (there, here):
        np.testing.assert_array_equal(rows_where(lambda v: v > 4, own), np.flatnonzero(X[:, 0] > 4))
    counts = np.bincount(X[X[:, 1] > 0, 1].astype(int) - 1, minlength=8)
    np.testing.assert_array_equal(count_codes(codes, 8), counts)
    np.testing.assert_array_equal(count_codes(here_codes, 8), counts)
    other = codes.copy()
    other[[3, 17]] = 99
    assert count_changes(codes, other) == 2
    (total,), (doubled,) = map_values(lambda v, w: ((v @ w,), (2 * v,)), there, weights)
    assert total == pytest.approx(X[:, 0] @ weights)
    least = smaller_values(doubled, 5 * weights)
    assert not pulls
    np.testing.assert_array_equal(np.asarray(least), np.minimum(2 * X[:, 0], 5 * weights))
