"""What is sent to the rows does not grow with them: a model, and never the table or a part of it.

Block functions are pickled for every pass. One that drags rows along in its closure (``self`` of
an object that holds them is enough) would send the whole table to every partition.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tests.engine.test_purity import METHODS, SETTINGS

from sidelight import Constraints, catalog
from sidelight._fit.few_rows import FewRows
from sidelight._fit.views import UnitRows
from sidelight.engine import RowSource, as_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._orders import PartitionOrder, Sent
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.explanation._rows import MeanDistances

N_ROWS, TIMES = 49, 5

#: Bytes that a pickle may be longer with more rows: numbers and lists that are longer when written
#: down, one more round of a search. A byte for each row that is more would be 196.
SLACK = 150

#: What holds the number of parts of the model fixed, where a method chooses it by the rows.
FIXED_SIZES = {
    "n_clusters": 3,
    "n_components": 3,
    "n_charts": 3,
    "n_mixtures": 1,
    "n_estimators": 2,
    "n_landmarks": 20,
    "min_components": 3,
    "grid": (3, 3),
    "random_state": 0,
    "n_init": 1,
    "max_iter": 5,
}

#: Settings without another method inside that chooses the size of its model.
SIMPLE = {"CoordinatedFactorAnalysis": {"init": "pca"}, "CoordinatedViews": {"init": "pca"}}

#: Methods that work in memory, whose functions are sent nowhere, with the reason why they grow.
IN_MEMORY = {
    "NonparametricMixture": "a kernel method: the rows are the model",
}

#: Methods that read the rows that constraints name, and make no pass over the others.
WITHOUT_PASSES = {"CannotLinkMetric", "ITML", "MMC", "POLA"}

CASES = [
    pytest.param(
        method,
        setting,
        id=f"{method.name}-{'-'.join(map(str, setting.values()))}",
    )
    for method in METHODS
    for setting in ({}, *SETTINGS.get(method.cls.__name__, ()))
    if method.cls.__name__ not in IN_MEMORY
]


def recorded_sizes(run: Callable[[], Any], monkeypatch: Any) -> dict[tuple[str, ...], int]:
    """Return the largest pickle of the functions that a run sends, by function and call site."""
    sizes: dict[tuple[str, ...], int] = {}
    plain = RowSource.map_reduce

    def record(source: RowSource, function: Any, *, aligned: Any = ()) -> Any:
        key = (_name(function), *_call_sites(sys._getframe(1)))
        sizes[key] = max(sizes.get(key, 0), len(cloudpickle.dumps(function)))
        return plain(source, function, aligned=aligned)

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(RowSource, "map_reduce", record)
        run()
    return sizes


def _name(function: Any) -> str:
    while hasattr(function, "_function"):  # that of a view of the rows
        function = function._function
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _call_sites(frame: Any) -> list[str]:
    """Functions of the package that led to a pass, the last four."""
    sites: list[str] = []
    while frame is not None and len(sites) < 4:
        if frame.f_globals.get("__name__", "").startswith("sidelight."):
            sites.append(f"{frame.f_globals['__name__']}.{frame.f_code.co_name}")
        frame = frame.f_back
    return sites


def growing(few: dict[tuple[str, ...], int], many: dict[tuple[str, ...], int]) -> list[str]:
    """Return functions whose pickles are longer with more rows.

    A function that was called from another place before is compared with its largest pickle there.
    """
    by_name: dict[str, int] = {}
    for (name, *_), size in few.items():
        by_name[name] = max(by_name.get(name, 0), size)
    found = []
    for key, size in many.items():
        before = few.get(key, by_name.get(key[0]))
        if before is not None and size > before + SLACK:
            found.append(f"{' in '.join(key[:2])}: {before} to {size} bytes")
    return found


def known_of_the_first(method: Any, y: np.ndarray, n_rows: int) -> Constraints:
    """Return pairs or labels of the same few rows, whatever the number of all rows."""
    used, first = method.tags.knowledge, y[:N_ROWS]
    labels = np.full(n_rows, -1)
    labels[:N_ROWS:7] = first[::7]
    if "must-link" not in used:
        return Constraints.from_labels(labels)
    pairs = Constraints.sample(first, 30, random_state=0)
    apart = pairs.cannot_link if "cannot-link" in used else None
    known = Constraints(pairs.must_link, apart, n_samples=n_rows)
    return known | Constraints.from_labels(labels) if method.tags.kind == "classifier" else known


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks also where the work would not be worth them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("sidelight.") and hasattr(module, "WORTH_BLOCKS"):
            monkeypatch.setattr(module, "WORTH_BLOCKS", 0)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows with the same few values again and again, as classes of levels have."""
    X, y = make_blobs(N_ROWS, n_features=4, centers=3, cluster_std=3.0, random_state=3)
    X = np.tile(X - X.min() + 1.0, (TIMES, 1))
    X[N_ROWS:] += np.random.RandomState(0).normal(scale=0.3, size=X[N_ROWS:].shape)
    return np.maximum(X, 0.1), np.tile(y, TIMES)


