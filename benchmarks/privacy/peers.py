"""Peers of tables to publish, as they run in a process of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness import most_memory


@dataclass(frozen=True)
class Classes:
    """Seconds of a run, and the class of every row."""

    seconds: float
    labels: np.ndarray


def anonypyx(table: Any, k: int, algorithm: str) -> Classes:
    """Mondrian or MDAV-generic of anonypyx; categories as it wants them, gaps as a value."""
    from anonypyx import Anonymiser

    X = table.reset_index(drop=True).copy()
    for name in X:
        if X[name].dtype.kind not in "iuf":
            X[name] = X[name].fillna("missing").astype("category")
    started = time.perf_counter()
    model = Anonymiser(X, k=k, feature_columns=list(X.columns), algorithm=algorithm)
    parts = model.algorithm.partition(model.parameters)
    seconds = time.perf_counter() - started  # its tables of results take some more
    labels = np.empty(len(X), np.int64)
    for number, part in enumerate(parts):
        labels[np.asarray(part)] = number
    return Classes(seconds, labels)


@dataclass(frozen=True)
class Large:
    """Seconds, megabytes at most, classes and loss of a large fit."""

    seconds: float
    megabytes: float
    n_classes: int
    ncp: float


def large(n_rows: int, k: int) -> Large:
    """Our own fit of many rows, with a small one before that compiles."""
    import pandas as pd

    from sidelight.datasets import make_adult_like
    from sidelight.privacy import Anonymizer

    small = make_adult_like(2_000, random_state=1)
    names = list(small.quasi_identifiers)
    Anonymizer(k, random_state=0).fit(pd.DataFrame(small.columns)[names])
    X = pd.DataFrame(make_adult_like(n_rows, random_state=0).columns)[names]
    started = time.perf_counter()
    model = Anonymizer(k, random_state=0).fit(X)
    seconds = time.perf_counter() - started
    return Large(seconds, most_memory(), len(model.cluster_sizes_), model.loss_["ncp"])
