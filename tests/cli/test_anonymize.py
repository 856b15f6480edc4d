"""``sidelight anonymize``, also with ``--check``: published files keep what was asked for."""

import json
import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pycanon import anonymity

from sidelight import jobs
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.jobs import AnonymizeRequest
from sidelight.jobs.anonymize import _publish
from sidelight.privacy import Anonymizer, check_anonymity

QUASI = ["age", "zip", "sex"]
ASKED = ("--quasi", "age,zip,sex", "--sensitive", "diagnosis", "--identifiers", "name,email")
OUT = ("-o", "out.csv")
CHECK = ("anonymize", "out.csv", "--check")


def people(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"Person Nr{i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "zip": rng.choice(["A-1010", "A-1020", "A-2010", "B-1", "B-2"], n),
            "email": [f"p{i}@example.org" for i in range(n)],
            "sex": rng.choice(["f", "m"], n),
            "diagnosis": rng.choice(["flu", "cold", "ague", "none"], n, p=[0.4, 0.3, 0.1, 0.2]),
            "ward": rng.choice(["east", "west"], n),
            "income": rng.integers(10, 90, n) * 1000,
        }
    )


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    frame = people()
    frame.to_csv("people.csv", index=False)
    return frame


def read(path: str = "out.csv") -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def leftovers() -> set[str]:
    return {path.name for path in Path().iterdir()} - {"people.csv"}


# --- what is written ------------------------------------------------------------------------------


def test_the_written_file_keeps_what_was_asked_for(table, run):
    ended = run("anonymize", "people.csv", *ASKED, "-k", "5", "-l", "2", *OUT)
    assert ended.code == 0, ended.err
    found = read()
    assert list(found.columns) == ["age", "zip", "sex", "diagnosis"]
    assert len(found) == len(table)
    assert anonymity.k_anonymity(found, QUASI) >= 5
    assert anonymity.l_diversity(found, QUASI, ["diagnosis"]) >= 2
    assert sorted(found["diagnosis"]) == sorted(table["diagnosis"])
    assert "counted in the written file" in ended.out
    assert "since they identify people: name and email" in ended.err
    assert "since they have no role: 'ward', 'income'" in ended.err
    assert leftovers() == {"out.csv"}


@pytest.mark.parametrize("model", ["distinct", "entropy", "recursive"])
def test_every_model_of_diversity(table, run, model):
    asked = ("-k", "4", "-l", "3", "--diversity", model, "--recursive-c", "2", "--json")
    ended = run("anonymize", "people.csv", *ASKED, *asked, *OUT)
    facts = ended.json
    assert ended.code == 0, facts
    check = check_anonymity("out.csv", QUASI, "diagnosis", k=4, l=3, diversity=model, c=2)
    assert check, check
    assert facts["k"] == {"asked": 4, "reached": check.k_reached}
    assert facts["l"]["asked"] == 3
    assert facts["l"]["diversity"] == model
    assert facts["l"]["reached"] == pytest.approx(check.l_reached)
    assert facts["n_classes"] == check.n_classes
    assert facts["checked"] == "file"
    assert facts["outputs"] == {"published": "out.csv"}
    t = anonymity.t_closeness(read(), QUASI, ["diagnosis"])
    assert facts["sensitive"]["diagnosis"]["t_closeness"] == pytest.approx(t)


@given(
    n=st.integers(6, 40),
    k=st.integers(2, 6),
    least=st.integers(1, 2),
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.0, 0.1]),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_random_tables_are_confirmed_by_pycanon(n, k, least, seed, share):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "q1": rng.integers(0, rng.integers(2, 40), n).astype(float),
            "q2": rng.choice(list("abc"), n),
            "q3": rng.normal(size=n).round(2),
            "s": rng.choice(list("xyz"), n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "q1"] = np.nan
    frame.loc[rng.random(n) < 0.1, "q2"] = None
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data.csv", Path(folder) / "out.csv"
        frame.to_csv(data, index=False)
        quasi = ["q1", "q2", "q3"]
        request = AnonymizeRequest(
            data, quasi=quasi, sensitive=["s"], k=k, l=least, suppress=share, seed=seed
        )
        if n < k or frame["s"].nunique() < least:  # else all rows can be one class
            with pytest.raises(SidelightError, match=r"^(?!.*mistake)"):
                jobs.run(request)
            return
        found = jobs.run(request)
        found.write(published=out)
        written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert anonymity.k_anonymity(written, quasi) >= k
    assert anonymity.l_diversity(written, quasi, ["s"]) >= least
    assert n - len(written) <= share * n


