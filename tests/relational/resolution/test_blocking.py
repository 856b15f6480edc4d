"""Blocking: pairs by brute force over keys, the report, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.exceptions import SidelightError
from sidelight.relational import AttributeResolution, ColumnComparison, RelationalResolution
from sidelight.relational.resolution import _blocking, _keys

NAMES = ["Wei Wang", "W. Wang", "Wang, Wei", None, "Ann Li", "A. Li", "li", "Li, A.", "Wéi WANG"]


CITIES = ["Rome", "Rome", "Oslo", "Oslo", None, "Rome", "Oslo", "Rome", "rome"]


AGES = [30.0, 31.5, 33.0, 60.0, np.nan, 61.0, 30.0, 45.0, 33.1]


TABLE = {"name": NAMES, "city": CITIES, "age": AGES}


def compared(blocking: Any, table: Any = None, **params: Any) -> set[tuple[int, int]]:
    table = TABLE if table is None else table
    pairs = AttributeResolution(blocking=blocking, **params).fit(table).pairs_
    assert np.all(np.diff(pairs["i"] * 10_000 + pairs["j"]) > 0)
    assert np.all(pairs["i"] < pairs["j"])
    return set(zip(pairs["i"].tolist(), pairs["j"].tolist(), strict=True))


def pairs_where(agree: Callable[[int, int], bool], n: int = len(NAMES)) -> set[tuple[int, int]]:
    return {(i, j) for i in range(n) for j in range(i + 1, n) if agree(i, j)}


def same(values: list[Any]) -> Callable[[int, int], bool]:
    return lambda i, j: values[i] is not None and values[i] == values[j]


LAST = ["wang", "wang", "wang", None, "li", "li", "li", "li", "wang"]


INITIAL = ["w", "w", "w", None, "a", "a", "l", "a", "w"]


CITY = [None if city is None else city.lower() for city in CITIES]


def within(i: int, j: int) -> bool:
    return abs(AGES[i] - AGES[j]) <= 2.0


@pytest.mark.parametrize(
    ("blocking", "agree"),
    [
        (None, lambda i, j: True),
        (("city",), same(CITY)),
        (("city:prefix1",), same([None if city is None else city[0] for city in CITY])),
        (("age:prefix1",), same([None if np.isnan(age) else str(age)[0] for age in AGES])),
        (("name:last",), same(LAST)),
        (("name:last+initial",), lambda i, j: same(LAST)(i, j) and same(INITIAL)(i, j)),
        (("age:within2",), within),
        (("age",), same([None if np.isnan(age) else age for age in AGES])),
        ((("name:last", "city"),), lambda i, j: same(LAST)(i, j) and same(CITY)(i, j)),
        (("name:last", "age:within2"), lambda i, j: same(LAST)(i, j) or within(i, j)),
        ((lambda table: table["city"],), same(CITIES)),
    ],
)
def test_pairs_by_brute_force(blocking: Any, agree: Callable[[int, int], bool]) -> None:
    assert compared(blocking) == pairs_where(agree)


def test_sorted_neighborhood_counts_different_values() -> None:
    # In the order of the last words: li, li a, li a, li ann, wang w, wang wei (3 times).
    values = ["wang wei", "wang w", "wang wei", None, "li ann", "li a", "li", "li a", "wang wei"]
    ranks = {value: rank for rank, value in enumerate(sorted({one for one in values if one}))}
    for window in (0, 1, 2):
        expected = pairs_where(
            lambda i, j, window=window: (
                values[i] is not None
                and values[j] is not None
                and abs(ranks[values[i]] - ranks[values[j]]) <= window
            )
        )
        assert compared((f"name:lastnear{window}",)) == expected


def test_sorted_neighborhood_of_whole_texts() -> None:
    # In the order of their first words: a li, ann li, li, li a, w wang, wang wei, wei wang.
    ranks = [6, 4, 5, None, 1, 0, 2, 3, 6]
    expected = pairs_where(
        lambda i, j: None not in (ranks[i], ranks[j]) and abs(ranks[i] - ranks[j]) <= 1
    )
    assert compared(("name:near1",)) == expected


numbers = st.lists(st.integers(0, 12), min_size=2, max_size=14)


@given(numbers, numbers, st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_random_keys_by_brute_force(first: list[int], second: list[int], width: int) -> None:
    n = min(len(first), len(second))
    table = {"a": [float(value) for value in first[:n]], "b": [str(value) for value in second[:n]]}
    expected = pairs_where(
        lambda i, j: abs(first[i] - first[j]) <= width or second[i] == second[j], n
    )
    assert compared((f"a:within{width}", "b"), table) == expected


def test_report() -> None:
    model = AttributeResolution(blocking=("name:last", "city")).fit(TABLE)
    report = model.blocking_
    assert report.n_references == 9
    assert report.n_all_pairs == 36
    assert report.n_pairs == len(model.pairs_["i"])
    assert report.reduction_ratio == pytest.approx(1 - report.n_pairs / 36)
    assert report.keys["n_pairs"].tolist() == [12, 13]
    assert report.keys["n_blocks"].tolist() == [2, 2]
    assert report.keys["n_without"].tolist() == [1, 1]
    largest = zip(*report.largest_blocks.values(), strict=True)
    assert next(largest) == ("city", "rome", 5, 10)
    text = str(report)
    assert "21 pairs of 36 compared" in text
    assert "name:last: 12 pairs in 2 blocks, 1 reference without a value" in text
    assert "city=rome: 5 references, 10 pairs" in text


def test_completeness_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    report = AttributeResolution(blocking=("city",)).fit(TABLE).blocking_
    kept = compared(("city",))
    for _ in range(5):
        truth = rng.integers(-1, 3, len(NAMES))
        true = pairs_where(lambda i, j, truth=truth: truth[i] == truth[j] >= 0)
        assert report.completeness(truth) == pytest.approx(len(true & kept) / len(true))
    assert report.completeness(np.arange(len(NAMES))) == 1.0


def test_many_pairs_are_counted_in_words() -> None:
    table = {"city": np.repeat("Berlin", 123_456)}
    with pytest.raises(SidelightError, match=r"has 123,456 rows, 7\.62 billion pairs"):
        AttributeResolution(blocking=("city",)).fit(table)


@pytest.mark.parametrize(
    ("blocking", "words"),
    [
        (("nme",), "'nme' names no column; the table has 'name', 'city', 'age'"),
        (("name:soundex",), "'soundex' is no form of a key"),
        (("name:within2",), "for numbers and dates"),
        ((("name:near3", "city"),), "makes no blocks of its own"),
        (("age:last",), "'age:last' is for texts, but the column holds numbers"),
        (((),), "is empty"),
        ((3,), "3 is no key"),
        ((lambda table: [1, 2],), "one entry per row"),
    ],
)
def test_bad_keys(blocking: Any, words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        AttributeResolution(blocking=blocking).fit(TABLE)


# --- what it is made of ---


def test_words_in_common_that_are_rare(monkeypatch: Any) -> None:
    monkeypatch.setattr(_keys, "COMMON_WORD", 2)
    table = {"title": ["on graphs", "on trees", "of graphs", "trees on on", "on paths"]}
    assert compared(("title:words",), table) == {(0, 2), (1, 3)}  # "on" is in four of them


def test_default_keys_of_numbers_lose_no_pair_that_would_join(monkeypatch: Any) -> None:
    monkeypatch.setattr(_blocking, "ALL_PAIRS", 10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    compare = {
        "x0": ColumnComparison("number", scale=0.2),
        "x1": ColumnComparison("number", scale=0.1),
    }
    for threshold in (0.5, 0.7, 0.95):
        blocked = AttributeResolution(threshold, compare=compare).fit(X)
        everything = AttributeResolution(threshold, compare=compare, blocking=None).fit(X)
        assert blocked.pairs_["joined"].sum() == everything.pairs_["joined"].sum() > 0
        assert len(blocked.pairs_["i"]) < len(everything.pairs_["i"])
        np.testing.assert_array_equal(blocked.labels_, everything.labels_)


def test_relations_widen_the_default_keys(monkeypatch: Any) -> None:
    monkeypatch.setattr(_blocking, "ALL_PAIRS", 10)
    X = np.random.default_rng(1).normal(size=(100, 1))
    papers = np.arange(100) % 33
    compare = {"x0": ColumnComparison("number", scale=0.1)}
    model = {"threshold": 0.8, "compare": compare, "distinct": False}
    blocked = RelationalResolution(**model).fit(X, relations=papers)
    everything = RelationalResolution(**model, blocking=None).fit(X, relations=papers)
    assert blocked.pairs_["joined"].sum() <= everything.pairs_["joined"].sum()
    # (0.8 - 0.5) / 0.5 = 0.6: pairs below cannot join, and are not compared.
    assert blocked.pairs_["attribute"].min() == pytest.approx(0.6, abs=0.05)


def test_default_keys_of_texts(monkeypatch: Any) -> None:
    monkeypatch.setattr(_blocking, "ALL_PAIRS", 5)
    model = AttributeResolution(compare={"name": "name", "city": "text"}).fit(TABLE)
    keys = ["name:last+initial", "name:lastnear5", "city:prefix4", "city:near5"]
    assert model.blocking_.keys["key"].tolist() == keys
    model = AttributeResolution(compare={"name": "words"}).fit(TABLE)
    assert model.blocking_.keys["key"].tolist() == ["name:words"]
    model = AttributeResolution(compare={"city": "exact"}).fit(TABLE)
    assert model.blocking_.keys["key"].tolist() == ["city"]
    with pytest.raises(SidelightError, match="compared by functions need keys"):
        AttributeResolution(compare={"city": lambda a, b: np.zeros(len(a))}).fit(TABLE)


def test_a_block_with_too_many_pairs_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(_blocking, "MAX_PAIRS", 1_000)
    table = {"name": [f"n{i}" for i in range(200)], "city": ["Berlin"] * 120 + ["Rome"] * 80}
    words = r"The key 'city=berlin' has 120 rows, 7,140 pairs, of 10,300 pairs of the key 'city'"
    with pytest.raises(SidelightError, match=f"{words}.*longer prefix"):
        AttributeResolution(blocking=("name", "city")).fit(table)
    with pytest.raises(SidelightError, match=r"200 references have 19,900 pairs.*give keys"):
        AttributeResolution(blocking=None).fit(table)
    assert AttributeResolution(blocking=(("name", "city"),)).fit(table).blocking_.n_pairs == 0
