"""Numbers as people write them come back exactly, by one convention for a column."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.io.inner import read_numbers
from sidelight.io.values._numbers import read_number_columns
from sidelight.io.values._shapes import SAMPLE


def column(*texts):
    return pa.chunked_array([pa.array(texts, type=pa.string())])


def read(*texts, **options):
    return read_numbers(column(*texts), **options)


# --- every convention, there and back -------------------------------------------------------------

MARKS = [(".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", " "), (".", "'")]
MARKS += [(",", "\u202f"), (",", "\u00a0"), (".", "’")]
UNITS = ["{}", "{} %", "{}%", "€ {}", "{} €", "${}", "CHF {}", "{} EUR", "kr {}", "R$ {}"]
MINUS = ["-{}", "−{}", "({})", "{}-"]


def spell(digits, n_decimals, negative, marks, unit, minus):
    """Write a whole number divided by a power of ten by some convention."""
    decimal, between = marks
    text = str(digits).rjust(n_decimals + 1, "0")
    whole, fraction = text[: len(text) - n_decimals], text[len(text) - n_decimals :]
    if between:
        whole = f"{int(whole):,}".replace(",", between)
    number = whole + (decimal + fraction if n_decimals else "")
    written = unit.format(number)
    return minus.format(written) if negative else written


numbers = st.tuples(st.integers(0, 10**15), st.integers(0, 8), st.booleans())


@settings(max_examples=100)
@given(
    st.lists(st.one_of(st.none(), numbers), min_size=1, max_size=20),
    st.sampled_from(MARKS),
    st.sampled_from(UNITS),
    st.sampled_from(MINUS),
    st.sampled_from(["", "NA", "n/a", "?", "--", "#DIV/0!", "NaN", None]),
)
def test_numbers_come_back_exactly(values, marks, unit, minus, missing):
    values = [*values, (5, 1, False)]  # 0.5 or 0,5: here the decimal mark is beyond doubt
    texts = [missing if v is None else spell(*v, marks, unit, minus) for v in values]
    expected = [
        np.nan if v is None else float(f"{'-' if v[2] else ''}{v[0]}e-{v[1]}") for v in values
    ]
    found = read(*texts)
    np.testing.assert_array_equal(found.values, expected)
    assert found.bad.tolist() == []
    assert found.n_missing == values.count(None)
    assert found.decimal == marks[0]
    assert found.note == ""
    again = read(*texts, convention=found.convention)  # as for new rows of a known column
    np.testing.assert_array_equal(again.values, expected)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_what_python_writes_comes_back(values):
    found = read(*map(repr, values), "0.5")
    np.testing.assert_array_equal(found.values[:-1], values)
    with_commas = read(*(repr(value).replace(".", ",") for value in values), "0,5")
    np.testing.assert_array_equal(with_commas.values[:-1], values)


# --- which convention -----------------------------------------------------------------------------


def parsed(text, decimal):
    """Another way to say what is a number: thousands in threes, or not at all."""
    other = re.escape("." if decimal == "," else ",")
    mark = re.escape(decimal)
    good = re.fullmatch(rf"(?:[1-9]\d{{0,2}}(?:{other}\d{{3}})+|0|[1-9]\d*)(?:{mark}\d*)?", text)
    if good is None and not re.fullmatch(rf"{mark}\d+", text):
        return None
    return float(text.replace("." if decimal == "," else ",", "").replace(decimal, "."))


@settings(max_examples=80)
@given(st.lists(st.from_regex(r"[1-9][0-9]{0,4}([.,][0-9]{1,4}){0,2}", fullmatch=True), min_size=1))
def test_the_mark_by_which_more_values_are_numbers_is_the_decimal_mark(texts):
    ways = {mark: [parsed(text, mark) for text in texts] for mark in ".,"}
    fitting = {mark: sum(v is not None for v in values) for mark, values in ways.items()}
    found = read(*texts)
    best = max(fitting.values())
    if best < 0.98 * len(texts):
        assert found is None
        return
    if fitting["."] != fitting[","]:
        assert found.decimal == max(ways, key=fitting.__getitem__)
        ways = {found.decimal: ways[found.decimal]}
    assert found.values.tolist() in [
        [np.nan if v is None else v for v in values] for values in ways.values()
    ]


@pytest.mark.parametrize(
    ("texts", "values", "words"),
    [
        (["1,234", "5"], [1234, 5], "thousands"),
        (["1,234", "2,345"], [1234, 2345], "thousands"),
        (["1,234", "12345"], [1.234, 12345], "decimal mark"),
        (["$1.234", "$5"], [1.234, 5], ""),
        (["1,234", "5.678"], [1234, 5.678], ""),
    ],
)
def test_where_nothing_decides_a_rule_does_and_is_told(texts, values, words):
    found = read(*texts)
    assert found.values.tolist() == values
    assert found.decimal is None
    assert words in found.note


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,234", "0,512"], [1.234, 0.512]),
        (["1,234", "1234,567"], [1.234, 1234.567]),
        (["1,234", "1,2"], [1.234, 1.2]),
        (["1,234", "1,234,567"], [1234, 1234567]),
        (["1,234", "1.5"], [1234, 1.5]),
        (["1.234", "1,5"], [1234, 1.5]),
        (["1.234", "1.234.567"], [1234, 1234567]),
        (["1 234", "1,5"], [1234, 1.5]),
        ([".5", "5."], [0.5, 5.0]),
        (["1,5E+03", "2,5e-1"], [1500, 0.25]),
    ],
)
def test_one_value_may_decide_for_all(texts, values):
    found = read(*texts)
    assert found.values.tolist() == values
    assert found.note == ""


def test_columns_of_one_table_are_written_by_one_hand():
    open_column, decided = column("1,234", "2,500"), column("0,5", "12,25")
    assert read_numbers(open_column).values.tolist() == [1234, 2500]
    found = read_number_columns({"a": open_column, "b": decided, "c": column("x", "y")})
    assert list(found) == ["a", "b"]
    assert found["a"].values.tolist() == [1.234, 2.5]
    assert "as in other columns" in found["a"].note
    assert read("1.234", decimal=",").values.tolist() == [1234]
    assert read("1.25", decimal=",").values.tolist() == [1.25]  # a hint, not an order


# --- what is none ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "12"],
        ["01234", "98765"],
        ["red", "blue"],
        ["31.12.2024", "01.02.2023"],
        ["2024-01-01"],
        ["14:05"],
        ["192.168.1.1", "10.0.0.1"],
        ["1.2.3", "1.2.4"],
        ["12 kg", "3 kg"],
        ["€5", "$7"],
        ["5 %", "7"],
        ["1,23,456"],
        ["(5", "6)"],
        ["--5"],
        ["", "?"],
        [None],
        [],
        ["1e400"],
        ["inf", "-inf"],
        ["9" * 60],
    ],
)
def test_other_texts_are_no_numbers(texts):
    assert read(*texts) is None


def test_a_few_other_texts_are_told_and_more_are_too_many():
    texts = [f"{i},5" for i in range(98)] + ["about 3", "7 €, paid"]
    found = read(*texts)
    assert found.bad.tolist() == [98, 99]
    assert np.isnan(found.values[98:]).all()
    assert (found.n_missing, len(found.values)) == (0, 100)
    assert read(*texts[:97], *(["about 3"] * 3)) is None
    assert read(*texts[:98], *(["about 3"] * 2), *([""] * 50)).n_missing == 50


def test_known_conventions_are_not_found_out_anew():
    assert read("1,234", convention="plain") is None  # thousands, or a decimal comma?
    assert read("1,234.50", convention="plain").values.tolist() == [1234.5]
    assert read("1.234", convention="decimal comma").values.tolist() == [1234]
    assert read("1,234", convention="thousands comma").values.tolist() == [1234]
    assert read("7", convention="percent") is None
    assert read("7", convention="decimal comma, in €").values.tolist() == [7]
    assert read("$7", convention="decimal comma, in €") is None


# --- however Arrow keeps the texts ----------------------------------------------------------------


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["1,5", "2.500,75", "", None, "-3,25", "x", "0,5"]), max_size=30),
    st.integers(1, 400),
    st.integers(0, 10),
)
def test_chunks_slices_dictionaries_and_repetition_change_nothing(texts, times, cut):
    plain = pa.array(["7,5"] * 100 + texts * times, type=pa.string())
    expected = read_numbers(pa.chunked_array([plain]))
    padded = pa.concat_arrays([pa.array(["junk"] * cut, type=pa.string()), plain])
    half = len(plain) // 2
    others = [
        pa.chunked_array([padded.slice(cut)]),
        pa.chunked_array([plain.slice(0, half), plain.slice(half)]),
        pa.chunked_array([plain.cast(pa.large_string())]),
        pa.chunked_array([plain.dictionary_encode()]),
        pa.chunked_array(
            [plain.slice(0, half).dictionary_encode(), plain.slice(half).dictionary_encode()]
        ),
    ]
    for other in others:
        found = read_numbers(other)
        assert (found is None) == (expected is None)
        if found is not None:
            np.testing.assert_array_equal(found.values, expected.values)
            np.testing.assert_array_equal(found.bad, expected.bad)
            assert (found.convention, found.n_missing) == (expected.convention, expected.n_missing)


@pytest.mark.parametrize("n_different", [5, 20_000])
def test_large_columns_are_read_as_small_ones(n_different):
    rng = np.random.default_rng(0)
    values = rng.permutation(np.arange(20_000) % n_different) / 4
    texts = [f"{value:.2f}".replace(".", ",") for value in values]
    texts[11] = "unknown, sorry"
    found = read(*texts)
    expected = values.copy()
    expected[11] = np.nan
    np.testing.assert_array_equal(found.values, expected)
    assert found.bad.tolist() == [11]
    assert len(texts) > 4 * SAMPLE  # else the point of this test is missed
