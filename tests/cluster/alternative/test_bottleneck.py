"""The information bottleneck: steps, moves, optima of tiny tables, k-means as its limit."""

import functools
from itertools import product

import numpy as np
import pytest
from experiments.recipes.clusterings import make_two_clusterings
from scipy import sparse
from scipy.special import xlogy

from sidelight import engine
from sidelight._fit import restarts
from sidelight._kernels.cluster.alternative.insertion import row_losses
from sidelight._kernels.cluster.alternative.memberships import information_about_rows, soften
from sidelight.cluster import InformationBottleneck, KMeans
from sidelight.cluster.alternative import _annealing
from sidelight.cluster.alternative._annealing import critical_temperature, one_hot
from sidelight.cluster.alternative._bottleneck_cells import CellModel
from sidelight.cluster.alternative._bottleneck_features import prepare_items
from sidelight.cluster.alternative._sequential import expectations_of, groups_of, reinsert
from sidelight.constraints import Constraints
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import SidelightError

FEATURES = ("gaussian", "multinomial", "poisson")


def counts(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(d, 0.5), 3)[rng.integers(0, 3, n)]
    return np.array([rng.multinomial(rng.integers(5, 30), share) for share in shares], dtype=float)


def informations(X, labels, z, features, weights=None):
    """``I(C;F|Z)`` and ``I(C;F)`` by their definitions, in whole sums over rows."""
    p = np.full(len(X), 1 / len(X)) if weights is None else weights / weights.sum()
    values = X / X.sum(axis=1, keepdims=True) if features == "multinomial" else X

    def saved(rows):
        """Cost of the rows at their common mean."""
        mass = p[rows].sum()
        mean = p[rows] @ values[rows] / mass
        if features == "gaussian":
            return float(p[rows] @ np.sum((values[rows] - mean) ** 2, axis=1))
        return float(mass * np.sum(mean) - np.sum(xlogy(p[rows] @ values[rows], mean)))

    def total(groups):
        return sum(saved(np.flatnonzero(groups == group)) for group in np.unique(groups))

    joint = z * (labels.max() + 1) + labels
    return total(z) - total(joint), total(np.zeros(len(X))) - total(labels)


# ------------------------------------------------------------------ moves


def partitions(n, k):
    """All labelings of n rows by k names, up to the names of the first."""
    for labels in product(range(k), repeat=n - 1):
        yield np.array((0, *labels))


@functools.cache
def best_of_all(features, seed):
    """A tiny table and the largest information of all its partitions."""
    X = counts(8, 4, seed) + 0.5
    nothing = np.zeros(8, dtype=int)
    return X, max(informations(X, labels, nothing, features)[1] for labels in partitions(8, 3))


@pytest.mark.parametrize("method", ["annealing", "sequential"])
@pytest.mark.parametrize("features", FEATURES)
def test_optimum_of_tiny_tables(features, method):
    for seed in range(2):
        X, best = best_of_all(features, seed)
        model = InformationBottleneck(
            3, features=features, method=method, n_init=20, random_state=seed
        ).fit(X)
        assert model.information_ == pytest.approx(best, rel=1e-9)
        assert model.objective_ == pytest.approx(-best, rel=1e-9)


# ------------------------------------------------------------------ the estimator


