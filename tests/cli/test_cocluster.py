"""``sidelight cocluster``: 0/1 tables to clusters of rows and columns."""

import csv
from pathlib import Path

import numpy as np
import pytest

from sidelight import jobs
from sidelight.cluster import CDKMeans, InformationCoclustering
from sidelight.constraints import Ordering
from sidelight.datasets import make_purchases
from sidelight.evaluation import (
    adjusted_rand_index,
    cocluster_information,
    cocluster_information_loss,
    goodman_kruskal_tau,
    jump_number,
)
from sidelight.jobs import CoclusterRequest


@pytest.fixture
def sales(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    bought = make_purchases(40, 12, density=0.85, random_state=0)
    bought.write("sales.csv", truth=True)
    return bought


@pytest.fixture
def weeks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    bought = make_purchases(40, 12, over="weeks", density=0.85, random_state=1)
    bought.write("weeks.csv")
    return bought


SALES = ("cocluster", "sales.csv", "-k", "3", "--truth-column", "group")


def rows_of(name):
    with open(name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_clusters_are_those_of_the_estimator(sales, run):
    outputs = ("-o", "rows.csv", "--columns-output", "columns.csv", "--report", "r.html")
    ended = run(*SALES, *outputs)
    assert ended.code == 0, ended.err
    model = CDKMeans(3, random_state=0).fit(sales.X)
    rows, columns = rows_of("rows.csv"), rows_of("columns.csv")
    assert [row["id"] for row in rows] == sales.customers.tolist()
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert [row["column"] for row in columns] == sales.columns.tolist()
    assert [int(row["cluster"]) for row in columns] == model.column_labels_.tolist()
    weight = model.column_weights_[model.column_labels_, np.arange(12)]
    assert [float(row["weight"]) for row in columns] == pytest.approx(weight.tolist())
    assert "40 rows, 12 columns" in ended.out
    assert "Adjusted Rand index" in ended.out
    assert "The table in the order of its clusters" in Path("r.html").read_text()
    again = run(*SALES, *outputs)  # what Sidelight wrote is replaced without asking
    assert again.code == 0
    assert "Replaced" in again.err


def test_facts_as_json(sales, run):
    facts = run(*SALES, "--json").json
    model = CDKMeans(3, random_state=0).fit(sales.X)
    assert facts["labels"] == model.labels_.tolist()
    assert facts["column_labels"] == model.column_labels_.tolist()
    assert facts["columns"] == sales.columns.tolist()
    assert facts["n_concepts"] == model.n_concepts_
    assert facts["n_ones"] == int(sales.X.sum())
    assert facts["density"] == pytest.approx(sales.X.mean())
    assert facts["scores"]["all"]["adjusted_rand_index"] == pytest.approx(
        adjusted_rand_index(sales.target, model.labels_)
    )
    sides = (sales.X, model.labels_, model.column_labels_)
    measures = facts["measures"]
    assert measures["tau"] == pytest.approx(goodman_kruskal_tau(*sides))
    assert measures["information"] == pytest.approx(cocluster_information(*sides))
    assert measures["information_loss"] == pytest.approx(cocluster_information_loss(*sides))
    agreement = model.restarts_["row_agreement"]
    assert measures["row_stability"] == pytest.approx(float(np.mean(agreement)))
    for one in facts["coclusters"]:
        inside = sales.X[model.labels_ == one["cluster"]][:, model.column_labels_ == one["cluster"]]
        assert (one["n_rows"], one["n_columns"]) == inside.shape
        assert one["density"] == pytest.approx(inside.mean())


def test_information_coclustering(sales, run):
    facts = run(*SALES, "-m", "information-coclustering", "--json").json
    model = InformationCoclustering(3, random_state=0).fit(sales.X.astype(float))
    assert facts["labels"] == model.labels_.tolist()
    assert facts["column_labels"] == model.column_labels_.tolist()
    assert facts["n_concepts"] is None


def words(X, one, zero):
    return np.where(X == 1, one, zero)


@pytest.mark.parametrize(
    ("one", "zero"), [("1", "0"), ("yes", "no"), ("TRUE", "FALSE"), ("x", ""), ("J", "N")]
)
def test_words_for_yes_and_no(sales, run, one, zero):
    if one == "J":
        one, zero = "Y", "N"
    with open("words.csv", "w", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *sales.columns])
        for name, row in zip(sales.customers, words(sales.X, one, zero), strict=True):
            writer.writerow([name, *row])
    ended = run("cocluster", "words.csv", "-k", "3", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["labels"] == CDKMeans(3, random_state=0).fit(sales.X).labels_.tolist()
    assert any("Blank" in note for note in ended.json["notes"]) == (zero == "")


def write_long(bought, name, order=None):
    lines = [
        f"{bought.customers[i]},{bought.columns[j]},7\n" for i, j in np.argwhere(bought.X).tolist()
    ]
    np.random.default_rng(0).shuffle(lines)
    Path(name).write_text("who,what,price\n" + "".join(lines) + lines[0], encoding="utf-8")


def test_long_tables_are_the_same_table(weeks, run):
    write_long(weeks, "long.csv")
    order = ("--ordered-columns", "--max-column-gap", "1")
    wide = run("cocluster", "weeks.csv", "-k", "3", *order, "--json").json
    ended = run("cocluster", "long.csv", "-k", "3", "--long", "who,what", *order, "--json")
    long = ended.json
    assert long["columns"] == wide["columns"]  # by their names
    assert "1 line says again what another said; a one is a one." in long["notes"]
    assert "Not used: 'price'." in long["notes"]
    assert dict(zip(long["ids"], long["labels"], strict=True)).keys() == set(wide["ids"])
    place = [long["ids"].index(name) for name in wide["ids"]]
    labels = np.array(long["labels"])[place]
    assert adjusted_rand_index(labels, wide["labels"]) == 1.0
    assert adjusted_rand_index(long["column_labels"], wide["column_labels"]) == 1.0


def write_numbers(bought, name):
    rows = zip(bought.customers, 0.5 + 7.5 * bought.X, strict=True)
    lines = [",".join([who, *map(str, row)]) for who, row in rows]
    Path(name).write_text("\n".join([f"id,{','.join(bought.columns)}", *lines]), encoding="utf-8")


def write_libsvm(bought, name):
    lines = [" ".join(["0", *(f"{j + 1}:1" for j in np.flatnonzero(row))]) for row in bought.X]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("method", ["cdkmeans", "information-coclustering"])
@pytest.mark.parametrize(
    ("name", "write", "options"),
    [
        ("sales.csv", None, ("--drop", "group")),
        ("long.csv", write_long, ("--long", "who,what")),
        ("numbers.csv", write_numbers, ("--above", "0.3")),
        ("rows.libsvm", write_libsvm, ()),
    ],
)
def test_new_rows_by_the_saved_model(sales, run, method, name, write, options):
    if write is not None:
        write(sales, name)
    command = ("cocluster", name, "-k", "3", "-m", method, *options, "--save", "m.skops")
    first = run(*command, "--json").json
    found = run("predict", "m.skops", name, "--json")
    assert found.code == 0, found.out
    by_id = dict(zip(found.json["ids"], found.json["labels"], strict=True))
    assert by_id == dict(zip(first["ids"], first["labels"], strict=True))


def test_new_numbers_are_compared_with_those_of_the_fit(sales, run):
    write_numbers(sales, "numbers.csv")
    save = ("--above", "0.3", "--save", "m.skops")
    labels = run("cocluster", "numbers.csv", "-k", "3", *save, "--json").json["labels"]
    lines = Path("numbers.csv").read_text(encoding="utf-8").splitlines()
    large = [",".join(["new", *(["2.6"] * 12)]), ",".join(["small", *(["2.3"] * 12)])]
    Path("new.csv").write_text("\n".join([lines[0], lines[1], *large]), encoding="utf-8")
    found = run("predict", "m.skops", "new.csv", "--json").json["labels"]
    assert found[0] == labels[0]
    assert found[1] >= 0  # above 0.3 times 8, in every column
    assert found[2] == -1  # below: no ones, although they are the largest but one


def test_new_rows_are_read_in_words(sales, run, put):
    run("cocluster", "sales.csv", "-k", "3", "--drop", "group", "--save", "m.skops")
    head = ",".join(["id", *sales.columns])
    put("new.csv", f"{head}\n" + ",".join(["a", *(["x"] * 12)]) + "\n" + "b" + "," * 12 + "\n")
    facts = run("predict", "m.skops", "new.csv", "--json").json
    assert facts["labels"][0] >= 0
    assert facts["labels"][1] == -1
    assert any("Blank fields count as 0 in 12 columns" in note for note in facts["notes"])
    put("bad.csv", f"{head}\n" + ",".join(["a", *(["7"] * 12)]) + "\n")
    ended = run("predict", "m.skops", "bad.csv")
    assert ended.code == 1
    assert "holds 7 in row 'a', which is neither 0 nor 1." in ended.err
    write_long(sales, "long.csv")
    run("cocluster", "long.csv", "-k", "3", "--long", "who,what", "--save", "long.skops")
    put("more.csv", f"who,what\nme,{sales.columns[0]}\nme,caviar\nyou,caviar\n")
    ended = run("predict", "long.skops", "more.csv", "--json").json
    assert (ended["ids"], ended["labels"][1]) == (["me", "you"], -1)
    assert "Not used, since the model was fitted without: 'caviar'." in ended["notes"]


def test_columns_in_their_order(weeks, run):
    order = ("--ordered-columns", "--max-column-gap", "1")
    facts = run("cocluster", "weeks.csv", "-k", "3", *order, "--json").json
    ordering = Ordering(range(12), max_gap=1)
    model = CDKMeans(3, random_state=0).fit(weeks.X, column_order=ordering)
    assert facts["column_labels"] == model.column_labels_.tolist()
    assert facts["measures"]["column_jumps"] == jump_number(model.column_labels_, ordering)
    circular = run("cocluster", "weeks.csv", "-k", "3", *order, "--circular", "columns", "--json")
    ordering = Ordering(range(12), max_gap=1, circular=True)
    model = CDKMeans(3, random_state=0).fit(weeks.X, column_order=ordering)
    assert circular.json["column_labels"] == model.column_labels_.tolist()


@pytest.mark.parametrize("spelling", ["{}", "2024-01-{:02d}", "day {}"])
def test_rows_in_the_order_of_a_column(weeks, run, put, spelling):
    """The transposed table: numbers, dates and names say the same order."""
    rng = np.random.default_rng(0)
    place = rng.permutation(12)
    lines = [
        ",".join([f"r{week}", spelling.format(week + 1), *map(str, weeks.X[:, week])])
        for week in place
    ]
    header = ",".join(["id", "when", *weeks.customers])
    put("turned.csv", "\n".join([header, *lines]) + "\n")
    options = ("--row-order", "when", "--max-row-gap", "1")
    ended = run("cocluster", "turned.csv", "-k", "3", *options, "--json")
    assert ended.code == 0, ended.err
    facts = ended.json
    model = CDKMeans(3, random_state=0).fit(weeks.X.T[place], row_order=Ordering(place, max_gap=1))
    assert facts["n_columns"] == 40
    assert facts["labels"] == model.labels_.tolist()
    assert facts["measures"]["row_jumps"] == jump_number(model.labels_, place)


def test_an_order_without_bounds_counts_jumps_only(weeks, run):
    facts = run("cocluster", "weeks.csv", "-k", "3", "--ordered-columns", "--json").json
    plain = run("cocluster", "weeks.csv", "-k", "3", "--json").json
    assert facts["labels"] == plain["labels"]
    assert "column_jumps" in facts["measures"]
    assert "column_jumps" not in plain["measures"]
    assert any("only used to count jumps" in note for note in facts["notes"])


def test_what_is_known_about_both_sides_holds(sales, run, put):
    first = [np.flatnonzero(sales.target == group)[0] for group in range(3)]
    ids, names = sales.customers, sales.columns
    put("rows.csv", f"i,j,kind\n{ids[first[0]]},{ids[first[1]]},must-link\n")
    put("columns.csv", f"i,j,kind\n{names[0]},{names[1]},cannot-link\n")
    put("cross.csv", f"i,j,kind,weight\n{ids[first[2]]},{names[2]},cannot-link,1\n")
    files = ("--constraints", "rows.csv", "--column-constraints", "columns.csv")
    files += ("--cross-constraints", "cross.csv")
    ended = run(*SALES, *files, "--json")
    assert ended.code == 0, ended.err
    facts = ended.json
    labels, columns = facts["labels"], facts["column_labels"]
    assert labels[first[0]] == labels[first[1]] >= 0
    assert columns[0] != columns[1]
    assert labels[first[2]] != columns[2]
    assert facts["cross_violations"] == []
    assert facts["column_violations"]["cannot_link"] == []
    assert any("Not used in cross.csv: weight" in note for note in facts["notes"])
    told = run(*SALES, *files)
    assert "Known: 1 must-link; 1 of 1 kept" in told.out
    assert "Known about columns: 1 cannot-link; 1 of 1 kept" in told.out


def test_numbers_above_a_share_of_the_maximum(put, run):
    rng = np.random.default_rng(0)
    values = rng.uniform(0.0, 10.0, (12, 5))
    lines = [",".join([f"r{i}", *(f"{v:.4f}" for v in row)]) for i, row in enumerate(values)]
    put("numbers.csv", "\n".join(["id,a,b,c,d,e", *lines]) + "\n")
    facts = run("cocluster", "numbers.csv", "-k", "2", "--above", "0.6", "--json").json
    rounded = np.round(values, 4)
    model = CDKMeans(2, binarize=0.6, random_state=0).fit(rounded)
    assert facts["n_ones"] == int((rounded > 0.6 * rounded.max(axis=0)).sum())
    assert facts["labels"] == model.labels_.tolist()


def test_overlapping_clusters(sales, run):
    run(*SALES, "--overlap", "0.2", "-o", "o.csv", "--columns-output", "c.csv")
    model = CDKMeans(3, overlap=0.2, random_state=0).fit(sales.X)
    for name, several in (("o.csv", model.row_memberships_), ("c.csv", model.column_memberships_)):
        found = [row["clusters"] for row in rows_of(name)]
        assert found == [" ".join(map(str, np.flatnonzero(one))) for one in several]
    assert run(*SALES, "-o", "o.csv").code == 0  # recognized as ours


def test_options_that_are_parameters(sales, run):
    facts = run(*SALES, "--min-rows", "4", "--min-columns", "2", "--json").json
    model = CDKMeans(3, min_rows=4, min_columns=2, random_state=0).fit(sales.X)
    assert facts["labels"] == model.labels_.tolist()
    assert facts["n_concepts"] == model.n_concepts_


def test_the_command_of_a_report_repeats_it(sales, run):
    request = CoclusterRequest(
        "sales.csv", k=3, drop=("group",), ordered_columns=True, max_column_gap=3, min_rows=2
    )
    found = jobs.run(request)
    command = request.command_line().split()
    facts = run(*command[1:], "--json").json
    assert facts["labels"] == found.labels.tolist()
    assert facts["column_labels"] == found.column_labels.tolist()


def test_runs_of_data_in_memory(sales):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(sales.X, index=sales.customers, columns=sales.columns)
    by_array = jobs.run(CoclusterRequest(sales.X, k=3))
    by_frame = jobs.run(CoclusterRequest(frame, k=3))
    np.testing.assert_array_equal(by_array.labels, by_frame.labels)
    assert by_frame.data.feature_names == tuple(sales.columns)
    i, j = np.argwhere(sales.X).T
    pairs = pd.DataFrame({"who": sales.customers[i], "what": sales.columns[j]})
    by_pairs = jobs.run(CoclusterRequest(pairs, k=3, long=("who", "what")))
    assert adjusted_rand_index(by_pairs.labels, by_array.labels) == 1.0
    assert "CoclusterRun" in repr(by_pairs)


# --- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("id,a,b\nu,3,1\nv,0,1\n", (), r"Column 'a' of t.csv holds 3 in row 'u'.*--above 0.25"),
        ("id,a,b\nu,red,1\nv,0,1\n", (), r"Column 'a' of t.csv holds 'red' in row 'u'.*--long"),
        ("id,a,b\nu,1,1\nv,,1\nw,0,0\n", (), r"Column 'a' of t.csv is blank in 1 row.*row 'v'"),
        ("id,a,b\nu,red,1\nv,0,1\n", ("--above", "0.5"), r"'red' in row 'u'"),
        ("id,a,b\nu,1,1\nv,0,1\n", ("--above", "1"), r"at least 0 and below 1"),
        ("id,a\n", (), r"no rows|no data|empty"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("-k", "5"), r"-k 5 is more than the 2 rows"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("-k", "0"), r"-k must be .*at least 1"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--long", "id"), r"--long names two columns"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--long", "id,c"), r"has no column 'c'"),
        ("id,a,b\nu,x,\n,y,1\n", ("--long", "id,a"), r"Column 'id' of t.csv is empty in 1 of 2"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--long", "id,a", "--above", "0.1"), r"--above has no use"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--max-row-gap", "1"), r"--max-row-gap needs the order"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--circular", "rows"), r"--circular needs the order"),
        (
            "id,a,b\nu,1,0\nv,0,1\n",
            ("--circular", "day"),
            r"--circular must be one of rows, columns, both",
        ),
        (
            "id,a,b\nu,1,0\nv,0,1\n",
            ("--ordered-columns", "--min-column-gap", "3", "--max-column-gap", "1"),
            r"--min-column-gap 3 is larger than --max-column-gap 1",
        ),
        (
            "id,t,a,b\nu,4,1,0\nv,4,0,1\n",
            ("--row-order", "t"),
            r"row 'u' and row 'v' are both at '4'",
        ),
        ("id,t,a,b\nu,4,1,0\nv,,0,1\n", ("--row-order", "t"), r"is empty in row 'v'"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--row-order", "t"), r"has no column 't'"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("--set", "binarize=0.5"), r"use --above for binarize"),
        ("id,a,b\nu,1,0\nv,0,1\n", ("-m", "kmeans"), r"kmeans gives"),
        (
            "id,a,b\nu,1,0\nv,0,1\n",
            ("-m", "information-coclustering", "--min-rows", "2"),
            r"InformationCoclustering has no use for --min-rows",
        ),
        (
            "id,a,b\nu,1,0\nv,0,1\n",
            ("-m", "information-coclustering", "--ordered-columns", "--max-column-gap", "0"),
            r"InformationCoclustering has no use for --min-column-gap and --max-column-gap",
        ),
        (
            "who,what,t\nu,a,1\nu,b,2\n",
            ("--long", "who,what", "--row-order", "t"),
            r"Column 't' of t.csv says both '1' and '2' of row 'u'",
        ),
    ],
)
def test_wrong_tables_and_options(put, run, text, options, says):
    import re

    put("t.csv", text)
    size = () if "-k" in options else ("-k", "2")
    ended = run("cocluster", "t.csv", *size, *options)
    assert ended.code in (1, 2)
    assert re.search(says, ended.err.replace("\n", " ")), ended.err