def test_order_of_the_rows_tells_nothing(table, run):
    run("anonymize", "people.csv", *ASKED, *OUT)
    found = read()
    by_role = [*QUASI, "diagnosis"]
    rows = [tuple(row) for row in found[by_role].to_numpy().tolist()]
    assert rows == sorted(rows)


def test_parquet_has_no_traces_of_the_rows(table, run):
    frame = table.assign(diagnosis=table["diagnosis"].astype("category"))
    frame = frame.assign(ward=pd.Categorical(["east"] * len(frame), ["east", "secret ward"]))
    frame.to_parquet("people.parquet")
    ended = run("anonymize", "people.parquet", *ASKED, "--keep", "ward", "-o", "out.parquet")
    assert ended.code == 0, ended.err
    found = pq.read_table("out.parquet")
    assert found.column_names == ["age", "zip", "sex", "diagnosis", "ward"]
    assert not found.schema.metadata
    content = Path("out.parquet").read_bytes()
    for trace in (b"secret ward", b"Person Nr", b"example.org", b"pandas"):
        assert trace not in content
    assert check_anonymity("out.parquet", QUASI, "diagnosis", k=5)


def test_types_of_kept_columns_survive(table, run):
    for out in ("out.csv", "out.parquet"):
        arguments = ("--quasi", "age,zip", "--sensitive", "income", "--keep", "ward")
        assert run("anonymize", "people.csv", *arguments, "-o", out).code == 0
    assert sorted(read()["income"]) == sorted(table["income"].astype(str))
    assert sorted(pq.read_table("out.parquet")["income"].to_pylist()) == sorted(table["income"])


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "semicolon", "utf-16", "cp1252", "tsv"])
def test_tables_of_all_kinds(table, run, kind):
    frame = table.assign(zip=table["zip"].replace({"B-1": "Zürich", "B-2": "Genève"}))
    path = {"semicolon": "t.csv", "utf-16": "t.csv", "cp1252": "t.csv"}.get(kind, f"t.{kind}")
    if kind == "xlsx":
        frame.to_excel(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        encoding = kind if kind in ("utf-16", "cp1252") else "utf-8"
        separator = {"semicolon": ";", "tsv": "\t"}.get(kind, ",")
        frame.to_csv(path, index=False, sep=separator, encoding=encoding)
    ended = run("anonymize", path, *ASKED, "-k", "6", *OUT)
    assert ended.code == 0, ended.err
    assert anonymity.k_anonymity(read(), QUASI) >= 6
    assert "Zürich" in Path("out.csv").read_text(encoding="utf-8")


def test_workbooks_are_counted_as_other_files(table, run):
    frame = table.assign(ward=np.where(table["sex"] == "f", "=1+1", "#N/A"))
    frame.to_csv("people.csv", index=False)
    asked = ("--quasi", "age,zip", "--sensitive", "income", "--keep", "ward")
    ended = run("anonymize", "people.csv", *asked, "-o", "out.xlsx")
    assert ended.code == 0, ended.err
    assert "counted in the written file" in ended.out
    found = pd.read_excel("out.xlsx", keep_default_na=False)
    assert anonymity.k_anonymity(found.astype(str), ["age", "zip"]) >= 5
    assert sorted(found["income"]) == sorted(table["income"])
    assert set(found["ward"]) == {"=1+1", "#N/A"}
    assert run("anonymize", "out.xlsx", "--check", "--quasi", "age,zip").code == 0
    safe = run("anonymize", "people.csv", *asked, "-o", "safe.xlsx", "--spreadsheet-safe")
    assert safe.code == 0, safe.err
    assert "'=1+1" in set(pd.read_excel("safe.xlsx", keep_default_na=False)["ward"])


def test_what_a_workbook_cannot_hold_is_not_shown(table, run):
    table.assign(ward="secret\x01ward").to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", *ASKED, "--keep", "ward", "-o", "out.xlsx")
    assert ended.code == 1
    assert "write it as .csv or .parquet" in ended.err
    assert "secret" not in ended.out + ended.err
    assert not leftovers()


def test_missing_quasi_identifiers_are_published_as_missing(table, run):
    table.loc[::7, "age"] = np.nan
    table.loc[::5, "zip"] = None
    table.to_csv("people.csv", index=False)
    assert run("anonymize", "people.csv", *ASKED, *OUT).code == 0
    found = read()
    assert anonymity.k_anonymity(found, QUASI) >= 5
    assert (found[QUASI] != "").all(axis=None)


def test_hierarchies_of_files(table, run):
    lines = [f"{zip};{zip[0]};*" for zip in table["zip"].unique()]
    Path("zip.csv").write_text("\n".join(lines))
    ended = run("anonymize", "people.csv", *ASKED, "--hierarchy", "zip=zip.csv", *OUT)
    assert ended.code == 0, ended.err
    assert set(read()["zip"]) <= {*table["zip"], "A", "B", "*"}
    Path("zip.csv").write_text("\n".join(lines[1:]))
    ended = run("anonymize", "people.csv", *ASKED, "--hierarchy", "zip=zip.csv", *OUT, "--force")
    assert ended.code == 1
    assert lines[0].split(";")[0] in ended.err


def test_spreadsheets_run_nothing(table, run):
    table = table.rename(columns={"ward": "=ward"})
    table["=ward"] = np.where(table["sex"] == "f", "=1+1", "west")
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", *ASKED, "--keep", "=ward", "--spreadsheet-safe", *OUT)
    assert ended.code == 0, ended.err
    found = read()
    assert set(found["'=ward"]) == {"'=1+1", "west"}


def test_the_same_seed_gives_the_same_file(table, run):
    for out in ("one.csv", "two.csv"):
        run("anonymize", "people.csv", *ASKED, "--seed", "3", "-o", out)
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_rows_that_are_left_out(table, run):
    table.loc[0, "age"] = 900
    table.to_csv("people.csv", index=False)
    facts = run("anonymize", "people.csv", *ASKED, "--suppress", "0.05", "--json", *OUT).json
    assert len(read()) == facts["n_published"] == len(table) - facts["n_suppressed"]
    assert facts["n_suppressed"] <= 0.05 * len(table)


# --- what is said ---------------------------------------------------------------------------------


def test_screens_and_facts_tell_nothing_about_single_rows(table, run):
    table.loc[0, ["age", "zip", "diagnosis"]] = [111, "Timbuktu", "kuru"]
    table.to_csv("people.csv", index=False)
    arguments = ("anonymize", "people.csv", *ASKED, "--keep", "ward", "-k", "4")
    said = [run(*arguments, "--report", "r.html"), run(*arguments, "--json")]
    texts = [ended.out + ended.err for ended in said]
    texts.append(Path("r.html").read_text(encoding="utf-8"))
    for text in texts:
        for secret in ("Timbuktu", "kuru", "Person Nr", "example.org"):
            assert secret not in text
    facts = said[1].json
    assert "labels" not in facts
    assert "ids" not in facts
    assert facts["checked"] == "memory"
    assert "Nothing was written" not in said[0].out


def test_limits_are_told(table, run):
    table["diagnosis"] = np.where(table["sex"] == "f", "flu", table["diagnosis"])
    table.to_csv("people.csv", index=False)
    arguments = ("--quasi", "sex", "--sensitive", "diagnosis,income", "--keep", "ward,age")
    facts = run("anonymize", "people.csv", *arguments, "--json").json
    warnings = "\n".join(facts["warnings"])
    n_classes = facts["n_classes"]
    assert f"Homogeneity: in 1 class of {n_classes} all rows have the same diagnosis" in warnings
    assert facts["sensitive"]["diagnosis"]["n_homogeneous"] == 1
    assert "Several sensitive columns: diagnosis and income" in warnings
    assert "Kept columns: ward and age are published as they are" in warnings
    assert "Background knowledge" in warnings
    assert "Several releases" in warnings
    t = facts["sensitive"]["diagnosis"]["t_closeness"]
    assert f"up to t = {t:.2f}" in warnings
    facts = run("anonymize", "people.csv", *arguments, "-k", "5", "--json", "-l", "1").json
    run("anonymize", "people.csv", *arguments, *OUT)
    single = read().groupby(["sex", "ward", "age"]).size().eq(1).sum()
    assert f"the quasi-identifiers {single} rows of {len(table)}" in "\n".join(facts["warnings"])


def test_names_that_say_who_somebody_is(table, run):
    table = table.rename(columns={"zip": "phone"})
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", "--quasi", "phone,age")
    assert ended.code == 0
    assert "'phone' is called like something that identifies people" in ended.err


def test_spellings_of_a_sensitive_value_are_one(table, run):
    table["diagnosis"] = np.where(table["age"] % 2, "flu", "Flu ")
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", *ASKED, "-l", "2", *OUT)
    assert ended.code == 1
    assert "it has 1 different value only" in ended.err
    assert not leftovers()


def test_closeness_is_a_promise_for_every_sensitive_column(table, run):
    asked = ("--quasi", "age,zip,sex", "--sensitive", "diagnosis,income", "--t", "0.3", "-l", "2")
    ended = run("anonymize", "people.csv", *asked, *OUT, "--json")
    assert ended.code == 0, ended.err
    facts = ended.json
    assert facts["t"]["asked"] == 0.3
    assert max(facts["t"]["reached"].values()) <= 0.3 + 1e-9
    found = read().astype({"income": float})
    for name in ("diagnosis", "income"):
        assert anonymity.t_closeness(found, QUASI, [name]) <= 0.3 + 1e-9
    assert run(*CHECK, *asked).code == 0
    ended = run(*CHECK, *asked, "--t", "0.01")
    assert ended.code == 1
    assert "t = 0.01 asked for" in ended.out


def test_codes_are_nominal_where_that_is_said(table, run):
    table["diagnosis"] = table["diagnosis"].map({"flu": 1, "cold": 2, "ague": 3, "none": 9})
    table["zip"] = table["zip"].map({zip: 1000 + i for i, zip in enumerate(table["zip"].unique())})
    table.to_csv("people.csv", index=False)
    for nominal in ((), ("--nominal", "diagnosis,zip")):
        facts = run("anonymize", "people.csv", *ASKED, *nominal, "--json", *OUT, "--force").json
        frame = read().assign(diagnosis=read()["diagnosis"].map("x{}".format if nominal else float))
        t = anonymity.t_closeness(frame, QUASI, ["diagnosis"])
        assert facts["sensitive"]["diagnosis"]["t_closeness"] == pytest.approx(t)
    assert set(read()["zip"].str[0]) <= {"{", "1", "*"}
    assert not read()["zip"].str.contains("-").any()
    ended = run("anonymize", "people.csv", *ASKED, "--nominal", "ward")
    assert ended.code == 2
    assert "'ward' is nominal" in ended.err


def test_values_that_tell_others_are_counted(table, run):
    table["income"] = table["diagnosis"].str.len()
    table.to_csv("people.csv", index=False)
    asked = ("--quasi", "sex", "--sensitive", "diagnosis,income")
    facts = run("anonymize", "people.csv", *asked, "--json").json
    assert f"knows another of {len(table)} rows of {len(table)}" in "".join(facts["warnings"])


def test_random_merges_have_a_secret_seed(table, run):
    said = []
    for out in ("one.csv", "two.csv"):
        ended = run(
            "anonymize", "people.csv", *ASKED, "--random-merges", "0.3", "-o", out, "--json"
        )
        assert ended.code == 0, ended.err
        assert ended.json["parameters"]["random_state"] is None
        said.append(Path(out).read_bytes())
    assert said[0] != said[1]
    ended = run("anonymize", "people.csv", *ASKED, "--random-merges", "0.3", "--seed", "3")
    assert ended.code == 2
    assert "leave --seed out" in ended.err


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "--quasi"),
        (("--quasi", ","), 2, "names no column"),
        (("--quasi", "age,wage"), 1, "no column 'wage'; did you mean 'age'"),
        (("--quasi", "age,age"), 2, "'age' is named twice"),
        (("--quasi", "age", "--keep", "age"), 2, "'age' is named by --quasi and --keep"),
        (("--quasi", "age", "--sensitive", "age"), 2, "--quasi and --sensitive"),
        (("--quasi", "name,age"), 1, "'name' has 120 different values in 120 rows"),
        (("--quasi", "age", "--keep", "email"), 1, "'email' has 120 different values"),
        (("--quasi", "age", "--sensitive", "email"), 1, "'email' has 120 different values"),
        (("--quasi", "age", "-l", "2"), 2, "l = 2 is about sensitive columns"),
        (("--quasi", "age", "-k", "1"), 2, "-k 1 protects nobody"),
        (("--quasi", "age", "-k", "121"), 1, "12[01]"),
        (("--quasi", "age", "--hierarchy", "zip=zip.csv"), 2, "'zip', which is no quasi"),
        (("--quasi", "age", "--hierarchy", "age"), 2, "write COLUMN=FILE"),
        (("--quasi", "zip", "--hierarchy", "zip=a", "--hierarchy", "zip=b"), 2, "twice"),
        (("--quasi", "zip", "--hierarchy", "zip=nowhere.csv"), 1, "nowhere.csv"),
        (("--quasi", "age", "-o", "people.csv"), 2, "read here and would be lost"),
        (("--quasi", "age", "-o", "out.xls"), 1, "should end in .csv"),
        (("--quasi", "age", "-o", "out.npy"), 1, "should end in .csv"),
        (("--quasi", "age", "--set", "k=3"), 2, "by -k and by --set"),
        (("--quasi", "age", "--set", "sizes=3"), 2, "sizes"),
        (("--quasi", "age", "-m", "kmeans"), 2, "sidelight cluster"),
        (("--quasi", "age", "--suppress", "2"), 2, "--suppress must be"),
        (("--quasi", "age", "--diversity", "most"), 2, "--diversity must be one of"),
        (("--quasi", "age", "--recursive-c", "0"), 2, "--recursive-c must be"),
        (("--quasi", "age", "--t", "2"), 2, "--t must be"),
        (("--quasi", "age", "--t", "0.2"), 2, "t = 0.2 is about sensitive columns"),
    ],
)
def test_bad_requests(table, run, arguments, code, words):
    before = Path("people.csv").read_bytes()
    ended = run("anonymize", "people.csv", *arguments)
    assert ended.code == code, ended.err
    assert re.search(words, ended.err), ended.err
    assert Path("people.csv").read_bytes() == before
    assert not leftovers()


