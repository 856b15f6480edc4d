"""Block functions depend on their arguments only: they can run anywhere, in any order."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tests.engine.remote import remote_map_reduce, ship_blocks

from sidelight import Constraints, catalog
from sidelight.engine import _memory, as_rows

METHODS = catalog.methods()


def test_the_tool_finds_functions_that_write_outside():
    rows = as_rows(np.arange(12.0).reshape(6, 2))
    seen: list[Any] = []
    remote_map_reduce(rows, lambda block: (seen.append(block) or (), ()))
    assert seen == []  # what is written outside is lost


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_block_functions_can_be_shipped(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "TILE_ROWS", 50)
    monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
    X, y = make_blobs(160, n_features=4, centers=3, cluster_std=3.0, random_state=3)
    X = X - X.min() + 1.0
    wanted = {"n_clusters": 3, "n_components": 3, "random_state": 0, "n_init": 1, "max_iter": 5}
    taken = method.cls().get_params()
    params = {name: value for name, value in wanted.items() if name in taken}
    pairs = Constraints.sample(y, 30, random_state=0)
    labels = Constraints.from_labels(np.where(np.arange(160) % 7 == 0, y, -1))
    known = pairs if "must-link" in method.tags.knowledge else labels
    if "cannot-link" not in method.tags.knowledge and "must-link" in method.tags.knowledge:
        known = Constraints(pairs.must_link, n_samples=160)

    def fit() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method.cls(**params).fit(X, constraints=known)

    here = fit()
    ship_blocks(monkeypatch)
    there = fit()
    for name, value in vars(here).items():
        if name.endswith("_") and isinstance(value, (np.ndarray, float, int)):
            np.testing.assert_array_equal(value, getattr(there, name), err_msg=name)
