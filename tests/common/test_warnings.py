"""Every warning of every method points at the user's line: the one that calls the estimator."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.common.models import K, blobs, knowledge_for, make, rows_for

from sidelight import Constraints, catalog
from sidelight.catalog import Method
from sidelight.cluster import KMeans, PCKMeans
from sidelight.evaluation import cross_validated_labels, sammon_stress, trustworthiness
from sidelight.manifold import IncrementalIsomap, Isomap
from sidelight.preparation import TablePreparer
from sidelight.semi_supervised import HarmonicClassifier

METHODS = catalog.methods()

#: Rows of the tables: as few as have neighbors, and statements of every kind.
N_ROWS = 24

#: Warnings of NumPy about single operations, which have no place but their own.
NOT_OURS = (RuntimeWarning,)


@dataclass
class Case:
    """What an estimator is given."""

    X: Any
    y: Any = None
    known: Constraints | None = None
    params: dict[str, Any] = field(default_factory=dict)


def rows_and_classes(method: Method) -> tuple[np.ndarray, np.ndarray]:
    X, y = blobs()
    X, y = X[:N_ROWS], y[:N_ROWS]
    return np.array(rows_for(method, X, y)), y


def needed(method: Method, y: np.ndarray) -> Constraints:
    """Knowledge without which some methods refuse to begin."""
    return knowledge_for(method, y, n=12)


# ------------------------------------------------------------------ ways to be warned


def stopped_early(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, known=needed(method, y), params={"max_iter": 1, "tol": 0.0})


def all_kinds_of_knowledge(method: Method) -> Case:
    """Pairs with weights, labels and groups: what the method does not use is named."""
    X, y = rows_and_classes(method)
    pairs = Constraints.sample(y, 12, random_state=0)
    known = Constraints(
        pairs.must_link,
        pairs.cannot_link,
        must_link_weight=np.linspace(1, 2, len(pairs.must_link)),
        cannot_link_weight=np.linspace(1, 2, len(pairs.cannot_link)),
        labels=np.where(np.arange(N_ROWS) % 2, y, -1),
        groups=np.where(np.arange(N_ROWS) % 3, -1, y),
        n_samples=N_ROWS,
    )
    return Case(X, known=known)


def contradictions(method: Method) -> Case:
    X, y = rows_and_classes(method)
    both = Constraints([(0, 1)], [(0, 1)], n_samples=N_ROWS)
    return Case(X, known=needed(method, y) | both)


def positions_that_may_be_ids(method: Method) -> Case:
    X, y = rows_and_classes(method)
    pair = np.flatnonzero(y == y[0])[:2]
    known = needed(method, y) | Constraints([pair], n_samples=N_ROWS)
    table = pd.DataFrame(X, index=np.arange(N_ROWS)[::-1])
    if method.tags.kind == "graph-clusterer":
        table.columns = table.index
    return Case(table, known=known)


def ids_that_may_be_positions(method: Method) -> Case:
    X, y = rows_and_classes(method)
    known = needed(method, y)
    labels = None if known.labels is None else known.labels[::-1]
    ids = np.arange(N_ROWS)[::-1]
    return Case(
        pd.DataFrame(X),
        known=Constraints(known.must_link, known.cannot_link, labels=labels, ids=ids),
    )


def labels_of_all_rows(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, y, needed(method, y))


def fractions_for_labels(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, y + 0.5, needed(method, y))


def labels_in_a_column(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, np.where(np.arange(N_ROWS) % 2, y, -1)[:, None])


def two_marks_for_unlabeled(method: Method) -> Case:
    X, y = rows_and_classes(method)
    labels = y.astype(float)
    labels[:6], labels[6:9] = -1, np.nan
    return Case(X, labels)


def missing_labels_as_words(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, np.where(np.arange(N_ROWS) % 2, y.astype(str), "nan"))


def equal_rows(method: Method) -> Case:
    X, _ = rows_and_classes(method)
    if method.tags.kind == "graph-clusterer":
        return Case(X)
    return Case(X[np.arange(N_ROWS) % 2], known=needed(method, np.arange(N_ROWS) % 2))


def a_constant_column(method: Method) -> Case:
    X, y = rows_and_classes(method)
    X[:, 0] = 1.0
    return Case(X, known=needed(method, y))


def few_rows(method: Method) -> Case:
    X, y = rows_and_classes(method)
    rows = np.flatnonzero(y < 2)[:6]
    square = method.tags.kind == "graph-clusterer"
    X = X[np.ix_(rows, rows)] if square else X[rows]
    return Case(
        X,
        known=needed(method, y).restrict(rows),
        params={"n_clusters": 2, "n_neighbors": 20, "n_components": 5},
    )


def rows_far_apart(method: Method) -> Case:
    X, y = rows_and_classes(method)
    far = X * 1.0
    if method.tags.kind in ("clusterer", "embedding", "transformer", "classifier"):
        far += 1e3 * y[:, None]
        far[0] += 1e5
    return Case(far, known=needed(method, y), params={"n_neighbors": 2, "n_clusters": 2})


def a_width_that_is_not_used(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, known=needed(method, y), params={"sigma": 1.0, "weights": "binary"})


def a_large_variance_is_added(method: Method) -> Case:
    X, y = rows_and_classes(method)
    return Case(X, known=needed(method, y), params={"reg_covar": 1e4})


WAYS = (
    positions_that_may_be_ids,
    all_kinds_of_knowledge,
    stopped_early,
    contradictions,
    ids_that_may_be_positions,
    labels_of_all_rows,
    fractions_for_labels,
    labels_in_a_column,
    two_marks_for_unlabeled,
    missing_labels_as_words,
    equal_rows,
    a_constant_column,
    few_rows,
    rows_far_apart,
    a_width_that_is_not_used,
    a_large_variance_is_added,
)


# ------------------------------------------------------------------ where they point


def next_line() -> int:
    """Number of the line below the one that calls this."""
    return sys._getframe(1).f_lineno + 1


class Recorder:
    """Calls a method of an estimator, and collects warnings that point elsewhere."""

    def __init__(self) -> None:
        self.n_warnings = 0
        self.astray: list[str] = []

    def call(self, model: Any, name: str, *given: Any, **settings: Any) -> bool:
        """Call it; whether it came to its end, and did not refuse what it was given."""
        bound = getattr(model, name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                line = next_line()
                bound(*given, **settings)
                ended = True
            except (ValueError, TypeError, AttributeError):  # it may refuse, and warn before
                ended = False
        for one in caught:
            if issubclass(one.category, NOT_OURS):
                continue
            self.n_warnings += 1
            if (one.filename, one.lineno) != (__file__, line):
                self.astray.append(f"{name}: {one.filename}:{one.lineno}: {one.message}")
        return ended


def fit_methods(method: Method, way: Any) -> list[str]:
    """Ways to fit: all of them where warnings come from the first checks, and from the end."""
    names = ("fit", "fit_predict", "fit_transform") if way in WAYS[:3] else ("fit",)
    return [name for name in names if hasattr(method.cls, name)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_warnings_point_at_the_call(method: Method) -> None:
    recorder = Recorder()
    for way in WAYS:
        case = way(method)
        for name in fit_methods(method, way):
            model = make(method, **{"n_init": 1, "max_iter": 5, **case.params})
            ended = recorder.call(model, name, case.X, case.y, constraints=case.known)
            assert way is not positions_that_may_be_ids or recorder.n_warnings, name
        if ended:
            for later in ("predict", "transform", "predict_proba"):
                if hasattr(model, later):
                    recorder.call(model, later, np.asarray(case.X) + 1e6)
    assert not recorder.astray


# ------------------------------------------------------------------ calls of other kinds

X, Y = blobs()
TABLE = pd.DataFrame({"size": [1.0, 2.0, 4.0, 3.0], "color": ["red", "blue", "red", "blue"]})
NEW_COLOR = TABLE.assign(color=["red", "blue", "red", "green"])
PARTS = np.repeat([0.0, 1e3], 10)[:, None] + np.arange(20.0)[:, None]
PRECOMPUTED = HarmonicClassifier(graph="precomputed")
SINGLE = [0, 0, 0, 1, 1, 1, 2, *[-1] * 17]

#: Functions of the user, a line each.
CALLS: list[Callable[[], Any]] = [
    lambda: Constraints.from_labels(np.array(["a", "nan", "b"])),
    lambda: Constraints(labels=["a", "NaN", "b"]),
    lambda: Constraints(groups=pd.Series(["a", "nan", "b"])),
    lambda: IncrementalIsomap(n_neighbors=3).fit(PARTS[:10]).partial_fit(PARTS[10:]),
    lambda: Isomap(1, n_neighbors=3).fit_transform(PARTS),
    lambda: PRECOMPUTED.fit(np.ones((4, 4)), [0, 1, -1, -1]).predict(np.zeros((1, 4))),
    lambda: TablePreparer().fit(TABLE).transform(NEW_COLOR),
    lambda: TablePreparer().fit(TABLE).transform(TABLE.assign(extra=1)),
    lambda: sammon_stress(X[[0, 0, 1, 2]], X[:4, :2]),
    lambda: trustworthiness(X[:9], np.where(np.arange(9)[:, None] == 8, np.nan, X[:9]), k=2),
    lambda: make_pipeline(StandardScaler(), KMeans(3)).fit(np.ones((9, 2))),
    lambda: make_pipeline(StandardScaler(), PCKMeans(K)).fit_predict(X, Y),
    lambda: GridSearchCV(KMeans(), {"n_clusters": [2, 3]}, cv=2).fit(np.ones((9, 2))),
    lambda: cross_validated_labels(HarmonicClassifier(5), X[:24], SINGLE),
]


@pytest.mark.parametrize("call", CALLS)
def test_warnings_of_other_calls(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if not issubclass(one.category, NOT_OURS)]
    assert ours
    line = call.__code__.co_firstlineno
    assert {(one.filename, one.lineno) for one in ours} == {(__file__, line)}
