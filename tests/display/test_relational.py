"""Displays of graphs: sign matrix, connected clusters, absorption, precision and recall."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.base import BaseEstimator

from sidelight import Relations
from sidelight.display import (
    AbsorptionDisplay,
    ConnectedClustersDisplay,
    ResolutionCurveDisplay,
    SignMatrixDisplay,
)
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures.relational import _region_map
from sidelight.pictures.relational._blocks import sign_blocks


class Fitted(BaseEstimator):
    """An estimator whose attributes are given."""

    def fit(self, X):
        return self

    def with_(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)
        return self


def signed(n=40, k=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < 0.4
    i, j = i[kept], j[kept]
    scores = np.where(labels[i] == labels[j], 1.0, -1.0) * rng.uniform(0.1, 2.0, len(i))
    scores[rng.random(len(i)) < 0.15] *= -1
    return Relations(np.column_stack([i, j]), scores, n_samples=n), labels


def blocks_of(relations, labels):
    """Objects in the order of their clusters."""
    return sign_blocks(relations.edges, relations.scores, labels, len(labels))


class TestSignMatrix:
    def test_every_cell_by_its_definition(self, ax):
        relations, labels = signed()
        display = SignMatrixDisplay.from_relations(relations, labels, ax=ax)
        order, matrix = blocks_of(relations, labels).order, relations.matrix().toarray()
        found = display.drawn_.image.get_array()
        for a, i in enumerate(order):
            for b, j in enumerate(order):
                score, same = matrix[i, j], labels[i] == labels[j]
                wrong = score != 0 and (score > 0) != same
                expected = 3 if wrong else 0 if score == 0 else 1 if score > 0 else 2
                assert found[a, b] == expected

    def test_clusters_are_blocks_from_the_largest_on(self, ax):
        relations, labels = signed()
        display = SignMatrixDisplay.from_relations(relations, labels, ax=ax)
        blocks = blocks_of(relations, labels)
        sizes = np.diff(blocks.starts)
        assert (np.diff(sizes) <= 0).all()
        assert sizes.sum() == 40
        for start, end, cluster in zip(
            blocks.starts[:-1], blocks.starts[1:], blocks.clusters, strict=True
        ):
            assert (labels[blocks.order[start:end]] == cluster).all()
        assert [int(frame.get_width()) for frame in display.drawn_.frames] == sizes.tolist()

    def test_of_many_objects_the_largest_clusters(self, ax, monkeypatch):
        from sidelight.display.relational import _sign_matrix

        monkeypatch.setattr(_sign_matrix, "MAX_OBJECTS", 12)
        relations, labels = signed()
        display = SignMatrixDisplay.from_relations(relations, labels, ax=ax)
        assert display.drawn_.image.get_array().shape == (12, 12)
        largest = np.sort(np.bincount(labels))[::-1]
        assert display.drawn_.frames[0].get_width() == min(largest[0], 12)
        assert "12 of 40 objects" in ax.get_title()

    def test_from_an_estimator_and_a_matrix(self, ax):
        relations, labels = signed()
        model = Fitted().with_(labels_=labels)
        one = SignMatrixDisplay.from_estimator(model, relations, ax=ax)
        other = SignMatrixDisplay.from_estimator(model, relations.matrix(), ax=ax)
        np.testing.assert_array_equal(one.drawn_.image.get_array(), other.drawn_.image.get_array())
        assert ax.get_title().startswith("Fitted\n")
        with pytest.raises(InvalidRequest, match="gives no clusters"):
            SignMatrixDisplay.from_estimator(Fitted().with_(other_=1), relations)
        with pytest.raises(SidelightError, match="about 40 objects"):
            SignMatrixDisplay.from_relations(relations, labels[:5])


class TestConnectedClusters:
    PLACES = np.array([[0.0, 0], [1, 0], [2, 0], [2, 1], [0, 1]])
    RING = Relations([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], n_samples=5)

    def test_edges_inside_and_between(self, ax):
        labels = np.array([0, 0, 1, 1, -1])
        model = Fitted().with_(labels_=labels, center_nodes_=np.array([0, 2]))
        display = ConnectedClustersDisplay.from_estimator(model, self.PLACES, self.RING, ax=ax)
        inside = [segment.tolist() for segment in display.drawn_.lines["inside"].get_segments()]
        assert inside == [[[0, 0], [1, 0]], [[2, 0], [2, 1]]]
        assert len(display.drawn_.lines["between"].get_segments()) == 3
        np.testing.assert_array_equal(display.drawn_.points.get_offsets(), self.PLACES)
        colors = [to_hex(color) for color in display.drawn_.points.get_facecolors()]
        assert colors[0] == colors[1] != colors[2] == colors[3] != colors[4]
        assert [to_hex(color) for color in display.drawn_.lines["inside"].get_colors()] == [
            colors[0],
            colors[2],
        ]
        np.testing.assert_array_equal(
            display.drawn_.marks["center"].get_offsets(), self.PLACES[[0, 2]]
        )

    def test_a_sample_of_many_nodes_keeps_the_centers(self, ax, monkeypatch):
        monkeypatch.setattr(_region_map, "MAX_NODES", 2)
        labels = np.array([0, 0, 1, 1, 1])
        model = Fitted().with_(labels_=labels, center_nodes_=np.array([4, 1]))
        display = ConnectedClustersDisplay.from_estimator(model, self.PLACES, self.RING, ax=ax)
        assert {1, 4} <= set(display.picture.rows.tolist())
        assert len(display.drawn_.marks["center"].get_offsets()) == 2
        assert "of 5 nodes are drawn" in ax.get_title()
        drawn = display.picture
        ends = np.concatenate([lines.pairs for lines in drawn.lines])
        for a, b in drawn.rows[ends].tolist():
            assert [min(a, b), max(a, b)] in self.RING.edges.tolist()

    def test_inner_edges_come_first(self, ax, monkeypatch):
        monkeypatch.setattr(_region_map, "MAX_EDGES", 2)
        display = ConnectedClustersDisplay.from_labels(
            self.PLACES, self.RING, [0, 0, 1, 1, 2], ax=ax
        )
        assert len(display.drawn_.lines["inside"].get_segments()) == 2
        assert len(display.drawn_.lines["between"].get_segments()) == 0

    def test_bad_coordinates(self):
        with pytest.raises(InvalidRequest, match="two numbers per row"):
            ConnectedClustersDisplay.from_labels([[1, 2, 3]] * 5, self.RING, [0] * 5)
        with pytest.raises(InvalidRequest, match="finite"):
            ConnectedClustersDisplay.from_labels([[1, np.nan]] * 5, self.RING, [0] * 5)
        with pytest.raises(InvalidRequest, match="for 4 rows, but 5"):
            ConnectedClustersDisplay.from_labels(self.PLACES[:4], self.RING, [0] * 5)


class TestAbsorption:
    def test_sorted_thresholds_by_cluster(self, ax):
        values, labels = np.array([0.3, 0.1, np.inf, 0.9, 0.2]), np.array([0, 0, -1, 1, 1])
        model = Fitted().with_(absorbed_at_=values, labels_=labels)
        display = AbsorptionDisplay.from_estimator(model, ax=ax)
        assert display.drawn_.lines["all"].get_ydata().tolist() == [0.1, 0.2, 0.3, 0.9]
        assert "1 row joined no cluster" in ax.get_title()
        display = AbsorptionDisplay.from_estimator(model, by_cluster=True, ax=ax)
        assert display.drawn_.lines["0"].get_ydata().tolist() == [0.1, 0.3]
        assert display.drawn_.lines["1"].get_ydata().tolist() == [0.2, 0.9]

    def test_others_are_refused(self):
        with pytest.raises(InvalidRequest, match="NetScan does"):
            AbsorptionDisplay.from_estimator(Fitted().with_(labels_=np.zeros(2, int)))
        with pytest.raises(InvalidRequest, match="one number per row"):
            AbsorptionDisplay.from_thresholds([1.0, 2.0], [0])


class TestResolutionCurve:
    def test_from_merges(self, ax):
        merges = {"i": [0, 2, 0], "j": [1, 3, 2], "similarity": [0.9, 0.8, 0.4]}
        model = Fitted().with_(merges_=merges, labels_=np.zeros(4, int), threshold=0.5)
        display = ResolutionCurveDisplay.from_estimator(model, ["a", "a", "b", "b"], ax=ax)
        assert display.drawn_.lines["precision"].get_ydata().tolist() == [1.0, 1.0, 2 / 6]
        assert display.drawn_.lines["recall"].get_ydata().tolist() == [0.5, 1.0, 1.0]
        assert display.drawn_.lines["F1"].get_xdata().tolist() == [0.9, 0.8, 0.4]
        assert "best F1 1.000 at 0.8" in ax.get_title()

    def test_others_are_refused(self):
        with pytest.raises(InvalidRequest, match="keeps no merges_"):
            ResolutionCurveDisplay.from_estimator(Fitted().with_(labels_=np.zeros(2, int)), [0, 1])
        merges = {"i": [], "j": [], "similarity": []}
        model = Fitted().with_(merges_=merges, labels_=np.zeros(2, int))
        with pytest.raises(InvalidRequest, match="truth holds 3 entities"):
            ResolutionCurveDisplay.from_estimator(model, [0, 1, 1])
        empty = ResolutionCurveDisplay.from_estimator(model, [0, 1])
        assert all(len(curve.x) == 0 for curve in empty.picture.curves)
        with pytest.raises(InvalidRequest, match="one number per threshold"):
            ResolutionCurveDisplay.from_curve([0.1], [1.0, 1.0], [0.0])