def test_squared_distances_make_it_kmeans():
    X, y = np.random.default_rng(0).standard_normal((300, 4)), np.arange(300) % 4
    X += 4 * np.eye(4)[y]
    model = InformationBottleneck(4, features="gaussian", random_state=0).fit(X)
    plain = KMeans(4, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_index(model.labels_, plain.labels_) == 1
    total = np.sum(X.var(axis=0))
    assert model.information_ == pytest.approx(total - plain.objective_ / 300)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("features", ["multinomial", "poisson"])
def test_rows_of_the_fit_are_predicted_where_they_are(features):
    for seed in range(4):
        X = 1 + np.random.default_rng(seed).poisson(1.0, size=(120, 6))
        model = InformationBottleneck(5, features=features, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_units_do_not_matter():
    X = np.random.default_rng(1).standard_normal((200, 3)) + 3 * np.eye(3)[np.arange(200) % 3]
    labels = [
        InformationBottleneck(3, features="gaussian", random_state=0).fit(scale * X + shift).labels_
        for scale, shift in ((1.0, 0.0), (1e-6, 0.0), (1e6, 5e6))
    ]
    np.testing.assert_array_equal(labels[1], labels[0])
    assert adjusted_rand_index(labels[2], labels[0]) == 1


@pytest.mark.parametrize("method", ["annealing", "sequential"])
@pytest.mark.parametrize("features", FEATURES)
def test_sparse_equals_dense(features, method):
    X = counts(80, 10)
    options = {"features": features, "method": method, "n_init": 2, "random_state": 0}
    dense = InformationBottleneck(3, **options).fit(X)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = InformationBottleneck(3, **options).fit(kind(X))
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_allclose(thin.cluster_centers_, dense.cluster_centers_, atol=1e-12)
        assert thin.objective_ == pytest.approx(dense.objective_)
        np.testing.assert_array_equal(thin.predict(kind(X)), dense.predict(X))


def test_lengths_of_rows_do_not_matter_and_with_item_weight_they_do():
    X = counts(50)
    longer = X * np.random.default_rng(0).integers(1, 9, (50, 1))
    plain = InformationBottleneck(3, random_state=0).fit(X)
    same = InformationBottleneck(3, random_state=0).fit(longer)
    np.testing.assert_array_equal(same.labels_, plain.labels_)
    assert same.information_ == pytest.approx(plain.information_)
    heavy = InformationBottleneck(3, item_weight="length", random_state=0)
    assert heavy.fit(longer).information_ != pytest.approx(heavy.fit(X).information_)


def test_words_that_a_cluster_never_had_do_not_exclude_it():
    X = np.array([[9.0, 1, 0, 0], [8, 2, 0, 0], [0, 0, 5, 5], [0, 0, 4, 6]])
    model = InformationBottleneck(2, random_state=0).fit(X)
    assert model.predict([[9.0, 1, 1, 0]])[0] == model.labels_[0]
    assert model.predict([[1.0, 0, 4, 4]])[0] == model.labels_[2]


def test_counts_of_two_clusterings():
    data = make_two_clusterings(300, n_clusters=2, n_draws=200, random_state=0)
    model = InformationBottleneck(4, random_state=0).fit(data.data)
    both = 2 * data.target + data.extras["known"]
    assert adjusted_rand_index(model.labels_, both) > 0.98


def test_history_of_annealing_ends_in_the_objective():
    X = counts(60)
    model = InformationBottleneck(3, n_init=3, random_state=0).fit(X)
    assert model.history_[-1] == model.objective_
    assert model.converged_
    short = InformationBottleneck(3, n_init=1, max_iter=3, random_state=0).fit(X)
    assert not short.converged_
    assert np.isfinite(short.objective_)


def test_float32_stays():
    X = counts(60)
    model = InformationBottleneck(3, n_init=2, random_state=0).fit(X.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    plain = InformationBottleneck(3, n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


# ------------------------------------------------------------------ bad input


def test_bad_counts():
    X = counts(20)
    with pytest.raises(SidelightError, match=r"row 3 holds -2.*features=gaussian"):
        InformationBottleneck(2).fit(np.where(np.arange(20)[:, None] == 3, -2.0, X))
    thin = sparse.csr_matrix(X)
    thin.data[thin.indptr[4]] = -1.0
    with pytest.raises(SidelightError, match=r"row 4 holds -1"):
        InformationBottleneck(2).fit(thin)
    X[7] = X[9] = 0
    with pytest.raises(SidelightError, match=r"Row 7 holds zeros only, and 1 more.*poisson"):
        InformationBottleneck(2).fit(X)
    assert InformationBottleneck(2, features="poisson", random_state=0).fit(X).converged_
    model = InformationBottleneck(2, random_state=0).fit(X[:6])
    with pytest.raises(SidelightError, match="Row 0 holds zeros only"):
        model.predict(np.zeros((1, 6)))


def test_lengths_of_measurements_are_no_weights():
    with pytest.raises(SidelightError, match="item_weight=length weighs rows of counts"):
        InformationBottleneck(2, features="gaussian", item_weight="length").fit(counts(9))


@pytest.mark.parametrize("features", FEATURES)
def test_rows_that_are_all_the_same(features):
    X = np.ones((12, 3))
    model = InformationBottleneck(3, features=features, random_state=0).fit(X)
    assert model.information_ == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(model.cluster_centers_).all()
    assert set(model.predict(X)) <= {0, 1, 2}


# --- what it is made of ---


def items_of(X, features, item_weight="uniform"):
    return prepare_items(X, features, item_weight, Constraints(n_samples=X.shape[0]))


def model_of(
    X, z, features, *, coordination=0.3, redundancy=0.0, item_weight="uniform", adjusted=False
):
    items = items_of(X, features, item_weight)
    return CellModel(items, z, coordination=coordination, redundancy=redundancy, adjusted=adjusted)


def adjusted_information(X, labels, z, features):
    """What one effect of every cluster explains beside the known classes, by its definition."""
    values = X / X.sum(axis=1, keepdims=True) if features == "multinomial" else X
    known = np.array([values[z == one].mean(axis=0) for one in z])
    saved = 0.0
    for c in np.unique(labels):
        rows = labels == c
        if features == "gaussian":
            effect = (values[rows] - known[rows]).mean(axis=0)
            fitted = known[rows] + effect
            before, after = ((values[rows] - mean) ** 2 for mean in (known[rows], fitted))
        else:
            effect = values[rows].sum(axis=0) / known[rows].sum(axis=0)
            fitted = known[rows] * effect
            before, after = (mean - xlogy(values[rows], mean) for mean in (known[rows], fitted))
        saved += float(np.sum(before - after)) / len(X)
    return saved


def cells(n, seed=1, k=3):
    return np.random.default_rng(seed).integers(0, k, n)


# ------------------------------------------------------------------ the model


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("item_weight", ["uniform", "length"])
def test_energy_is_the_information_by_definition(features, item_weight):
    if item_weight == "length" and features != "multinomial":
        return
    X, z = counts(), cells(40)
    labels = cells(40, seed=5)
    model = model_of(X, z, features, item_weight=item_weight)
    sums = model.sums(one_hot(labels[model.order], 3))
    weights = X.sum(axis=1) if item_weight == "length" else None
    conditional, plain = informations(X, labels, z, features, weights)
    assert model.informations(sums) == pytest.approx((conditional, plain), abs=1e-12)
    assert model.energy(sums) == pytest.approx(-conditional - 0.3 * plain, abs=1e-12)
    assert model.fit(sums).energy == pytest.approx(model.energy(sums), abs=1e-14)


@pytest.mark.parametrize("features", FEATURES)
def test_adjusted_energy_is_the_information_by_definition(features):
    X, z, labels = counts(), cells(40), cells(40, seed=5)
    model = model_of(X, z, features, adjusted=True)
    sums = model.sums(one_hot(labels[model.order], 3))
    common = adjusted_information(X, labels, z, features)
    conditional = informations(X, labels, z, features)[0]
    assert model.common(sums).information == pytest.approx(common, abs=1e-12)
    assert 0 < common <= conditional
    assert model.energy(sums) == pytest.approx(-conditional - 0.3 * common, abs=1e-12)
    assert model.fit(sums).energy == pytest.approx(model.energy(sums), abs=1e-14)


@pytest.mark.parametrize("features", FEATURES)
def test_adjustment_changes_nothing_for_independent_clusters_and_all_for_a_repeated_split(features):
    X = counts(60)
    z, labels = np.arange(60) % 3, np.arange(60) // 3 % 2
    model = model_of(X, z, features, adjusted=True)
    sums = model.sums(one_hot(labels[model.order], 2))
    assert model.common(sums).information == pytest.approx(model.informations(sums)[1], abs=1e-12)
    repeated = model.sums(one_hot(z[model.order], 3))
    assert model.common(repeated).information == pytest.approx(0.0, abs=1e-12)
    assert model.informations(repeated)[1] > 0


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("temperature", [0.003, 0.1])
def test_free_energy_never_rises_at_a_fixed_temperature(features, adjusted, temperature):
    X, z = counts(), cells(40)
    model = model_of(X, z, features, adjusted=adjusted)
    temperature *= critical_temperature(model, np.random.RandomState(0)) * 10
    for seed in range(3):
        q = np.random.default_rng(seed).dirichlet(np.ones(3), 40)
        energies = []
        for _ in range(40):
            sums = model.sums(q)
            tables = model.fit(sums)
            energies.append(tables.energy + temperature * information_about_rows(q, model.masses))
            new = np.empty_like(q)
            soften(model.costs(tables), np.log(sums.cluster_masses), temperature, q, new)
            q = new
        assert np.all(np.diff(energies) <= 1e-12 * np.abs(energies[:-1]))
        assert energies[-1] < energies[0]


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("adjusted", [False, True])
def test_gradient_at_a_fixed_point_is_zero(features, adjusted):
    """Moving membership between two clusters changes nothing to first order."""
    X, z = counts(), cells(40)
    model = model_of(X, z, features, adjusted=adjusted)
    temperature = 0.4 * critical_temperature(model, np.random.RandomState(0))
    q = np.random.default_rng(3).dirichlet(np.ones(2), 40)
    for _ in range(3000):
        sums = model.sums(q)
        new = np.empty_like(q)
        soften(*(model.costs(model.fit(sums)), np.log(sums.cluster_masses), temperature, q, new))
        q = new

    def free_energy(memberships):
        energy = model.energy(model.sums(memberships))
        return energy + temperature * information_about_rows(memberships, model.masses)

    scale = abs(free_energy(q))
    assert np.abs(q - 0.5).max() > 0.05
    for row in range(5):
        step = 1e-4 * min(q[row].min(), 1 - q[row].max())
        away = np.zeros_like(q)
        away[row] = step, -step
        slope = (free_energy(q + away) - free_energy(q - away)) / (2 * step)
        assert abs(slope) < 1e-6 * scale


@pytest.mark.parametrize("features", FEATURES)
def test_clusters_part_below_the_critical_temperature_and_not_above(features, monkeypatch):
    monkeypatch.setattr(_annealing, "POWER_STEPS", 200)
    X, z = counts(60), cells(60)
    model = model_of(X, z, features)
    critical = critical_temperature(model, np.random.RandomState(0))
    for factor, parts in ((1.05, False), (0.9, True)):
        q = 0.5 + 0.01 * np.random.default_rng(0).uniform(-1, 1, (60, 1)) * np.array([[1, -1]])
        for _ in range(2000):
            sums = model.sums(q)
            new = np.empty_like(q)
            soften(
                *(model.costs(model.fit(sums)), np.log(sums.cluster_masses)),
                *(factor * critical, q, new),
            )
            q = new
        assert (np.ptp(q[:, 0]) > 0.01) == parts


def test_critical_temperature_of_squared_distances_is_twice_the_largest_variance():
    X = np.random.default_rng(0).standard_normal((500, 3)) * [5.0, 1.0, 1.0]
    model = model_of(X, np.zeros(500, dtype=int), "gaussian", coordination=0.0)
    largest = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1]
    assert critical_temperature(model, np.random.RandomState(0)) == pytest.approx(
        2 * largest, rel=1e-3
    )


# ------------------------------------------------------------------ moves


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("redundancy", [0.0, 0.7])
@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("item_weight", ["uniform", "length"])
def test_loss_of_a_move_is_the_difference_of_the_objective(
    features, redundancy, adjusted, item_weight
):
    if item_weight == "length" and features != "multinomial":
        return
    X, z = counts(), cells(40)
    model = model_of(
        X, z, features, redundancy=redundancy, item_weight=item_weight, adjusted=adjusted
    )
    rng = np.random.default_rng(2)
    data, indices, starts = model.sorted.entries
    for row in rng.integers(0, 40, 8):
        labels = rng.integers(0, 3, 40)
        labels[(model.sorted.cells == 1) & (labels == 2)] = 0  # a cluster without rows in a cell
        labels[row] = 3  # alone in a cluster of its own
        part = slice(starts[row], starts[row + 1])
        in_cells, whole = groups_of(model, labels, 4)
        losses = np.empty(4)
        cell = tuple(table[model.sorted.cells[row]] for table in in_cells)
        _, means, expected, zeros = expectations_of(model, in_cells[2])
        mean = means[model.sorted.cells[row]] if adjusted else means[0]
        row_losses(
            *(data[part], indices[part], model.masses[row], model.family.counts),
            *((0.3, redundancy), cell, whole, (adjusted, mean, expected, zeros), losses),
        )
        alone = model.energy(model.sums(one_hot(labels, 4)))
        for c in range(3):
            labels[row] = c
            joined = model.energy(model.sums(one_hot(labels, 4)))
            assert losses[c] == pytest.approx(joined - alone, abs=1e-12 * max(1, abs(alone)))


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("adjusted", [False, True])
def test_passes_never_raise_the_objective(features, adjusted):
    X, z = counts(120), cells(120)
    model = model_of(X, z, features, adjusted=adjusted)
    for seed in range(5):
        rng = np.random.RandomState(seed)
        found = reinsert(
            *(model, 4, rng.randint(4, size=120), rng),
            **{"max_iter": 100, "description": "", "verbose": 0},
        )
        assert found.converged
        assert np.all(np.diff(found.history) <= 1e-14 * np.abs(found.history[:-1]))
        again = reinsert(
            *(model, 4, found.labels, rng), **{"max_iter": 5, "description": "", "verbose": 0}
        )
        np.testing.assert_array_equal(again.labels, found.labels)


# ------------------------------------------------------------------ the estimator


def test_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(restarts, "FEW_NUMBERS", 0)
    X = counts(200, 12)
    fits = []
    for n_threads in (1, 2, 3):
        with engine.threads(n_threads):
            fits.append(InformationBottleneck(4, n_init=4, random_state=0).fit(X))
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        np.testing.assert_array_equal(other.history_, fits[0].history_)