def test_the_number_of_clusters_is_asked_for(sales, run):
    ended = run("cocluster", "sales.csv", "--drop", "group")
    assert ended.code == 2
    assert "-k 3, for example" in ended.err


@pytest.mark.parametrize(
    ("option", "text", "says"),
    [
        ("--constraints", "c01,c99,must-link", "'c99'"),
        ("--column-constraints", "soap,soup,must-link", "no column of the table is called 'soup'"),
        ("--cross-constraints", "c01,soup,must-link", "line 2: no column of the table is called"),
        ("--cross-constraints", "c99,soap,must-link", "line 2: no row has the id 'c99'"),
        ("--cross-constraints", "c01,soap,group", "neither must-link nor cannot-link"),
        (
            "--column-constraints",
            "soap,bread,must-link\nbread,jam,must-link\nsoap,jam,cannot-link",
            "'soap' - 'bread' - 'jam'",
        ),
        (
            "--cross-constraints",
            "c01,soap,must-link\nc02,soap,must-link\nc02,jam,must-link\nc01,jam,cannot-link",
            "contradicts the must-links",
        ),
    ],
)
def test_wrong_constraints(sales, put, run, option, text, says):
    put("known.csv", f"i,j,kind\n{text}\n")
    ended = run(*SALES, option, "known.csv")
    assert ended.code == 1
    assert says in ended.err


def test_too_many_bi_sets(sales, run):
    ended = run(*SALES, "--set", "max_concepts=5")
    assert ended.code == 1
    assert "--min-rows" in ended.err
    assert "--min-columns" in ended.err


def test_rows_and_columns_of_zeros_are_told(put, run):
    put("t.csv", "id,a,b,c,d\nu,1,1,0,0\nv,1,1,0,0\nw,0,0,1,0\nz,0,0,0,0\n")
    facts = run("cocluster", "t.csv", "-k", "2", "--json").json
    assert facts["uncovered_rows"] == ["z"]
    assert facts["uncovered_columns"] == ["d"]
    assert facts["labels"][3] == facts["column_labels"][3] == -1
    assert "1 row holds only zeros: 'z'." in facts["notes"]
    assert any("'z'; it has no ones" in said for said in facts["uncovered_because"])
