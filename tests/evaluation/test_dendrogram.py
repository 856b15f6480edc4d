"""Scores of all cuts of a dendrogram."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage

from sidelight.evaluation import dendrogram_scores, pairwise_precision_recall_f1


@pytest.mark.parametrize("method", ["single", "average"])
def test_every_cut_has_the_scores_of_its_clusters(method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 2)), rng.choice(["a", "b", "c"], size=25)
    merges = linkage(X, method)
    found = dendrogram_scores(y, merges)
    np.testing.assert_array_equal(found.n_clusters, np.arange(25, 0, -1))
    for k, *scores in zip(*found, strict=True):
        labels = cut_tree(merges, n_clusters=k)[:, 0]
        if k == 25:
            assert scores == [1.0, 0.0, 0.0]  # nothing is said, and nothing wrong
        else:
            np.testing.assert_allclose(scores, pairwise_precision_recall_f1(y, labels))
    assert np.all(np.diff(found.recall) >= 0)


def test_rows_of_classes_of_their_own():
    scores = dendrogram_scores([0, 1, 2], linkage([[0.0], [1.0], [3.0]]))
    np.testing.assert_array_equal(scores.precision, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(scores.recall, 1.0)  # there is nothing to find
    assert dendrogram_scores([5], np.empty((0, 4))).f1.tolist() == [1.0]


def test_wrong_merges():
    merges = linkage([[0.0], [1.0], [3.0]])
    with pytest.raises(ValueError, match="one row less"):
        dendrogram_scores([0, 1], merges)
    merges[1, :2] = (0, 3)  # row 0 is in cluster 3 by then
    with pytest.raises(ValueError, match="merge 1 joins clusters 0 and 3"):
        dendrogram_scores([0, 1, 1], merges)
