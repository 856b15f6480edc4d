"""Which checks belong to which kind of estimator.

A check is a function of a method of the catalog. It applies to all methods of its kind, or to those
that ``@applies_to`` picks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.common import (
    alternative,
    anonymizer,
    categorizer,
    classifier,
    clusterer,
    coclusterer,
    consensus,
    embedding,
    estimator,
    graph_clusterer,
    knowledge,
    partition,
    regionalizer,
    resolver,
    selector,
    transformer,
)

from sidelight.catalog import Method

Check = Callable[[Method], None]

#: Kind of estimator, out of ``sidelight.tags.KINDS``, to the modules with its checks.
KINDS: dict[str, tuple[Any, ...]] = {
    "clusterer": (estimator, knowledge, partition, clusterer),
    "transformer": (estimator, knowledge, transformer),
    "embedding": (estimator, knowledge, embedding),
    "selector": (estimator, knowledge, transformer, selector),
    "classifier": (estimator, knowledge, classifier),
    "graph-clusterer": (estimator, knowledge, partition, graph_clusterer),
    "consensus": (estimator, knowledge, partition, consensus),
    "regionalizer": (estimator, knowledge, partition, regionalizer),
    "resolver": (estimator, knowledge, partition, resolver),
    "alternative": (estimator, knowledge, partition, alternative),
    "coclusterer": (estimator, knowledge, partition, coclusterer),
    "categorizer": (estimator, knowledge, partition, categorizer),
    "anonymizer": (estimator, knowledge, partition, anonymizer),
}


def all_checks(kind: str) -> Iterator[Check]:
    """Checks of a kind, whether or not they apply to all of its methods."""
    for module in KINDS[kind]:
        for name, value in vars(module).items():
            if name.startswith("check_") and value.__module__ == module.__name__:
                yield value


def checks_of(method: Method) -> Iterator[Check]:
    """The checks that a method has to pass."""
    for check in all_checks(method.tags.kind):
        if getattr(check, "applies", lambda method: True)(method):
            yield check
