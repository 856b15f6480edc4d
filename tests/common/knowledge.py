"""Knowledge counts or the user is told: for every method, every kind, and the weights of pairs."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest
from tests.common.applies import applies_to
from tests.common.models import Data, data_for, make

from sidelight import Constraints
from sidelight.catalog import Method
from sidelight.exceptions import SidelightError, UnusedKnowledge

PAIRS = ("must-link", "cannot-link")
KINDS = (*PAIRS, "labels", "groups")


def stated(y: np.ndarray, *kinds: str, weights: Any = None) -> Constraints:
    """Statements of these kinds, each about rows of its own, so that all can be satisfied.

    They have nothing to do with the blobs: a result has to bend for them, or to violate some.
    """
    rng = np.random.default_rng(5)
    n = len(y)
    rows = rng.permutation(n)
    must, cannot = rows[:50].reshape(25, 2), rows[50:100].reshape(25, 2)
    labels, groups = np.full(n, -1), np.full(n, -1)
    labels[rows[100:130]] = np.arange(30) % 4
    groups[rows[130:]] = np.arange(n - 130) % 4
    heavy = weights is not None
    return Constraints(
        must if "must-link" in kinds else None,
        cannot if "cannot-link" in kinds else None,
        labels=labels if "labels" in kinds else None,
        groups=groups if "groups" in kinds else None,
        must_link_weight=weights[: len(must)] if heavy and "must-link" in kinds else None,
        cannot_link_weight=weights[: len(cannot)] if heavy and "cannot-link" in kinds else None,
        n_samples=n,
    )


@functools.lru_cache(maxsize=16)  # checks of a method follow each other
def fit_to(method: Method, kinds: frozenset[str], **params: Any) -> tuple[Any, list[str]]:
    """Fit to statements of these kinds; the model, and what was said about those not used."""
    data = data_for(method)
    return fit(method, stated(data.y, *kinds), data, **params)


def fit(method: Method, known: Constraints, data: Data, **params: Any) -> tuple[Any, list[str]]:
    """Fit, and return what was said about knowledge that is not used."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UnusedKnowledge)
        model = make(method, n_init=1, max_iter=10, **params).fit(data.X, constraints=known)
    return model, [str(one.message) for one in said]


def outcome(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Everything that knowledge can change: labels, features, scores, parameters."""
    names = ("labels_", "scores_", "components_", "cluster_centers_", "means_", "weights_")
    names += ("embedding_", "term_weights_")
    found = [np.asarray(getattr(model, name)) for name in names if hasattr(model, name)]
    if hasattr(model, "objective_"):
        found.append(np.asarray(model.objective_))
    if hasattr(model, "decision_function"):
        found.append(np.asarray(model.decision_function(X)))
    if hasattr(model, "transform") and not hasattr(model, "labels_"):
        found.append(np.asarray(model.transform(X)))
    return found


def differ(one: Any, other: Any, X: np.ndarray) -> bool:
    return any(
        left.shape != right.shape or not np.array_equal(left, right, equal_nan=True)
        for left, right in zip(outcome(one, X), outcome(other, X), strict=True)
    )


def basis(method: Method) -> set[str]:
    """Kinds without which the method refuses to begin, or has nothing to change."""
    used = set(method.tags.knowledge)
    if method.name in ("mmc", "dca", "constraint-score", "cannot-link-metric"):
        return {"cannot-link"}
    if method.name == "grouped-spectral-clustering":  # another solver where nothing is joined
        return {"must-link"}
    if method.name == "forward-constraint-selector":
        return set(PAIRS)
    if method.name in ("pola", "online-constraint-selector"):  # must-links only take weight away
        return {"cannot-link"}
    return {"labels"} if used == {"labels"} or method.tags.kind == "classifier" else set()


def used_kinds(method: Method) -> list[str]:
    return [kind for kind in KINDS if kind in method.tags.knowledge]


@applies_to(lambda method: bool(used_kinds(method)))
def check_every_kind_of_knowledge_changes_something(method: Method) -> None:
    data = data_for(method)
    for kind in used_kinds(method):
        others = basis(method) - {kind}
        if kind in basis(method):  # taken away, nothing is left to fit: stated otherwise instead
            more = {"cannot-link": "labels", "must-link": "groups"}.get(kind)
            if more not in method.tags.knowledge:
                continue
            others |= {more, "cannot-link"} & set(method.tags.knowledge) - {kind}
        without, _ = fit_to(method, frozenset(others))
        known, said = fit_to(method, frozenset({*others, kind}))
        assert not said
        assert differ(known, without, data.X), f"{kind} changes nothing"


@applies_to(lambda method: not set(KINDS) <= set(method.tags.knowledge))
def check_kinds_that_are_not_used_are_named(method: Method) -> None:
    data = data_for(method)
    plain, nothing = fit_to(method, frozenset(basis(method)))
    assert not nothing
    by_labels = set(method.cls._with_labels)
    if method.tags.kind == "classifier":
        by_labels -= {"cannot-link"}  # of these blobs' classes a cannot-link leaves several
    for kind in set(KINDS) - {*method.tags.knowledge, *by_labels}:
        if method.name == "global-kmeans" and kind in ("cannot-link", "labels"):
            with pytest.raises(SidelightError, match="keeps must-links and groups, but"):
                fit(method, stated(data.y, kind), data)
            continue
        told, said = fit(method, stated(data.y, *basis(method), kind), data)
        assert len(said) == 1
        assert kind.rstrip("s") in said[0]
        assert method.cls.__name__ in said[0]
        assert not differ(plain, told, data.X), f"{kind} changes something"


def takes_pairs(method: Method) -> bool:
    return bool(set(PAIRS) & set(method.tags.knowledge))


@applies_to(takes_pairs)
def check_weights_of_pairs_count_or_are_named(method: Method) -> None:
    data = data_for(method)
    weights = np.random.default_rng(0).uniform(0.2, 5.0, 50)
    for kind in PAIRS:
        if kind not in method.tags.knowledge:
            continue
        kinds = {*basis(method), kind}
        # Small prices and steps, so that pairs do not get all that they ask for at any weight.
        small = {"penalty": 1e-3, "step": 0.1}
        plain, _ = fit_to(method, frozenset(kinds), **small)
        heavy, said = fit(method, stated(data.y, *kinds, weights=weights), data, **small)
        if kind in method.tags.weights:
            assert not said
            assert differ(plain, heavy, data.X), f"weights of {kind}s change nothing"
        else:
            assert len(said) == 1
            assert f"weights of {kind}s" in said[0]
            assert not differ(plain, heavy, data.X)
