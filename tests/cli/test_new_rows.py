"""New rows of a mixed table by a saved model: the same as the pipeline, or a clear sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.mixed import CLUSTER, KNOWN, columns_of, customers, pipeline, plan_of

from sidelight import jobs
from sidelight.feature_selection import ConstraintScore
from sidelight.io import read_labels
from sidelight.preparation import TablePreparer


@pytest.fixture
def model(table, run):
    """The file of a model of the table, and the pipeline that it should be."""
    assert run(*CLUSTER, "--save", "model.skops").code == 0
    return "model.skops", pipeline().fit(columns_of(table))


def test_predict_takes_the_raw_table(model, run):
    path, expected = model
    new = customers(seed=1).iloc[5:40].sample(frac=1, random_state=0)
    new[new.columns[::-1]].to_csv("new.csv", index=False)
    new.to_parquet("new.parquet")
    for name in ("new.csv", "new.parquet"):
        ended = run("predict", path, name, "-o", "labels.csv", "--force")
        assert ended.code == 0, ended.err
        ids, labels = read_labels("labels.csv")
        assert ids.tolist() == new["id"].tolist()
        assert labels.tolist() == expected.predict(columns_of(new)).tolist()
        assert "Not used, since the model was fitted without: 'segment'." in ended.err
    fewer = new.drop(columns=["currency", "segment"])  # columns that were set aside may be missing
    fewer.to_csv("fewer.csv", index=False)
    ended = run("predict", path, "fewer.csv", "--json")
    assert ended.json["labels"] == labels.tolist()
    assert ended.json["notes"] == []


def later(**columns):
    """Rows that come later, with some columns replaced."""
    return customers(seed=1).head(12).drop(columns="segment").assign(**columns)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (later().drop(columns="income"), "new.csv has no column 'income', which the model was"),
        (later().drop(columns=["income", "size"]), "has no columns 'income', 'size', which"),
        (later(income="much"), "'income' should hold numbers, but holds 'much' in row 'C000'"),
        (
            later(income=["much" if i == 3 else i * 1e4 for i in range(12)]),
            "'income' should hold numbers, but holds 'much' in row 'C003'",
        ),
        (later(joined="soon"), "Column 'joined' should hold dates, but holds 'soon' in row 'C000'"),
        (
            later(joined=[*["2020-03-04"] * 11, "soon"]),
            "'joined' should hold dates, but holds 'soon' in row 'C011'",
        ),
        (later(joined="12:30"), "'joined' should hold dates, but holds '12:30:00' in row 'C000'"),
        (later(income=np.inf), "Column 'income' has 12 infinite numbers, the first in row 'C000'"),
    ],
)
def test_new_rows_that_do_not_fit_are_refused(model, run, rows, words):
    rows.to_csv("new.csv", index=False)
    ended = run("predict", model[0], "new.csv", "-o", "labels.csv")
    assert ended.code == 1
    assert words in ended.err
    assert ended.err.count("Error: ") == 1
    assert not Path("labels.csv").exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (later(extra=1.0), "Not used, since the model was fitted without: 'extra'."),
        (
            later(country=["Chad", *["DE"] * 11]),
            "Column 'country': 1 value ('Chad', first in row 'C000') did not occur when",
        ),
        (
            later(size=["huge", *["small"] * 9, "tiny", "huge"]),
            "Column 'size': 2 values ('huge', 'tiny', first in row 'C000') did not occur when",
        ),
        (
            later(member=["yes"] * 5 + [None] * 7),
            "Column 'member': 7 gaps, the first in row 'C005', where there was none when the",
        ),
        (
            later(joined=""),
            "Column 'joined': 12 gaps, the first in row 'C000', where there was none when the",
        ),
        (later(size=["small", *[None] * 11]), "Column 'size': 11 gaps, the first in row 'C001'"),
    ],
)
def test_new_rows_with_something_new_are_told(model, run, rows, words):
    path, expected = model
    rows.to_csv("new.csv", index=False)
    ended = run("predict", path, "new.csv", "-o", "labels.csv")
    assert ended.code == 0, ended.err
    assert words in ended.err
    with pytest.warns(UserWarning, match="fitted"):
        labels = expected.predict(rows.set_index("id"))
    assert read_labels("labels.csv")[1].tolist() == labels.tolist()


def test_what_the_fit_had_too_is_not_told_again(model, run):
    """Gaps in a column that had some, and any values of a column that was set aside."""
    later(income=None, currency="USD").to_csv("new.csv", index=False)
    ended = run("predict", model[0], "new.csv", "--json")
    assert (ended.code, ended.err, ended.json["notes"]) == (0, "", [])


def test_a_few_unreadable_numbers_of_many_are_told(table, run):
    assert run(*CLUSTER, "--save", "model.skops").code == 0
    income = table["income"].astype(object)
    income[7] = "much"
    table.assign(income=income).to_csv("new.csv", index=False)
    ended = run("predict", "model.skops", "new.csv")
    assert ended.code == 0
    assert "Column 'income': 1 value ('much', first in row 'C007') cannot be read" in ended.err
    fitted = run("cluster", "new.csv", *CLUSTER[2:], "--save", "again.skops", "--json")
    told = {name: how for name, _, how in plan_of(fitted.json)}
    assert told["income"] == "1 unreadable ('much'), taken as gaps; 11 gaps, filled and marked"
    assert run("predict", "again.skops", "new.csv", "--json").err == ""


def test_numbers_as_the_table_of_the_fit_writes_them(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.round(np.random.default_rng(0).normal(50, 20, 60), 1)
    pd.DataFrame({"x": [f"{v:.1f}".replace(".", ",") for v in values]}).to_csv("rows.csv", sep=";")
    ended = run("cluster", "rows.csv", "-k", 2, "--save", "model.skops", "--json")
    expected = pipeline(2).fit(pd.DataFrame({"x": values}))
    assert ended.json["labels"] == expected[1].labels_.tolist()
    pd.DataFrame({"x": ["12,500", "99,250"]}).to_csv("new.csv", sep=";")  # no thousands
    predicted = run("predict", "model.skops", "new.csv", "--json").json
    assert predicted["labels"] == expected.predict(pd.DataFrame({"x": [12.5, 99.25]})).tolist()
    pd.DataFrame({"x": ["12,5", "abc"]}).to_csv("new.csv", sep=";")
    assert "but holds 'abc' in row 1" in run("predict", "model.skops", "new.csv").err


def test_sparse_rows_do_not_fit_a_model_of_columns(model, run, put):
    put("rows.libsvm", "0 1:1 2:4\n0 1:2 3:5\n")
    ended = run("predict", model[0], "rows.libsvm")
    assert ended.code == 1
    assert "rows.libsvm holds sparse rows, but the model was fitted to a table with" in ended.err


@pytest.mark.parametrize(
    ("command", "method", "size"),
    [
        ("embed", "rca", "-d"),
        ("embed", "constrained-pca", "-d"),
    ],
)
def test_new_features_of_the_raw_table(table, run, put, command, method, size):
    put("known.csv", KNOWN)
    common = (command, "customers.csv", "-m", method, size, 3, *CLUSTER[4:])
    assert run(*common, "-c", "known.csv", "--save", "map.skops").code == 0
    new = customers(seed=1).head(20)
    new.to_csv("new.csv", index=False)
    facts = run("predict", "map.skops", "new.csv", "--json").json
    model = jobs.load_model("map.skops")
    features = model.preparer.transform(columns_of(new))
    np.testing.assert_allclose(facts["rows"], model.estimator.transform(features))
    assert facts["features_in"] == model.preparer.get_feature_names_out().tolist()
    assert len(facts["features_out"]) == 3
    told = run("predict", "map.skops", "new.csv").out
    assert f"{features.shape[1]} features in, 3 out" in told


def test_selected_columns_are_written_in_their_own_units(table, run, put):
    put("known.csv", KNOWN)
    common = ("select", "customers.csv", "-m", "constraint-score", "-n", 6, "-c", "known.csv")
    common = (*common, "--weight", "income=9", "--truth-column", "segment")
    ended = run(*common, "-o", "few.csv", "--save", "few.skops", "--json")
    assert ended.code == 0, ended.out
    chosen = ended.json["selected"]
    preparer = TablePreparer(weights={"income": 9}).fit(columns_of(table))
    assert set(chosen) <= set(preparer.get_feature_names_out())
    few = pd.read_csv("few.csv").set_index("id").drop(columns="segment")
    assert few.columns.tolist() == chosen
    expected = {
        "income": table["income"],
        "member=yes": table["member"] == "yes",
        "size": table["size"].map({"small": 0, "medium": 1, "large": 2}),
        **{f"country={code}": table["country"] == code for code in ("DE", "FR", "IT")},
        "joined (days)": (pd.to_datetime(table["joined"]) - pd.Timestamp(0)).dt.days,
    }
    compared = [name for name in chosen if name in expected]
    assert len(compared) >= 3
    for name in compared:
        np.testing.assert_allclose(few[name], expected[name].astype(float))
    new = customers(seed=1).head(20)
    new.to_csv("new.csv", index=False)
    assert run("predict", "few.skops", "new.csv", "-o", "new-few.csv").code == 0
    again = pd.read_csv("new-few.csv").set_index("id")
    assert again.columns.tolist() == chosen
    kept = np.isin(preparer.get_feature_names_out(), chosen)
    np.testing.assert_allclose(again, preparer.plain_features(columns_of(new))[:, kept])
    assert isinstance(jobs.load_model("few.skops").estimator, ConstraintScore)
