"""Conditional ensembles: the identity of the combination, its limits, bases of all kinds."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, MeanShift
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.mixture import GaussianMixture as SklearnMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight.cluster import CondEns, KMeans, find_alternatives
from sidelight.cluster.alternative._median_partition import (
    Labelings,
    category_utility,
    directions_of_cells,
    median_partition,
)
from sidelight.evaluation import (
    adjusted_mutual_information,
    adjusted_rand_index,
    normalized_mutual_information,
)
from sidelight.exceptions import ConstraintWarning, InvalidParameter, SidelightError
from sidelight.mixture import GaussianMixture


def grid(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four blobs: left and right far apart, up and down nearer to each other."""
    rng = np.random.default_rng(seed)
    side, height = rng.integers(0, 2, n), rng.integers(0, 2, n)
    X = np.column_stack([side * 9.0, height * 5.0, np.zeros(n)]) + rng.normal(size=(n, 3))
    return X, side, height


def loss(labels: np.ndarray, clusters: np.ndarray, weights: np.ndarray) -> float:
    """Mean squared distance of the weighted indicators to the means of their clusters."""
    total = 0.0
    for one, weight in zip(labels.T, weights, strict=True):
        block = np.eye(one.max() + 1)[one]
        for cluster in np.unique(clusters):
            members = block[clusters == cluster]
            total += weight * ((members - members.mean(axis=0)) ** 2).sum()
    return total / len(labels)


def test_objective_is_the_loss_of_the_combination() -> None:
    X, side, _ = grid()
    for weighting in ("size", "equal"):
        model = CondEns(2, class_weight=weighting, random_state=0).fit(X, known=side)
        labels = np.column_stack([local.predict(X) for local in model.local_models_])
        sizes = np.bincount(side) / np.bincount(side).mean()
        weights = sizes if weighting == "size" else np.ones(2)
        assert model.objective_ == pytest.approx(loss(labels, model.labels_, weights))


def test_one_class_is_the_base_clustering() -> None:
    X, _, _ = grid()
    model = CondEns(4, random_state=0).fit(X)
    base = model.local_models_[0]
    assert isinstance(base, KMeans)
    assert adjusted_rand_index(base.labels_, model.labels_) == 1.0
    assert model.objective_ == pytest.approx(0.0)
    assert model.local_agreement_ == pytest.approx([1.0])
    assert adjusted_rand_index(KMeans(4, random_state=1).fit(X).labels_, model.labels_) == 1.0


class Renaming(KMeans):
    """k-means that calls its clusters otherwise."""

    def predict(self, X: object) -> np.ndarray:
        return np.array([40, -1, 7])[super().predict(X)]


def test_names_of_local_clusters_do_not_matter() -> None:
    X, side, _ = grid()
    model = CondEns(3, estimator=KMeans(), random_state=0).fit(X, known=side)
    renamed = CondEns(3, estimator=Renaming(), random_state=0).fit(X, known=side)
    np.testing.assert_array_equal(renamed.labels_, model.labels_)
    np.testing.assert_array_equal(renamed.predict(X[:30]), model.predict(X[:30]))
    assert renamed.objective_ == model.objective_


def test_the_other_factor_of_a_grid_is_found() -> None:
    X, side, height = grid()
    plain = CondEns(2, random_state=0).fit(X)
    assert adjusted_rand_index(side, plain.labels_) > 0.95
    model = CondEns(2, random_state=0).fit(X, known=np.array(["left", "right"])[side])
    assert adjusted_rand_index(height, model.labels_) > 0.9
    assert adjusted_rand_index(side, model.labels_) < 0.05
    assert (model.local_agreement_ > 0.9).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


BASES = {
    "scikit-learn's k-means": SklearnKMeans(n_init=2),
    "a mixture": GaussianMixture(n_components=1),
    "scikit-learn's mixture": SklearnMixture(),
    "a pipeline": make_pipeline(StandardScaler(), SklearnKMeans(n_init=1)),
    "one that finds its number": MeanShift(bandwidth=2.5),
}


@pytest.mark.parametrize("base", BASES.values(), ids=list(BASES))
def test_any_base_with_predict(base: object) -> None:
    X, side, height = grid()
    model = CondEns(2, estimator=base, random_state=0).fit(X, known=side)
    assert adjusted_rand_index(height, model.labels_) > 0.9
    again = CondEns(2, estimator=base, random_state=0).fit(X, known=side)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(X[:9]), model.labels_[:9])


