"""``sidelight cluster`` and ``sidelight predict``, from file to file."""

import argparse
import csv
import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import RobustScaler, StandardScaler

from sidelight import Constraints, catalog
from sidelight.cluster import KMeans, PCKMeans
from sidelight.io import read_labels, read_table, write_labels

TRUTH = ("--truth-column", "variety")


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_the_main_job_matches_the_library(orchard, run, raw):
    data, links = orchard
    asked = ("-k", 3, "--constraints", links, *TRUTH, "-o", "labels.csv")
    ended = run("cluster", data, *asked, *raw, "--json")
    assert ended.code == 0
    table = read_table(data, truth_column="variety")
    known = Constraints.read(links, ids=table.ids)
    X = table.X if raw else StandardScaler().fit_transform(table.X)
    model = PCKMeans(n_clusters=3, random_state=0).fit(X, constraints=known)
    ids, labels = read_labels("labels.csv")
    assert ids.tolist() == table.ids.tolist()
    assert labels.tolist() == model.labels_.tolist()
    facts = ended.json
    assert facts["method"] == "pckmeans"
    assert facts["objective"] == pytest.approx(model.objective_)
    assert facts["violations"]["n"] == model.n_violations_
    assert facts["sizes"] == {str(c): int(n) for c, n in enumerate(np.bincount(labels))}
    counts = {"must_link": len(known.must_link), "cannot_link": len(known.cannot_link)}
    assert facts["knowledge"] == {**counts, "labels": 0, "groups": 0}
    assert facts["outputs"] == {"labels": "labels.csv"}
    assert facts["scores"]["unconstrained"]["n_rows"] < facts["scores"]["all"]["n_rows"] == 240
    assert ended.err == ""


def test_without_knowledge_it_is_plain_kmeans_and_the_same_every_time(orchard, run):
    data, _ = orchard
    asked = ("cluster", data, "-k", 3, "--drop", "variety", "--raw", "--json")
    first, again = run(*asked).json, run(*asked).json
    assert first["method"] == "kmeans"
    assert first["labels"] == again["labels"]
    table = read_table(data, drop=["variety"])
    assert first["ids"] == table.ids.tolist()
    model = KMeans(n_clusters=3, random_state=0).fit(table.X)
    assert first["labels"] == model.labels_.tolist()


def test_people_get_a_summary_with_violations_by_id(orchard, run, put):
    data, _ = orchard
    put("apart.csv", "H001,H001x\n")
    table = read_table(data, drop=["variety"])
    X = StandardScaler().fit_transform(table.X)
    labels = KMeans(n_clusters=3, random_state=0).fit(X).labels_
    first, second = table.ids[labels == labels[0]][:2]
    put("apart.csv", f"{first},{second}\n")
    ended = run("cluster", data, "-k", 3, "-m", "kmeans", "--cannot-link", "apart.csv", *TRUTH)
    assert ended.code == 0
    for words in [
        "KMeans on orchard.csv: 240 rows",
        "Cluster",
        f"cannot-link '{first}' - '{second}' is violated",
        "0 of 1 kept",
        "Adjusted Rand index",
        "-o labels.csv",
    ]:
        assert words in ended.out
    assert "column 'id' names the rows" in ended.err
    assert "does not use cannot-links" in ended.err
    assert "they are only compared with the result" in ended.err


def test_quiet_says_nothing(orchard, run):
    data, links = orchard
    ended = run("cluster", data, "-k", 3, "-c", links, *TRUTH, "-q", "-o", "labels.csv")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert Path("labels.csv").exists()


def test_pairs_from_two_files_are_the_same_as_from_one(orchard, run):
    data, links = orchard
    with links.open() as file:
        rows = list(csv.DictReader(file))
    for kind in ("must-link", "cannot-link"):
        pairs = [f"{r['i']},{r['j']}" for r in rows if r["kind"] == kind]
        Path(f"{kind}.csv").write_text("\n".join(["i,j", *pairs]))
    both = ("--must-link", "must-link.csv", "--cannot-link", "cannot-link.csv")
    common = ("cluster", data, "-k", 3, "-m", "copkmeans", *TRUTH, "--json")
    assert run(*common, *both).json["labels"] == run(*common, "-c", links).json["labels"]


