"""Mixed tables from the file to the answer: what the command line does is what a pipeline does."""

import html
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.mixed import CLUSTER, KNOWN, N, columns_of, pipeline, plan_of

from sidelight import jobs
from sidelight.cluster import KMeans
from sidelight.io import read_table
from sidelight.jobs import ClusterRequest
from sidelight.jobs._table import _features
from sidelight.preparation import TablePreparer

# --- what is decided is told ---------------------------------------------------------------------


def test_a_mixed_table_is_accepted_and_every_decision_told(table, run):
    ended = run(*CLUSTER)
    assert ended.code == 0, ended.err
    told = re.sub(r"  +", "  ", ended.out)
    assert "Columns; numbers are scaled to variance 1 (--as, --weight, --scale, --drop, --r" in told
    for line in [
        "country  category  3 levels",
        f"joined  date  {min(table.joined)} to {max(table.joined)}: trend, season, weekday",
        "income  number  10 gaps, filled and marked",
        "member  yes-no  no or yes",
        "size  ordered  small < medium < large",
        "comment  text  3 words",
        "currency  set aside  always the same (EUR)",
    ]:
        assert line in told
    assert "The column 'id' names the rows." in ended.err
    assert "segment" not in told.split("Agreement")[0]


def test_json_and_report_carry_the_preparation(table, run):
    ended = run(*CLUSTER, "--json", "--report", "report.html")
    expected = TablePreparer().fit(columns_of(table))
    assert plan_of(ended.json) == expected.plan_table()
    assert ended.json["n_features"] == expected.n_features_out_
    page = html.unescape(Path("report.html").read_text(encoding="utf-8"))
    for name, use, how in expected.plan_table():
        assert re.search(rf">{name}<.*?>{use}<.*?>{re.escape(how)}<", page, re.DOTALL), name
    assert run(*CLUSTER, "--raw", "--drop", ",".join(table.columns[[1, 2, 4, 5, 6, 7]])).code == 1
    table["income"] = table["income"].fillna(0)
    table.to_csv("customers.csv", index=False)
    plain = run(*CLUSTER, "--raw", "--columns", "income", "--json")
    assert plain.json["preparation"] == []


def test_a_table_of_numbers_needs_one_sentence(orchard, run):
    common = ("cluster", orchard[0], "-k", 3, "--drop", "variety")
    words = {
        (): "6 columns of numbers, scaled to variance 1 (--raw takes them as they are)",
        ("--scale", "robust"): "6 columns of numbers, scaled by their quartiles",
        ("--scale", "range"): "6 columns of numbers, scaled to range 1",
        ("--scale", "none"): "6 columns of numbers, not scaled",
        ("--raw",): "Columns are taken as they are.",
        ("--weight", "hue_deg=2"): "counts 2 times",
    }
    for options, sentence in words.items():
        assert sentence in run(*common, *options).out


def test_methods_that_read_columns_as_they_are_say_so(orchard, run, put):
    data, _ = orchard
    common = ("cluster", data, "-k", 3, "--drop", "variety", "-m", "spherical-kmeans")
    ended = run(*common)
    assert "SphericalKMeans reads columns as they are: nothing was scaled or enc" in ended.err
    assert "Columns are taken as they are." in ended.out
    prepared, raw = run(*common, "--json").json, run(*common, "--raw", "--json").json
    assert prepared["objective"] == raw["objective"]
    put("rows.libsvm", "0 1:1 2:4\n0 1:2 3:5\n0 2:9\n0 1:3 2:1\n")
    assert "Sparse rows are taken as they are." in run("cluster", "rows.libsvm", "-k", 2).out
    scaled = run("cluster", "rows.libsvm", "-k", 2, "--scale", "range", "--json").json
    assert scaled["objective"] < run("cluster", "rows.libsvm", "-k", 2, "--json").json["objective"]


def test_words_for_such_a_method_are_answered_with_what_to_do(table, run):
    ended = run(*CLUSTER, "-m", "spherical-kmeans")
    assert ended.code == 1
    assert "do not hold numbers ('country' is 'DE' in row 'C000')" in ended.err
    assert "a method that does not read them as they are" in ended.err


# --- what is asked for is done -------------------------------------------------------------------

