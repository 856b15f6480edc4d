"""Similarities of values: reference values, the formula of soft TF-IDF, missing values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import JaroWinkler
from tests.strategies import PEOPLE

from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.relational import AttributeResolution, ColumnComparison
from sidelight.relational.resolution import _soft_tfidf
from sidelight.relational.resolution._references import read_table
from sidelight.relational.resolution._similarities import Scorer, read_comparisons
from sidelight.relational.resolution._soft_tfidf import INITIAL, THETA

NAMES = ["Wei Wang", "W. Wang", "Wang, Wei", "Martha Marhta", "Marhta Martha", "A. Ansari", "Li"]


def test_similarity_of_any_pairs() -> None:
    model = AttributeResolution(blocking=("x:prefix1",)).fit({"x": NAMES})
    found = model.similarity([0, 0], [0, 5])
    assert found[0] == 1.0
    assert found[1] == 0.0
    with pytest.raises(SidelightError, match="no reference 9: positions go from 0 to 6"):
        model.similarity(0, 9)


@pytest.mark.parametrize(
    ("compare", "words"),
    [
        ({"nme": "name"}, "'nme', which the table does not have; it has 'name', 'year'"),
        ({"name": "soundex"}, "compared as name, words"),
        ({"name": "number"}, "'name' is compared as numbers but holds texts such as 'Ann'"),
        ({"name": "date"}, "compared as dates"),
        ({}, "mapping of columns"),
        ({"name": lambda a, b: 1.0}, r"returned shape \(\) for"),
        ({"name": lambda a, b: np.full(len(a), 1.5)}, "gave 1.5 for 'Ann' and 'Bob'"),
        ({"name": lambda a, b: a - b}, "'name' failed"),
    ],
)
def test_bad_comparisons(compare: Any, words: str) -> None:
    table = {"name": ["Ann", "Bob"], "year": [1, 2]}
    with pytest.raises(SidelightError, match=words):
        AttributeResolution(compare=compare).fit(table)


@pytest.mark.parametrize(
    "wrong", [{"weight": 0}, {"weight": "1"}, {"scale": -1.0}, {"theta": 1.0}, {"scale": math.inf}]
)
def test_bad_numbers_of_comparisons(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=f"The {next(iter(wrong))} of a comparison"):
        ColumnComparison("number", **wrong)


# --- what it is made of ---


def scorer(table: dict[str, Any], compare: Any = "auto") -> Scorer:
    references = read_table(table)
    return Scorer(references, read_comparisons(compare, references))


def all_pairs(n: int) -> np.ndarray:
    return np.column_stack(np.triu_indices(n, 1))


def parts_of(values: list[Any], kind: Any, pairs: Any = None) -> np.ndarray:
    pairs = all_pairs(len(values)) if pairs is None else np.asarray(pairs)
    return scorer({"x": values}, {"x": kind}).score(pairs)[:, 0]


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [("MARTHA", "MARHTA", 0.961), ("DIXON", "DICKSONX", 0.813), ("DWAYNE", "DUANE", 0.840)],
)
def test_published_values_of_jaro_winkler(first: str, second: str, value: float) -> None:
    for pair in ([first, second], [second, first]):
        assert parts_of(pair, "text")[0] == pytest.approx(value, abs=5e-4)


def weights_by_hand(names: list[str]) -> list[dict[str, float]]:
    """``log(tf + 1) log(N / df)`` of length 1, straight from the formula."""
    split = [name.lower().replace(".", " ").replace(",", " ").split() for name in names]
    weights = []
    for tokens in split:
        raw = {
            word: math.log(tokens.count(word) + 1)
            * math.log(len(names) / sum(word in other for other in split))
            for word in tokens
        }
        length = math.sqrt(sum(value**2 for value in raw.values()))
        if length == 0:
            raw = {word: math.log(tokens.count(word) + 1) for word in tokens}
            length = math.sqrt(sum(value**2 for value in raw.values()))
        weights.append({word: value / length for word, value in raw.items()})
    return weights


def close(w: str, v: str) -> float:
    if w == v:
        return 1.0
    if 1 in (len(w), len(v)):
        return INITIAL if w[0] == v[0] else 0.0
    return JaroWinkler.similarity(w, v)


def soft_by_hand(S: dict[str, float], T: dict[str, float]) -> float:
    total = 0.0
    for w, weight in S.items():
        best, match = max((close(w, v), T[v]) for v in T)
        total += weight * match * best if best > THETA else 0.0
    return total


def brute_soft(names: list[str]) -> np.ndarray:
    V = weights_by_hand(names)
    found = [
        min((soft_by_hand(V[i], V[j]) + soft_by_hand(V[j], V[i])) / 2, 1.0)
        for i, j in all_pairs(len(names))
    ]
    return np.array(found)


@given(st.lists(PEOPLE, min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_soft_tfidf_is_its_formula(names: list[str]) -> None:
    found = parts_of(names, "name")
    expected = brute_soft(names)
    same = np.array([names[i] == names[j] for i, j in all_pairs(len(names))])
    np.testing.assert_allclose(found[~same], expected[~same], atol=1e-12)
    np.testing.assert_array_equal(found[same], 1.0)


def test_blocks_of_word_pairs_change_nothing(monkeypatch: Any) -> None:
    whole = parts_of(NAMES, "name")
    monkeypatch.setattr(_soft_tfidf, "WORD_PAIRS_AT_A_TIME", 3)
    np.testing.assert_array_equal(parts_of(NAMES, "name"), whole)


@pytest.mark.parametrize("kind", ["name", "words", "text", "exact"])
def test_texts_are_symmetric_and_alike_to_themselves(kind: str) -> None:
    pairs = np.array([(i, j) for i in range(len(NAMES)) for j in range(len(NAMES))])
    found = parts_of(NAMES, kind, pairs).reshape(len(NAMES), -1)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    assert ((found >= 0) & (found <= 1)).all()


def test_names_know_initials_order_case_and_accents() -> None:
    others = ["Chao Chen", "Ali Ansari", "Lin Li", "Bo Berg"]
    initial, turned, accents, another = (
        parts_of(["Wei Wang", second, *others], "name", [(0, 1)])[0]
        for second in ("W. Wang", "WANG, wei", "Wéi Wang", "A. Wang")
    )
    assert initial > 0.9
    assert turned == pytest.approx(1.0)
    assert accents == pytest.approx(1.0)
    assert another < 0.6


def test_a_word_that_all_names_have_leaves_weights_to_the_others() -> None:
    found = parts_of(["Wei Wang", "Wen Wang", "Wang", "Wang"], "name")
    assert found[0] == 0.0  # "wang" has no weight beside a rarer word
    assert found[-1] == 1.0
    assert np.isfinite(found).all()


def test_words_are_the_cosine_of_their_weights() -> None:
    texts = ["mining of graphs", "graphs of data", "data data mining", "of of", "trees"]
    V = weights_by_hand(texts)
    expected = [
        sum(V[i][word] * V[j].get(word, 0.0) for word in V[i]) for i, j in all_pairs(len(texts))
    ]
    np.testing.assert_allclose(parts_of(texts, "words"), expected, atol=1e-12)


def test_numbers_and_dates() -> None:
    offsets = parts_of([0.0, 1.0, 4.0], ColumnComparison("number", scale=2.0))
    np.testing.assert_allclose(offsets, np.exp([-1 / 8, -16 / 8, -9 / 8]))
    days = parts_of(["2024-05-30", "2024-06-01"], ColumnComparison("date", scale=2.0))
    np.testing.assert_allclose(days, np.exp(-4 / 8))
    huge = parts_of([1e200, -1e200, 0.0], "number")
    assert ((huge >= 0) & (huge <= 1)).all()


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=8), st.sampled_from([1e-6, 7.0, 1e9]))
@settings(max_examples=40, deadline=None)
def test_default_scale_follows_the_units(values: list[float], unit: float) -> None:
    rounded = np.round(values, 3)
    found = parts_of(rounded.tolist(), "number")
    np.testing.assert_allclose(parts_of((rounded * unit).tolist(), "number"), found, atol=1e-6)


def test_functions_get_different_values_once() -> None:
    seen = []

    def same_length(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        seen.append(len(first))
        return np.array([float(len(a) == len(b)) for a, b in zip(first, second, strict=True)])

    found = parts_of(["ab", "cd", "ab", "cd", "efg"], same_length)
    assert seen == [3]  # ab-cd, ab-efg, cd-efg
    np.testing.assert_array_equal(found, [1, 1, 1, 0, 1, 1, 0, 1, 0, 0])


def test_weighted_mean_over_the_columns_that_both_have() -> None:
    table = {"a": ["x", "x", None, None], "b": ["u", "v", "v", None], "c": ["s", "s", "s", "s"]}
    compare = {"a": ColumnComparison("exact", weight=2.0), "b": "exact", "c": "exact"}
    compared = scorer(table, compare)
    pairs = np.array([(0, 1), (1, 2), (0, 2), (0, 3)])
    parts = compared.score(pairs)
    np.testing.assert_array_equal(parts[0], [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(parts[1], [np.nan, 1.0, 1.0])
    found = compared.combine(parts)
    # The last pair has one column of four weights in common, which counts as one of two.
    np.testing.assert_allclose(found, [3 / 4, 1.0, 1 / 2, 1 / 2])
    assert scorer({"a": ["x", None]}).combine(np.array([[np.nan]]))[0] == 0.0


def test_default_comparisons() -> None:
    table = {
        "name": ["Wei Wang", "Ann Li"],
        "title": ["on the mining of large graphs", "a note on trees and paths"],
        "member": [True, False],
        "year": [1999, 2000],
        "price": [1.0, 2.0],
    }
    compared = scorer(table).comparisons
    kinds = ["name", "words", "exact", "number", "number"]
    assert [one.kind for one in compared.values()] == kinds
    assert compared["year"].weight + compared["price"].weight == pytest.approx(0.1 * 3)
    assert scorer({"x": [1.0, 2.0]}).comparisons["x"].weight == 1.0


def test_order_of_references_changes_nothing() -> None:
    order = np.random.default_rng(0).permutation(len(NAMES))
    place = np.argsort(order)
    table, moved = {"x": NAMES}, {"x": [NAMES[i] for i in order]}
    pairs = all_pairs(len(NAMES))
    np.testing.assert_array_equal(scorer(moved).score(place[pairs]), scorer(table).score(pairs))
