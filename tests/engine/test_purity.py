"""Block functions depend on their arguments only: they can run anywhere, in any order."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from tests.engine.remote import remote_map_reduce, ship_blocks

from sidelight import Constraints, catalog
from sidelight.engine import _memory, as_rows

#: Scores between objects are no rows, and come in no blocks.
METHODS = [method for method in catalog.methods() if method.tags.kind != "graph-clusterer"]

#: Settings of methods that have loops of their own.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "BalancedKMeans": [{"metric": "cosine"}, {"assignment": "flow"}],
    "BernoulliMixture": [{"binarize": 12.0}],
    "COPKMeans": [{"variant": "published"}],
    "ConstrainedLPP": [{"graph": "landmarks"}],
    "ConstraintScore": [{"criterion": "difference"}],
    "DCA": [{"variant": "published"}],
    "FrequencySensitiveKMeans": [{"mode": mode} for mode in ("partial", "full", "streaming")],
    "GaussianMixture": [
        {"covariance_type": kind}
        for kind in ("tied", "diag", "spherical", "factor", "ppca", "subspace")
    ],
    "GlobalKMeans": [{"method": "full"}, {"candidates": "kd-tree"}],
    "KohonenMap": [{"n_epochs": None}],
    "HMRFKMeans": [{"divergence": "cosine"}, {"divergence": "kl"}],
    "ITML": [{"prior": "covariance"}],
    "MMC": [{"shape": "diagonal"}],
    "MPCKMeans": [
        {"metric_type": "per-cluster", "shape": "full"},
        {"metric_type": "per-cluster", "shape": "diagonal"},
        {"max_distance": "exact"},
    ],
    "PCKMeans": [{"variant": "published"}],
    "SoftBalancedKMeans": [{"metric": "cosine"}],
    "SpectralClustering": [{"graph": "landmarks"}],
}
CASES = [
    pytest.param(method, {}, rows, id=f"{method.name}-{rows}")
    for method in METHODS
    for rows in (("dense", "sparse") if method.tags.sparse else ("dense",))
] + [
    pytest.param(
        method, setting, "dense", id=f"{method.name}-{'-'.join(map(str, setting.values()))}"
    )
    for method in METHODS
    for setting in SETTINGS.get(method.cls.__name__, ())
]


def test_the_tool_loses_what_is_written_outside():
    rows = as_rows(np.arange(12.0).reshape(6, 2))
    seen: list[Any] = []
    remote_map_reduce(rows, lambda block: (seen.append(block) or (), ()))
    assert seen == []


def test_the_tool_refuses_functions_that_depend_on_the_order(monkeypatch):
    monkeypatch.setattr(_memory, "TILE_ROWS", 2)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    n_seen = 0

    def count(block: Any) -> Any:
        nonlocal n_seen
        n_seen += len(block)
        return (n_seen,), ()

    rows = as_rows(np.arange(12.0).reshape(6, 2))
    assert len(rows.blocks) > 1
    with pytest.raises(AssertionError, match="depends on other blocks"):
        remote_map_reduce(rows, count)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(110, n_features=4, centers=3, cluster_std=3.0, random_state=3)
    return X - X.min() + 1.0, y


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of few rows, also where the work would not be worth them."""
    monkeypatch.setattr(_memory, "TILE_ROWS", 50)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    for name, module in list(sys.modules.items()):
        if name.startswith("sidelight.") and hasattr(module, "WORTH_BLOCKS"):
            monkeypatch.setattr(module, "WORTH_BLOCKS", 0)


def knowledge(method: Any, y: np.ndarray) -> Constraints:
    """Pairs or labels, as far as the method uses them."""
    used = method.tags.knowledge
    labels = Constraints.from_labels(np.where(np.arange(len(y)) % 7 == 0, y, -1))
    if "must-link" not in used:
        return labels
    pairs = Constraints.sample(y, 30, random_state=0)
    if method.tags.kind == "classifier":
        return pairs | labels
    return pairs if "cannot-link" in used else Constraints(pairs.must_link, n_samples=len(y))


@pytest.mark.parametrize(("method", "setting", "rows"), CASES)
def test_block_functions_can_be_shipped(
    method: Any,
    setting: dict[str, Any],
    rows: str,
    blobs: Any,
    small_blocks: None,
    monkeypatch: Any,
) -> None:
    X, y = blobs
    wanted = {"n_clusters": 3, "n_components": 3, "random_state": 0, "n_init": 1, "max_iter": 5}
    wanted |= {"grid": (3, 3), "n_mixtures": 1, "n_estimators": 2}
    taken = method.cls().get_params()
    params = {name: value for name, value in wanted.items() if name in taken} | setting
    known = knowledge(method, y)
    if "binarize" in taken and method.tags.kind == "coclusterer":  # tables of zeros and ones
        params["binarize"] = "mean"

    def fit() -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = sparse.csr_array(X) if rows == "sparse" else X
            return vars(method.cls(**params).fit(given, constraints=known))

    here = fit()
    ship_blocks(monkeypatch)
    there = fit()
    for name, value in here.items():
        if name.endswith("_") and isinstance(value, (np.ndarray, float, int)):
            np.testing.assert_array_equal(value, there[name], err_msg=name)
