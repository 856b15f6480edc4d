"""Relations from and to tables, files and graphs: round trips, and errors that name the place."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import NAMES, relations

from sidelight import Relations
from sidelight.exceptions import ConstraintFileError, SidelightError, UnknownIds

FORMATS = (".csv", ".csv.gz", ".tsv", ".json", ".parquet")


def again(relations: Relations) -> dict[str, Any]:
    """What a reader needs to know besides the file."""
    if relations.ids is None:
        return {"n_samples": relations.n_samples}
    return {"ids": relations.ids}


@pytest.mark.parametrize("ending", FORMATS)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graph=relations(min_edges=1))
def test_files_keep_everything(tmp_path: Path, ending: str, graph: Relations) -> None:
    path = tmp_path / f"pairs{ending}"
    graph.write(path)
    assert Relations.read(path, **again(graph)) == graph


@settings(max_examples=25, deadline=None)
@given(relations(min_edges=1))
def test_tables_keep_everything(graph: Relations) -> None:
    table = graph.to_table()
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for form in (table, table.to_pandas(), pl.from_arrow(table), columns):
        assert Relations.from_table(form, **again(graph)) == graph
    categories = pd.DataFrame(columns).astype({"i": "category", "j": "category"})
    assert Relations.from_table(categories, **again(graph)) == graph


@pytest.mark.parametrize("ending", FORMATS)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    members=st.dictionaries(NAMES, st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=4)
)
def test_hyperedges_in_files(tmp_path: Path, ending: str, members: dict[str, set[int]]) -> None:
    papers = Relations(hyperedges={k: sorted(v) for k, v in members.items()}, n_samples=6)
    path = tmp_path / f"papers{ending}"
    papers.write(path)
    back = Relations.read(path, n_samples=6)
    assert back.incidence.toarray().tolist() == papers.incidence.toarray().tolist()
    names = [str(name) for name in back.hyperedge_names.tolist()]
    # A text file cannot tell the word 7 from the number.
    assert names == papers.hyperedge_names.tolist()


@settings(max_examples=25, deadline=None)
@given(relations())
def test_networkx_keeps_everything(graph: Relations) -> None:
    made = graph.to_networkx()
    assert Relations.from_networkx(made, ids=graph.ids) == (
        graph
        if graph.ids is not None
        else Relations(graph.edges, graph.scores, ids=range(graph.n_samples))
    )
    assert nx.number_connected_components(made) == graph.components().max() + 1
    both_ways = Relations.from_networkx(made.to_directed(), ids=graph.ids)
    assert both_ways == Relations.from_networkx(made, ids=graph.ids)
    assert not both_ways.notes


def test_graphs_of_networkx() -> None:
    graph = nx.Graph([("b", "a"), ("c", "b")])
    found = Relations.from_networkx(graph)
    assert found.ids is not None
    assert found.ids.tolist() == ["b", "a", "c"]
    assert found.scores.tolist() == [1.0, 1.0]
    more = Relations.from_networkx(graph, ids=["z", "a", "b", "c"])
    assert more.edges.tolist() == [[1, 2], [2, 3]]
    with pytest.raises(UnknownIds, match="node 'c', not among the 2 ids"):
        Relations.from_networkx(graph, ids=["a", "b"])
    directed = nx.DiGraph()
    directed.add_weighted_edges_from([("a", "b", 2.0), ("b", "a", 3.0)])
    with pytest.raises(SidelightError, match="scores 2 and 3"):
        Relations.from_networkx(directed)
    directed.remove_edge("b", "a")
    assert Relations.from_networkx(directed).scores.tolist() == [2.0]
    several = nx.MultiGraph([(0, 1), (1, 0), (1, 2)])
    with pytest.raises(SidelightError, match="2 edges 0 - 1; say what becomes of parallel"):
        Relations.from_networkx(several)
    assert Relations.from_networkx(several, duplicates="sum").scores.tolist() == [2.0, 1.0]
    worded = nx.Graph()
    worded.add_edge("a", "b", weight="much")
    with pytest.raises(SidelightError, match="'weight' of the edge 'a' - 'b' is 'much'"):
        Relations.from_networkx(worded)
    assert Relations.from_networkx(worded, weight=None).scores.tolist() == [1.0]
    mixed = nx.Graph([(1, "one"), ((2, 2), 1)])
    assert Relations.from_networkx(mixed).n_edges == 2
    with pytest.raises(SidelightError, match="networkx graph is needed"):
        Relations.from_networkx([(0, 1)])


def test_a_table_of_splink() -> None:
    table = pd.DataFrame(
        {
            "match_weight": [3.0, -2.0],
            "match_probability": [8 / 9, 1 / 5],
            "unique_id_l": ["r1", "r1"],
            "unique_id_r": ["r2", "r3"],
            "gamma_name": [1, 0],
        }
    )
    by_weight = Relations.from_table(table)
    by_probability = Relations.from_table(table.drop(columns="match_weight"))
    np.testing.assert_allclose(by_weight.scores, np.log([8, 1 / 4]))
    np.testing.assert_allclose(by_probability.scores, by_weight.scores)
    assert by_weight.ids is not None
    assert by_weight.ids.tolist() == ["r1", "r2", "r3"]
    notes = " ".join(by_weight.notes)
    assert "base 2" in notes
    assert "'match_probability', 'gamma_name'" in notes
    np.testing.assert_allclose(
        Relations.from_table(table, prior=0.2).scores, np.log([8 / 4, 1 / 16])
    )
    linked = table.assign(source_dataset_l="shop", source_dataset_r="web", unique_id_r="r1")
    linked = linked.iloc[:1]
    joined = Relations.from_table(linked)
    assert joined.ids is not None
    assert joined.ids.tolist() == ["shop-__-r1", "web-__-r1"]
    assert joined.n_edges == 1


@pytest.mark.parametrize(
    "names",
    [
        ("i", "j"),
        ("id_l", "id_r"),
        ("left", "right"),
        ("Source", "Target"),
        ("from", "to"),
        ("rec_id_1", "rec_id_2"),
    ],
)
def test_names_of_columns(names: tuple[str, str]) -> None:
    table = {names[0]: [5, 7], names[1]: [7, 6], "weight": [1.5, 2.5]}
    found = Relations.from_table(table)
    assert found.ids is not None
    assert found.ids.tolist() == [5, 6, 7]
    assert found.matrix().toarray()[2].tolist() == [1.5, 2.5, 0.0]


def test_ids_of_every_kind(tmp_path: Path) -> None:
    days = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])
    found = Relations.from_table(
        pd.DataFrame({"i": days[:2], "j": days[1:], "score": [1.0, 2.0]}), ids=days
    )
    assert found.edges.tolist() == [[0, 1], [1, 2]]
    floats = {"i": [1.0, 2.0], "j": [2.0, 4.0]}
    assert Relations.from_table(floats).ids.tolist() == [1, 2, 4]  # type: ignore[union-attr]
    assert Relations.from_table(floats, n_samples=5).edges.tolist() == [[1, 2], [2, 4]]
    mixed = {"i": [1, "a"], "j": ["a", (2, 3)]}
    assert Relations.from_table(mixed).ids.tolist() == [1, "a", (2, 3)]  # type: ignore[union-attr]
    wide = {"i": [2**40, -(2**40)], "j": [-(2**40), 0]}
    assert Relations.from_table(wide).edges.tolist() == [[0, 1], [0, 2]]
    assert Relations.from_table(wide, ids=[0, 2**40, -(2**40)]).edges.tolist() == [[0, 2], [1, 2]]
    path = tmp_path / "codes.csv"
    path.write_text("i,j\n007,7\n7,12\n")
    assert Relations.read(path).ids.tolist() == ["007", "7", "12"]  # type: ignore[union-attr]
    path.write_text("i,j\n12,7\n7,9\n")
    assert Relations.read(path).ids.tolist() == [7, 9, 12]  # type: ignore[union-attr]
    assert Relations.read(path, n_samples=13).edges.tolist() == [[7, 9], [7, 12]]
    assert Relations.read(path, ids=[12, 9, 7]).edges.tolist() == [[0, 2], [1, 2]]
    assert Relations.read(path, ids=["7", "9", "12"]).edges.tolist() == [[0, 1], [0, 2]]


def test_hexadecimal_numbers_are_words(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("i,j\n0x1,2\n")
    assert Relations.read(path).ids.tolist() == ["0x1", "2"]  # type: ignore[union-attr]
    with pytest.raises(UnknownIds, match="line 2: the id '0x1' is not a position"):
        Relations.read(path, n_samples=3)


def test_files_as_people_have_them(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes("sep=;\ni;j;score\nMüller;Özil;1,5\nÖzil;Kroos;-0,25\n".encode("cp1252"))
    found = Relations.read(path)
    assert found.ids is not None
    assert found.ids.tolist() == ["Müller", "Özil", "Kroos"]
    assert found.scores.tolist() == [1.5, -0.25]
    packed = tmp_path / "pairs.tsv.gz"
    packed.write_bytes(gzip.compress(b"left\tright\tprobability\na\tb\t0.5\n"))
    assert Relations.read(packed).scores.tolist() == [0.0]
    formula = Relations([("=1+1", "b")], ids=["=1+1", "b"])
    safe = tmp_path / "safe.csv"
    formula.write(safe, spreadsheet_safe=True)
    assert "'=1+1" in safe.read_text()
    assert Relations.read(safe, ids=formula.ids) == formula


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i,j,probability\na,b,0.5\na,c,1.2\n", "line 3: the probability of 'a' - 'c' is 1.2"),
        ("i,j,probability\na,b,-0.5\n", "line 2: the probability of 'a' - 'b' is -0.5"),
        ("i,j,score\na,b,1\n\na,c,inf\n", "line 4: the score of 'a' - 'c' is inf"),
        ("i,j,score\na,b,1\na,c,\n", "line 3: the score of 'a' - 'c' is missing"),
        ("i,j,score\na,b,1\na,c,much\n", "line 3: the score 'much' is not a number"),
        ("i,j,score\na,b,1\na,,1\n", "line 3: the id in the column 'j' is missing"),
        ("i,j,score\na,b,1\na,B,1\n", "line 3: the id 'B' does not occur.*mean 'b'"),
        ("i,j,score\na,b,1\nb,a,2\n", "'a' - 'b' has the scores 1 and 2"),
        ("i,j,score\na,a,-2\n", "apart from itself"),
        ("a,b,score\n1,2,3\n", r"needed are two columns of ids \(i and j.*'a', 'b', 'score'"),
        ("i,j,score\n", "no rows"),
        ("", "is empty"),
        ("i,j,score\na,b\n", "Line 2 of .* has 2 values"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(SidelightError, match=message) as caught:
        Relations.read(path, ids=["a", "b", "c"])
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ConstraintFileError | UnknownIds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[{"i": 0, "j": 1, "score": 2}, {"i": 0}]',
            "entry 2: the id in the column 'j' is missing",
        ),
        ('[{"i": 0, "j": 1, "score": "x"}]', "entry 1: the score 'x' is not a number"),
        ('[{"i": 0, "j": 9}]', "entry 1: the id 9 is not a position from 0 to 2"),
        ("[]", "no entries"),
        ("{}", "a list of objects"),
        ("[1]", "entry 1: this is not an object"),
        ("[", "line 1: this is not JSON"),
    ],
)
def test_bad_json(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(text)
    with pytest.raises(SidelightError, match=message):
        Relations.read(path, n_samples=3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"i": [0], "j": [1], "p": [2.0]}, "Row 0 of the table: the p of 0 - 1 is 2"),
        ({"i": [0, 1], "j": [1, -1]}, "Row 1 of the table: the id -1 is not a position"),
        ({"i": [0, 1], "j": [1, None]}, "Row 1 of the table: the id in the column 'j' is missing"),
        ({"i": [0, 1], "j": [1]}, "different lengths"),
        ({"i": [0], "I": [0], "j": [1]}, "several columns of one name"),
        ({"i": [0], "j": [1], "score": ["high"]}, "the score 'high' is not a number"),
        ({"i": [[1]], "j": [[2]]}, "one id per row"),
        ({"i": [[1], [2, 3]], "j": [0, 1]}, "one id per row"),
        ({"x": [0]}, "needed are two columns"),
        ({"object": [0], "hyperedge": [None]}, "the name in the column 'hyperedge' is missing"),
        ([(0, 1)], "pandas, polars or pyarrow table"),
    ],
)
def test_bad_tables(table: Any, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        Relations.from_table(table, n_samples=3)


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(SidelightError, match=r"prior=0\.1 is for probabilities"):
        Relations.from_table({"i": [0], "j": [1], "score": [1.0]}, n_samples=2, prior=0.1)
    with pytest.raises(SidelightError, match="prior must be"):
        Relations.from_table({"i": [0], "j": [1], "p": [0.5]}, n_samples=2, prior=0.0)
    both = Relations([(0, 1)], hyperedges=[[0, 1]], n_samples=2)
    with pytest.raises(SidelightError, match='say what="edges"'):
        both.write(tmp_path / "both.csv")
    assert both.to_table("hyperedges").column_names == ["object", "hyperedge"]
    with pytest.raises(SidelightError, match="what must be"):
        both.to_table("nodes")
    for ending in ("npy", "xlsx", "doc"):
        with pytest.raises(SidelightError):
            both.write(tmp_path / f"both.{ending}", what="edges")
    with pytest.raises(SidelightError, match="There is no file"):
        Relations.read(tmp_path / "nothing.csv")


def test_scores_that_may_be_probabilities_are_told() -> None:
    found = Relations.from_table({"i": [0], "j": [1], "score": [0.7]}, n_samples=2)
    assert "call the column probability" in found.notes[0]
    unscored = Relations.from_table(pa.table({"i": [0], "j": [1]}), n_samples=2)
    assert "every edge has the score 1" in unscored.notes[0]
