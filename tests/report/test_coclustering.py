"""Reports of clusters of rows and columns: blocks, cells, runs, reasons, statements."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sidelight import Constraints
from sidelight.cluster import CDKMeans, InformationCoclustering
from sidelight.constraints import CrossLinks, Ordering
from sidelight.datasets import make_purchases
from sidelight.evaluation import jump_number
from sidelight.io import Table
from sidelight.jobs import CoclusterRequest
from sidelight.jobs.cocluster._facts import Described, broken_cross_links
from sidelight.jobs.cocluster._run import CoclusterRun
from sidelight.pictures.coclustering._blocks import binned, table_blocks, timeline
from sidelight.pictures.coclustering._pictures import table_cells
from sidelight.pictures.svg._render import svg_of


@st.composite
def tables(draw):
    """A 0/1 table with clusters of both sides, some elements in none."""
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = (rng.random((n, m)) < draw(st.floats(0.0, 1.0))).astype(np.uint8)
    return X, rng.integers(-1, 3, n), rng.integers(-1, 3, m)


@given(tables(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_blocks_count_the_ones_by_their_definition(case, as_sparse):
    X, labels, column_labels = case
    blocks = table_blocks(sparse.csr_matrix(X) if as_sparse else X, labels, column_labels)
    assert sorted(blocks.rows.order.tolist()) == list(range(len(X)))
    for i, row_cluster in enumerate(blocks.rows.clusters):
        for j, column_cluster in enumerate(blocks.columns.clusters):
            inside = X[labels == row_cluster][:, column_labels == column_cluster]
            assert blocks.ones[i, j] == inside.sum()
            assert blocks.density[i, j] == pytest.approx(inside.mean())
            assert blocks.own[i, j] == (row_cluster == column_cluster >= 0)
    assert blocks.overall == pytest.approx(X.mean())
    for side, values in ((blocks.rows, labels), (blocks.columns, column_labels)):
        for cluster, start, end in zip(side.clusters, side.starts, side.starts[1:], strict=False):
            assert set(values[side.order[start:end]]) == {cluster}
        if -1 in values:
            assert side.clusters[-1] == -1


@given(tables(), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_cells_of_a_large_table_keep_the_ones(case, most_rows, most_columns):
    X, labels, column_labels = case
    blocks = table_blocks(X, labels, column_labels)
    shares, rows, columns = binned(X, blocks, (most_rows, most_columns))
    cells = np.outer(np.bincount(rows), np.bincount(columns))
    assert (shares * cells).sum() == pytest.approx(X.sum())
    for side, bins in ((blocks.rows, rows), (blocks.columns, columns)):
        for border in side.starts[1:-1].tolist():  # no cell spans two clusters
            assert bins[border - 1] != bins[border]


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12), st.booleans())
@settings(max_examples=80, deadline=None)
def test_jumps_of_a_timeline_are_those_of_the_measure(labels, circular):
    rng = np.random.default_rng(len(labels))
    order = Ordering(rng.permutation(len(labels)), circular=circular)
    line = timeline(np.array(labels), order)
    assert line.n_jumps == jump_number(labels, order)
    along = np.array(labels)[order.order]
    for start, end, cluster in zip(line.starts, line.ends, line.clusters, strict=True):
        assert set(along[start:end]) == {cluster}
    assert (line.ends - line.starts).sum() == len(labels)


def drawn_table(bought, blocks, note=""):
    """Draw a table as a page does, after a look at what the picture says about its cells."""
    shares, *bins = binned(bought.X, blocks, (240, 320))
    picture = table_cells(blocks, shares, tuple(bins), (bought.customers, bought.columns))
    assert picture.note.partition("\n")[2] == note
    return svg_of(picture)


def test_strokes_cover_the_ones():
    bought = make_purchases(20, 9, random_state=0)
    blocks = table_blocks(bought.X, bought.target, bought.column_target)
    svg = drawn_table(bought, blocks)
    drawn = np.zeros((20, 9), int)
    for path in re.findall(r'<path class="(?:k\d+|other)" opacity="1.00" d="([^"]*)"', svg):
        for x, y, length in re.findall(r"M(\d+) ([\d.]+)h(\d+)", path):
            drawn[int(float(y)), int(x) : int(x) + int(length)] += 1
    np.testing.assert_array_equal(drawn, bought.X[blocks.rows.order][:, blocks.columns.order])
    assert svg.count('class="frame own') == 3


def test_large_tables_are_drawn_by_shares():
    bought = make_purchases(900, 30, random_state=0)
    blocks = table_blocks(bought.X, bought.target, bought.column_target)
    svg = drawn_table(bought, blocks, note="a cell stands for about 4 rows")
    assert len(svg) < 400_000
    assert "c001" not in svg  # so many rows are not named
    assert "bread" in svg


def rendered(model, X, known=None, *, ids=None, columns=None, truth=None, **beside):
    """Return the page of a fitted model; ``beside`` are fields of the result."""
    n, m = X.shape
    names = tuple(columns or (f"c{j}" for j in range(m)))
    known_classes = {} if truth is None else {"truth": truth, "truth_column": "truth"}
    nothing = {"cross": None, "row_order": None, "column_order": None}
    return (
        CoclusterRun(
            method=None,
            estimator=model,
            data=Table(X, ids, names, Path("x.csv"), **known_classes),
            knowledge=known or Constraints(n_samples=n),
            seconds=0.5,
            notes=(),
            request=CoclusterRequest("x.csv"),
            X=X,
            preparer=None,
            column_knowledge=Constraints(n_samples=m),
            **{**nothing, **beside},
        )
        .page()
        .html()
    )


def test_the_page_tells_it_all(parse):
    bought = make_purchases(30, 10, over="weeks", density=0.9, random_state=0)
    ids = np.array([f"<{name}>" for name in bought.customers])
    known = Constraints([(ids[0], ids[1])], ids=ids)
    order = Ordering(range(10), max_gap=1, ids=bought.columns)
    model = CDKMeans(3, random_state=0).fit(bought.X, constraints=known, column_order=order)
    html = rendered(
        model,
        bought.X,
        known,
        ids=ids,
        columns=bought.columns.tolist(),
        column_order=order,
        truth=bought.target,
    )
    words = parse(html).words()
    for said in (
        "The table in the order of its clusters",
        "Clusters along the order of the columns",
        "Goodman-Kruskal tau",
        "Information lost (bits)",
        "Stability of the rows",
        "row must-links",
        "Heaviest columns",
        "Share of ones in every block",
        "Agreement with the truth",
        "All statements hold",
        "at most 1 element in a gap",
        "sidelight cocluster x.csv",
    ):
        assert said in words, said
    assert "<c01>" not in html  # ids are escaped
    assert f"{len(model.concepts_):,}" in words
    top = bought.columns[np.argmax(model.column_weights_[0])]
    assert f"{model.column_weights_[0].max():.2f}" in words
    assert top in words


def test_rows_and_columns_of_no_cluster_with_the_reason(parse):
    X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], np.uint8)
    model = CDKMeans(2, random_state=0).fit(X)
    words = parse(rendered(model, X)).words()
    assert "1 row is in no cluster: 'row 3'; it has no ones." in words
    assert "1 column is in no cluster: 'c3'; it has no ones." in words
    assert "2 rows and columns in no cluster" in words


def test_statements_that_are_not_kept(parse):
    X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], np.uint8)
    model = InformationCoclustering(2, random_state=0).fit(X.astype(float))
    known = Constraints([(0, 2)], [(0, 1)], n_samples=3)
    cross = CrossLinks(must_link=[(0, 2)], cannot_link=[(2, 0)])
    words = parse(rendered(model, X, known, cross=cross)).words()
    assert "3 of 4 statements violated" in words
    assert "must-link of row row 0 and column c2" in words
    assert "cross cannot-links" in words


def test_broken_links_between_rows_and_columns():
    labels, columns = np.array([0, 1, -1]), np.array([0, 1])
    cross = CrossLinks([(0, 0), (0, 1), (2, 0)], [(1, 1), (1, 0), (2, 1)])
    assert broken_cross_links(cross, labels, columns) == [
        ("must-link", 0, 1),
        ("must-link", 2, 0),
        ("cannot-link", 1, 1),
    ]
    assert broken_cross_links(None, labels, columns) == []


def test_clusters_of_columns_of_another_number(parse):
    bought = make_purchases(30, 12, random_state=1)
    model = InformationCoclustering(2, n_column_clusters=4, random_state=0)
    model.fit(bought.X.astype(float))
    told = Described(model, bought.X)
    assert told.blocks.density.shape == (2, 4)
    assert told.blocks.own.any()
    np.testing.assert_array_equal(told.blocks.own, told.blocks.density > told.blocks.overall)
    assert sum(told.column_sizes.values()) == 12
    assert "The co-clusters" in parse(rendered(model, bought.X)).words()


def test_clusters_stand_in_the_order_of_the_columns():
    labels, columns = np.array([0, 1, 2]), np.array([2, 2, 0, 0, 1])
    blocks = table_blocks(np.ones((3, 5)), labels, columns, column_order=Ordering([0, 1, 4, 3, 2]))
    assert blocks.columns.clusters.tolist() == blocks.rows.clusters.tolist() == [2, 1, 0]
    assert blocks.columns.order.tolist() == [0, 1, 4, 3, 2]
