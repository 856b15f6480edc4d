"""Scores of features against their definitions and each other (Hamad, part 3)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_selection import f_classif

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.feature_selection import (
    ConstraintScore,
    FisherScore,
    GiniScore,
    LaplacianScore,
    VarianceScore,
)
from sidelight.feature_selection._known import edit_graph
from sidelight.feature_selection._scores import gini_scores, graph_sums, laplacian_scores, pair_sums
from sidelight.graphs import full_graph, laplacian, neighbor_graph


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def all_pairs(y):
    i, j = np.triu_indices(len(y), 1)
    same = y[i] == y[j]
    pairs = np.column_stack([i, j])
    return Constraints(pairs[same], pairs[~same], n_samples=len(y))


def test_fisher_is_the_f_of_an_analysis_of_variance(iris):
    X, y = iris
    scores = FisherScore().fit(X, y).scores_
    np.testing.assert_allclose(scores, [1.6227, 0.6688, 16.0566, 13.0613], atol=1e-4)
    np.testing.assert_allclose(scores, f_classif(X, y)[0] * 2 / 147)


def test_all_pairs_rank_as_fisher_does(iris):
    X, y = iris
    fisher = FisherScore().fit(X, y).scores_
    ratio = ConstraintScore().fit(X, constraints=all_pairs(y)).scores_
    np.testing.assert_allclose(ratio, 1 / (3 * (fisher + 1) - 1))
    np.testing.assert_allclose(ratio, [0.1456, 0.2496, 0.0199, 0.0243], atol=5e-5)


def test_labels_are_all_their_pairs(iris):
    X, y = iris
    partial = np.where(np.arange(len(y)) % 4 == 0, y, -1)
    known = np.flatnonzero(partial >= 0)
    pairs = all_pairs(y[known])
    explicit = Constraints(known[pairs.must_link], known[pairs.cannot_link], n_samples=len(y))
    for method in ("ratio", "difference"):
        by_labels = ConstraintScore(criterion=method).fit(X, partial).scores_
        by_pairs = ConstraintScore(criterion=method).fit(X, constraints=explicit).scores_
        np.testing.assert_allclose(by_labels, by_pairs, rtol=1e-9)


def test_few_pairs_already_rank_like_fisher():
    X, y = load_wine(return_X_y=True)
    fisher = FisherScore().fit(X, y).ranking_
    found = [
        spearmanr(fisher, ConstraintScore().fit(X, constraints=known).ranking_).statistic
        for known in (Constraints.sample(y, 60, random_state=seed) for seed in range(10))
    ]
    assert np.mean(found) > 0.75  # 0.87 in the specification


def test_invariances_and_extremes(iris):
    X, y = iris
    known = Constraints.sample(y, 80, random_state=1)
    ratio = ConstraintScore().fit(X, constraints=known).scores_
    scaled = ConstraintScore().fit(X * [1, 10, 100, 1000] + 7, constraints=known).scores_
    np.testing.assert_allclose(scaled, ratio)
    swapped = Constraints(known.cannot_link, known.must_link, n_samples=150)
    np.testing.assert_allclose(ConstraintScore().fit(X, constraints=swapped).scores_, 1 / ratio)
    product = ConstraintScore(criterion="laplacian*constraint").fit(X, constraints=known).scores_
    np.testing.assert_allclose(product, ratio * LaplacianScore().fit(X).scores_)
    flat = np.column_stack([X, np.arange(150) % 50])
    still = Constraints([(i, i + 50) for i in range(20)], known.cannot_link, n_samples=150)
    assert ConstraintScore(1).fit(flat, constraints=still).get_support()[4]


def test_difference_at_the_best_ratio_finds_the_same_feature(iris):
    X, y = iris
    for seed in range(5):  # Dinkelbach
        known = Constraints.sample(y, 40, random_state=seed)
        ratio = ConstraintScore(1).fit(X, constraints=known)
        difference = ConstraintScore(1, criterion="difference", penalty=float(ratio.scores_.min()))
        difference.fit(X, constraints=known)
        np.testing.assert_array_equal(difference.support_, ratio.support_)
        assert difference.scores_.min() == pytest.approx(0.0, abs=1e-9)


def test_numbers_and_shares_to_keep(iris):
    X, _ = iris
    assert VarianceScore(0.75).fit(X).transform(X).shape == (150, 3)
    assert VarianceScore().fit(X).transform(X).shape == (150, 2)
    assert list(VarianceScore().fit(X).ranking_) == [2, 4, 1, 3]
    with pytest.raises(ValueError, match="between 1 and the number of features, 4"):
        VarianceScore(9).fit(X)


def test_what_is_missing_is_said(iris):
    X, y = iris
    with pytest.raises(SidelightError, match="no two rows are known to be apart"):
        ConstraintScore().fit(X, constraints=Constraints([(0, 1)], n_samples=150))
    with pytest.raises(SidelightError, match="needs known classes"):
        FisherScore().fit(X)
    with pytest.raises(SidelightError, match="only 1 class"):
        FisherScore().fit(X, np.where(y == 0, 0, -1))


def test_picture_of_the_ranking(iris):
    pytest.importorskip("matplotlib").use("Agg")
    X, y = iris
    ax = FisherScore().fit(X, y).plot_ranking()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True)
    assert len(ax.get_yticklabels()) == 4
    apart = np.column_stack([X, np.where(y == 0, 0.0, y), np.ones(150)])  # infinite, and none
    ax = FisherScore().fit(apart, y).plot_ranking()
    ax.figure.canvas.draw()
    assert len(ax.patches) == 6


def test_groups_are_all_their_pairs(iris):
    X, y = iris
    groups = np.where(np.arange(150) % 5 == 0, (y * 7 + np.arange(150)) % 11, -1)
    i, j = np.triu_indices(150, 1)
    same = (groups[i] == groups[j]) & (groups[i] >= 0)
    apart = Constraints.sample(y, 40, random_state=0).cannot_link
    explicit = Constraints(np.column_stack([i, j])[same], apart, n_samples=150)
    known = Constraints(cannot_link=apart, groups=groups)
    for method in ("ratio", "difference", "laplacian*constraint", "locality"):
        by_groups = ConstraintScore(criterion=method).fit(X, constraints=known).scores_
        by_pairs = ConstraintScore(criterion=method).fit(X, constraints=explicit).scores_
        np.testing.assert_allclose(by_groups, by_pairs, rtol=1e-9)
    by_groups = LaplacianScore().fit(X, constraints=known).scores_
    np.testing.assert_allclose(by_groups, LaplacianScore().fit(X, constraints=explicit).scores_)


def test_labels_edit_the_graph_of_laplacian_scores(iris):
    X, y = iris
    partial = np.where(np.arange(150) % 3 == 0, y, -1)
    known = np.flatnonzero(partial >= 0)
    pairs = all_pairs(y[known])
    explicit = Constraints(known[pairs.must_link], known[pairs.cannot_link], n_samples=150)
    by_labels = LaplacianScore().fit(X, partial).scores_
    np.testing.assert_allclose(by_labels, LaplacianScore().fit(X, constraints=explicit).scores_)
    assert not np.allclose(by_labels, LaplacianScore().fit(X).scores_)


# --- what it is made of ---


def test_sums_over_pairs_are_laplacian_forms(iris):
    X, y = iris
    known = Constraints.sample(y, 60, random_state=0)
    W = np.zeros((150, 150))
    W[known.must_link[:, 0], known.must_link[:, 1]] = 1.0
    W = W + W.T
    L = laplacian(W, "unnormalized").toarray()
    by_definition = np.diag(X.T @ L @ X)
    np.testing.assert_allclose(pair_sums(X, known.must_link, known.must_link_weight), by_definition)
    np.testing.assert_allclose(graph_sums(X, sparse.csr_array(W)), by_definition)


def test_laplacian_score_of_the_lecture(iris):
    X, _ = iris
    W = full_graph(X, sigma=1.0, loops=True)
    scores = laplacian_scores(X, sparse.csr_array(W))
    np.testing.assert_allclose(scores, [0.2557, 0.5009, 0.0664, 0.1311], atol=5e-5)
    complete = sparse.csr_array(np.ones((150, 150)))
    np.testing.assert_allclose(laplacian_scores(X, complete), 1.0)
    np.testing.assert_allclose(laplacian_scores(X * 3.0 + 5.0, sparse.csr_array(W)), scores)


def test_pairs_edit_the_graph(iris):
    X, y = iris
    known = Constraints.sample(y, 80, random_state=0)
    known = Constraints(known.must_link, [*map(tuple, known.cannot_link), (0, 1)], n_samples=150)
    known = known | Constraints([(2, 3)], [(2, 3)], n_samples=150)  # the cannot-link holds
    W = neighbor_graph(X, 5)
    expected = W.toarray()
    for value, pairs in ((7.0, known.must_link), (0.0, known.cannot_link)):
        for i, j in pairs:
            expected[i, j] = expected[j, i] = value
    np.testing.assert_array_equal(edit_graph(W, known, must_link=7.0).toarray(), expected)
    nothing = Constraints(n_samples=150)
    np.testing.assert_array_equal(edit_graph(W, nothing).toarray(), W.toarray())


def test_gini_by_its_definition():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 60)
    counts = rng.poisson(0.7, size=(60, 12)).astype(float)
    counts[:, 3] = 0
    counts[:, 5] = np.where(y == 2, 1.0, 0.0)
    expected = []
    for word in range(12):
        shares = np.array([counts[y == c, word].sum() / counts[y == c].sum() for c in range(4)])
        with np.errstate(invalid="ignore"):
            p = shares / shares.sum()
        expected.append(1 - np.sqrt(np.sum(p**2)))
    for rows in (counts, sparse.csr_array(counts)):
        np.testing.assert_allclose(gini_scores(rows, y), expected)
    assert expected[5] == pytest.approx(0.0)
    assert np.isnan(expected[3])
    even = np.ones((8, 1))
    spread = gini_scores(np.hstack([even, even]), np.arange(8) % 4)
    np.testing.assert_allclose(spread, 1 - 1 / np.sqrt(4))
    doubled = np.vstack([counts, counts[y == 1]])
    np.testing.assert_allclose(gini_scores(doubled, np.append(y, y[y == 1])), expected)
    np.testing.assert_allclose(gini_scores(counts, 3 - y), expected)  # names of classes
    model = GiniScore(3, min_df=2).fit(counts, y)
    assert not model.get_support()[3]


def test_the_weight_of_a_must_link_is_that_of_its_edge(iris):
    X, _ = iris
    known = Constraints([(0, 1), (0, 60)], must_link_weight=[3.0, 0.5], n_samples=150)
    W = edit_graph(neighbor_graph(X, 5), known).toarray()
    assert W[0, 1] == W[1, 0] == 3.0
    assert W[0, 60] == 0.5
