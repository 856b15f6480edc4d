"""The graph of what is known: its lines are the statements, its colors the components."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sidelight import Constraints
from sidelight.display import ConstraintsDisplay
from sidelight.exceptions import SidelightError
from sidelight.pictures.clusters._known import MAX_OF_ONE, MAX_ROWS
from sidelight.pictures.clusters._layout import place_components

PEOPLE = ["ann", "bob", "cid", "dan", "eve"]


def segments(display):
    return {kind: np.array(lines.get_segments()) for kind, lines in display.drawn_.lines.items()}


def test_lines_join_the_stated_rows(ax):
    known = Constraints([("ann", "bob"), ("bob", "dan")], [("ann", "cid")], ids=PEOPLE)
    display = ConstraintsDisplay.from_constraints(known, ax=ax)
    assert display.picture.rows.tolist() == [0, 1, 2, 3]  # nothing is said about eve
    xy = np.asarray(display.drawn_.points.get_offsets())
    np.testing.assert_array_equal(segments(display)["must-link"], [xy[[0, 1]], xy[[1, 3]]])
    np.testing.assert_array_equal(segments(display)["cannot-link"], [xy[[0, 2]]])
    assert display.picture.codes.tolist() == [0, 0, -1, 0]
    assert [text.get_text() for text in ax.texts] == ["ann", "bob", "cid", "dan"]
    assert "4 of 5 rows, 1 component" in ax.get_title()


def test_rows_stand_where_they_are(ax):
    X = pd.DataFrame({"a": [0.0, 1, 2, 3, 4], "b": [1.0, 3, 2, 5, 0]}, index=PEOPLE)
    known = Constraints([("ann", "dan")], ids=PEOPLE[::-1])
    display = ConstraintsDisplay.from_constraints(known, X, ax=ax)
    np.testing.assert_array_equal(display.picture.xy, X.loc[["ann", "dan"]].to_numpy())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


def test_contradictions_are_red(ax):
    known = Constraints([(0, 1), (1, 2)], [(0, 2), (2, 3)], n_samples=4)
    display = ConstraintsDisplay.from_constraints(known, ax=ax)
    np.testing.assert_array_equal(
        segments(display)["contradicted cannot-link"], [display.picture.xy[[0, 2]]]
    )
    assert "1 contradiction" in ax.get_title()


def test_labels_color_rows_and_violations_are_red(ax):
    known = Constraints([(0, 1), (2, 3)], [(0, 3)], n_samples=4)
    display = ConstraintsDisplay.from_constraints(known, labels=[0, 1, -1, -1], ax=ax)
    # Rows in no cluster are together with nothing.
    assert set(display.drawn_.lines) == {"violated must-link", "cannot-link"}
    assert len(segments(display)["violated must-link"]) == 2
    assert display.picture.codes.tolist() == [0, 1, -1, -1]
    with pytest.raises(SidelightError, match="3 labels but the constraints are about 4 rows"):
        ConstraintsDisplay.from_constraints(known, labels=[0, 1, 2])


def test_classes_and_groups_lead_to_the_middle_of_their_component(ax):
    known = Constraints(labels=["x", "x", "y", None, None, None], groups=[-1, -1, -1, 0, 0, -1])
    display = ConstraintsDisplay.from_constraints(known, ax=ax)
    assert display.picture.rows.tolist() == [0, 1, 2, 3, 4]
    middles = [
        display.picture.xy[[0, 1]].mean(axis=0),
        display.picture.xy[2],
        display.picture.xy[[3, 4]].mean(axis=0),
    ]
    expected = [[display.picture.xy[row], middles[m]] for row, m in enumerate([0, 0, 1, 2, 2])]
    np.testing.assert_allclose(display.drawn_.lines["spokes"].get_segments(), expected)
    np.testing.assert_allclose(
        display.drawn_.lines["between"].get_segments(), [[middles[0], middles[1]]]
    )
    assert {text.text for text in display.picture.texts if text.role == "middle"} == {"x", "y"}


def test_many_statements_are_drawn_by_whole_parts():
    rng = np.random.default_rng(0)
    known = Constraints.sample(rng.integers(40, size=20_000), 5_000, random_state=0)
    broken = Constraints([(19_990, 19_991)], [(19_990, 19_991)], n_samples=20_000) | known
    for statements in (known, broken):
        display = ConstraintsDisplay.from_constraints(statements)
        assert len(display.picture.rows) == MAX_ROWS
        assert "300 rows and" in display.ax_.get_title()
        degree = np.bincount(
            np.concatenate([lines.pairs for lines in display.picture.lines]).ravel(),
            minlength=MAX_ROWS,
        )
        assert (degree == 0).sum() <= 1  # but for the last part, which does not fit
    assert {19_990, 19_991} <= set(display.picture.rows.tolist())


def test_a_part_that_is_too_large_is_drawn_around_its_most_linked_row(ax):
    star = [(0, row) for row in range(1, 400)]
    chain = [(row, row + 1) for row in range(400, 900)]
    known = Constraints(cannot_link=[*star, *chain, (399, 400)], n_samples=1_000)
    display = ConstraintsDisplay.from_constraints(known, ax=ax)
    assert 0 in display.picture.rows
    assert (display.picture.rows < 400).all()
    assert sum(map(len, display.picture.lines)) == MAX_ROWS - 1


def test_of_a_large_class_some_rows_are_drawn(ax):
    known = Constraints.from_labels(np.repeat([0, 1], 400))
    display = ConstraintsDisplay.from_constraints(known, ax=ax)
    assert np.bincount(known.labels[display.picture.rows]).tolist() == [MAX_OF_ONE, MAX_OF_ONE]


def test_nothing_known(ax):
    display = ConstraintsDisplay.from_constraints(Constraints(n_samples=3), ax=ax)
    assert len(display.picture.xy) == 0
    assert ax.get_title().startswith("nothing known")


def test_components_are_rings_that_do_not_overlap():
    rng = np.random.default_rng(1)
    component = np.sort(rng.integers(12, size=60))
    component = np.unique(component, return_inverse=True)[1]
    edges = rng.integers(component.max() + 1, size=(10, 2))
    places = place_components(component, edges)
    middles = np.array([places[component == c].mean(axis=0) for c in np.unique(component)])
    sizes = np.bincount(component)
    radius = np.where(sizes > 1, 0.35 * np.sqrt(sizes), 0.0)
    np.testing.assert_allclose(
        np.linalg.norm(places - middles[component], axis=1), radius[component], atol=1e-9
    )
    gaps = np.linalg.norm(middles[:, None] - middles[None], axis=-1)
    first, second = np.triu_indices(len(middles), 1)
    assert (gaps[first, second] > radius[first] + radius[second]).all()
    np.testing.assert_array_equal(place_components(component, edges), places)
