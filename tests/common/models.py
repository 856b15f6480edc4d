"""Rows, knowledge and fitted models that the checks of all kinds share.

A model is fitted once per process and then used by every check that does not need another one;
``estimator.check_use_changes_nothing`` proves that they can share it.
"""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import make_blobs

from sidelight import Constraints
from sidelight.catalog import Method

#: Number of clusters of the shared rows.
K = 4

#: What all methods are fitted with whose defaults are more: two restarts are restarts.
QUICK: dict[str, Any] = {"n_init": 2, "n_estimators": 10, "n_mixtures": 2, "grid": (4, 4)}


@dataclass(frozen=True)
class Data:
    """Rows with their classes and what a method is told about them."""

    X: np.ndarray
    y: np.ndarray
    known: Constraints


def takes(method: Method, parameter: str) -> bool:
    return parameter in method.cls().get_params()


def make(method: Method, **params: Any) -> Any:
    """Make the estimator; parameters that it does not have do not matter to it."""
    known = method.cls().get_params()
    quick = {name: less for name, less in QUICK.items() if known.get(name) != 1}
    wanted = {"random_state": 0, **quick, **params}
    if method.kind.clusters:
        wanted = {"n_clusters": K, **wanted}
        wanted["n_components"] = wanted["n_clusters"]
    if "init" in wanted:
        wanted["means_init"] = wanted["init"]
    return method.cls(**{name: value for name, value in wanted.items() if name in known})


@functools.cache
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Rows in overlapping blobs, and their blobs.

    All values are positive, so that methods for counts and directions take them too.
    """
    X, y = make_blobs(160, n_features=5, centers=K, cluster_std=3.0, random_state=3)
    X = X - X.min() + 1.0
    X.setflags(write=False)
    return X, y


def knowledge_for(method: Method, y: np.ndarray, n: int = 60, seed: int = 1) -> Constraints:
    """Some side information of the kinds that the method takes; true to the classes."""
    kinds = set(method.tags.knowledge)
    known = Constraints(n_samples=len(y))
    if {"must-link", "cannot-link"} & kinds:
        pairs = Constraints.sample(y, n, random_state=seed)
        known = Constraints(
            pairs.must_link if "must-link" in kinds else None,
            pairs.cannot_link if "cannot-link" in kinds else None,
            n_samples=len(y),
        )
    if "labels" in kinds and (known.is_empty or method.tags.kind == "classifier"):
        known |= Constraints.from_labels(np.where(np.arange(len(y)) % 5 == 0, y, -1))
    return known


def scores_between(X: np.ndarray) -> np.ndarray:
    """Signed scores of pairs of rows: positive for those nearer than most."""
    distances = squareform(pdist(X))
    scores = np.percentile(distances, 30) - distances
    np.fill_diagonal(scores, 0.0)
    return scores


def partitions_near(y: np.ndarray, n_partitions: int = 5) -> np.ndarray:
    """Partitions that are one with some rows moved at random, a column for each."""
    rng = np.random.default_rng(0)
    moved = rng.random((len(y), n_partitions)) < 0.2
    return np.where(moved, rng.integers(0, K, moved.shape), y[:, None]).astype(np.float64)


def counts_about(y: np.ndarray) -> np.ndarray:
    """Counts of words, some of which one class has more often than others."""
    often = np.full((K, 30), 0.4)
    for topic in range(K):
        often[topic, 5 * topic : 5 * topic + 5] = 3.0
    counts = np.random.default_rng(0).poisson(often[y]).astype(np.float64)
    counts[:, -1] += 1.0  # no document is empty
    return counts


def ones_of(X: np.ndarray) -> np.ndarray:
    """Zeros and ones: which of fifteen rows a row is near to."""
    distances = cdist(X, X[:: len(X) // 15][:15])
    return (distances < np.median(distances)).astype(np.float64)


def rows_for(method: Method, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rows as the kind of method takes them: scores of pairs, partitions, counts ..."""
    if method.tags.kind == "graph-clusterer":
        return scores_between(X)
    if method.tags.kind == "consensus":
        return partitions_near(y)
    if method.tags.kind == "categorizer":
        return counts_about(y)
    if method.tags.kind == "coclusterer":
        return ones_of(X)
    return X


@functools.cache
def data_for(method: Method) -> Data:
    """The shared rows as the kind of method takes them, with knowledge that the method takes."""
    X, y = blobs()
    X = rows_for(method, X, y)
    X.setflags(write=False)
    return Data(X, y, knowledge_for(method, y))


@functools.cache
def fitted(method: Method) -> Any:
    """The method fitted to the shared rows and to what it is told about them."""
    return fresh(method)


@dataclass(frozen=True)
class Again:
    """A second fit of the same, its rows afterwards, and the knowledge before and afterwards."""

    model: Any
    X: np.ndarray
    knowledge: tuple[bytes, bytes]


@functools.cache
def fitted_again(method: Method) -> Again:
    """The method fitted once more to a copy of the shared rows, which it may write.

    Afterwards the rows are overwritten: what the model says must not depend on them any more.
    """
    data = data_for(method)
    X, before = data.X.copy(), pickle.dumps(data.known)
    model = make(method).fit(X, constraints=data.known)
    after = X.copy()
    X[:] = X[::-1].copy() + 1.0
    return Again(model, after, (before, pickle.dumps(data.known)))


def fresh(method: Method, **params: Any) -> Any:
    """The method fitted once more, with other parameters."""
    data = data_for(method)
    return make(method, **params).fit(data.X, constraints=data.known)


def places(model: Any) -> np.ndarray:
    """Where the clusters are, for methods that say so."""
    return np.asarray(getattr(model, "cluster_centers_", getattr(model, "means_", 0.0)))
