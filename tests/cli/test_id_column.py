"""A column that names rows is no feature, and constraints by its numbers are no positions."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight.exceptions import SidelightError
from sidelight.io import read_table
from sidelight.io._id_column import sounds_like_ids
from sidelight.jobs import ClusterRequest, run

N = 40
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(N, 2)).round(6)

#: Ids of the rows of the table, in its order.
IDS = {
    "from 1000": RNG.permutation(np.arange(1000, 1000 + N)),
    "from 1": RNG.permutation(np.arange(1, N + 1)),
    "from 0": RNG.permutation(np.arange(N)),
}
TELLING = ("customer_id", "id", "CustomerID", "customerid", "OrderNo", "key", "ID number")


def write(name, ids, *, first=True, path="rows.csv"):
    """A table of two features and a column of ids, before or behind them."""
    named = zip(ids, FEATURES.tolist(), strict=True)
    rows = [[row_id, *row] if first else [*row, row_id] for row_id, row in named]
    header = [name, "a", "b"] if first else ["a", "b", name]
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def constrain(ids, path="known.csv"):
    """Must-links of the first four rows to the last four, by id."""
    pairs = [(ids[row], ids[N - 1 - row]) for row in range(4)]
    text = "".join(f"{i},{j},must-link\n" for i, j in pairs)
    Path(path).write_text(f"i,j,kind\n{text}")
    return path, {tuple(sorted((row, N - 1 - row))) for row in range(4)}


def linked(found):
    return {tuple(pair) for pair in found.knowledge.must_link.tolist()}


def ids_in(path):
    return [int(line.split(",")[0]) for line in Path(path).read_text().splitlines()[1:]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("name", TELLING)
@pytest.mark.parametrize("first", [True, False])
def test_a_telling_name_is_recognized(kind, name, first):
    known, expected = constrain(IDS[kind])
    table = write(name, IDS[kind], first=first)
    found = run(ClusterRequest(table, k=2, constraints=known, method="copkmeans", raw=True))
    assert linked(found) == expected
    assert found.data.ids.tolist() == IDS[kind].tolist()
    assert found.data.feature_names == ("a", "b")
    np.testing.assert_array_equal(found.data.X, FEATURES)
    assert any(repr(name) in note and "names the rows" in note for note in found.notes)


@pytest.mark.parametrize("first", [True, False])
def test_numbers_that_cannot_be_positions_are_found_in_their_column(first):
    for kind in ("from 1000", "from 1"):
        ids = IDS[kind]
        known, expected = constrain(ids)
        if kind == "from 1":  # the largest id is one more than the last position
            row = int(np.flatnonzero(ids == N)[0])
            other = 0 if row else 1
            with Path(known).open("a") as file:
                file.write(f"{N},{ids[other]},must-link\n")
            expected = expected | {tuple(sorted((row, other)))}
        found = run(
            ClusterRequest(write("member", ids, first=first), k=2, constraints=known, raw=True)
        )
        assert linked(found) == expected
        assert found.data.feature_names == ("a", "b")
        assert any("'member', which holds all the ids" in note for note in found.notes)


@pytest.mark.parametrize("command", ["cluster", "check", "embed", "select", "ask"])
@pytest.mark.parametrize("kind", ["from 1", "from 0"])
def test_numbers_that_could_be_both_are_asked_about(run, command, kind):
    ids = IDS[kind]
    Path("known.csv").write_text(
        "i,j,kind\n" + "".join(f"{i},{i + 1},must-link\n" for i in range(1, 8, 2))
    )
    with Path("known.csv").open("a") as file:
        file.write("20,21,cannot-link\n")
    table = write("member", ids)
    more = {
        "cluster": ["-k", 2],
        "check": ["-k", 2],
        "embed": ["-m", "rca", "-o", "out.csv"],
        "select": ["-m", "constraint-score", "-n", 1, "-o", "out.csv"],
        "ask": ["-k", 2, "--questions", 0],
    }[command]
    ended = run(command, table, "-c", "known.csv", *more)
    assert ended.code == 1
    assert "--id-column member" in ended.err
    assert not Path("out.csv").exists()
    for answer in (("--id-column", "member"), ("--drop", "member"), ("--columns", "a,b,member")):
        for output in (Path("out.csv"), Path("rows.answers.jsonl")):
            output.unlink(missing_ok=True)
        assert run(command, table, "-c", "known.csv", *more, *answer).code == 0


def test_files_of_pairs_are_asked_about_too(run):
    write("member", IDS["from 0"])
    Path("same.csv").write_text("i,j\n1,2\n")
    for option in ("--must-link", "--cannot-link"):
        ended = run("cluster", "rows.csv", "-k", 2, option, "same.csv")
        assert ended.code == 1
        assert "--id-column member" in ended.err
    write("member", IDS["from 1000"])
    Path("same.csv").write_text("i,j\n1001,1002\n")
    assert run("cluster", "rows.csv", "-k", 2, "--must-link", "same.csv").code == 0


def test_no_id_becomes_a_feature_without_a_word(run):
    for name in ("customer_id", "id"):
        ended = run("cluster", write(name, IDS["from 1000"]), "-k", 2, "--json")
        assert ended.json["n_features"] == 2
        assert any("names the rows" in note for note in ended.json["notes"])
    repeated = np.repeat(IDS["from 1000"][: N // 2], 2)
    asked = ("cluster", "rows.csv", "-k", 2, "--raw", "--json")
    write("member", IDS["from 1000"])
    ended = run(*asked)
    assert ended.json["n_features"] == 3
    assert any("'member' numbers the rows (1000 to 1039)" in n for n in ended.json["notes"])
    write("customer_id", repeated)
    ended = run(*asked)
    assert ended.json["n_features"] == 3
    assert any("'customer_id' is used as a feature" in note for note in ended.json["notes"])
    write("member", repeated)
    assert run(*asked).json["notes"] == []


def test_no_id_is_prepared_without_a_word(run):
    def told(name, ids):
        facts = run("cluster", write(name, ids), "-k", 2, "--json").json
        member = {row["column"]: row for row in facts["preparation"]}[name]
        return facts["n_features"], member["used_as"], member["how"], facts["notes"]

    n_features, used_as, how, notes = told("member", IDS["from 1000"])
    assert (n_features, used_as, notes) == (3, "number", [])
    assert how == "each of 1000 to 1039 once; drop it if it only names the rows"
    n_features, used_as, how, notes = told("member", np.arange(1000, 1000 + N))
    assert (n_features, used_as, notes) == (2, "set aside", [])
    assert how == "counts the rows, 1000 to 1039"
    repeated = np.repeat(IDS["from 1000"][: N // 8], 8)
    n_features, used_as, how, (note,) = told("customer_id", repeated)
    assert (n_features, used_as, how) == (7, "category", "5 levels (codes, by its name)")
    assert f"'customer_id' looks like ids, but names rows twice: '{repeated[0]}' in data" in note
    n_features, used_as, how, (note,) = told("customer_id", [*IDS["from 1000"][1:], 1001])
    assert (n_features, used_as) == (2, "set aside")
    assert how == "ids, by its name and since most are different"
    assert "names rows twice: '1001' in data rows" in note
    assert told("member", repeated) == (3, "number", "", [])


def test_ids_stay_as_they_are_written():
    write("customer_id", ["007", *range(1, N)])
    assert read_table("rows.csv").ids.tolist()[0] == "007"
    large = [2**60 + row for row in range(N)]
    assert read_table(write("customer_id", large)).ids.tolist() == large
    # A column that is no id after all is read as numbers.
    write("customer_id", [7, 7, *range(2, N)])
    assert read_table("rows.csv").X[:, 0].tolist() == [7, 7, *range(2, N)]


def test_new_rows_are_read_as_the_model_was(run):
    table = write("customer_id", IDS["from 1000"])
    assert run("cluster", table, "-k", 2, "-o", "labels.csv", "--save", "model.skops").code == 0
    assert run("predict", "model.skops", table, "-o", "again.csv").code == 0
    assert Path("again.csv").read_text() == Path("labels.csv").read_text()
    assert ids_in("again.csv") == IDS["from 1000"].tolist()
    known, _ = constrain(IDS["from 1000"])
    write("member", IDS["from 1000"])
    arguments = ("-c", known, "-k", 2, "--save", "model.skops", "-o", "labels.csv", "--force")
    assert run("cluster", "rows.csv", *arguments).code == 0
    assert run("predict", "model.skops", "rows.csv", "-o", "again.csv", "--force").code == 0
    assert ids_in("again.csv") == ids_in("labels.csv") == IDS["from 1000"].tolist()


def test_sample_and_evaluate_go_by_the_same_ids(run):
    rows = [["customer_id", "a", "class"]]
    rows += [[i, i % 7, "x" if i % 2 else "y"] for i in IDS["from 1"].tolist()]
    with Path("rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    drawn = ("sample", "rows.csv", "--label-column", "class", "--number", 10, "-o", "drawn.csv")
    assert run(*drawn).code == 0
    for line in Path("drawn.csv").read_text().splitlines()[1:]:
        i, j, kind, _ = line.split(",")
        assert (int(i) % 2 == int(j) % 2) == (kind == "must-link")
    arguments = ("-k", 2, "-c", "drawn.csv", "--truth-column", "class", "-o", "labels.csv")
    assert run("cluster", "rows.csv", *arguments).code == 0
    scored = ("evaluate", "labels.csv", "--truth", "rows.csv", "--truth-column", "class")
    assert run(*scored, "-c", "drawn.csv").code == 0


def test_a_table_with_several_telling_names_says_what_the_others_are():
    with Path("rows.csv").open("w", newline="") as file:
        columns = (IDS["from 1000"].tolist(), IDS["from 1"].tolist(), FEATURES[:, 0].tolist())
        rows = zip(*columns, strict=True)
        csv.writer(file).writerows([["customer_id", "order_id", "a"], *rows])
    table = read_table("rows.csv")
    assert table.id_column == "customer_id"
    assert table.feature_names == ("order_id", "a")
    assert any("'order_id' is used as a feature" in note for note in table.notes)


def test_rows_of_numpy_files_are_asked_about_too():
    np.save("rows.npy", np.column_stack([IDS["from 0"], FEATURES]))
    Path("known.csv").write_text("i,j,kind\n1,2,must-link\n")
    with pytest.raises(SidelightError, match="--id-column x0"):
        run(ClusterRequest("rows.npy", k=2, constraints="known.csv", raw=True))
    found = run(ClusterRequest("rows.npy", k=2, constraints="known.csv", id_column="x0", raw=True))
    assert found.data.ids.tolist() == IDS["from 0"].tolist()


@pytest.mark.parametrize("as_columns", [False, True])
def test_the_index_of_a_data_frame_is_no_feature(as_columns):
    frame = pd.DataFrame(FEATURES, columns=["a", "b"], index=IDS["from 1000"])
    frame.to_parquet("rows.parquet")  # which puts the index behind the columns
    table = read_table("rows.parquet", as_columns=as_columns)
    assert table.ids.tolist() == IDS["from 1000"].tolist()
    assert table.feature_names == ("a", "b")
    assert table.notes == ("The index of the data frame, which has no name, names the rows.",)
    frame.assign(id=[f"r{i}" for i in range(N)]).to_parquet("rows.parquet")
    table = read_table("rows.parquet", as_columns=as_columns)
    assert (table.id_column, table.feature_names) == ("id", ("a", "b"))
    assert "The index of the data frame is not used." in table.notes
    frame.set_index(np.repeat(0, N)).to_parquet("rows.parquet")
    table = read_table("rows.parquet", as_columns=as_columns)
    assert (table.ids, table.feature_names) == (None, ("a", "b"))
    assert table.notes == ("The index of the data frame is not used.",)


def test_a_counter_in_order_means_the_same_both_ways():
    known, expected = constrain(np.arange(N))
    found = run(ClusterRequest(write("member", np.arange(N)), k=2, constraints=known, raw=True))
    assert linked(found) == expected


@pytest.mark.parametrize(
    "name",
    ["ID", "customer_id", "customer-id", "customerId", "CustomerID", "Row No", "uuid", "Id.1"],
)
def test_names_that_tell(name):
    assert sounds_like_ids(name)


@pytest.mark.parametrize(
    "name",
    ["humid", "paid", "citric_acid", "no_of_rooms", "age", "width", "keyboard", "x1", "grid"],
)
def test_names_that_do_not(name):
    assert not sounds_like_ids(name)