def test_bases_that_cannot_do_it_are_refused_in_words() -> None:
    X, side, _ = grid(40)
    with pytest.raises(InvalidParameter, match="AgglomerativeClustering has no predict"):
        CondEns(2, estimator=AgglomerativeClustering()).fit(X, known=side)
    with pytest.raises(InvalidParameter, match=r"such as KMeans\(\)"):
        CondEns(2, estimator=KMeans).fit(X, known=side)
    with pytest.raises(InvalidParameter, match="MeanShift has no n_clusters"):
        CondEns(2, estimator=MeanShift(), n_local=3).fit(X, known=side)


def test_sparse_rows_equal_dense_ones() -> None:
    X, side, _ = grid()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = CondEns(2, random_state=0).fit(X, known=side)
    thin = CondEns(2, random_state=0).fit(sparse.csr_matrix(X), known=side)
    assert adjusted_rand_index(dense.labels_, thin.labels_) == 1.0
    assert thin.score_ == pytest.approx(dense.score_)
    with pytest.raises(SidelightError, match="takes no sparse rows"):
        CondEns(2, estimator=MeanShift()).fit(sparse.csr_matrix(X), known=side)


def test_small_classes_look_for_fewer_clusters_and_say_so() -> None:
    X, side, height = grid()
    known = np.array(["left", "right"])[side].astype(object)
    known[:2], known[2] = "pair", "alone"
    with pytest.warns(
        ConstraintWarning, match=r"2 known classes .* known = alone \(1 row\), known = pair"
    ):
        model = CondEns(3, random_state=0).fit(X, known=known)
    assert model.local_models_[0] is None
    assert np.isnan(model.local_agreement_[0])
    assert len(np.unique(model.local_models_[2].labels_)) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        two = CondEns(2, random_state=0).fit(X, known=known)
    assert adjusted_rand_index(height, two.labels_) > 0.8


def test_local_numbers() -> None:
    X, side, height = grid()
    model = CondEns(2, n_local=[2, 4], random_state=0).fit(X, known=side)
    assert [len(one.cluster_centers_) for one in model.local_models_] == [2, 4]
    assert adjusted_rand_index(height, model.labels_) > 0.8
    with pytest.raises(InvalidParameter, match="one for each of the 2 classes"):
        CondEns(2, n_local=[2, 2, 2]).fit(X, known=side)
    with pytest.raises(InvalidParameter, match="at least 1"):
        CondEns(2, n_local=[2, 0]).fit(X, known=side)


def test_columns_of_numbers_are_refused() -> None:
    X, _, _ = grid()
    with pytest.raises(SidelightError, match="'age' holds numbers, and this method avoids classes"):
        CondEns(2).fit(X, known={"age": np.linspace(0.5, 9.7, len(X))})


def three_factors(n: int = 400) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(4)
    factors = [rng.integers(0, 2, n) for _ in range(3)]
    X = np.column_stack([12 * factors[0], 8 * factors[1], 5 * factors[2]])
    return X + rng.normal(size=X.shape), factors


def test_three_independent_splits_are_found_one_after_the_other() -> None:
    X, factors = three_factors()
    found = find_alternatives(CondEns(2, random_state=0), X, 3)
    for model, factor in zip(found, factors, strict=True):
        assert adjusted_rand_index(factor, model.labels_) > 0.9


def test_alternatives_to_a_known_split() -> None:
    X, factors = three_factors()
    estimator = CondEns(2, random_state=0)
    found = find_alternatives(estimator, X, 2, known={"first": factors[0]})
    assert adjusted_rand_index(factors[1], found[0].labels_) > 0.9
    assert adjusted_rand_index(factors[2], found[1].labels_) > 0.9
    assert not hasattr(estimator, "labels_")


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.ConstraintWarning")
def test_alternatives_that_cannot_be_found() -> None:
    X, _ = three_factors()
    noise = np.random.default_rng(0).normal(size=(60, 10))
    with pytest.raises(
        SidelightError, match=r"Alternative 3 of 3 .* Or ask for 2 alternatives only"
    ):
        find_alternatives(CondEns(6, random_state=0), noise, 3)
    with pytest.raises(SidelightError, match="all rows into one cluster"):
        find_alternatives(CondEns(1), X, 2)
    assert len(find_alternatives(CondEns(1), X, 1)) == 1
    for wrong in (0, 1.5, True):
        with pytest.raises(InvalidParameter, match="n_alternatives must be"):
            find_alternatives(CondEns(2), X, wrong)


