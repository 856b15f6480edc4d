"""The page of a published table: figures that are right, and none about a few people."""

from __future__ import annotations

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
        "losses": {"ncp": 0.4, "discernibility": 99.0},
        "column_losses": {"age": 0.2, "city": 0.75},
        "groups_of": lambda name: set(),
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
    kinds = {"age": "number", "city": "word"}
    columns = SimpleNamespace(quasi=given.pop("original"), n_rows=13, kind_of=kinds.get)
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
    assert "1 column not published" in text
    assert re.search(r"city 75\.0% 33% 33% 3", text), text
    assert re.search(r"age 20\.0% 0% 0% 8 3", text)
    for hidden in ("Loss against", "Iterations", "Objective", "Values before"):
        assert hidden not in text


def test_the_page_hides_rare_values():
    html = page()
    assert "Nowhere" not in html
    assert "command" not in html.split("</style>")[1].split("sidelight anonymize TABLE --check")[0]


def test_a_page_without_sensitive_columns():
    check = check_anonymity({"age": ["1-2"] * 5, "city": ["*"] * 5}, ["age", "city"], k=K)
    table = pa.table({"age": [1, 1, 1, 2, 2], "city": ["a", "b", "c", "d", "e"]})
    generalized = pa.table({"age": ["1-2"] * 5, "city": ["*"] * 5})
    roles = {"quasi": ["age"], "sensitive": [], "keep": ["z"], "not_published": []}
    html = page(check=check, original=table, generalized=generalized, roles=roles)
    assert "Sensitive columns among" not in html
    for city in "abcde":
        assert f">{city}<" not in html


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 30)), min_size=1, max_size=60))
@settings(deadline=None)
def test_ranges_count_for_all_bars_that_they_cover(ranges):
    texts = [f"{low}-{low + width}" if width else str(low) for low, width in ranges]
    found = distribution_of("x", "number", texts)
    assert found.elsewhere == 0
    assert found.shares.sum() == pytest.approx(100, abs=0.5 * len(found.shares) + 1e-9)
    assert len(found.labels) == len(found.shares)


def test_a_published_range_counts_in_equal_parts():
    wide = distribution_of("x", "number", ["0-100"] * 50 + ["0", "100"] * 2)
    inner = wide.shares[2:-1]
    np.testing.assert_array_equal(inner, np.full(len(inner), inner[0]))
    single = distribution_of("x", "number", ["55"] * 10)
    assert single.shares.tolist().count(100.0) == 1
    assert distribution_of("x", "number", ["*", "[0, 20)"]) is None


@given(st.lists(st.sampled_from([*"abcdefghijklmnopqrst", "*", "{a, b}"]), min_size=1, max_size=80))
@settings(deadline=None)
def test_bars_of_words_are_shares_of_the_published_rows(values):
    found = distribution_of("x", "word", values)
    n_single = sum(len(value) == 1 and value != "*" for value in values)
    if found is None:
        assert n_single == 0
        return
    counts = [values.count(label) for label in found.labels if label != "others"]
    if "others" in found.labels:
        counts.append(n_single - sum(counts))
    np.testing.assert_array_equal(found.shares, np.round(100 * np.array(counts) / len(values)))
    assert found.elsewhere == np.round(100 * (len(values) - n_single) / len(values))


def test_dates_are_years():
    texts = ["1990-01-03/2009-01-03", "1995-06-01"] * 5
    found = distribution_of("x", "date", texts)
    assert found.shares.sum() == pytest.approx(100, abs=len(found.shares))
    assert found.elsewhere == 0
    assert range_of("2024-01-01") == (2024, 2024)


def test_widths_are_those_of_the_rows():
    assert sorted(widths(["1-3", "1-3", "7", "*", "{a}"]).tolist()) == [0.0, 2.0, 2.0]
