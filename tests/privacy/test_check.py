"""The independent count of classes: against brute force and pycanon, on tables and on files."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycanon import anonymity
from tests.strategies import published_tables

from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.privacy import check_anonymity

QUASI = ["age", "zip"]


def classes_of(table: dict[str, list[str]]) -> list[list[str]]:
    """Sensitive values of every class, by a dictionary."""
    found: dict[Any, list[str]] = {}
    for age, place, ill in zip(*table.values(), strict=True):
        found.setdefault((age, place), []).append(ill)
    return list(found.values())


def recursive_l(values: list[str], c: float) -> int:
    counts = sorted(Counter(values).values(), reverse=True)
    holds = [at for at in range(1, len(counts) + 1) if counts[0] < c * sum(counts[at - 1 :])]
    return max(holds, default=0)


@given(published_tables())
@settings(deadline=None)
def test_it_counts_as_a_dictionary_and_pycanon_do(table: dict[str, list[str]]) -> None:
    check = check_anonymity(table, QUASI, "ill", k=1)
    classes = classes_of(table)
    frame = pd.DataFrame(table)
    assert check.class_sizes.tolist() == sorted(map(len, classes))
    assert check.k_reached == anonymity.k_anonymity(frame, QUASI)
    one = check.sensitive["ill"]
    assert one.distinct == anonymity.l_diversity(frame, QUASI, ["ill"])
    assert one.t_closeness == pytest.approx(anonymity.t_closeness(frame, QUASI, ["ill"]))
    assert one.entropy == pytest.approx(
        min(
            exp(-sum(n / len(of) * log(n / len(of)) for n in Counter(of).values()))
            for of in classes
        )
    )
    # pycanon cuts the entropy off, just below a whole number sometimes by mistake
    assert anonymity.entropy_l_diversity(frame, QUASI, ["ill"]) in (
        int(one.entropy + 1e-9),
        int(one.entropy - 1e-9),
    )
    assert one.n_homogeneous == sum(len(set(of)) == 1 for of in classes)


@given(
    published_tables(), st.sampled_from([0.5, 1.0, 2.0, 3.0]), st.integers(1, 4), st.integers(1, 8)
)
@settings(deadline=None)
def test_promises_hold_where_brute_force_says_so(
    table: dict[str, list[str]], c: float, least: int, k: int
) -> None:
    # pycanon divides the rarest value where the definition has the most frequent one
    classes = classes_of(table)
    counts = [sorted(Counter(of).values()) for of in classes]
    expected = {
        "distinct": all(len(of) >= least for of in counts),
        "entropy": all(
            -sum(n / sum(of) * log(n / sum(of)) for n in of) >= log(least) - 1e-9 for of in counts
        ),
        "recursive": all(recursive_l(of, c) >= least for of in classes),
        "recursive-published": all(
            len(of) >= least and of[-1] < c * sum(of[:least]) for of in counts
        ),
    }
    for model, diverse in expected.items():
        check = check_anonymity(table, QUASI, "ill", k=k, l=least, diversity=model, c=c)
        holds = min(map(len, classes)) >= k and (least == 1 or diverse)
        assert bool(check) == holds, model
        assert check.sensitive["ill"].recursive == min(recursive_l(of, c) for of in classes)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), min_size=1, max_size=30))
@settings(deadline=None)
def test_numbers_have_an_order(rows: list[tuple[str, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["q", "income"])
    t = check_anonymity(frame, "q", "income").sensitive["income"].t_closeness
    expected = anonymity.t_closeness(frame, ["q"], ["income"]) if frame.income.nunique() > 1 else 0
    assert t == pytest.approx(expected)


def test_many_classes_and_numbers_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"q": rng.integers(0, 9, 200), "income": rng.integers(0, 40, 200)})
    at_once = check_anonymity(frame, "q", "income").sensitive["income"].t_closeness
    monkeypatch.setattr("sidelight.privacy._check.BLOCK", 90)
    blocked = check_anonymity(frame, "q", "income").sensitive["income"].t_closeness
    assert blocked == at_once


def test_equal_counts_have_their_full_entropy() -> None:
    for n in range(2, 30):
        table = {"q": ["a"] * 3 * n, "s": [str(i) for i in range(n)] * 3}
        assert check_anonymity(table, "q", "s", k=3 * n, l=n, diversity="entropy")
        assert not check_anonymity(table, "q", "s", k=1, l=n + 1, diversity="entropy")


def test_spellings_of_one_sensitive_value_are_one_value() -> None:
    for spellings in (["Flu", "flu "], ["1", "1.0"], ["HIV  pos", "hiv pos"]):
        table = {"q": ["a", "a"], "s": spellings}
        assert check_anonymity(table, "q", "s", k=2).l_reached == {"s": 1}


def test_a_missing_sensitive_value_makes_nothing_diverse() -> None:
    table = {"q": ["a", "a", "b", "b"], "s": ["flu", None, "", float("nan")]}
    check = check_anonymity(table, "q", "s", k=2, l=2)
    assert not check
    assert check.l_reached == {"s": 0}
    assert check.sensitive["s"].n_missing == 3
    assert check_anonymity(table, "q", "s", k=2, l=1)


@pytest.mark.parametrize(
    "gap", ["", "NA", "na", "?", "unknown", " Unknown ", "N/A", "-", "missing"]
)
def test_words_for_what_is_not_known_make_nothing_diverse(gap: str) -> None:
    table = {"q": ["a"] * 3, "s": ["flu", "flu", gap]}
    check = check_anonymity(table, "q", "s", k=3, l=2)
    assert not check
    assert check.l_reached == {"s": 1}
    assert check.sensitive["s"].n_missing == 1
    assert check_anonymity({"q": ["a"] * 3, "s": ["flu", "none", "nil"]}, "q", "s", k=3, l=3)


def test_gaps_of_several_spellings_are_no_three_values() -> None:
    table = {"q": ["a"] * 4, "s": ["", "NA", "?", "unknown"]}
    assert check_anonymity(table, "q", "s", k=4, l=3).l_reached == {"s": 0}


def test_codes_that_are_declared_nominal_have_no_order() -> None:
    table = {"q": ["a"] * 2 + ["b"] * 2, "s": ["1", "2", "3", "9"]}
    ordered = check_anonymity(table, "q", "s", k=2)
    nominal = check_anonymity(table, "q", "s", k=2, nominal="s")
    assert ordered.sensitive["s"].t_closeness == pytest.approx(1 / 3)
    assert nominal.sensitive["s"].t_closeness == 0.5


def test_closeness_may_be_asked_for() -> None:
    table = {"q": ["a"] * 2 + ["b"] * 2, "s": ["flu", "flu", "flu", "cold"], "r": list("xyxy")}
    assert check_anonymity(table, "q", ["s", "r"], k=2, t=0.25)
    check = check_anonymity(table, "q", ["s", "r"], k=2, t=0.2)
    assert not check
    assert check.n_not_close == {"s": 2, "r": 0}
    assert check.problems == (
        "All 2 rows with q = a are far from the table in 's': 0.250 reached, t = 0.2 asked for.",
    )
    assert "asked for 1 (distinct) and t = 0.2." in str(check)


@pytest.mark.parametrize("one_different", ["20-29 ", "20–29", "", "20-29.0"])
def test_quasi_identifiers_are_compared_as_they_are_written(
    tmp_path: Path, one_different: str
) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f'age,s\n20-29,x\n"20-29",y\n{one_different},z\n', encoding="utf-8")
    assert check_anonymity(file, "age", k=2).k_reached == 1


def test_a_missing_value_of_a_typed_file_is_not_an_empty_text(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"q": ["", None]}), file)
    assert check_anonymity(file, "q", k=2).k_reached == 1


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".feather", ".xlsx"])
def test_every_kind_of_file_counts_alike(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"age": ["2-3"] * 3 + ["4"] * 2, "ill": ["é", "b", "b", "c", "d"]})
    file = tmp_path / f"table{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(file)
    elif suffix == ".feather":
        frame.to_feather(file)
    elif suffix == ".xlsx":
        frame.to_excel(file, index=False)
    else:
        frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    check = check_anonymity(file, ["age"], ["ill"], k=2, l=2)
    assert check
    assert (check.k_reached, check.n_classes, check.l_reached) == (2, 2, {"ill": 2})


def test_files_of_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes("\n alter ;krank\n1;Grüße\n1;x\n\n2;y\n2;z\n".encode("cp1252"))
    check = check_anonymity(file, "alter", "krank", k=2, l=2)
    assert check.n_rows == 4
    assert check


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_every_kind_of_table_counts_alike(make: Any) -> None:
    table = make({"age": [1, 1, 2], "zip": ["a", "a", "b"]})
    check = check_anonymity(table, QUASI, k=2)
    assert check.class_sizes.tolist() == [1, 2]
    assert check.n_too_small == 1
    assert check.problems == ("Only 1 row with age = 2 and zip = b: k = 2 asked for.",)


def test_the_words_say_what_was_reached() -> None:
    table = {"q": ["a"] * 4, "s": ["x", "x", "x", "y"]}
    for model, reached in (("entropy", "1.75"), ("recursive", "0"), ("recursive-published", "not")):
        check = check_anonymity(table, "q", "s", k=1, l=2, diversity=model, c=0.5)
        assert f"{reached} reached, l = 2 asked for ({model})" in str(check)
    assert "k = 4, asked for 1" in str(check)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"quasi": []}, "Name the quasi-identifiers"),
        ({"quasi": ["q", "q"]}, "named twice"),
        ({"quasi": "q", "sensitive": "q"}, "named twice"),
        ({"quasi": "q", "k": 0}, "at least 1"),
        ({"quasi": "q", "l": 2}, "about sensitive columns"),
        ({"quasi": "q", "sensitive": "s", "diversity": "most"}, "no model of diversity"),
        ({"quasi": "q", "sensitive": "s", "c": float("nan")}, "positive number"),
        ({"quasi": "q", "sensitive": "s", "t": 1.5}, "from 0 to 1"),
        ({"quasi": "q", "t": 0.5}, "t = 0.5 is about sensitive columns"),
        ({"quasi": "q", "sensitive": "s", "nominal": "q"}, "not as sensitive"),
    ],
)
def test_requests_that_make_no_sense(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        check_anonymity({"q": ["a"], "s": ["b"]}, **arguments)


def test_tables_that_make_no_sense(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    for text, words in (
        ("age,zip\n1,2\n3\n", "Line 3 of .* has 1 values"),
        ("age,zip\n", "no rows"),
        ("age,age\n1,2\n", "several columns called 'age'"),
    ):
        file.write_text(text)
        with pytest.raises(SidelightError, match=words):
            check_anonymity(file, "age")
    for table, words in (
        ({"agee": ["a"]}, "no column 'age'; did you mean 'agee'"),
        ({"age": []}, "no rows"),
        ({"age": ["a"], "s": []}, "different numbers of rows"),
        ([["a"]], "got list"),
        (pd.DataFrame([["a", "b"]], columns=["age", "age"]), "same name"),
    ):
        with pytest.raises(SidelightError, match=words):
            check_anonymity(table, "age")
