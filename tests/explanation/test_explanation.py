"""The explanation as a whole: degenerate clusters, tables, sentences, and what is put off."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sidelight.exceptions import SidelightError
from sidelight.explanation import brief, explain_clusters
from sidelight.explanation._table import COLUMNS, NUMBERS

from .conftest import category, number


def test_sizes_and_shares_count_all_rows():
    labels = np.array([3, 3, 3, -1, 5, -1, 3])
    found = explain_clusters([number("x", np.arange(7))], labels, ids=list("abcdefg"))
    assert [(p.name, p.size, p.share) for p in found.clusters] == [("3", 4, 4 / 7), ("5", 1, 1 / 7)]
    assert (found.n_rows, found.n_outside, found.outside) == (7, 2, ("d", "f"))
    assert found.sentences() == [
        "3: 4 rows (57%). Too few rows to tell a difference from chance.",
        "5: 1 row (14%). Too few rows to tell a difference from chance.",
        "2 rows (29%) are in no cluster.",
    ]


def test_rows_in_no_cluster_are_compared_with():
    """One cluster and outliers: it differs from them."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, -1], [80, 40])
    found = explain_clusters([number("x", rng.normal(3.0 * (labels == 0), 1.0))], labels)
    assert [trait.what for trait in found.clusters[0].traits] == ["higher x"]
    assert found.rules.sentence == "There is one cluster: nothing is to be told apart."
    assert found.doubtful == {"0": ()}


@pytest.mark.parametrize("labels", [np.zeros(30, int), np.full(30, -1), np.zeros(0, int)])
def test_one_cluster_or_none(labels):
    x = np.arange(float(len(labels)))
    found = explain_clusters([number("x", x), category("c", x % 2, "ab")], labels)
    assert len(found.clusters) == (0 if len(labels) == 0 or labels[0] == -1 else 1)
    assert all(profile.traits == () for profile in found.clusters)
    assert len(found.rules) == 0
    assert isinstance(found.table(), list)
    assert "nothing is to be told apart" in found._repr_html_()
    for profile in found.clusters:
        assert profile.sentence().endswith("There are no other rows to compare it with.")


def test_columns_that_say_nothing():
    labels = np.repeat([0, 1], 20)
    columns = [
        number("constant", np.ones(40)),
        number("nothing", np.full(40, np.nan)),
        category("empty", np.full(40, -1), ("a", "b")),
        category("only", np.zeros(40), ("a",)),
    ]
    found = explain_clusters(columns, labels)
    assert all(profile.traits == () for profile in found.clusters)
    assert (
        found.clusters[0]
        .sentence()
        .endswith("No single value or range sets it apart beyond chance.")
    )
    assert found.rules.sentence.startswith("No short rules tell these clusters apart")
    assert explain_clusters([], labels).rules.sentence.startswith("There are no columns")


def test_of_very_many_clusters_the_largest_are_described():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 400, 4000)
    found = explain_clusters([number("x", labels + rng.normal(size=4000))], labels)
    sizes = np.bincount(labels)
    assert len(found.clusters) == 100
    assert min(p.size for p in found.clusters) >= np.sort(sizes)[-100]
    assert found.notes == ("The 100 largest of 400 clusters are described.",)
    assert all(p.size == sizes[int(p.name)] for p in found.clusters)
    # Others may still be the closest other cluster.
    others = {doubt.other for own in found.doubtful.values() for doubt in own}
    assert others - {p.name for p in found.clusters}


def test_the_table_holds_everything(mixed):
    columns, labels = mixed
    found = explain_clusters(columns, labels, names={"1": "rich"})
    rows = found.table()
    assert all(tuple(row) == COLUMNS for row in rows)
    about = [(row["cluster"], row["about"]) for row in rows]
    for profile in found.clusters:
        assert about.count((profile.name, "size")) == 1
        assert about.count((profile.name, "trait")) == len(profile.traits)
        assert about.count((profile.name, "typical row")) == 3
        assert about.count((profile.name, "rule")) == len(found.rules.of(profile.name))
    assert {row["class"] for row in rows if row["cluster"] == "1"} == {"rich"}
    trait = next(row for row in rows if row["column"] == "income" and row["cluster"] == "1")
    assert float(trait["inside"]) == pytest.approx(found.clusters[1].traits[1].inside, rel=0.01)
    share = next(row for row in rows if row["level"] == "DE")
    assert 0.0 < float(share["rest"]) < 1.0
    frame = found.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert all(frame[name].dtype == float for name in NUMBERS)
    assert len(frame) == len(rows)


def test_sentences_and_brief_lines(mixed):
    columns, labels = mixed
    found = explain_clusters(columns, labels, names={"1": "rich"})
    assert found.sentences()[1].startswith(f"1 (rich): {np.sum(labels == 1)} rows (")
    assert found.sentences()[1].endswith(").")
    lines = brief(found)
    assert lines[1].startswith("1 (rich): ")
    assert [line.count(" against ") for line in lines] == [3, 3, 3]
    assert repr(found).startswith("<Explanation: 3 clusters of 600 rows, ")


def test_html_is_escaped():
    rng = np.random.default_rng(2)
    labels = np.repeat(["<i>", "b"], 50)
    column = number("<script>", rng.normal(3.0 * (labels == "b")))
    html = explain_clusters([column], labels, ids=["<u>"] * 100)._repr_html_()
    assert "&lt;script&gt;" in html
    for tag in ("<script>", "<i>", "<u>"):
        assert tag not in html


def test_the_tree_is_put_off_until_rules_are_asked_for():
    code = """
import sys
import numpy as np
from sidelight.explanation import brief, explain_clusters
from sidelight.preparation import TypedColumn
labels = np.repeat([0, 1], 30)
found = explain_clusters([TypedColumn("x", "number", labels + 0.1)], labels)
print(brief(found), "sklearn.tree" in sys.modules, "pandas" in sys.modules)
found.rules
print("sklearn.tree" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first.endswith("False False")
    assert second == "True"


def test_what_does_not_fit_together_is_said():
    x = number("x", np.arange(4))
    with pytest.raises(SidelightError, match="5 rows, but the column 'x' has 4"):
        explain_clusters([x], np.zeros(5))
    with pytest.raises(SidelightError, match="but ids has 3"):
        explain_clusters([x], np.zeros(4), ids=[1, 2, 3])
    with pytest.raises(SidelightError, match="one cluster per row"):
        explain_clusters([x], np.zeros((4, 1)))
