"""Exact sizes of rows read in passes: the cost of the table of all costs, and its proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from tests.common.partitions import cut
from tests.engine.partitioned.test_equal_to_memory import Forgetful

from sidelight import Constraints
from sidelight.cluster import SizeConstrainedKMeans
from sidelight.engine import open_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows


@pytest.fixture(params=["whole", "sampled"])
def sampling(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few rows are all in the sample and in the band; with small constants these matter."""
    if request.param == "sampled":
        for name, value in (
            ("SAMPLE_ROWS", 30),
            ("SAMPLE_PER_CLUSTER", 5),
            ("FEWEST_IN_BAND", 12),
            ("BAND_SHARE", 20),
        ):
            monkeypatch.setattr(f"sidelight.cluster.sized._search.{name}", value)
    return str(request.param)


def on_disk(X: np.ndarray, folder: Path) -> Any:
    np.save(folder / "rows.npy", X)
    return open_rows(folder / "rows.npy")


def skewed(n: int, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=(n, d))


BOUNDS = [
    {"min_size": 1 / 6, "max_size": 1 / 6},
    {"min_size": 0.12, "max_size": 0.2},
    {"min_size": [10, 0, 200, 0, 5, 0], "max_size": [90, 600, 300, 100, 600, 40]},
    {"max_size": 0.18},
    {},
]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_disk_get_the_labels_of_memory(
    bounds: Any, dtype: Any, sampling: str, tmp_path: Path
) -> None:
    X = skewed(600).astype(dtype)
    settings: dict[str, Any] = {**bounds, "n_init": 2, "random_state": 0, "max_iter": 12}
    here = SizeConstrainedKMeans(6, **settings).fit(X)
    there = SizeConstrainedKMeans(6, **settings).fit(on_disk(X, tmp_path))
    np.testing.assert_allclose(there.history_[:3], here.history_[:3], rtol=1e-5)
    assert there.assignment_gap_ < 1e-12
    if dtype == np.float64:
        np.testing.assert_array_equal(there.labels_, here.labels_)
        np.testing.assert_allclose(there.history_, here.history_, rtol=1e-9)
    sizes, (lower, upper) = np.bincount(there.labels_, minlength=6), there.size_bounds_.T
    np.testing.assert_array_equal(there.cluster_sizes_, sizes)
    assert np.all((sizes >= lower) & (sizes <= upper))


@pytest.mark.parametrize("seed", range(4))
def test_no_assignment_is_cheaper(seed: int, sampling: str, tmp_path: Path) -> None:
    """The linear program of all assignments, solved by HiGHS."""
    rng = np.random.default_rng(seed)
    X, centers = skewed(150, 2, seed), rng.exponential(size=(5, 2))
    lower, upper = np.array([35, 0, 20, 5, 0]), np.array([60, 40, 25, 150, 31])
    model = SizeConstrainedKMeans(
        5, min_size=lower, max_size=upper, init=centers, max_iter=1, tol=0
    ).fit(on_disk(X, tmp_path))
    cost = ((X[:, None] - centers) ** 2).sum(axis=2)
    once = sparse.kron(sparse.eye_array(150), np.ones((1, 5)))
    filled = sparse.kron(np.ones((1, 150)), sparse.eye_array(5))
    best = linprog(
        cost.ravel(),
        A_ub=sparse.vstack([filled, -filled]),
        b_ub=np.concatenate([upper, -lower]),
        A_eq=once,
        b_eq=np.ones(150),
    )
    assert model.history_[0] == pytest.approx(best.fun, rel=1e-9)


def test_equal_rows_on_the_border_of_two_clusters(sampling: str, tmp_path: Path) -> None:
    X = np.repeat([[0.0], [1.0], [3.0]], [100, 300, 200], axis=0)
    init = np.array([[0.0], [1.0], [3.0]])
    model = SizeConstrainedKMeans(3, min_size=200, max_size=200, init=init, max_iter=1, tol=0)
    model.fit(on_disk(X, tmp_path))
    assert model.history_[0] == pytest.approx(100.0)
    np.testing.assert_array_equal(model.cluster_sizes_, [200, 200, 200])


