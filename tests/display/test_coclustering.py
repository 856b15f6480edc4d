"""Displays of clusters of rows and columns: the re-ordered table, and runs along an order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from scipy import sparse

from sidelight.cluster import CDKMeans, InformationCoclustering, KMeans
from sidelight.constraints import Ordering
from sidelight.datasets import make_purchases
from sidelight.display import CoclusterDisplay, TimelineDisplay
from sidelight.display._canvas import inks_of
from sidelight.exceptions import InvalidRequest
from sidelight.pictures.coclustering._blocks import table_blocks


class TestCoclusters:
    def test_every_cell_by_its_definition(self, ax):
        bought = make_purchases(20, 8, n_clusters=2, noise=0.2, random_state=0)
        display = CoclusterDisplay.from_labels(bought.X, bought.target, bought.column_target, ax=ax)
        inks = inks_of(ax)
        colors = inks.groups(2)
        image = np.asarray(display.drawn_.image.get_array())
        blocks = table_blocks(bought.X, bought.target, bought.column_target)
        for a, i in enumerate(blocks.rows.order):
            for b, j in enumerate(blocks.columns.order):
                group = bought.target[i]
                own = group == bought.column_target[j]
                color = inks.page if not bought.X[i, j] else colors[group] if own else inks.soft
                np.testing.assert_allclose(image[a, b], to_rgb(color))

    def test_a_fitted_estimator(self, ax):
        bought = make_purchases(30, 9, random_state=0)
        model = CDKMeans(3, random_state=0).fit(bought.X)
        display = CoclusterDisplay.from_estimator(model, bought.X, ax=ax)
        assert len(display.drawn_.frames) == 3
        assert "CDKMeans" in ax.get_title()
        blocks = table_blocks(
            bought.X,
            model.labels_,
            model.column_labels_,
            row_weights=model.row_weights_,
            column_weights=model.column_weights_,
        )
        np.testing.assert_array_equal(
            display.picture.shares, bought.X[np.ix_(blocks.rows.order, blocks.columns.order)]
        )
        weights = model.row_weights_[model.labels_, np.arange(30)][blocks.rows.order]
        for start, end in zip(blocks.rows.starts, blocks.rows.starts[1:], strict=False):
            assert (np.diff(weights[start:end]) <= 0).all()

    def test_names_of_a_data_frame(self, ax):
        bought = make_purchases(12, 6, n_clusters=2, random_state=0)
        table = pd.DataFrame(bought.X, index=bought.customers, columns=bought.columns)
        CoclusterDisplay.from_labels(table, bought.target, bought.column_target, ax=ax)
        shown = [label.get_text() for label in ax.get_xticklabels()]
        blocks = table_blocks(bought.X, bought.target, bought.column_target)
        assert shown == bought.columns[blocks.columns.order].tolist()

    def test_sparse_and_large_tables(self, ax):
        bought = make_purchases(1500, 20, random_state=0)
        display = CoclusterDisplay.from_labels(
            sparse.csr_matrix(bought.X), bought.target, bought.column_target, ax=ax
        )
        assert display.drawn_.image.get_array().shape[0] <= 603
        assert "a cell stands for about 2 rows" in ax.get_title() or "3 rows" in ax.get_title()

    def test_clusters_that_are_not_paired(self, ax):
        bought = make_purchases(30, 12, random_state=0)
        model = InformationCoclustering(2, n_column_clusters=3, random_state=0)
        model.fit(bought.X.astype(float))
        display = CoclusterDisplay.from_estimator(model, bought.X, ax=ax)
        blocks = table_blocks(bought.X, model.labels_, model.column_labels_, paired=False)
        assert len(display.drawn_.frames) == int(blocks.own.sum())

    def test_wrong_input(self):
        with pytest.raises(InvalidRequest, match="a label for every row and every column"):
            CoclusterDisplay.from_labels(np.ones((3, 2)), [0, 0], [0, 0])
        model = KMeans(1).fit([[0.0], [1.0]])
        with pytest.raises(InvalidRequest, match="gives no clusters of columns"):
            CoclusterDisplay.from_estimator(model, [[0.0], [1.0]])


class TestTimeline:
    def test_runs_and_jumps(self, ax):
        order = Ordering([4, 3, 2, 1, 0], ids=list("abcde"))
        display = TimelineDisplay.from_labels([1, 0, 1, 0, -1], order, ax=ax)
        assert display.drawn_.marks.get_xdata().tolist() == [3, 4]
        assert len(display.drawn_.bars) == 3  # two clusters, and none
        assert [label.get_text() for label in ax.get_xticklabels()] == list("edcba")
        assert [label.get_text() for label in ax.get_yticklabels()][-1] == "none"
        assert "2 jumps" in ax.get_title()

    def test_values_to_sort_by(self, ax):
        display = TimelineDisplay.from_labels([0, 1, 0], [2.5, 9.0, 1.0], ax=ax)
        assert len(display.drawn_.marks.get_xdata()) == 0

    def test_wrong_input(self):
        with pytest.raises(InvalidRequest, match="one cluster for each of the 3 elements"):
            TimelineDisplay.from_labels([0, 1], range(3))