@pytest.mark.parametrize(("method", "setting"), CASES)
def test_functions_do_not_grow_with_the_rows(
    method: Any, setting: Any, table: Any, many_blocks: None, monkeypatch: Any
) -> None:
    X, y = table
    taken = method.cls().get_params()
    params = {name: value for name, value in FIXED_SIZES.items() if name in taken} | setting
    params |= SIMPLE.get(method.cls.__name__, {})
    if "binarize" in taken and method.tags.kind == "coclusterer":
        params["binarize"] = "mean"
    if method.name == "categorical-mixture":
        X = X.round() % 3  # levels, of which there are no more with more rows

    def run(n_rows: int) -> None:
        rows = as_rows(X[:n_rows]) if method.tags.out_of_core else X[:n_rows]
        model = method.cls(**params).fit(rows, constraints=known_of_the_first(method, y, n_rows))
        for verb in ("predict", "transform", "predict_proba", "score"):
            if hasattr(model, verb) and (verb != "score" or method.tags.out_of_core):
                getattr(model, verb)(
                    rows.take(range(N_ROWS)) if method.tags.out_of_core else rows[:N_ROWS]
                )

    few = recorded_sizes(lambda: run(N_ROWS), monkeypatch)
    many = recorded_sizes(lambda: run(TIMES * N_ROWS), monkeypatch)
    assert not growing(few, many)
    if method.tags.out_of_core:
        assert few or method.cls.__name__ in WITHOUT_PASSES


def test_in_memory_exceptions_are_in_memory():
    named = {method.cls.__name__: method.tags.out_of_core for method in catalog.methods()}
    assert not any(named[name] for name in IN_MEMORY)


def test_a_function_that_holds_its_rows_is_found(monkeypatch):
    class Holder:
        def __init__(self, n_rows: int) -> None:
            self.rows = as_rows(np.ones((n_rows, 2)))

        def total(self) -> Any:
            return self.rows.map_reduce(lambda block: ((self.rows.n_features * block.sum(),), ()))

    sizes = [recorded_sizes(Holder(n).total, monkeypatch) for n in (N_ROWS, TIMES * N_ROWS)]
    assert growing(*sizes)


def test_views_and_explanations_hold_no_rows(monkeypatch):
    def run(n_rows: int) -> None:
        X = np.random.RandomState(0).uniform(1, 2, size=(n_rows, 3))
        codes = np.arange(n_rows) % 3
        UnitRows(as_rows(X)).map_reduce(lambda block: ((block.sum(),), ()))
        MeanDistances(X, codes, 3).typical()

    sizes = [recorded_sizes(lambda n=n: run(n), monkeypatch) for n in (N_ROWS, TIMES * N_ROWS)]
    assert len(sizes[0]) > 4
    assert not growing(*sizes)


def test_a_partition_is_sent_its_own_constrained_rows_alone():
    rows = np.array([0, 3, 4, 11])
    few = FewRows(rows, [5, 6, 7, 8])
    own = few.part(3, 10)
    places, values = own[0:7]
    assert places.tolist() == [0, 1]
    assert values.tolist() == [6, 7]
    for start, stop in ((0, 3), (3, 4), (4, 12), (5, 11)):
        places, values = few[start:stop]
        inside = (rows >= start) & (rows < stop)
        np.testing.assert_array_equal(places, rows[inside] - start)
        np.testing.assert_array_equal(values, np.arange(5, 9)[inside])

    seen: dict[int, PartitionOrder] = {}

    class Watching(LocalEngine):
        def map_in_order(self, work: Any, orders: Any) -> Any:
            seen.update({n: one for n, one in orders.items() if isinstance(one, PartitionOrder)})
            return super().map_in_order(work, orders)

    source = PartitionedRows(Watching([np.ones((n, 2)) for n in (3, 7, 2)]))
    (total,), _ = source.map_reduce(lambda b, few: ((few[1].sum(),), ()), aligned=(few,))
    assert total == 26
    sent = [order.work.aligned[0] for _, order in sorted(seen.items())]
    assert all(isinstance(piece, Sent) for piece in sent)
    assert [piece.piece[0:9][1].tolist() for piece in sent] == [[5], [6, 7], [8]]