def test_numbers_of_people_are_not_kept(table, run):
    table.assign(number=np.arange(500, 500 + len(table))).to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", "--quasi", "age", "--keep", "number", *OUT)
    assert ended.code == 1
    assert "'number' has 120 different values" in ended.err


def test_measured_numbers_may_be_kept_with_a_warning(table, run):
    table.assign(blood=np.arange(len(table)) / 7).to_csv("people.csv", index=False)
    facts = run("anonymize", "people.csv", "--quasi", "age", "--keep", "blood", "--json").json
    assert any("120 rows of 120 are like no other" in text for text in facts["warnings"])


def test_names_with_some_repetitions_are_still_names(table, run):
    table.loc[:5, "name"] = "Person Nr7"
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", "--quasi", "age,name", *OUT)
    assert ended.code == 1
    assert "'name' has 114 different values in 120 rows" in ended.err
    assert "--hierarchy name=FILE" in ended.err


def test_a_sensitive_value_that_is_too_frequent(table, run):
    table["diagnosis"] = "flu"
    table.loc[:3, "diagnosis"] = "cold"
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", *ASKED, "-l", "2", "--diversity", "entropy", *OUT)
    assert ended.code == 1
    assert "flu" in ended.err
    assert "116" in ended.err
    assert not leftovers()


