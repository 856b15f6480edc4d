"""What constraints and their closure show of themselves."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

from sidelight import Constraints
from sidelight.constraints import Closure
from sidelight.constraints._shown import LONGEST, SHOWN


def cells(html):
    """Texts of the cells of a table, by rows."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [[unescape(cell) for cell in re.findall(r"<t[dh]>(.*?)</t[dh]>", row)] for row in rows]


def test_one_line_names_rows_ids_and_weights():
    known = Constraints([(0, 1)], n_samples=1_200)
    assert repr(known) == "<Constraints on 1,200 rows: 1 must-link>"
    named = Constraints([("a", "b")], ids=["a", "b", "z"], must_link_weight=0.5)
    assert repr(named) == "<Constraints on 3 rows 'a' to 'z': 1 must-link, weights 0.5 to 0.5>"
    assert repr(Constraints(ids=["only"])) == "<Constraints on 1 row 'only': nothing known>"
    assert len(repr(Constraints(ids=["x" * 500, "y" * 500]))) < 150


def test_the_table_counts_and_lists_the_first_statements():
    known = Constraints(
        [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)],
        labels=["red", None, None, None, None, "blue", None],
        groups=[-1, -1, 3, 3, -1, -1, -1],
    )
    head, *rows = cells(known._repr_html_())
    assert head == ["kind", "number", "first statements"]
    assert rows == [
        ["must-link", "5", "row 0 – row 1, row 0 – row 2, row 0 – row 3, 2 more"],
        ["labels", "2 of 2 classes", "row 0: red, row 5: blue"],
        ["groups", "2 of 1 group", "row 2: 3, row 3: 3"],
    ]
    assert "nothing known" in Constraints(n_samples=2)._repr_html_()


def test_names_of_the_user_are_escaped_and_cut():
    evil = "<script>alert(1)</script>"
    known = Constraints(
        [(evil, "b & c")], labels=["<b>", None, None], ids=[evil, "b & c", "<i>" + "x" * 99]
    )
    html = known._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    (_, pairs, labels) = cells(html)
    assert pairs[2] == f"'{evil}' – 'b & c'"
    assert labels[2] == f"'{evil}': <b>"
    assert "x" * LONGEST not in html


def test_a_million_statements_show_themselves_without_being_followed(monkeypatch):
    """Only counts and the first statements are looked at: no closure, no names of other rows."""
    n = 1_000_000
    pairs = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    known = Constraints(pairs, labels=np.arange(n + 1) % 7, n_samples=n + 1)

    def refuse(*args, **kwargs):
        raise AssertionError("followed")

    monkeypatch.setattr(Constraints, "closure", refuse)
    monkeypatch.setattr(Constraints, "contradiction", refuse)
    assert repr(known) == (
        "<Constraints on 1,000,001 rows: 1,000,000 must-links, 1,000,001 labels of 7 classes>"
    )
    html = known._repr_html_()
    assert len(html) < 1_500
    assert html.count("–") == SHOWN
    assert f"{n - SHOWN:,} more" in html


def test_contradictions_are_not_looked_for():
    known = Constraints([(0, 1)], [(0, 1)], n_samples=2)
    assert "contradict" not in repr(known) + known._repr_html_()


@pytest.mark.parametrize("contradictory", [False, True])
def test_closures_say_what_follows(contradictory):
    apart = [(0, 3), *[(0, 2)] * contradictory]
    closure = Constraints([(0, 1), (1, 2)], apart, n_samples=5).closure(on_contradiction="keep")
    assert isinstance(closure, Closure)
    said = "1 contradiction" if contradictory else "no contradiction"
    assert repr(closure) == (
        "<Closure on 5 rows in 3 components (the largest of 3 rows): 3 pairs together, "
        f"3 pairs apart, {said}>"
    )
    _, *rows = cells(closure._repr_html_())
    assert rows[0] == ["must-link", "3 pairs together", "within 1 component"]
    assert rows[1][:2] == ["cannot-link", "3 pairs apart"]
    assert rows[2][1:] == [said, "row 0 – row 2" if contradictory else ""]


def test_violations_show_their_number_by_kind_and_sentences_by_id():
    known = Constraints(
        [("a", "b")],
        [("b", "<c>")],
        labels=["red", None, None, "red", "red"],
        ids=["a", "b", "<c>", "d", "e"],
    )
    found = known.violations([0, 1, 1, 0, 1])
    html = found._repr_html_()
    head, *rows = cells(html)
    assert head == ["kind", "violated"]
    assert rows == [["must-link", "1"], ["cannot-link", "1"], ["class", "1"]]
    assert sum(int(number) for _, number in rows) == found.n
    sentences = [unescape(text) for text in re.findall(r"<li>(.*?)</li>", html)]
    assert sentences == found.describe()
    assert "<c>" not in html
    assert "3 of 5 statements violated" in html
    satisfied = known.violations([0, 0, 1, 0, 0])._repr_html_()
    assert satisfied == "<div>Nothing is violated of 5 stated.</div>"
