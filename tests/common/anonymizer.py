"""Checks of estimators that make tables that can be published.

Rows that are published alike are counted by ``check_anonymity``, which shares nothing with them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.common.applies import applies_to
from tests.common.models import make, takes

from sidelight import engine
from sidelight.catalog import Method
from sidelight.exceptions import SidelightError
from sidelight.privacy import check_anonymity

N = 90
MODELS = ("distinct", "entropy", "recursive")


def has_diversity(method: Method) -> bool:
    return takes(method, "l")


@functools.cache
def people() -> tuple[pd.DataFrame, pd.Series]:
    """Quasi-identifiers of all kinds, and a sensitive column."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, N).astype(float),
            "height": rng.normal(170.0, 10.0, N).round(1),
            "city": rng.choice(["Xanadu", "Ys", "Zion", "Atlantis"], N, p=[0.4, 0.3, 0.2, 0.1]),
            "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "D"),
            "owner": rng.random(N) < 0.5,
        },
        index=[f"person {i}" for i in range(N)],
    )
    table.loc[table.index[::11], "height"] = np.nan
    ill = pd.Series(rng.choice(["flu", "cold", "ague", "none"], N), table.index, name="ill")
    return table, ill


def as_frame(published: Any) -> pd.DataFrame:
    """Published values with names of the columns, whatever holds them."""
    if isinstance(published, np.ndarray):
        return pd.DataFrame(published, columns=[f"x{j}" for j in range(published.shape[1])])
    return published if isinstance(published, pd.DataFrame) else published.to_pandas()


@functools.cache
def published(method: Method) -> Any:
    table, ill = people()
    return make(method, k=5).fit(table, sensitive=ill)


def assert_kept(model: Any, k: int, **promise: Any) -> None:
    """Assert that the published values keep a promise, and that labels tell the same."""
    frame = as_frame(model.published_)
    quasi = list(frame.columns)
    placed = model.labels_[model.labels_ >= 0]
    assert len(frame) == len(placed)
    assert not frame.isna().any(axis=None)
    sensitive = promise.pop("sensitive", None)
    if sensitive is not None:
        frame = frame.assign(ill=np.asarray(sensitive)[model.labels_ >= 0])
    check = check_anonymity(frame, quasi, None if sensitive is None else "ill", k=k, **promise)
    assert check, check
    texts = frame[quasi].astype(str).agg("\t".join, axis=1).to_numpy()
    alike = len({*zip(placed.tolist(), texts.tolist(), strict=True)})
    assert alike == len(set(placed.tolist())) == len(set(texts.tolist()))


def check_as_many_rows_as_asked_for_are_alike(method: Method) -> None:
    table, _ = people()
    for k in (2, 3, 7, 30, N):
        for seed in (0, 1):
            assert_kept(make(method, k=k, n_clusters="auto", random_state=seed).fit(table), k)
    for k in (2, 9):
        assert_kept(make(method, k=k).fit(table), k)
        assert_kept(make(method, k=k, n_clusters="auto").fit(table[["city"]]), k)


def check_rows_of_all_sizes_are_alike(method: Method) -> None:
    """Also those with ties, constant columns, and one row more than a multiple of k."""
    rng = np.random.default_rng(1)
    for n in (6, 7, 11, 23):
        for values in (rng.integers(0, 3, (n, 2)), rng.normal(size=(n, 3)), np.ones((n, 2))):
            model = make(method, k=3, n_clusters="auto").fit(values.astype(float))
            assert_kept(model, 3)


@applies_to(has_diversity)
def check_sensitive_values_are_diverse(method: Method) -> None:
    table, ill = people()
    for model in MODELS:
        for least in (2, 3):
            made = make(method, k=4, l=least, diversity=model, n_clusters="auto")
            made.fit(table, sensitive=ill)
            assert_kept(made, 4, sensitive=ill, l=least, diversity=model)


