"""Conditions on what clusters hold: how they are made, read, written and checked."""

from __future__ import annotations

import itertools
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.constraints import Conditions
from sidelight.exceptions import (
    ConstraintFileError,
    InfeasibleConstraints,
    SidelightError,
    UnknownIds,
)

PEOPLE = pd.DataFrame(
    {
        "age": [17, 64, 30, 71, np.nan],
        "sex": ["f", "m", "f", "f", None],
        "in come": [1, 2, 3, 4, 5],
    },
    index=list("abcde"),
)


@pytest.mark.parametrize(
    ("text", "members", "least"),
    [
        ("count(*) >= 3", "abcde", 3),
        ("COUNT(*) > 3", "abcde", 4),
        ("max(age) >= 64", "bd", 1),
        ("max(age) > 64", "d", 1),
        ("min(age) <= 30", "ac", 1),
        ("min(age) < 30", "a", 1),
        ("count(sex = 'f') >= 2", "acd", 2),
        ("count(sex != 'f') >= 1", "b", 1),
        ("count(age <> 30) >= 1", "abd", 1),
        ("count(sex = 'f' and age > 20) >= 1", "cd", 1),
        ("count(age < 20 or sex = 'm' and age > 60) >= 1", "ab", 1),
        ('count("in come" >= 4) >= 1', "de", 1),
    ],
)
def test_expressions(text, members, least):
    for table in (PEOPLE, pl.from_pandas(PEOPLE), {c: PEOPLE[c].tolist() for c in PEOPLE}):
        read = Conditions.from_expressions(table, text)
        assert "".join(PEOPLE.index[read.members[:, 0]]) == members
        assert read.least == (least,)
    assert list(Conditions.from_expressions(PEOPLE, text).ids) == list("abcde")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max(age) <= 60", "2 rows break it (id b, d)"),
        ("min(age) >= 18", "1 row breaks it (id a)"),
        ("max(age) = 71", "asks for a row of this value and for none beyond it"),
        ("avg(age) >= 30", "an average holds depends on all rows"),
        ("sum(age) >= 30", "a sum holds depends on all rows"),
        ("count(*) <= 3", "sets an upper bound"),
        ("count(*) = 3", "exactly how many"),
        ("count(*) >= many", "'many' is no number of rows"),
        ("age >= 3", "is no condition on clusters"),
        ("count(agee > 3) >= 1", "did you mean 'age'"),
        ("count(sex = 3) >= 1", "holds text"),
        ("count(age = 'x') >= 1", "holds numbers"),
        ("count(age > 3 xor age < 2) >= 1", "joined by 'and' or 'or'"),
        ("count(age) >= 1", "is no comparison"),
        ("max(age > 3) >= 1", "takes the name of one column"),
    ],
)
def test_what_does_not_reduce_is_refused_with_the_reason(text, message):
    with pytest.raises(SidelightError, match=re.escape(message)):
        Conditions.from_expressions(PEOPLE, text)


def test_what_holds_anyway_is_noted():
    read = Conditions.from_expressions(PEOPLE, ["max(age) < 100", "count(*) >= 2"])
    assert read.names == ("rows",)
    assert "holds for every row" in read.notes[0]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "json", "parquet"])
def test_files(tmp_path, ending):
    texts = ["count(*) >= 2", "count(sex = 'f' and age > 20) >= 1", "max(age) >= 60"]
    wanted = Conditions.from_expressions(PEOPLE, texts).at_least(
        [0, 2], [True, False, True, True, True], name="own"
    )
    wanted.write(tmp_path / f"c.{ending}")
    assert Conditions.read(tmp_path / f"c.{ending}", ids=list("abcde")) == wanted
    plain = Conditions({"a": ([1, 0, 1], 1)})
    plain.write(tmp_path / f"p.{ending}")
    assert Conditions.read(tmp_path / f"p.{ending}", n_samples=3) == plain
    assert plain != wanted


def test_bad_files_are_told_with_the_line(tmp_path):
    file = tmp_path / "c.csv"
    file.write_text("condition,at_least,row\nold,2,a\nold,2,z\n")
    with pytest.raises(UnknownIds, match="line 3: 'z' does not occur"):
        Conditions.read(file, ids=list("abc"))
    file.write_text("condition,at_least,row\nold,2,a\nold,3,b\n")
    with pytest.raises(ConstraintFileError, match="line 3: 'old' is to hold 2 and 3"):
        Conditions.read(file, ids=list("abc"))
    file.write_text("condition,at_least,row\nold,some,a\n")
    with pytest.raises(ConstraintFileError, match="no whole number"):
        Conditions.read(file, ids=list("abc"))
    file.write_text("condition,row\nold,a\n")
    with pytest.raises(ConstraintFileError, match="'at_least'"):
        Conditions.read(file, ids=list("abc"))
    with pytest.raises(ConstraintFileError):
        Conditions.read(tmp_path / "none.csv", n_samples=3)


def test_masks_are_found_by_their_index():
    mask = pd.Series([True, False, False], index=["x", "y", "z"])
    wanted = Conditions({"a": (mask, 1)})
    more = wanted.at_least(1, mask.iloc[::-1], name="again")
    np.testing.assert_array_equal(more.members[:, 0], more.members[:, 1])
    turned = wanted.restrict([2, 0])
    assert list(turned.ids) == ["z", "x"]
    np.testing.assert_array_equal(turned.members[:, 0], [False, True])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": ([0, 1, 2], 1)}, "row 2 has"),
        ({"a": ([True, False], 1), "b": ([True], 1)}, "each of the 2 rows"),
        ({"a": ([True, False], -1)}, "not negative"),
        ({"a": ([True, False], 1.5)}, "whole number"),
        ({"a": [True, False, True]}, "a pair of a mask and a number"),
        ([1, 2], "given by name"),
    ],
)
def test_bad_masks_and_numbers_are_refused(given, message):
    with pytest.raises(SidelightError, match=message):
        Conditions(given)


def test_conditions_cannot_change():
    wanted = Conditions(n_samples=3).at_least(1)
    with pytest.raises(AttributeError):
        wanted.names = ()
    with pytest.raises(ValueError, match="read-only"):
        wanted.members[0, 0] = False
    assert pickle.loads(pickle.dumps(wanted)) == wanted
    with pytest.raises(SidelightError, match="already"):
        wanted.at_least(2)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_feasible_is_what_brute_force_finds(seed):
    rng = np.random.RandomState(seed)
    n, k = 6, int(rng.randint(2, 4))
    wanted = Conditions(n_samples=n)
    for j in range(rng.randint(1, 4)):
        least = rng.randint(0, 3) if rng.rand() < 0.5 else rng.randint(0, 3, k)
        wanted = wanted.at_least(least, rng.rand(n) < 0.7, name=str(j))
    possible = any(
        not wanted.unmet(np.array(labels), k) for labels in itertools.product(range(k), repeat=n)
    )
    if possible:
        wanted.check_feasible(k)
    else:
        with pytest.raises(InfeasibleConstraints):
            wanted.check_feasible(k)
