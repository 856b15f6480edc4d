"""A fit of a mixture to rows elsewhere brings sums and a few rows here, and no value per row."""

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
from sidelight.engine import as_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.engine.partitioned._values import RowValues
from sidelight.exceptions import SidelightError
from sidelight.mixture import (
    ChunkletMixture,
    GaussianMixture,
    GreedyMixture,
    MultinomialMixture,
    PenalizedMixture,
)
from sidelight.mixture.constrained._penalized import lower_median
from sidelight.mixture.growing._members import OwnedRows

MIXTURES = [
    method
    for method in catalog.methods()
    if method.tags.out_of_core and method.cls.__module__.startswith("sidelight.mixture.")
]
CASES = [
    pytest.param(method, setting, id=f"{method.name}-{'-'.join(map(str, setting.values()))}")
    for method in MIXTURES
    for setting in ({}, *SETTINGS.get(method.cls.__name__, ()))
]


#: Functions that may bring a value of every row here, and what for.
LISTED = {"_order_by_content": "k-means++ draws rows by their place in an order of their values"}


@pytest.fixture
def pulls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record where values of all rows are brought here."""
    found: list[str] = []
    plain = PartitionedRows.pull_values

    def pull(source: PartitionedRows, values: RowValues) -> Any:
        frames = traceback.extract_stack()[:-1]
        if not LISTED.keys() & {frame.name for frame in frames}:
            found.append(" < ".join(f"{f.name}:{f.lineno}" for f in frames[:-8:-1]))
        return plain(source, values)

    monkeypatch.setattr(PartitionedRows, "pull_values", pull)
    return found


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(240, n_features=4, centers=3, cluster_std=2.0, random_state=3)
    return X - X.min() + 1.0, y


def fitted(cls: Any, setting: Mapping[str, Any], rows: Any, known: Constraints) -> Any:
    taken = cls().get_params()
    wanted = {"n_components": 3, "random_state": 0, "n_init": 1, "max_iter": 30, **setting}
    params = {name: value for name, value in wanted.items() if name in taken}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**params).fit(rows, constraints=known)


def elsewhere(X: np.ndarray) -> PartitionedRows:
    return PartitionedRows(LocalEngine(cut(X, 3)))


@pytest.mark.parametrize(("method", "setting"), CASES)
def test_a_fit_pulls_nothing(method: Any, setting: Any, blobs: Any, pulls: list[str]) -> None:
    X, y = blobs
    known = knowledge(method, y)
    given = {"means_init": X[[5, 90, 200]]} | dict(setting)
    here = fitted(method.cls, given, X, known)
    there = fitted(method.cls, given, elsewhere(X), known)
    assert not pulls
    assert there.n_iter_ == here.n_iter_
    name = "labels_" if hasattr(here, "labels_") else "winners_"
    np.testing.assert_array_equal(np.asarray(getattr(there, name)), getattr(here, name))


@pytest.mark.parametrize("start", ["kmeans", "k-means++", "random_from_data"])
@pytest.mark.parametrize("cls", [GaussianMixture, ChunkletMixture, PenalizedMixture])
def test_rough_starts_pull_nothing(cls: Any, start: str, blobs: Any, pulls: list[str]) -> None:
    X, y = blobs
    known = Constraints.from_labels(np.where(np.arange(len(y)) % 7 == 0, y, -1))
    there = fitted(cls, {"init_params": start}, elsewhere(X), known)
    assert not pulls
    here = fitted(cls, {"init_params": start}, X, known)
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)


def test_greedy_mixtures_with_weights(blobs: Any, pulls: list[str]) -> None:
    X, _ = blobs
    weights = np.random.RandomState(0).uniform(size=len(X)) * (np.arange(len(X)) % 5 > 0)
    params = {"n_components": 4, "n_candidates": 5, "max_iter": 20, "tol": 1e-3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = (
            GreedyMixture(**params, random_state=0).fit(rows, sample_weight=weights)
            for rows in (X, elsewhere(X))
        )
    assert not pulls
    np.testing.assert_allclose(there.means_, here.means_, rtol=1e-6)


def test_counts_are_checked_where_they_are(blobs: Any, pulls: list[str]) -> None:
    X = np.ones((50, 3))
    X[[17, 41], [2, 0]] = -2.0, -3.0
    for rows in (as_rows(X), elsewhere(X)):
        with pytest.raises(SidelightError, match="row 17 has -2"):
            MultinomialMixture(2).fit(rows)
    assert not pulls


@pytest.mark.parametrize("weighted", [False, True])
def test_the_median_of_values_elsewhere(weighted: bool, pulls: list[str]) -> None:
    rng = np.random.RandomState(0)
    for n in (1, 2, 7, 200):
        values = np.round(rng.exponential(size=n), 2) * 10.0 ** rng.randint(-3, 4, size=n)
        values[rng.uniform(size=n) < 0.2] = 0.0
        weights = rng.randint(1, 5, size=n).astype(float) if weighted else np.ones(n)
        order = np.argsort(values)
        reached = np.cumsum(weights[order])
        median = values[order][np.searchsorted(reached, reached[-1] / 2)]
        given = weights if weighted else None
        assert lower_median(values, given) == median
        rows = PartitionedRows(LocalEngine(cut(values[:, None], min(n, 3))))
        (there,) = rows.map_reduce(lambda block: ((), (block[:, 0],)))[1]
        assert lower_median(there, given) == median
    assert lower_median(np.array([np.nan, -0.0, 1.0])) == 1.0
    assert not pulls


def test_rows_of_components_elsewhere(pulls: list[str]) -> None:
    rng = np.random.RandomState(0)
    owner = rng.randint(-1, 3, size=90)
    rows = PartitionedRows(LocalEngine(cut(owner[:, None].astype(float), 4)))
    (there,) = rows.map_reduce(lambda block: ((), (block[:, 0].astype(np.int64),)))[1]
    here, apart = OwnedRows(owner, 4), OwnedRows(there, 4)
    np.testing.assert_array_equal(here.counts, np.bincount(owner[owner >= 0], minlength=4))
    np.testing.assert_array_equal(apart.counts, here.counts)
    numbers = {i: rng.randint(here.counts[i], size=(5, 2)) for i in (2, 0)}
    found, expected = apart.at(numbers), here.at(numbers)
    for i, of_i in numbers.items():
        np.testing.assert_array_equal(expected[i], np.flatnonzero(owner == i)[of_i])
        np.testing.assert_array_equal(found[i], expected[i])
    assert not pulls
