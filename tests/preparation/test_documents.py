"""Columns of text to counts of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.io.inner import ArrowColumns
from sidelight.preparation import TextPreparer


def table(**columns):
    return Table(None, None, tuple(columns), Path("texts"), columns=ArrowColumns(pa.table(columns)))


def test_words_of_any_script_in_lower_case():
    preparer = TextPreparer(["text"], max_df=1.0)
    counts = preparer.fit_transform(table(text=["Straße, ÉTÉ été!", "Привет МИР a мир_2", None]))
    assert preparer.words_.tolist() == ["straße", "été", "мир", "мир_2", "привет"]
    np.testing.assert_array_equal(counts.toarray()[0], [1, 2, 0, 0, 0])
    assert counts.toarray()[2].sum() == 0


def test_columns_are_read_one_after_the_other():
    whole = TextPreparer(["all"], max_df=1.0).fit_transform(table(all=["red wine", "ship 12"]))
    parts = TextPreparer(["a", "b"], max_df=1.0).fit_transform(
        table(a=["red", "ship"], b=["wine", "12"])
    )
    np.testing.assert_array_equal(whole.toarray(), parts.toarray())


def test_rare_and_frequent_words_are_left_out():
    texts = [f"all {'often ' * (i % 2)} word{i % 5}" for i in range(20)] + ["once all"]
    preparer = TextPreparer(["text"], min_df=2, max_df=0.9)
    preparer.fit_transform(table(text=texts))
    assert preparer.words_.tolist() == ["often", *(f"word{i}" for i in range(5))]
    few = TextPreparer(["text"], min_df=4, max_df=0.3)
    few.fit_transform(table(text=texts))
    assert few.words_.tolist() == [f"word{i}" for i in range(5)]


def test_the_least_number_of_documents_grows_with_the_table():
    for n, expected in ((50, 1), (350, 3), (5000, 7)):
        preparer = TextPreparer(["text"], max_df=1.0)
        preparer.fit_transform(table(text=["some words"] * n))
        assert preparer.min_df_ == expected


def test_new_texts_have_the_same_columns():
    preparer = TextPreparer(["text"], max_df=1.0)
    preparer.fit_transform(table(text=["red wine", "white wine"]))
    preparer.keep(np.array([True, False, True]))
    new = preparer.transform(table(text=["wine wine red blue", ""]))
    np.testing.assert_array_equal(new.toarray(), [[1, 2], [0, 0]])
    assert preparer.get_feature_names_out().tolist() == ["red", "wine"]


def test_no_words_are_told():
    with pytest.raises(SidelightError, match="of all documents are empty"):
        TextPreparer(["text"]).fit_transform(table(text=["", None]))
    with pytest.raises(SidelightError, match=r"No word .*at least 1 and at most 50%"):
        TextPreparer(["text"]).fit_transform(table(text=["a b", "! ?"]))
    with pytest.raises(SidelightError, match="Lower min_df"):
        TextPreparer(["text"], min_df=3).fit_transform(table(text=["red wine", "white wine"]))
