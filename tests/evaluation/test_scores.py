"""Scores of a partition against brute force over pairs and matchings, and their identities."""

from itertools import combinations, permutations
from math import log, sqrt

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import labelings

from sidelight.evaluation import (
    _matching,
    adjusted_mutual_information,
    adjusted_rand_index,
    class_weighted_f,
    clustering_accuracy,
    matched_macro_f1,
    mutual_information,
    normalized_mutual_information,
    pairwise_f1,
    pairwise_precision_recall_f1,
    partition_scores,
    purity,
    rand_index,
    variation_of_information,
)
from sidelight.exceptions import SidelightError

NORMALIZATIONS = ["arithmetic", "geometric", "min", "max", "joint", "reference"]

SYMMETRIC = [
    rand_index,
    adjusted_rand_index,
    pairwise_f1,
    mutual_information,
    adjusted_mutual_information,
    variation_of_information,
    normalized_mutual_information,
    clustering_accuracy,
]
ALL_SCORES = [*SYMMETRIC, purity, class_weighted_f, matched_macro_f1]


def brute_pairs(classes, clusters):
    together = split = joined = apart = 0
    for i, j in combinations(range(len(classes)), 2):
        same_class, same_cluster = classes[i] == classes[j], clusters[i] == clusters[j]
        together += same_class and same_cluster
        split += same_class and not same_cluster
        joined += same_cluster and not same_class
        apart += not same_class and not same_cluster
    return together, split, joined, apart


@given(labelings())
def test_pair_scores_equal_a_loop_over_pairs(labels):
    together, split, joined, apart = brute_pairs(*labels)
    precision, recall, f1 = pairwise_precision_recall_f1(*labels)
    assert precision == (together / (together + joined) if together + joined else 1)
    assert recall == (together / (together + split) if together + split else 1)
    if precision + recall:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert f1 == 0
    pairs = together + split + joined + apart
    assert rand_index(*labels) == ((together + apart) / pairs if pairs else 1)


def brute_f_matrix(classes, clusters):
    names, groups = np.unique(classes), np.unique(clusters)
    f = np.zeros((len(names), len(groups)))
    for i, name in enumerate(names):
        for j, group in enumerate(groups):
            both = np.sum((classes == name) & (clusters == group))
            if both:
                precision, recall = both / np.sum(clusters == group), both / np.sum(classes == name)
                f[i, j] = 2 * precision * recall / (precision + recall)
    return f


def brute_matching(gain):
    """Largest total over all one-to-one matchings, by enumeration."""
    gain = gain if gain.shape[0] <= gain.shape[1] else gain.T
    n = gain.shape[0]
    columns = range(gain.shape[1])
    return max(gain[range(n), list(order)].sum() for order in permutations(columns, n))


@given(labelings())
def test_matched_scores_equal_enumeration(labels):
    classes, clusters = labels
    n = len(classes)
    counts = sklearn.metrics.cluster.contingency_matrix(classes, clusters)
    f = brute_f_matrix(classes, clusters)
    sizes = np.unique(classes, return_counts=True)[1]
    assert clustering_accuracy(*labels) == pytest.approx(brute_matching(counts) / n)
    assert matched_macro_f1(*labels) == pytest.approx(brute_matching(f) / len(f))
    assert class_weighted_f(*labels) == pytest.approx(sizes @ f.max(axis=1) / n)
    assert purity(*labels) == pytest.approx(counts.max(axis=0).sum() / n)


@given(labelings(max_rows=60))
def test_scores_that_scikit_learn_has(labels):
    assert rand_index(*labels) == pytest.approx(sklearn.metrics.rand_score(*labels))
    assert adjusted_rand_index(*labels) == pytest.approx(
        sklearn.metrics.adjusted_rand_score(*labels)
    )
    assert mutual_information(*labels) == pytest.approx(
        sklearn.metrics.mutual_info_score(*labels), abs=1e-12
    )
    for name in ["arithmetic", "geometric", "min", "max"]:
        theirs = sklearn.metrics.normalized_mutual_info_score(*labels, average_method=name)
        assert normalized_mutual_information(*labels, name) == pytest.approx(theirs, abs=1e-12)
    if len(np.unique(labels[0])) > 1:
        assert normalized_mutual_information(*labels, "reference") == pytest.approx(
            sklearn.metrics.homogeneity_score(*labels), abs=1e-12
        )


@given(labelings(max_rows=60))
def test_adjusted_information_is_that_of_scikit_learn(labels):
    expected = sklearn.metrics.adjusted_mutual_info_score(*labels)
    if all(len(np.unique(one)) == len(one) for one in labels):
        expected = 1.0  # the same partition, whatever older releases say of single rows
    assert adjusted_mutual_information(*labels) == pytest.approx(expected, abs=1e-9)


def test_information_by_chance_is_the_mean_over_all_orders():
    classes, clusters = [0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2]
    exact = np.mean([mutual_information(classes, one) for one in permutations(clusters)])
    entropies = [mutual_information(one, one) for one in (classes, clusters)]
    expected = (mutual_information(classes, clusters) - exact) / (np.mean(entropies) - exact)
    assert adjusted_mutual_information(classes, clusters) == pytest.approx(expected)


