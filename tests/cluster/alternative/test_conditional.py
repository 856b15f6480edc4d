"""The conditional information bottleneck: its limits, its optima, what it finds beside a split."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from experiments.recipes.clusterings import make_several_clusterings, make_two_clusterings
from scipy import sparse
from sklearn.datasets import load_digits
from tests.cluster.alternative.test_bottleneck import (
    FEATURES,
    adjusted_information,
    cells,
    counts,
    informations,
    model_of,
    partitions,
)

from sidelight import KnownSplits, engine
from sidelight._fit import restarts
from sidelight._kernels.cluster.alternative.memberships import information_about_rows
from sidelight.cluster import ConditionalInformationBottleneck, InformationBottleneck, KMeans
from sidelight.cluster.alternative._annealing import _AnnealingState, _step, one_hot
from sidelight.evaluation import (
    adjusted_rand_index,
    clustering_accuracy,
    mutual_information,
    normalized_mutual_information,
    variation_of_information,
)
from sidelight.exceptions import SidelightError


def fit(X, known=None, k=2, **params):
    return ConditionalInformationBottleneck(k, random_state=0, **params).fit(X, known=known)


def grid(n=200, seed=0):
    """Four blobs in a rectangle: left or right, up or down, and the rows."""
    rng = np.random.default_rng(seed)
    left, up = rng.integers(0, 2, (2, n))
    return left, up, np.column_stack((12 * left, 8 * up)) + rng.standard_normal((n, 2))


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("features", FEATURES)
def test_without_known_splits_it_is_the_bottleneck_with_a_larger_weight(features):
    X = counts(80)
    plain = InformationBottleneck(3, features=features, random_state=0).fit(X)
    weighted = fit(X, k=3, features=features, coordination=1.0)
    np.testing.assert_array_equal(weighted.labels_, plain.labels_)
    assert weighted.objective_ == pytest.approx(2 * plain.objective_)
    assert weighted.conditional_information_ == pytest.approx(weighted.information_)
    np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))


def test_uncoordinated_it_is_kmeans_inside_every_class():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1, 2], 60)
    X = (
        rng.standard_normal((180, 3))
        + 7 * rng.standard_normal((3, 3, 3))[z, rng.integers(0, 3, 180)]
    )
    model = fit(X, z, k=3, coordination=0.0)
    for inside in range(3):
        rows = z == inside
        plain = KMeans(3, n_init=10, random_state=0).fit(X[rows])
        assert adjusted_rand_index(model.labels_[rows], plain.labels_) == 1
        np.testing.assert_allclose(
            np.sort([X[rows & (model.labels_ == c)].mean(axis=0) for c in range(3)], axis=0),
            np.sort(plain.cluster_centers_, axis=0),
        )


@pytest.mark.parametrize("features", FEATURES)
def test_with_a_large_weight_it_ignores_what_is_known(features):
    X, z = counts(100), cells(100)
    plain = InformationBottleneck(3, features=features, random_state=0).fit(X)
    model = fit(X, z, k=3, features=features, coordination=1e6, variant="published")
    assert model.information_ == pytest.approx(plain.information_, rel=1e-9)
    assert adjusted_rand_index(model.labels_, plain.labels_) == 1


def test_with_a_large_weight_it_is_kmeans_on_rows_without_the_means_of_the_classes():
    rng = np.random.default_rng(0)
    z, hidden = rng.integers(0, 3, 150), rng.integers(0, 2, 150)
    X = rng.standard_normal((150, 4)) + 20 * rng.standard_normal((3, 4))[z] + 3 * hidden[:, None]
    adjusted = X - np.array([X[z == one].mean(axis=0) for one in z])
    plain = KMeans(2, n_init=10, random_state=0).fit(adjusted)
    model = fit(X, z, coordination=1e6)
    assert adjusted_rand_index(model.labels_, plain.labels_) == 1


# ------------------------------------------------------------------ optima


def terms(X, labels, z, features, variant):
    conditional, plain = informations(X, labels, z, features)
    if variant == "published":
        return conditional, plain
    return conditional, adjusted_information(X, labels, z, features)


@functools.cache
def best_of_all(features, variant, seed):
    """A tiny table with a split, and the largest objective of all its partitions."""
    X, z = counts(9, 4, seed) + 0.5, np.arange(9) % 2
    values = (terms(X, labels, z, features, variant) for labels in partitions(9, 2))
    return X, z, max(conditional + 0.3 * common for conditional, common in values)


@pytest.mark.parametrize("variant", ["default", "published"])
@pytest.mark.parametrize("method", ["annealing", "sequential"])
@pytest.mark.parametrize("features", FEATURES)
def test_optimum_of_tiny_tables(features, method, variant):
    for seed in range(3):
        X, z, best = best_of_all(features, variant, seed)
        model = fit(X, z, features=features, method=method, variant=variant, n_init=30)
        found = terms(X, model.labels_, z, features, variant)
        assert found == pytest.approx(
            (model.conditional_information_, model.coordinated_information_)
        )
        assert model.information_ == pytest.approx(informations(X, model.labels_, z, features)[1])
        assert model.objective_ == pytest.approx(-found[0] - 0.3 * found[1])
        assert -model.objective_ == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("method", ["annealing", "sequential"])
def test_optimum_with_a_price_on_redundancy(method):
    X, z = counts(9, 4) + 0.5, np.arange(9) % 2
    best = max(
        conditional + 0.3 * plain - mutual_information(labels, z)
        for labels in partitions(9, 2)
        for conditional, plain in [informations(X, labels, z, "multinomial")]
    )
    model = fit(
        *(X, z),
        **{"features": "multinomial", "lagrangian": 2, "method": method, "n_init": 30},
        variant="published",
    )
    assert -model.objective_ == pytest.approx(best, rel=1e-9)


# ------------------------------------------------------------------ what it finds


@pytest.mark.parametrize("params", [{}, {"method": "sequential"}, {"lagrangian": 2}])
@pytest.mark.parametrize("known_as", ["product", "regression"])
def test_beside_left_and_right_it_finds_up_and_down(known_as, params):
    if known_as == "regression" and params:
        return
    left, up, X = grid()
    model = fit(X, left, known_as=known_as, **params)
    assert adjusted_rand_index(model.labels_, up) == 1
    assert adjusted_rand_index(InformationBottleneck(2, features="gaussian").fit(X).labels_, left)
    np.testing.assert_array_equal(model.predict(X, known=left), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("variant", ["default", "published"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_second_of_two_clusterings(k, variant):
    data = make_two_clusterings(400, n_clusters=k, random_state=0)
    model = fit(data.data, data.extras["known"], k=k, features="multinomial", variant=variant)
    assert clustering_accuracy(data.target, model.labels_) > 0.95


@pytest.mark.parametrize("method", ["annealing", "sequential"])
def test_adjusted_it_finds_what_the_known_split_hides(method):
    """Where the known clustering is the stronger one, the published objective repeats it."""
    data = make_two_clusterings(500, orthogonality=0.25, n_draws=1000, random_state=0)
    known = data.extras["known"]
    options = {"features": "multinomial", "method": method}
    model = fit(data.data, known, **options)
    assert clustering_accuracy(data.target, model.labels_) > 0.95
    published = fit(data.data, known, variant="published", **options)
    assert clustering_accuracy(known, published.labels_) > 0.95


def test_three_clusterings_one_after_the_other():
    data = make_several_clusterings(400, n_features=(12, 10, 8), noise=0.05, random_state=0)
    found: dict[str, np.ndarray] = {}
    truth = list(data.extras["clusterings"].T)
    for number in range(3):
        labels = fit(data.data, found or None, k=3).labels_
        nearest = max(range(len(truth)), key=lambda t: adjusted_rand_index(truth[t], labels))
        assert adjusted_rand_index(truth.pop(nearest), labels) > 0.85
        for other in found.values():
            most = mutual_information(labels, labels) + mutual_information(other, other)
            assert variation_of_information(labels, other) > 0.97 * most
        found[f"clustering {number}"] = labels


def test_digits_beside_their_clusters():
    X = load_digits().data
    known = KMeans(10, n_init=3, random_state=0).fit(X).labels_
    plain = InformationBottleneck(10, features="gaussian", n_init=3, random_state=0).fit(X)
    model = fit(X, known, k=10, n_init=3)
    assert normalized_mutual_information(known, plain.labels_) > 0.8
    assert normalized_mutual_information(known, model.labels_) < 0.1
    assert model.conditional_information_ > 1.5 * (plain_beside(X, plain.labels_, known))
    np.testing.assert_array_equal(model.labels_, fit(1000 * X, known, k=10, n_init=3).labels_)


def plain_beside(X, labels, known):
    """What a clustering says beside the known one."""
    return informations(X, labels.astype(int), known.astype(int), "gaussian")[0]


def test_noise_columns_are_not_followed():
    """Numbers are known: the result must not follow them, although most features do."""
    rng = np.random.default_rng(0)
    brightness, hidden = rng.standard_normal(300), rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 6)) * 0.5
    X[:, :4] += 3 * brightness[:, None]
    X[:, 4:] += 2 * hidden[:, None]
    plain = InformationBottleneck(2, features="gaussian", random_state=0).fit(X)
    model = fit(X, {"brightness": brightness})
    assert adjusted_rand_index(plain.labels_, hidden) < 0.1
    assert adjusted_rand_index(model.labels_, hidden) > 0.95
    np.testing.assert_array_equal(model.predict(X, known={"brightness": brightness}), model.labels_)


# ------------------------------------------------------------------ rows, threads, new rows


@pytest.mark.parametrize("known_as", ["product", "regression"])
@pytest.mark.parametrize("features", FEATURES)
def test_sparse_equals_dense(features, known_as):
    X, z = counts(80, 8), cells(80, k=2)
    # Adjusted, dense rows are moved one by one at the end, and sparse ones are not.
    options = {"features": features, "known_as": known_as, "n_init": 2, "variant": "published"}
    dense, thin = fit(X, z, **options), fit(sparse.csr_array(X), z, **options)
    np.testing.assert_array_equal(thin.labels_, dense.labels_)
    assert thin.objective_ == pytest.approx(dense.objective_)
    np.testing.assert_array_equal(
        thin.predict(sparse.csr_array(X), known=z), dense.predict(X, known=z)
    )


def test_known_splits_are_found_by_the_index():
    left, up, X = grid(100)
    names = [f"row {i}" for i in range(100)]
    table = pd.DataFrame(X, columns=["x", "y"], index=names)
    shuffled = np.random.default_rng(0).permutation(100)
    known = KnownSplits({"side": left[shuffled]}, ids=[names[i] for i in shuffled])
    model = fit(table, known)
    assert adjusted_rand_index(model.labels_, up) == 1
    np.testing.assert_array_equal(model.predict(table, known=known), model.labels_)


def test_new_rows_with_classes_in_another_order_and_unseen_ones():
    left, _, X = grid(100)
    side = np.array(["left", "right"])[left]
    model = fit(X, {"side": side})
    for rows in (np.arange(99, 40, -1), np.flatnonzero(left == 1)[:5], np.array([3])):
        found = model.predict(X[rows], known={"side": side[rows]})
        np.testing.assert_array_equal(found, model.labels_[rows])
    unseen = model.predict(X, known={"side": np.full(100, "middle")})
    np.testing.assert_array_equal(unseen, model.predict(X))


@pytest.mark.parametrize("features", ["gaussian", "multinomial", "poisson"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lagrangian": 2},
        {"known_as": "regression"},
        {"variant": "published"},
        {"method": "sequential"},
        {"item_weight": "length"},
    ],
    ids=str,
)
def test_rows_of_the_fit_are_predicted_where_they_are(features, options):
    if options.get("item_weight") and features != "multinomial":
        pytest.skip("only shares have lengths")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        side, height = rng.integers(0, 2, (2, 120))
        X = np.column_stack((4 * side, 2 * height)) + rng.normal(size=(120, 2))
        if features != "gaussian":
            X = 1 + rng.poisson(np.exp(0.5 * X))
        model = ConditionalInformationBottleneck(
            3, features=features, n_init=3, random_state=0, **options
        )
        model.fit(X, known=side)
        if options.get("lagrangian") == 2:  # its price is about all rows at once: ties may differ
            assert np.mean(model.predict(X, known=side) == model.labels_) > 0.95
            continue
        np.testing.assert_array_equal(model.predict(X, known=side), model.labels_)
        if options.get("known_as") is None:
            np.testing.assert_array_equal(model.fit(X).predict(X), model.labels_)


def test_new_rows_of_unknown_class_go_where_they_fit_in_any_class():
    rng = np.random.default_rng(0)
    side, height = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    X = np.column_stack((9 * side, 3 * height)) + rng.normal(size=(600, 2))
    model = ConditionalInformationBottleneck(3, random_state=0).fit(X[:300], known=side[:300])
    known = adjusted_rand_index(height[300:], model.predict(X[300:], known=side[300:]))
    # The sides are far apart, so that the rows tell theirs; shares of the sides that differ by
    # chance move the overall centers, which must not order the rows by side.
    assert adjusted_rand_index(height[300:], model.predict(X[300:])) == pytest.approx(
        known, abs=0.01
    )


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("known_as", ["product", "regression"])
def test_pickled_models_predict_the_same(features, known_as):
    X, z = counts(60), cells(60)
    known = {"z": z, "other": cells(60, seed=9, k=2)}
    model = fit(X, known, features=features, known_as=known_as, n_init=2)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X, known=known), model.predict(X, known=known))


# ------------------------------------------------------------------ bad input


def test_known_splits_that_nothing_can_differ_from():
    X = counts(30)
    with pytest.raises(SidelightError, match="in all 30 rows"):
        fit(X, np.zeros(30))
    with pytest.raises(SidelightError, match="differs in all 30 rows"):
        fit(X, [f"row {i}" for i in range(30)])
    with pytest.raises(SidelightError, match="20 rows, and there are 30 rows"):
        fit(X, np.arange(20) % 2)


def test_too_many_cells():
    X = counts(30)
    known = {"a": np.arange(30) % 5, "b": np.arange(30) % 6}
    with pytest.raises(SidelightError, match=r"30 cells.*known_as"):
        fit(X, known)
    assert fit(X, known, known_as="regression", n_init=1).converged_


def test_numbers_need_a_regression():
    X, age = counts(30), np.random.default_rng(0).standard_normal(30)
    with pytest.raises(SidelightError, match=r"'age' are numbers.*known_as=regression"):
        fit(X, {"age": age}, known_as="product")
    with pytest.raises(SidelightError, match="method=sequential needs the means"):
        fit(X, {"age": age}, method="sequential")
    with pytest.raises(SidelightError, match="lagrangian=2 counts the rows"):
        fit(X, {"age": age}, lagrangian=2)
    with pytest.raises(SidelightError, match="12 columns of a regression of 30 rows"):
        fit(X, [cells(30, seed, 4) for seed in range(4)], known_as="regression")


def test_other_splits_for_new_rows():
    left, _, X = grid(60)
    model = fit(X, {"side": left})
    with pytest.raises(SidelightError, match="fitted with the known splits 'side'"):
        model.predict(X, known={"height": left})
    with pytest.raises(SidelightError, match="about 10 rows, and there are 60 rows"):
        model.predict(X, known={"side": left[:10]})


def test_bad_counts_are_named():
    X = counts(20)
    X[4, 1] = -3
    with pytest.raises(SidelightError, match="row 4 holds -3"):
        fit(X, np.arange(20) % 2, features="multinomial")
    X[4] = 0
    with pytest.raises(SidelightError, match="Row 4 holds zeros"):
        fit(X, np.arange(20) % 2, features="multinomial")


# --- what it is made of ---


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("features", FEATURES)
def test_names_of_clusters_within_classes_do_not_change_the_conditional_information(features):
    X, z = counts(), cells(40)
    labels = cells(40, seed=7)
    renamed = np.where(z == 1, (labels + 1) % 3, labels)
    model = model_of(X, z, features)
    before, after = (
        model.informations(model.sums(one_hot(one[model.order], 3))) for one in (labels, renamed)
    )
    assert after[0] == pytest.approx(before[0], abs=1e-12)
    assert after[1] != pytest.approx(before[1])


@pytest.mark.parametrize("features", ["gaussian", "multinomial"])
def test_order_of_the_rows_does_not_matter_to_the_model(features):
    X, z = counts(), cells(40)
    labels, order = cells(40, seed=7), np.random.default_rng(0).permutation(40)
    one = model_of(X, z, features)
    other = model_of(X[order], z[order], features)
    assert one.energy(one.sums(one_hot(labels[one.order], 3))) == pytest.approx(
        other.energy(other.sums(one_hot(labels[order][other.order], 3)))
    )


# ------------------------------------------------------------------ optima


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("features", FEATURES)
def test_shortened_steps_never_raise_the_free_energy(features, adjusted):
    X, z = counts(60), cells(60)
    model = model_of(X, z, features, redundancy=5.0, adjusted=adjusted)
    for temperature in (0.05, 1.0):
        q = np.random.default_rng(0).dirichlet(np.ones(3), 60)
        sums = model.sums(q)
        state = _AnnealingState(q, sums, model.fit(sums))
        energies = []
        for _ in range(60):
            about_rows = information_about_rows(state.q, model.masses)
            energies.append(state.tables.energy + temperature * about_rows)
            state, _, _ = _step(model, state, temperature)
        assert np.all(np.diff(energies) <= 1e-12 * np.abs(energies[:-1]))
        assert energies[-1] < energies[0]


# ------------------------------------------------------------------ rows, threads, new rows


def test_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(restarts, "FEW_NUMBERS", 0)
    X, z = counts(200, 12), cells(200)
    fits = []
    for n_threads in (1, 2, 3):
        with engine.threads(n_threads):
            fits.append(fit(X, z, k=3, n_init=4, features="multinomial"))
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        np.testing.assert_array_equal(other.history_, fits[0].history_)