def test_partial_labels_are_used_and_are_no_feature(orchard, run, put):
    data, _ = orchard
    lines = data.read_text().splitlines()
    partial = [f"{lines[0]},known"]
    for number, line in enumerate(lines[1:]):
        known = line.rsplit(",", 1)[1] if number % 5 == 0 else ""
        partial.append(f"{line},{known}")
    put("partial.csv", "\n".join(partial))
    ended = run(
        "cluster",
        "partial.csv",
        "-k",
        3,
        "-m",
        "constrained-kmeans",
        "--label-column",
        "known",
        *TRUTH,
        "--json",
    )
    assert ended.code == 0
    facts = ended.json
    assert facts["knowledge"]["labels"] == 48
    assert facts["n_features"] == len(lines[0].split(",")) - 2
    assert facts["violations"]["n"] == 0
    assert facts["scores"]["unconstrained"]["n_rows"] == 240 - 48


def test_settings_reach_the_method(orchard, run):
    data, links = orchard
    facts = run(
        "cluster",
        data,
        "-k",
        3,
        "-c",
        links,
        *TRUTH,
        "--json",
        "--seed",
        7,
        "--set",
        "max_iter=3",
        "--set",
        "tol=0.5",
    ).json
    assert facts["parameters"]["max_iter"] == 3
    assert facts["parameters"]["tol"] == 0.5
    assert facts["parameters"]["random_state"] == 7
    facts = run("cluster", data, "-k", 3, *TRUTH, "--json", "--set", "init=random").json
    assert facts["parameters"]["init"] == "random"


def test_columns_and_scale(orchard, run):
    data, _ = orchard
    common = ("cluster", data, "-k", 3, "--json")
    chosen = run(*common, "--columns", "sugar_g_per_l,firmness_n", "--columns", "hue_deg").json
    assert chosen["n_features"] == 3
    X = read_table(data, drop=["variety"]).X
    rows = {
        "standard": StandardScaler().fit_transform(X),
        "robust": RobustScaler(unit_variance=True).fit_transform(X),
        "range": (X - X.min(axis=0)) / np.ptp(X, axis=0),
        "none": X,
    }
    for scale, scaled in rows.items():
        found = run(*common, "--drop", "variety", "--scale", scale).json
        expected = KMeans(n_clusters=3, random_state=0).fit(scaled)
        assert found["objective"] == pytest.approx(expected.objective_)
        assert found["labels"] == expected.labels_.tolist()


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".svm", ".tsv"])
@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_other_formats(orchard, run, suffix, raw):
    table = read_table(orchard[0], drop=["variety"])
    path = Path(f"data{suffix}")
    if suffix == ".npy":
        np.save(path, table.X)
    elif suffix == ".svm":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(table.X, np.zeros(240), str(path))
    elif suffix == ".tsv":
        path.write_text(orchard[0].read_text().replace(",", "\t"))
    else:
        import pyarrow.csv
        import pyarrow.parquet as pq

        pq.write_table(pyarrow.csv.read_csv(orchard[0]), path)
    drop = () if suffix in (".npy", ".svm") else ("--drop", "variety")
    plain = ("--raw",) if suffix == ".svm" else raw  # sparse rows stay as they are in any case
    expected = run("cluster", orchard[0], "-k", 3, "--drop", "variety", *plain, "--json").json
    facts = run("cluster", path, "-k", 3, *drop, *raw, "--json").json
    assert facts["objective"] == pytest.approx(expected["objective"])


# --- several outputs, all or none ----------------------------------------------------------------

OUTPUTS = ("-o", "labels.csv", "--report", "report.html", "--save", "model.skops")


def test_all_outputs_at_once(orchard, run):
    data, links = orchard
    ended = run("cluster", data, "-k", 3, "-c", links, *TRUTH, *OUTPUTS)
    assert ended.code == 0
    assert "Written: labels.csv, report.html, model.skops" in ended.out
    written = {path.name for path in Path().iterdir()}
    assert written == {data.name, links.name, "labels.csv", "report.html", "model.skops"}
    report = Path("report.html").read_text()
    assert report.lstrip().lower().startswith("<!doctype html")
    assert "sidelight cluster orchard.csv" in report