def test_missing_sensitive_values(table, run):
    table.loc[:2, "diagnosis"] = None
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", *ASKED, "-l", "2", *OUT)
    assert ended.code == 1
    assert "'diagnosis' is missing in 3 rows" in ended.err
    assert not leftovers()
    assert run("anonymize", "people.csv", *ASKED, *OUT).code == 0


def test_a_pipe_cannot_be_checked(table, run):
    os.mkfifo("out.csv")
    ended = run("anonymize", "people.csv", *ASKED, *OUT)
    assert ended.code == 1
    assert "is a pipe or a device" in ended.err


def test_another_file_is_not_replaced(table, run):
    Path("out.csv").write_text("mine\n1\n")
    ended = run("anonymize", "people.csv", *ASKED, *OUT)
    assert ended.code == 2
    assert Path("out.csv").read_text() == "mine\n1\n"
    assert run("anonymize", "people.csv", *ASKED, *OUT, "--force").code == 0


def test_rows_without_names_of_columns(table, run):
    np.save("rows.npy", np.ones((5, 2)))
    ended = run("anonymize", "rows.npy", "--quasi", "x0", *OUT)
    assert ended.code == 1
    assert "no names of columns" in ended.err


def test_requests_in_python(table):
    with pytest.raises(InvalidRequest, match=r"k=1 protects nobody"):
        jobs.run("anonymize", data="people.csv", quasi=["age"], k=1)
    found = jobs.run("anonymize", data="people.csv", quasi="age", sensitive="diagnosis", k=3)
    assert found.roles["quasi"] == ["age"]
    assert "Person" not in repr(found)
    asked = AnonymizeRequest("people.csv", quasi="age", sensitive=["s", "t"], k=3, l=2)
    command = "sidelight anonymize people.csv --quasi age --sensitive s,t -k 3 -l 2"
    assert asked.command_line() == command
    asked = AnonymizeRequest("people.csv", quasi="zip", hierarchies={"zip": Path("zip.csv")})
    command = "sidelight anonymize people.csv --quasi zip --hierarchy zip=zip.csv"
    assert asked.command_line() == command
    assert asked.inputs == [Path("people.csv"), Path("zip.csv")]
    with pytest.raises(InvalidRequest, match="must be a file"):
        jobs.run("anonymize", data=table, quasi="age")


