"""The page of a published table: figures that are right, and none about a few people."""

from __future__ import annotations

import datetime as dt
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from sidelight.jobs.anonymize import _page
from sidelight.pictures.privacy._distributions import distribution_of, range_of, widths
from sidelight.privacy import check_anonymity

K = 4


class Published(BaseEstimator):
    """An anonymizer after its fit."""

    def __init__(self, k=K):
        self.k = k
        self.n_iter_, self.converged_, self.objective_ = 3, True, 0.4
        self.loss_ = {"ncp": 0.4, "dispersion": 12.5, "discernibility": 99.0}
        self.search_ = {"n_clusters": np.array([2, 3, 6]), "ncp": np.array([0.6, 0.4, 0.5])}

    def __sidelight_tags__(self):
        from sidelight.privacy import Anonymizer

        return Anonymizer().__sidelight_tags__()


def page(**changes):
    ages = [21, 23, 25, 29, 61, 61, 64, 69, 44, 45, 46, 49]
    cities = ["Ys"] * 6 + ["Zion"] * 5 + ["Nowhere"]
    texts = ["21-29"] * 4 + ["61-69"] * 4 + ["44-49"] * 4
    words = ["Ys"] * 4 + ["{Ys, Zion}"] * 4 + ["*"] * 4
    published = pa.table({"age": texts, "city": words})
    ill = ["flu", "cold"] * 6
    check = check_anonymity({**published.to_pydict(), "ill": ill}, ["age", "city"], "ill", k=K, l=2)
    given = {
        "estimator": Published(),
        "original": pa.table({"age": ages, "city": cities}),
        "generalized": published,
        "check": check,
        "column_losses": {"age": 0.2, "city": 0.75},
        "roles": {
            "quasi": ["age", "city"],
            "sensitive": ["ill"],
            "keep": [],
            "not_published": ["x"],
        },
        "n_suppressed": 1,
        "warnings": ["Skew: something <b>."],
        "title": None,
        "seconds": None,
        **changes,
    }
    columns = SimpleNamespace(quasi=given.pop("original"), n_rows=13)
    return _page.page(SimpleNamespace(columns=columns, **given)).html()


def test_the_page_tells_promise_loss_and_limits():
    html = page()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))
    assert "12 rows in 3 classes of rows that are published alike; 1 row left out" in text
    assert "Checked: k = 4 and l = 2 of ill" in text
    assert "k-anonymity: rows that are published alike 4 4" in text
    assert "l-diversity (distinct) of ill 2 2" in text
    assert "Normalized certainty penalty" in text
    assert "something &lt;b&gt;." in html
    assert "Loss against the number of classes" in text
    assert "1 column not published" in text
    row = re.search(r"city 75\.0% 33% 33% 3 3", text)
    assert row, text
    assert re.search(r"age 20\.0% 0% 0% 8 11 3", text)


def test_the_page_hides_rare_values():
    html = page()
    assert "Nowhere" not in html
    assert "command" not in html.split("</style>")[1].split("sidelight anonymize TABLE --check")[0]


def test_a_page_without_search_and_sensitive_columns():
    model = Published()
    model.search_ = {}
    check = check_anonymity({"age": ["1-2"] * 5, "city": ["*"] * 5}, ["age", "city"], k=K)
    table = pa.table({"age": [1, 1, 1, 2, 2], "city": ["a", "b", "c", "d", "e"]})
    generalized = pa.table({"age": ["1-2"] * 5, "city": ["*"] * 5})
    roles = {"quasi": ["age"], "sensitive": [], "keep": ["z"], "not_published": []}
    html = page(estimator=model, check=check, original=table, generalized=generalized, roles=roles)
    assert "Loss against" not in html
    assert "Sensitive columns among" not in html
    for city in "abcde":
        assert f">{city}<" not in html


@given(
    st.lists(st.floats(-1e6, 1e6) | st.none(), min_size=1, max_size=60),
    st.integers(2, 8),
)
@settings(deadline=None)
def test_bars_of_numbers_stand_for_k_rows(values, k):
    found = distribution_of("x", pa.chunked_array([pa.array(values, pa.float64())]), ["*"], k)
    known = np.array([value for value in values if value is not None])
    if len(known) < k:
        assert found is None
        return
    counts = found.before * len(known) / 100
    assert np.all(counts >= k - 0.5 * len(known) / 100 - 1e-9)
    assert counts.sum() == pytest.approx(len(known), abs=0.01 * len(known) * len(counts))
    assert found.elsewhere == 100


@given(
    st.lists(st.sampled_from("abcdefghijklmnopqrst"), min_size=1, max_size=80), st.integers(2, 8)
)
@settings(deadline=None)
def test_bars_of_words_stand_for_k_rows(values, k):
    found = distribution_of("x", pa.chunked_array([pa.array(values)]), values, k)
    if found is None:
        return
    counts = np.array(
        [
            values.count(label)
            if label != "others"
            else len(values) - sum(values.count(other) for other in found.labels[:-1])
            for label in found.labels
        ]
    )
    assert counts.sum() == len(values)
    assert counts.min() >= k
    np.testing.assert_array_equal(found.before, np.round(100 * counts / len(values)))
    np.testing.assert_array_equal(found.after, found.before)


def test_a_published_range_counts_for_all_bars_that_it_covers():
    values = pa.chunked_array([pa.array(np.arange(100.0))])
    found = distribution_of("x", values, ["0-100"] * 10, 5)
    inner = found.after[1:-1]
    np.testing.assert_array_equal(inner, np.full(len(inner), inner[0]))
    single = distribution_of("x", values, ["55"] * 10, 5)
    assert single.after.tolist().count(100.0) == 1


def test_dates_are_years():
    days = [dt.date(1990 + i // 5, 1 + i % 12, 3) for i in range(100)]
    found = distribution_of("x", pa.chunked_array([pa.array(days)]), ["1990-01-03/2009-01-03"], 5)
    assert found.before.sum() == pytest.approx(100, abs=len(found.before))
    assert found.elsewhere == 0
    assert range_of("2024-01-01") == (2024, 2024)


def test_widths_are_those_of_the_rows():
    assert sorted(widths(["1-3", "1-3", "7", "*", "{a}"]).tolist()) == [0.0, 2.0, 2.0]