#: Options, and the same in Python.
ASKED = [
    ((), {}),
    (("--as", "size=category"), {"kinds": {"size": "category"}}),
    (
        ("--as", "size=ordered:medium<small<large"),
        {"kinds": {"size": ["medium", "small", "large"]}},
    ),
    (
        ("--as", "income=log", "--as", "comment=aside"),
        {"kinds": {"income": "log", "comment": "aside"}},
    ),
    (("--as", "comment=category"), {"kinds": {"comment": "category"}}),
    (("--weight", "income=2.5"), {"weights": {"income": 2.5}}),
    (("--weight", "country=0", "--weight", "joined=3"), {"weights": {"country": 0, "joined": 3}}),
    (("--scale", "robust"), {"scale": "robust"}),
    (("--scale", "range"), {"scale": "range"}),
    (("--scale", "none"), {"scale": "none"}),
    (("--drop", "country,comment"), {"drop": ["country", "comment"]}),
    (
        ("--drop", "joined", "--as", "size=category", "--weight", "size=2", "--scale", "range"),
        {
            "drop": ["joined"],
            "kinds": {"size": "category"},
            "weights": {"size": 2},
            "scale": "range",
        },
    ),
]


@pytest.mark.parametrize(("options", "same"), ASKED, ids=[shlex.join(o) for o, _ in ASKED])
def test_options_do_what_they_do_in_python(table, run, options, same):
    ended = run(*CLUSTER, *options, "--json")
    assert ended.code == 0, ended.out
    expected = pipeline(**same).fit(columns_of(table))
    preparer, clusterer = expected[0], expected[1]
    dropped = set(same.get("drop", ()))
    assert plan_of(ended.json) == [row for row in preparer.plan_table() if row[0] not in dropped]
    assert ended.json["labels"] == clusterer.labels_.tolist()
    assert ended.json["objective"] == pytest.approx(clusterer.objective_)
    assert ended.json["ids"] == table["id"].tolist()
    if options:  # it is something else than without
        plain = pipeline().fit(columns_of(table))[1]
        assert clusterer.objective_ != pytest.approx(plain.objective_)


def test_raw_takes_numbers_and_nothing_else(table, run):
    ended = run(*CLUSTER, "--raw")
    assert ended.code == 1
    assert "'country', 'joined', 'member', 'size', 'comment' and 1 more of customers" in ended.err
    gaps = run(*CLUSTER, "--raw", "--columns", "income")
    assert gaps.code == 1
    assert "10 missing numbers, the first in row 'C004'" in gaps.err
    table.assign(income=table["income"].fillna(1.0)).to_csv("filled.csv", index=False)
    common = ("cluster", "filled.csv", "-k", 3, "--columns", "income", "--json")
    X = table[["income"]].fillna(1.0).to_numpy()
    expected = KMeans(n_clusters=3, random_state=0).fit(X)
    assert run(*common, "--raw").json["labels"] == expected.labels_.tolist()
    assert run(*common, "--raw").json["objective"] == pytest.approx(expected.objective_)
    assert run(*common).json["objective"] == pytest.approx(expected.objective_ / X.var())


def test_names_with_signs_of_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a=b", "x:y"]).assign(
        **{"[bold]": rng.choice(["lo=1", "hi:2"], 30), "é, ü": rng.choice(["p", "q", "r"], 30)}
    )
    frame.to_csv("rows.csv", index=False)
    options = ("--weight", "a=b=2", "--as", "x:y=category", "--as", "[bold]=ordered:lo=1<hi:2")
    facts = run("cluster", "rows.csv", "-k", 2, *options, "--json").json
    kinds = {"x:y": "category", "[bold]": ["lo=1", "hi:2"]}
    expected = pipeline(2, kinds=kinds, weights={"a=b": 2}).fit(frame)
    assert plan_of(facts) == expected[0].plan_table()
    assert facts["labels"] == expected[1].labels_.tolist()
    shown = run("cluster", "rows.csv", "-k", 2, *options).out
    assert all(name in shown for name in frame.columns)