def test_many_clusters_by_chance_share_nothing_beyond_chance():
    rng = np.random.default_rng(0)
    classes, clusters = rng.integers(0, 900, (2, 20_000))
    assert normalized_mutual_information(classes, clusters) > 0.4
    assert abs(adjusted_mutual_information(classes, clusters)) < 0.01


@given(labelings())
def test_normalized_information_lies_between_0_and_1(labels):
    for name in NORMALIZATIONS:
        assert 0 <= normalized_mutual_information(*labels, name) <= 1
        assert normalized_mutual_information(labels[0], labels[0], name) == pytest.approx(1)


@given(labelings(3))
def test_variation_of_information_is_a_metric(labels):
    a, b, c = labels
    vi = variation_of_information
    assert vi(a, a) == 0
    assert vi(a, b) == pytest.approx(vi(b, a))
    assert vi(a, c) <= vi(a, b) + vi(b, c) + 1e-12
    assert vi(a, b) <= log(len(a)) + 1e-12
    if vi(a, b) < 1e-9:
        assert rand_index(a, b) == 1


@given(labelings())
def test_entropies_information_and_variation_agree(labels):
    a, b = labels
    assert variation_of_information(a, b) == pytest.approx(
        mutual_information(a, a) + mutual_information(b, b) - 2 * mutual_information(a, b),
        abs=1e-12,
    )


@given(labelings(), st.permutations(range(5)), st.randoms(use_true_random=False))
def test_names_and_order_of_rows_do_not_matter(labels, names, random):
    classes, clusters = labels
    renamed = np.array([f"cluster {name}" for name in names])[clusters]
    rows = list(range(len(classes)))
    random.shuffle(rows)
    for score in ALL_SCORES:
        expected = score(classes, clusters)
        assert score(classes, renamed) == pytest.approx(expected, abs=1e-12)
        assert score(classes[rows], clusters[rows]) == pytest.approx(expected, abs=1e-12)


@given(labelings())
def test_symmetric_scores_are_symmetric(labels):
    for score in SYMMETRIC:
        assert score(*labels) == pytest.approx(score(*labels[::-1]), abs=1e-12)


@pytest.mark.parametrize(
    "score",
    sorted(
        set(ALL_SCORES) - {mutual_information, variation_of_information},
        key=lambda score: score.__name__,
    ),
)
def test_the_same_partition_scores_1(score):
    classes = np.repeat([3, 8, 9], [5, 1, 7])
    assert score(classes, classes) == pytest.approx(1)


def test_adjusted_rand_is_zero_on_average_for_random_labels():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [30, 50, 20])
    draws = [adjusted_rand_index(classes, rng.permutation(classes)) for _ in range(400)]
    assert abs(np.mean(draws)) < 4 * np.std(draws) / sqrt(len(draws))


def test_splitting_a_cluster_never_lowers_purity():
    classes, clusters = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 1, 1, 1])
    finer = clusters * 2 + (np.arange(6) % 2)
    assert purity(classes, finer) >= purity(classes, clusters)


def test_class_weighted_f_lets_one_cluster_serve_two_classes():
    classes, one = np.repeat([0, 1, 2, 3], 25), np.zeros(100)
    # p = 1/4, r = 1 for each class; one-to-one matching serves only one of the four.
    assert class_weighted_f(classes, one) == pytest.approx(0.4)
    assert matched_macro_f1(classes, one) == pytest.approx(0.1)


@pytest.mark.parametrize("score", [matched_macro_f1, clustering_accuracy])
@pytest.mark.parametrize(("n_classes", "n_clusters"), [(40, 25), (25, 40), (30, 30)])
def test_sparse_matching_gives_the_same(score, n_classes, n_clusters, monkeypatch):
    rng = np.random.default_rng(1)
    classes, clusters = rng.integers(0, n_classes, 200), rng.integers(0, n_clusters, 200)
    dense = score(classes, clusters)
    monkeypatch.setattr(_matching, "_DENSE_CELLS", 0)
    assert score(classes, clusters) == pytest.approx(dense, abs=1e-12)