def test_empty_clusters_get_a_row(sampling: str, tmp_path: Path) -> None:
    X = np.concatenate([skewed(100), [[40.0, 0.0, 0.0]]])
    init = np.array([[0.0] * 3, [1.0] * 3, [900.0] * 3])
    settings: dict[str, Any] = {"max_size": 80, "init": init, "tol": 0}
    here = SizeConstrainedKMeans(3, **settings).fit(X)
    there = SizeConstrainedKMeans(3, **settings).fit(on_disk(X, tmp_path))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.cluster_sizes_.min() > 0


def test_large_tables_in_memory_are_avoided_too(monkeypatch: pytest.MonkeyPatch) -> None:
    X = skewed(500)
    settings: dict[str, Any] = {"min_size": 0.15, "max_size": 0.3, "n_init": 2, "random_state": 1}
    table = SizeConstrainedKMeans(5, **settings).fit(X)
    monkeypatch.setattr("sidelight.cluster.sized._size_constrained.LARGE_TABLE", 2500)
    monkeypatch.setattr(
        "sidelight.cluster.sized._loop.TableAssigner.assign", lambda *_: pytest.fail("a table")
    )
    passes = SizeConstrainedKMeans(5, **settings).fit(X)
    np.testing.assert_array_equal(passes.labels_, table.labels_)
    bounds = {"min_size": 60, "max_size": 140}
    counts = np.bincount(passes.predict_sized(X, **bounds), minlength=5)
    assert 60 <= counts.min() <= counts.max() <= 140


# --- what it is made of ---


@pytest.mark.parametrize(
    "case", ["weights", "row sizes", "links", "outliers", "linked outliers", "sparse", "no weight"]
)
def test_everything_else_in_any_partitions(case: str, sampling: str) -> None:
    X, rng = skewed(240), np.random.default_rng(3)
    y = (X @ [1.0, 2.0, -1.0] > 1.5).astype(int)
    setting: dict[str, Any] = {"min_size": 0.2, "max_size": 0.3, "n_init": 1, "random_state": 0}
    setting["max_iter"] = 2
    given: dict[str, Any] = {}
    if case == "weights":
        given["sample_weight"] = rng.uniform(0.5, 2, 240)
    if case == "no weight":
        given["sample_weight"] = np.where(np.arange(240) % 5 == 0, 0.0, 1.0)
    if case == "row sizes":
        given["row_sizes"] = rng.integers(0, 4, 240).astype(float)
    if "links" in case or "linked" in case:
        given["constraints"] = Constraints.sample(y, 25, random_state=0)
    if "outliers" in case:
        setting |= {"outlier_cost": 2.0, "min_size": 40}
    rows: Any = X if case != "sparse" else sparse.csr_array(np.where(X > 0.5, X, 0))
    here = SizeConstrainedKMeans(4, **setting).fit(rows, **given)
    for parts in (LocalEngine(cut(rows, 3)), Forgetful(cut(rows, 2), seed=1)):
        there = SizeConstrainedKMeans(4, **setting).fit(PartitionedRows(parts), **given)
        labels = np.asarray(there.labels_)
        # Whole rows of different sizes are proved to be the best within some share of the cost.
        near = 1e-9 if case in ("outliers", "sparse", "no weight") else 2e-3
        assert there.history_[0] == pytest.approx(here.history_[0], rel=near)
        counted = given.get("row_sizes", given.get("sample_weight", np.ones(240)))
        sizes = np.bincount(labels[labels >= 0], counted[labels >= 0], minlength=4)
        assert np.all(sizes >= there.size_bounds_[:, 0] - 1e-9)
        assert np.all(sizes <= there.size_bounds_[:, 1] + 1e-9)
        assert 0 <= there.assignment_gap_ < 5e-3
        if "constraints" in given:
            assert given["constraints"].violations(labels).n == 0
        inside = labels >= 0
        weights = given.get("sample_weight", np.ones(240))
        dense = X if case != "sparse" else rows.toarray()
        squared = ((dense - there.cluster_centers_[labels]) ** 2).sum(axis=1)
        assert there.inertia_ == pytest.approx(weights[inside] @ squared[inside])
