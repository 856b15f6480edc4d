"""The number of restarts: what "auto" means, for every method that has restarts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sidelight import catalog
from sidelight._fit.parameters import declared, n_restarts
from sidelight.cluster import KMeans, PCKMeans
from sidelight.mixture import GaussianMixture

RESTARTED = [method for method in catalog.methods() if "n_init" in declared(method.cls)]


@pytest.mark.parametrize("method", RESTARTED, ids=lambda method: method.name)
def test_every_method_takes_auto(method: Any) -> None:
    assert declared(method.cls)["n_init"].admits("auto")
    assert not declared(method.cls)["n_init"].admits("many")
    text = declared(method.cls)["n_init"].type_text
    assert text == 'int >= 1 or "auto"'


@pytest.mark.parametrize(
    ("init", "expected"),
    [("k-means++", 1), ("farthest-first", 1), ("random", 10), ([[0.0], [1.0]], 1)],
)
def test_auto_is_that_of_scikit_learn(init: Any, expected: int) -> None:
    assert n_restarts(KMeans(2, init=init, n_init="auto")) == expected


def test_a_fit_with_auto_is_the_fit_with_that_number() -> None:
    X = np.random.default_rng(0).normal(size=(90, 2))
    for cls, random in ((KMeans, {"init": "random"}), (PCKMeans, {"init": "random"})):
        for params, n in (({}, 1), (random, 10)):
            auto = cls(5, n_init="auto", random_state=3, **params).fit(X)
            fixed = cls(5, n_init=n, random_state=3, **params).fit(X)
            np.testing.assert_array_equal(auto.labels_, fixed.labels_)
    for how, n in (("kmeans", 1), ("random_from_data", 10)):
        auto, fixed = (
            GaussianMixture(3, init_params=how, n_init=given, random_state=0).fit(X).means_
            for given in ("auto", n)
        )
        np.testing.assert_array_equal(auto, fixed)