def test_every_form_of_a_table_gives_the_same(table, run):
    pl = pytest.importorskip("polars")
    typed = table.assign(
        joined=pd.to_datetime(table["joined"]), size=table["size"].astype("category")
    )
    typed.to_parquet("customers.parquet")
    typed.to_feather("customers.feather")
    ordered = pl.col("size").cast(pl.Enum(["small", "medium", "large"]))
    enumerated = pl.DataFrame(typed).with_columns(ordered)
    enumerated.write_ipc("polars.arrow")
    enumerated.write_parquet("polars.parquet")
    german = table.assign(
        joined=[".".join(reversed(day.split("-"))) for day in table["joined"]],
        income=[
            f"{value:_.2f}".replace(".", ",").replace("_", ".") if value == value else ""
            for value in table["income"]
        ],
    )
    german.to_csv("german.csv", sep=";", index=False, encoding="latin-1")
    expected = run(*CLUSTER, "--weight", "income=2", "--drop", "comment", "--json").json
    files = (
        "customers.parquet",
        "customers.feather",
        "german.csv",
        "polars.arrow",
        "polars.parquet",
    )
    for name in files:
        asked = ("cluster", name, *CLUSTER[2:], "--weight", "income=2", "--drop", "comment")
        facts = run(*asked, "--json").json
        assert facts["labels"] == expected["labels"], name
        assert facts["objective"] == pytest.approx(expected["objective"])
    polars = pl.DataFrame(typed)
    for frame in (table, typed, pl.DataFrame(table), polars, polars.to_arrow(), enumerated):
        found = jobs.run(
            ClusterRequest(
                frame,
                k=3,
                truth="segment",
                drop=["comment"],
                weights={"income": 2},
            )
        )
        assert found.labels.tolist() == expected["labels"]
        assert found.scores == expected["scores"]
        assert found.data.ids.tolist() == expected["ids"]
        assert found.request.command_line() is None
    indexed = jobs.run(
        ClusterRequest(table.set_index("id"), k=3, truth="segment", drop=["comment"])
    )
    assert indexed.data.ids.tolist() == expected["ids"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_large_features_go_to_a_temporary_file(table, run, monkeypatch, kind):
    if kind == "npy":
        np.save("customers.npy", table[["income"]].assign(one=1.0, other=np.arange(N) % 7))
        asked = ("cluster", "customers.npy", "-k", 3, "--json")
    else:
        table.to_parquet("customers.parquet")
        asked = ("cluster", f"customers.{kind}", *CLUSTER[2:], "--json")
    expected = run(*asked, "--report", "first.html", "--save", "first.skops").json
    kept = []
    on_disk = _features._features_on_disk
    monkeypatch.setattr(
        _features, "_features_on_disk", lambda *a: kept.append(on_disk(*a)) or kept[-1]
    )
    monkeypatch.setattr(_features, "_large", lambda data: True)
    monkeypatch.setattr(_features, "BLOCK_ROWS", 7)
    facts = run(*asked, "--report", "again.html", "--save", "again.skops").json
    assert isinstance(kept[0], np.memmap)
    for name in ("preparation", "labels", "sizes", "scores", "n_features"):
        assert facts[name] == expected[name], name
    assert facts["objective"] == pytest.approx(expected["objective"], rel=1e-12)
    models = [
        run("predict", name, asked[1], "--json").json for name in ("first.skops", "again.skops")
    ]
    assert models[0]["labels"] == models[1]["labels"] == expected["labels"]


def test_features_are_large_by_their_bytes(table, run, monkeypatch):
    kept = []
    on_disk = _features._features_on_disk
    monkeypatch.setattr(
        _features, "_features_on_disk", lambda *a: kept.append(on_disk(*a)) or kept[-1]
    )
    expected = run(*CLUSTER, "--json").json
    monkeypatch.setattr(_features, "MAX_BYTES", N * 7 * 8 * 3)  # seven columns of features, thrice
    run(*CLUSTER, "--json")
    assert not kept
    monkeypatch.setattr(_features, "MAX_BYTES", N * 7 * 8 * 3 - 1)
    assert run(*CLUSTER, "--json").json["labels"] == expected["labels"]
    assert len(kept) == 1
    in_memory = ("-m", "spectral-clustering", "--json")  # which needs all rows at once
    assert run(*CLUSTER, *in_memory).code == 0
    assert len(kept) == 1


def test_gaps_and_constant_columns_of_an_array(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, 1] = 7.0
    X[[3, 5], 2] = np.nan
    np.save("rows.npy", X)
    ended = run("cluster", "rows.npy", "-k", 2, "--save", "model.skops", "--json")
    expected = pipeline(2).fit(X)
    assert plan_of(ended.json) == expected[0].plan_table()
    assert plan_of(ended.json)[1] == ("x2", "number", "2 gaps, filled and marked")
    assert plan_of(ended.json)[3] == ("x1", "set aside", "always the same (7)")
    assert ended.json["labels"] == expected[1].labels_.tolist()
    np.save("new.npy", X[10:])  # the constant column comes again, and is not needed
    predicted = run("predict", "model.skops", "new.npy", "--json").json
    assert predicted["labels"] == expected.predict(X[10:]).tolist()
    assert run("cluster", "rows.npy", "-k", 2, "--raw").code == 1


# --- the command of the report -------------------------------------------------------------------


@pytest.mark.parametrize(("options", "same"), ASKED, ids=[shlex.join(o) for o, _ in ASKED])
def test_the_command_in_the_report_repeats_the_run(table, run, options, same):
    first = run(*CLUSTER, *options, "--seed", 3, "--report", "report.html", "--json").json
    page = Path("report.html").read_text(encoding="utf-8")
    command = html.unescape(re.search(r'<pre class="command">(.*?)</pre>', page, re.DOTALL)[1])
    name, *words = shlex.split(command)
    assert name == "sidelight"
    again = run(*words, "--json").json
    for fact in ("labels", "objective", "preparation", "parameters", "scores"):
        assert again[fact] == first[fact]
    assert "--raw" not in words


# --- the other commands --------------------------------------------------------------------------


def test_ask_shows_the_columns_as_they_are_written(table, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("s C000 C004\nq\n"))
    ended = run("ask", *CLUSTER[1:4], "--drop", "segment", "--strategy", "random")
    assert ended.code == 0, ended.err
    assert ended.out.count("Columns; numbers are scaled") == 1  # not again with the clusters
    question = ended.out.split("Question 1")[1]
    pair = re.search(r"\n +(C\d+) +(C\d+) *\n", question).groups()
    rows = table.set_index("id").loc[list(pair)]
    for name in ("country", "joined", "member", "size", "comment", "segment"):
        one, other = rows[name]
        mark = "" if one == other else " +≠"
        assert re.search(rf"{name} +{re.escape(one)} +{re.escape(other)}{mark} *\n", question), name
    one, other = (f"{value:.6g}" if value == value else "" for value in rows["income"])
    apart = abs(rows["income"].diff().iloc[1]) / table["income"].std(ddof=0)
    assert re.search(rf"income +{one} +{other} +≠ {apart:.1f} σ", question)


def test_ask_about_rows_without_a_number(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    colors = pd.DataFrame(
        {"color": ["red", "blue", "green", "blue"] * 5, "soft": ["yes", "no"] * 10}
    )
    colors.to_csv("rows.csv", index=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("d 0 1\nq\n"))
    ended = run("ask", "rows.csv", "-k", 2, "--strategy", "random")
    assert ended.code == 0, ended.err
    assert re.search(r"color +(red|blue|green) +(red|blue|green)", ended.out)
    assert "row 0 and row 1: different" in ended.out


def test_check_measures_constraints_on_prepared_columns(table, run, put):
    put("known.csv", KNOWN)
    ended = run("check", "customers.csv", "-c", "known.csv", "-k", 3, "--drop", "segment")
    assert ended.code == 0
    assert re.search(r"size +ordered +small < medium < large", ended.out)
    common = ("check", "customers.csv", "-c", "known.csv", "-k", 3, "--drop", "segment", "--json")
    plain, weighted = run(*common).json, run(*common, "--weight", "joined=50").json
    assert plain["quality"]["coherence"] is not None
    assert plain["quality"]["overlap"] != weighted["quality"]["overlap"]
    assert run(*common, "--as", "size=time").code == 1


def test_labels_and_truth_are_no_features(table, run):
    table["known"] = np.where(np.arange(N) % 6 < 3, table["segment"], "")
    table.to_csv("customers.csv", index=False)
    facts = run(*CLUSTER, "--label-column", "known", "--json").json
    assert facts["knowledge"]["labels"] == N // 2
    assert not {"known", "segment", "id"} & {name for name, *_ in plan_of(facts)}
    assert read_table("customers.csv", as_columns=True, drop=["known", "segment"]).ids is not None