def skewed(seed: int) -> np.ndarray:
    """Two independent columns of three groups each: three clusters of both cut across them."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, (200, 2))
    return groups * [9.0, 7.0] + rng.normal(size=(200, 2))


def nmi(one: np.ndarray, other: np.ndarray) -> float:
    return normalized_mutual_information(one, other)


@pytest.mark.parametrize("seed", range(4))
def test_a_second_alternative_does_not_follow_the_first(seed: int) -> None:
    X = skewed(seed)
    first = KMeans(3, random_state=seed).fit(X).labels_
    published = CondEns(3, variant="published", random_state=seed).fit(X, known=first)
    ours = CondEns(3, random_state=seed).fit(X, known=first)
    assert nmi(first, published.labels_) > 0.15 > nmi(first, ours.labels_)
    assert ours.restarts_["redundancy"].min() == pytest.approx(nmi(first, ours.labels_), abs=0.1)
    assert ours.n_left_out_ > 0 == published.n_left_out_
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)


def test_repetition_is_told_with_the_split_and_the_figure() -> None:
    X = skewed(0)
    # The published combination repeats the first split; its figure is the one that is measured.
    with pytest.warns(ConstraintWarning, match="'alternative 1'") as caught:
        first, second = find_alternatives(CondEns(3, variant="published", random_state=0), X, 2)
    share = adjusted_mutual_information(first.labels_, second.labels_)
    assert f"share {share:.2f} of" in str(caught[0].message)
    independent, _ = three_factors()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_alternatives(CondEns(2, random_state=0), independent, 3)


def test_independent_labelings_are_combined_as_published() -> None:
    X, side, _ = grid()
    ours = CondEns(2, random_state=0).fit(X, known=side)
    published = CondEns(2, variant="published", random_state=0).fit(X, known=side)
    np.testing.assert_array_equal(ours.labels_, published.labels_)
    assert ours.n_left_out_ == 0


# --- what it is made of ---


def combine(labels: np.ndarray, n_clusters: int, weights: np.ndarray | None = None) -> np.ndarray:
    sizes = labels.max(axis=0) + 1
    given_weights = np.ones(labels.shape[1]) if weights is None else weights
    return median_partition(
        Labelings.of(list(labels.T), sizes), given_weights, n_clusters, 0
    ).labels


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_squared_error_is_the_impurity_that_category_utility_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.column_stack([rng.integers(0, k, 30) for k in (2, 3, 4)])
    clusters = rng.integers(0, 3, 30)
    weights = rng.uniform(0.2, 3, 3)
    impurity = [1 - np.sum((np.bincount(one) / 30) ** 2) for one in labels.T]
    utility = [category_utility(clusters, one) for one in labels.T]
    expected = float(weights @ (np.array(impurity) - utility))
    assert loss(labels, clusters, weights) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_no_partition_is_nearer_to_the_labelings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.column_stack([rng.integers(0, 2, 8), rng.integers(0, 3, 8), rng.integers(0, 2, 8)])
    weights = np.array([1.0, 0.5, 1.5])
    every = (np.array(one) for one in itertools.product(range(2), repeat=8))
    best = min(loss(labels, one, weights) for one in every)
    found = min(
        loss(
            labels,
            median_partition(
                Labelings.of(list(labels.T), labels.max(axis=0) + 1), weights, 2, start
            ).labels,
            weights,
        )
        for start in range(8)
    )
    assert found == pytest.approx(best)


def test_labelings_that_agree_are_their_combination() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 60)
    labels = np.column_stack([rng.permutation(4)[truth] for _ in range(3)])
    assert adjusted_rand_index(truth, combine(labels, 4)) == 1.0


def test_weights_of_classes_count() -> None:
    """A large class outvotes a small one by its weight, and does not with equal weights."""
    labels = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]).T
    heavy = combine(labels, 2, np.array([5.0, 0.1]))
    assert adjusted_rand_index(labels[:, 0], heavy) == 1.0
    other = combine(labels, 2, np.array([0.1, 5.0]))
    assert adjusted_rand_index(labels[:, 1], other) == 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_without_the_directions_left_out_known_classes_have_equal_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 3, 60)
    cells[:3] = range(3)
    labels = np.column_stack([(rng.integers(0, k, 60) + cells) % k for k in (3, 4, 3)])
    sizes, weights = labels.max(axis=0) + 1, rng.uniform(0.5, 2, 3)
    labelings = Labelings.of(list(labels.T), sizes)
    directions = directions_of_cells(labelings, weights, cells)
    points = np.asarray(labelings.indicators(weights))[labelings.of_row]
    left = points - points @ directions.T @ directions
    for cell in range(3):
        assert left[cells == cell].mean(axis=0) == pytest.approx(left.mean(axis=0), abs=1e-9)
    assert directions @ directions.T == pytest.approx(np.eye(len(directions)), abs=1e-9)