@pytest.mark.parametrize("fails", ["fill_labels", "fill_model", "html"])
def test_a_full_disk_leaves_the_old_files_and_no_others(orchard, run, monkeypatch, fails):
    data, _ = orchard
    old = {name: f"old {name}" for name in ("labels.csv", "report.html", "model.skops")}
    for name, text in old.items():
        Path(name).write_text(text)

    def full_disk(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    module = {
        "fill_labels": "sidelight.jobs._table._run",
        "fill_model": "sidelight.jobs._table._run",
        "html": "sidelight.report.page.Page",
    }[fails]
    monkeypatch.setattr(f"{module}.{fails}", full_disk, raising=False)
    ended = run("cluster", data, "-k", 3, *TRUTH, *OUTPUTS, "--force")
    assert ended.code == 1
    assert "No space left on device" in ended.err
    assert "unchanged" in ended.err
    assert {name: Path(name).read_text() for name in old} == old
    assert len(os.listdir()) == 5


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("-o", "labels.npy", "labels.npy"),
        ("-o", "missing/labels.csv", "missing does not exist"),
        ("--report", "report.pdf", ".html"),
        ("--save", "model.pkl", ".skops"),
        ("--report", "folder.html", "folder"),
    ],
)
def test_a_bad_place_for_output_is_named_before_any_work(orchard, run, option, value, words):
    Path("folder.html").mkdir()
    ended = run("cluster", "there-is-no-data.csv", "-k", 3, option, value)
    assert ended.code == 1
    assert words in ended.err
    assert "there-is-no-data" not in ended.err


# --- predict -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [(), ("--raw",), ("--scale", "robust")])
def test_predict_gives_the_labels_of_the_fit(orchard, run, how):
    data, _ = orchard
    saved = ("--save", "model.skops", "-o", "fit.csv", *how)
    assert run("cluster", data, "-k", 3, "-m", "kmeans", *TRUTH, *saved).code == 0
    assert run("predict", "model.skops", data, "-o", "again.csv").code == 0
    assert Path("fit.csv").read_text() == Path("again.csv").read_text()


def test_predict_agrees_with_a_constrained_fit_on_free_rows(orchard, run):
    data, links = orchard
    arguments = ("cluster", data, "-k", 3, "-c", links, *TRUTH, "--save", "model.skops", "--json")
    fitted = run(*arguments).json
    predicted = run("predict", "model.skops", data, "--json").json
    known = Constraints.read(links, ids=fitted["ids"])
    free = np.setdiff1d(np.arange(240), np.concatenate([known.must_link, known.cannot_link]))
    assert len(free) > 150
    before, after = np.array(fitted["labels"]), np.array(predicted["labels"])
    assert (before[free] == after[free]).all()
    assert predicted["ids"] == fitted["ids"]


def test_predict_finds_its_columns_in_any_order_and_remembers_the_id_column(run, put):
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(9, 1, (20, 2))])
    lines = [f"{a},k{i},{b},junk" for i, (a, b) in enumerate(X)]
    put("train.csv", "\n".join(["a,key,b,text", *lines]))
    put(
        "new.csv", "\n".join(["text,b,key,a", *(f"junk,{b},{i},{a}" for i, (a, b) in enumerate(X))])
    )
    fitted = run(
        "cluster",
        "train.csv",
        "-k",
        2,
        "--id-column",
        "key",
        "--drop",
        "text",
        "--save",
        "model.skops",
        "--json",
    ).json
    predicted = run("predict", "model.skops", "new.csv", "--json").json
    assert predicted["labels"] == fitted["labels"]
    assert predicted["ids"] == list(range(40))


def test_predict_on_libsvm_keeps_features_in_place(run, put):
    put("train.svm", "".join(f"0 0:{i % 2} 1:1 2:{5 * (i % 2)}\n" for i in range(10)))
    put("new.svm", "0 1:1\n0 1:1 2:5\n")  # feature 0 does not occur: must not be shifted
    put("short.svm", "0 1:1\n")  # and here neither does the last one
    put("wide.svm", "0 0:1 1:1 7:5\n")
    fitted = run("cluster", "train.svm", "-k", 2, "--save", "model.skops", "--json").json
    assert run("predict", "model.skops", "new.svm", "--json").json["labels"] == fitted["labels"][:2]
    short = run("predict", "model.skops", "short.svm", "--json").json
    assert short["labels"] == fitted["labels"][:1]
    ended = run("predict", "model.skops", "wide.svm")
    assert ended.code == 1
    assert "8 features" in ended.err