def test_large_counts_are_exact():
    """Pairs of 1e7 rows do not fit 32 bits, products of pair counts not even 64."""
    n = 10_000_000
    classes = np.zeros(n, dtype=np.int32)
    classes[: n // 2] = 1
    clusters = np.zeros(n, dtype=np.int8)
    clusters[:1] = 1
    pairs = n * (n - 1) // 2
    half = n // 2
    agree = (half - 1) * (half - 2) // 2 + half * (half - 1) // 2 + half
    assert rand_index(classes, clusters) == agree / pairs
    assert abs(adjusted_rand_index(classes, clusters)) < 1e-6


class TestUnknownLabels:
    CLASSES = ("a", "a", "b", "b", "b")
    CLUSTERS = (0, 0, 0, 1, 1)

    @pytest.mark.parametrize("unknown", [None, np.nan, "", -1])
    def test_are_left_out_of_the_classes(self, unknown):
        classes = [*self.CLASSES, unknown, unknown]
        clusters = [*self.CLUSTERS, 0, 1]
        assert partition_scores(classes, clusters) == partition_scores(self.CLASSES, self.CLUSTERS)

    @pytest.mark.parametrize("unknown", [np.nan, -1, -1.0])
    def test_are_left_out_of_the_clusters(self, unknown):
        classes = [*self.CLASSES, "c", "a"]
        clusters = np.array([*self.CLUSTERS, unknown, unknown])
        assert partition_scores(classes, clusters) == partition_scores(self.CLASSES, self.CLUSTERS)

    def test_pandas_missing_values(self):
        pd = pytest.importorskip("pandas")
        classes = pd.Series([*self.CLASSES, None], dtype="string")
        clusters = pd.Series([*self.CLUSTERS, 0], dtype="Int64")
        assert partition_scores(classes, clusters) == partition_scores(self.CLASSES, self.CLUSTERS)
        clusters = pd.Series([*self.CLUSTERS, None], dtype="Int64")
        assert partition_scores(pd.Categorical(classes), clusters)["n_rows"] == 5

    def test_false_and_zero_are_labels(self):
        assert partition_scores([True, False, True], [0, 1, 0])["clustering_accuracy"] == 1
        assert partition_scores([0, 1, 0], np.array([255, 0, 255], dtype=np.uint8))["n_rows"] == 3

    def test_nothing_known_at_all(self):
        with pytest.raises(SidelightError, match="nothing to score"):
            partition_scores([-1, -1], [0, 1])


@pytest.mark.parametrize(
    "retyped",
    [
        lambda y: y.astype(np.int8),
        lambda y: y.astype(np.uint64),
        lambda y: y.astype(np.float32) / 2,
        lambda y: y * 10**12,
        lambda y: -5 - y,
        lambda y: y.astype(str),
        lambda y: y.astype(bytes),
        lambda y: y.astype(object),
        lambda y: [[1, "one", 2.5, "four", b"bytes"][value] for value in y],
        lambda y: np.array("2020-01-01", dtype="datetime64[D]") + y,
        lambda y: y[:, None],
    ],
)
def test_any_type_of_label(retyped):
    rng = np.random.default_rng(0)
    classes, clusters = rng.integers(0, 3, 50), rng.integers(0, 5, 50)
    assert partition_scores(classes, retyped(clusters)) == pytest.approx(
        partition_scores(classes, clusters)
    )


def test_lengths_must_agree():
    with pytest.raises(SidelightError, match="3 rows and labels_pred has 2"):
        rand_index([0, 1, 1], [0, 1])
    with pytest.raises(SidelightError, match="one label per row"):
        rand_index(np.zeros((3, 2)), [0, 1, 2])
    with pytest.raises(SidelightError, match="one label per row"):
        rand_index([0, [1, 2], 1], [0, 1, 2])
    with pytest.raises(SidelightError, match="plain values"):
        rand_index(np.array([{}, {}], dtype=object), [0, 1])


def test_unknown_normalization_is_named():
    with pytest.raises(SidelightError, match="harmonic"):
        normalized_mutual_information([0, 1], [0, 1], "harmonic")


class TestEvaluate:
    def test_on_a_subset_of_rows(self):
        rng = np.random.default_rng(0)
        classes, clusters = rng.integers(0, 3, 40), rng.integers(0, 3, 40)
        rows = rng.choice(40, 17, replace=False)
        mask = np.isin(np.arange(40), rows)
        expected = partition_scores(classes[rows], clusters[rows])
        assert partition_scores(classes, clusters, rows=rows) == pytest.approx(expected)
        assert partition_scores(classes, clusters, rows=mask) == pytest.approx(expected)
        assert partition_scores(list(classes), list(clusters), rows=rows) == pytest.approx(expected)

    def test_rows_outside_the_data_are_named(self):
        with pytest.raises(SidelightError, match="position 7"):
            partition_scores([0, 1], [0, 1], rows=[0, 7])
        with pytest.raises(SidelightError, match="mask"):
            partition_scores([0, 1], [0, 1], rows=[True])

    def test_holds_the_single_scores(self):
        rng = np.random.default_rng(0)
        classes, clusters = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
        scores = partition_scores(classes, clusters)
        for score in [*SYMMETRIC, purity, class_weighted_f, matched_macro_f1]:
            if score is not normalized_mutual_information:
                assert scores[score.__name__] == score(classes, clusters)
        for name in NORMALIZATIONS:
            assert scores[f"nmi_{name}"] == normalized_mutual_information(classes, clusters, name)
        assert (scores["n_classes"], scores["n_clusters"]) == (3, 4)
        assert all(isinstance(value, float) for value in scores.values())


def test_iris_kmeans_gives_the_published_figures():
    """Mallapragada, iris, K-means 89.18; the pair-counting F1 of the same partition: 82.07."""
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    clusters = KMeans(3, n_init=50, random_state=0).fit_predict(X)
    assert round(100 * matched_macro_f1(y, clusters), 2) == 89.18
    assert round(100 * pairwise_f1(y, clusters), 2) == 82.07