def test_a_notebook_shows_nothing_about_single_rows(table):
    table.loc[0, ["age", "zip", "diagnosis"]] = [111, "Timbuktu", "kuru"]
    table.to_csv("people.csv", index=False)
    found = jobs.run("anonymize", data="people.csv", quasi=QUASI, sensitive="diagnosis", k=4)
    shown = found._repr_html_()
    assert "counted in memory" in shown
    assert found.row_values() == {}
    found.write(published="out.csv")
    assert found.facts()["checked"] == "file"
    assert "counted in the written file" in found._repr_html_()
    for secret in ("Timbuktu", "kuru", "Person Nr", "example.org"):
        assert secret not in shown


# --- sabotage -------------------------------------------------------------------------------------


def sabotaged(monkeypatch, change):
    """Let the estimator end with another published table or other labels than it found."""
    fit = Anonymizer.fit

    def fit_badly(self, *arguments, **named):
        fit(self, *arguments, **named)
        change(self)
        return self

    monkeypatch.setattr(Anonymizer, "fit", fit_badly)


def one_value(model, text="17"):
    columns = {name: model.published_[name].to_pylist() for name in model.published_.column_names}
    columns["age"][0] = text
    model.published_ = pa.table(columns)


def drop_a_row(model):
    model.published_ = model.published_.slice(1)


