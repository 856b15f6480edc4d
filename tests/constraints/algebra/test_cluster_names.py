"""Clusters keep the names of the classes that they stand for."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight import Constraints, catalog
from sidelight.constraints.algebra._violations import name_clusters

CLASSES = ("starter", "core", "vip")


def by_counting(classes, clusters, n_clusters):
    """The definition, row by row."""
    names = [None] * n_clusters
    labeled = [(c, k) for c, k in zip(classes, clusters, strict=True) if c]
    for name, cluster in itertools.product(set(filter(None, classes)), range(n_clusters)):
        both = labeled.count((name, cluster))
        inside = sum(k == cluster for _, k in labeled)
        of_class = sum(c == name for c, _ in labeled)
        if 2 * both > inside and 2 * both > of_class:
            assert names[cluster] is None
            names[cluster] = name
    return names


@given(
    st.lists(
        st.tuples(st.sampled_from(["", *CLASSES]), st.integers(-1, 3)), min_size=1, max_size=12
    )
)
def test_names_follow_the_definition(rows):
    classes, clusters = (list(column) for column in zip(*rows, strict=True))
    found = name_clusters(Constraints(labels=classes), np.array(clusters), 4)
    assert found.tolist() == by_counting(classes, clusters, 4)
    named = [name for name in found if name is not None]
    assert len(set(named)) == len(named)


def blobs(seed=0, n=54):
    rng = np.random.default_rng(seed)
    classes = np.repeat(CLASSES, n // 3)
    centers = {"starter": (0, 0), "core": (9, 0), "vip": (0, 9)}
    X = np.array([centers[name] for name in classes]) + rng.normal(size=(n, 2))
    return np.abs(X), classes


LABELED = [
    m for m in catalog.methods() if m.tags.kind == "clusterer" and "labels" in m.tags.knowledge
]


@pytest.mark.parametrize("method", LABELED, ids=lambda method: method.name)
def test_every_method_that_takes_labels_names_its_clusters(method):
    X, classes = blobs()
    partly = np.where(np.arange(len(X)) % 6 == 0, classes, "")
    if method.tags.sparse and "bernoulli" in method.name:
        X = (X > 4).astype(float)
    if "categorical" in method.name:
        X = (X > 4).astype(int)
    size = method.size_parameter
    chosen = {size: 3} if size else {}
    some = {"random_state": 0, "n_init": 1}  # what holds for one start holds for the best
    chosen |= {name: value for name, value in some.items() if name in method.cls().get_params()}
    try:
        model = method.cls(**chosen).fit(X, constraints=Constraints.from_labels(partly))
    except ValueError as error:  # methods on other spaces have contract tests of their own
        pytest.skip(str(error))
    assert len(model.cluster_names_) >= model.labels_.max() + 1
    expected = by_counting(partly.tolist(), model.labels_.tolist(), len(model.cluster_names_))
    assert model.cluster_names_.tolist() == expected
    if method.tags.enforcement == "hard":
        for row in np.flatnonzero(partly != ""):
            assert model.cluster_names_[model.labels_[row]] == partly[row]


def test_nothing_labeled_names_nothing():
    X, _ = blobs()
    model = catalog.get("kmeans").cls(3, random_state=0).fit(X)
    assert model.cluster_names_.tolist() == [None] * 3
    assert "labeled rows" not in model.summary()


def test_the_summary_names_the_classes():
    X, classes = blobs()
    partly = np.where(np.arange(len(X)) % 6 == 0, classes, "")
    model = catalog.get("seeded-kmeans").cls(3, random_state=0).fit(X, partly)
    named = ", ".join(f"{k} {name}" for k, name in enumerate(model.cluster_names_))
    assert f"; by their labeled rows they are {named}." in model.summary()
    assert set(model.cluster_names_) == set(CLASSES)
    # Clusters are numbered as the classes that the method began with.
    assert model.cluster_names_.tolist() == model.classes_.tolist()


def test_whole_numbers_are_names_too():
    model = catalog.get("seeded-kmeans").cls(2).fit([[0.0], [0.1], [9.0]], [20, -1, 10])
    assert model.cluster_names_[model.labels_].tolist() == [20, 20, 10]