def test_predict_refuses_what_is_not_ours(orchard, run, put):
    import skops.io

    data, _ = orchard
    run("cluster", data, "-k", 3, *TRUTH, "--save", "model.skops")
    put("text.skops", "hello")
    ended = run("predict", "text.skops", data)
    assert (ended.code, "not a model" in ended.err) == (1, True)

    skops.io.dump({"format": "other"}, "other.skops")
    assert "not a model" in run("predict", "other.skops", data).err

    skops.io.dump({"estimator": argparse.Namespace(a=1)}, "strange.skops")
    ended = run("predict", "strange.skops", data, "--json")
    assert ended.code == 1
    assert "Namespace" in ended.json["error"]
    assert "trusted" in ended.json["error"]

    put("short.csv", "id,diameter_mm\nq,3\n")
    ended = run("predict", "model.skops", "short.csv")
    assert ended.code == 1
    assert "short.csv has no columns 'height_mm', 'sugar_g_per_l', 'acid_meq_per_l'" in ended.err


def test_labels_of_a_thousand_clusters_are_summed_up(run, put, tmp_path):
    write_labels("x.csv", None, [0])
    np.save("many.npy", np.arange(200.0).reshape(-1, 1))
    ended = run("cluster", "many.npy", "-k", 50)
    assert "and 20 smaller ones" in ended.out


# --- mixtures ------------------------------------------------------------------------------------


def test_k_is_the_number_of_components_and_a_saved_mixture_predicts(orchard, run):
    data, _ = orchard
    arguments = ("cluster", data, "-k", 3, "-m", "gaussian-mixture", *TRUTH)
    ended = run(*arguments, "--save", "model.skops", "-o", "fit.csv", "--json")
    assert ended.code == 0
    assert ended.json["parameters"]["n_components"] == 3
    assert run("predict", "model.skops", data, "-o", "again.csv").code == 0
    assert Path("fit.csv").read_text() == Path("again.csv").read_text()


@pytest.mark.parametrize(
    "method", [m.name for m in catalog.methods(kind="clusterer") if hasattr(m.cls, "predict")]
)
def test_every_model_that_predicts_comes_back_from_disk(orchard, run, method):
    data, links = orchard
    apart = "cannot-link" in catalog.get(method).tags.knowledge
    told = ("-c", links) if apart else ()
    fitted = run("cluster", data, "-k", 3, "-m", method, *told, *TRUTH, "--save", "m.skops")
    if method == "feedback-clustering":
        assert "keeps its rows for further feedback" in fitted.err
        return
    assert fitted.code == 0, fitted.err
    predicted = run("predict", "m.skops", data, "--json")
    assert predicted.code == 0, predicted.err
    assert len(predicted.json["labels"]) == 240


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_gaps_reach_methods_that_model_them_and_no_others(orchard, run, raw):
    data, _ = orchard
    lines = Path(data).read_text().splitlines()
    cells = lines[9].split(",")
    cells[2] = ""
    Path("gaps.csv").write_text("\n".join([*lines[:9], ",".join(cells), *lines[10:]]) + "\n")
    ended = run("cluster", "gaps.csv", "-k", 3, *TRUTH, *raw)
    if raw:
        assert ended.code == 1
        assert "--method gaussian-mixture" in ended.err
    else:
        assert ended.code == 0
        assert re.search(r"height_mm +number +1 gap, filled and marked", ended.out)
        assert "240 rows, 7 features" in ended.out  # six, and one that marks the gap
    arguments = ("cluster", "gaps.csv", "-k", 3, "-m", "gaussian-mixture", *TRUTH, *raw)
    ended = run(*arguments, "--save", "m.skops", "--report", "r.html", "-o", "fit.csv")
    assert ended.code == 0, ended.err
    assert ("1 gap, left to the method" in ended.out) == (not raw)
    assert "240 rows, 6 features" in ended.out
    assert "not measured" in Path("r.html").read_text()
    assert run("predict", "m.skops", "gaps.csv", "-o", "again.csv").code == 0
    assert Path("fit.csv").read_text() == Path("again.csv").read_text()