def publish_names(model):
    table = model.published_
    model.published_ = table.append_column("name", table["age"])


def hide_rows(model):
    keep = np.arange(len(model.labels_)) >= 40
    model.labels_ = np.where(keep, model.labels_, -1)
    model.published_ = model.published_.filter(pa.array(keep))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            one_value,
            "of rows that are published alike would have fewer than k = 5 rows, the smallest 1",
        ),
        (lambda model: one_value(model, None), "generalized value is missing"),
        (drop_a_row, "not those of the rows"),
        (publish_names, "not those of the rows"),
        (hide_rows, "40 rows of 120 would be left out"),
    ],
)
def test_a_method_that_breaks_the_promise_writes_nothing(table, run, monkeypatch, change, words):
    sabotaged(monkeypatch, change)
    ended = run("anonymize", "people.csv", *ASKED, *OUT, "--report", "r.html")
    assert ended.code == 1
    assert "The table was not written" in ended.err
    assert words in ended.err
    assert not leftovers()


def test_a_method_that_forgets_diversity_writes_nothing(table, run, monkeypatch):
    fit = Anonymizer.fit

    def forgetful(self, X, **named):
        plain = Anonymizer(self.k, n_clusters=self.n_clusters, random_state=0)
        fit(plain, X)
        vars(self).update({name: v for name, v in vars(plain).items() if name.endswith("_")})
        return self

    monkeypatch.setattr(Anonymizer, "fit", forgetful)
    table["diagnosis"] = np.where(table["age"] > 50, "flu", "cold")
    table.to_csv("people.csv", index=False)
    ended = run("anonymize", "people.csv", *ASKED, "-l", "2", *OUT)
    assert ended.code == 1
    assert "would fall short of l = 2 (distinct) in the column 'diagnosis'" in ended.err
    assert not leftovers()