@applies_to(has_diversity)
def check_several_sensitive_columns_are_diverse(method: Method) -> None:
    table, ill = people()
    job = pd.Series(np.arange(N) % 5, table.index, name="job")
    made = make(method, k=4, l=2, n_clusters="auto")
    made.fit(table, sensitive=pd.DataFrame({"ill": ill, "job": job}))
    for sensitive in (ill, job):
        assert_kept(made, 4, sensitive=sensitive, l=2)


def check_published_values_cover_the_rows(method: Method) -> None:
    """Whatever was published of a row is true of it."""
    table, _ = people()
    model = published(method)
    frame = as_frame(model.published_)
    rows = table[model.labels_ >= 0]
    for age, text in zip(rows["age"], frame["age"], strict=True):
        low, _, high = text.partition("-")
        assert text == "*" or float(low) <= age <= float(high or low)
    for city, text in zip(rows["city"], frame["city"], strict=True):
        assert text == "*" or city in text
    for height, text in zip(rows["height"], frame["height"], strict=True):
        assert not (np.isnan(height) and text.replace(".", "").isdigit())


def check_rows_that_are_alike_stay_as_they_are(method: Method) -> None:
    table = pd.DataFrame({"age": [20.0] * 6 + [70.0] * 6, "city": ["Ys"] * 6 + ["Zion"] * 6})
    frame = as_frame(make(method, k=6, n_clusters="auto").fit(table).published_)
    assert frame["age"].tolist() == ["20"] * 6 + ["70"] * 6
    assert frame["city"].tolist() == table["city"].tolist()


def check_kinds_of_tables_to_publish(method: Method) -> None:
    table, ill = people()
    model = published(method)
    assert list(model.published_.index) == list(table.index[model.labels_ >= 0])
    expected = as_frame(model.published_).reset_index(drop=True)
    plain = table.reset_index(drop=True)
    polars = pl.DataFrame({name: pl.Series(plain[name].tolist()) for name in plain})
    arrow = pa.Table.from_pandas(plain, preserve_index=False)
    for given, kind in ((polars, pl.DataFrame), (arrow, pa.Table)):
        other = make(method, k=5).fit(given, sensitive=ill.tolist())
        np.testing.assert_array_equal(other.labels_, model.labels_)
        assert isinstance(other.published_, kind)
        texts = as_frame(other.published_)
        for name in expected:
            assert texts[name].tolist() == expected[name].tolist()


def check_any_number_of_threads(method: Method) -> None:
    table, ill = people()
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method, k=5).fit(table, sensitive=ill)
        np.testing.assert_array_equal(model.labels_, published(method).labels_)


def check_too_few_rows_to_hide_among(method: Method) -> None:
    table, _ = people()
    with pytest.raises(SidelightError, match=r"(?s)(4.*5|5.*4)"):
        make(method, k=5).fit(table[:4])


@applies_to(has_diversity)
def check_impossible_diversity_is_explained(method: Method) -> None:
    table, ill = people()
    with pytest.raises(SidelightError, match="sensitive"):
        make(method, l=2).fit(table)
    frequent = ill.copy()
    frequent[: N - 3] = "plague"
    with pytest.raises(SidelightError, match="plague"):
        make(method, k=2, l=2, diversity="entropy", n_clusters="auto").fit(
            table, sensitive=frequent
        )
    with pytest.raises(SidelightError, match="5"):
        make(method, k=2, l=5, n_clusters="auto").fit(table, sensitive=ill)


@applies_to(lambda method: takes(method, "suppress"))
def check_no_more_rows_are_left_out_than_may_be(method: Method) -> None:
    table, _ = people()
    for share in (0.0, 0.05, 0.3):
        model = make(method, k=8, suppress=share, n_clusters="auto").fit(table)
        assert (model.labels_ < 0).sum() == model.n_suppressed_ <= share * N
        assert_kept(model, 8)


def check_summaries_tell_nothing_about_single_rows(method: Method) -> None:
    table, ill = people()
    said = published(method).summary() + repr(published(method))
    for city in table["city"].unique():
        assert city not in said
    for value in (*ill.unique(), *table.index):
        assert value not in said