def test_what_goes_wrong_while_writing_is_found_in_the_file(table, run, monkeypatch):
    write = _publish.write_columns

    def write_badly(columns, path, **options):
        ages = columns["age"].copy()
        ages[0] = "17"
        write({**columns, "age": ages}, path, **options)

    monkeypatch.setattr(_publish, "write_columns", write_badly)
    ended = run("anonymize", "people.csv", *ASKED, *OUT, "--report", "r.html")
    assert ended.code == 1
    assert "fewer than k = 5" in ended.err
    assert not leftovers()

    def write_more(columns, path, **options):
        write({**columns, "name": columns["age"]}, path, **options)

    monkeypatch.setattr(_publish, "write_columns", write_more)
    ended = run("anonymize", "people.csv", *ASKED, *OUT)
    assert ended.code == 1
    assert "instead of age, zip, sex and diagnosis" in ended.err
    assert not leftovers()


# --- the count of a published table ---------------------------------------------------------------


def test_the_check_of_a_received_table(table, run):
    run("anonymize", "people.csv", *ASKED, "-k", "6", "-l", "2", *OUT)
    asked = (*CHECK, "--quasi", "age,zip,sex", "--sensitive", "diagnosis")
    ended = run(*asked, "-k", "6", "-l", "2")
    assert (ended.code, "Kept." in ended.out) == (0, True)
    ended = run(*asked, "-k", "60", "--json")
    assert ended.code == 1
    facts = ended.json
    assert facts["kept"] is False
    assert facts["k"]["reached"] == anonymity.k_anonymity(read(), QUASI)
    assert "k = 60 asked for" in facts["problems"][0]
    ended = run(*asked, "-k", "2", "-l", "9")
    assert (ended.code, "Not kept." in ended.out) == (1, True)
    assert "Nothing was written" not in ended.out
    assert run(*CHECK, "--quasi", "agee").code == 1
    assert run(*CHECK, "--quasi", "age", "-l", "2").code == 2
    ended = run("anonymize", "no.csv", "--check", "--quasi", "age", "--json")
    assert json.loads(ended.out)["error"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "new.csv"), "--check only counts, and writes nothing"),
        (("--report", "new.html"), "--check only counts, and writes nothing"),
        (("--keep", "ward"), "--check only counts: leave --keep out"),
        (("--set", "n_init=2"), "--check only counts: leave --set out"),
        (("--seed", "3"), "--check only counts: leave --seed out"),
    ],
)
def test_a_check_makes_nothing(table, run, arguments, words):
    ended = run("anonymize", "people.csv", "--check", "--quasi", "sex", *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert not leftovers()


def test_a_check_in_python(table):
    found = jobs.run("anonymize", data=table, quasi="sex", k=5, check=True)
    assert found.exit_code == 0
    assert found.check.k_reached == table["sex"].value_counts().min()
    found = jobs.run("anonymize", data=table, quasi="name", k=5, check=True)
    assert found.exit_code == 1
    assert found.facts()["table"] == "table in memory"
    with pytest.raises(InvalidRequest, match="writes nothing"):
        found.write(published="new.csv")
