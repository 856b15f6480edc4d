"""DCA and MMC: identities, optimality, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import minimize
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight._fit.scatter import pair_differences
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.metric import DCA, MMC
from sidelight.metric._mmc_solvers import Diagonals, LengthProblem, Matrices


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, Constraints.sample(y, 80, random_state=0)


def chunklet_matrices(X, known):
    """Both matrices of DCA by their definition."""
    closure = known.closure()
    component = closure.component
    means = np.array([X[component == c].mean(axis=0) for c in range(component.max() + 1)])
    between = np.zeros((X.shape[1],) * 2)
    for a, b in closure.conflicts:
        between += np.outer(means[a] - means[b], means[a] - means[b])
    within, count = np.zeros_like(between), 0
    for c in range(len(means)):
        members = X[component == c]
        if len(members) >= 2:
            within += np.cov(members.T, bias=True)
            count += 1
    return between / len(closure.conflicts), within / count


@pytest.mark.parametrize("variant", ["default", "published"])
def test_dca_whitens_within_and_diagonalises_between(iris, variant):
    X, _, known = iris
    model = DCA(variant=variant, shrinkage=0).fit(X, constraints=known)
    between, within = chunklet_matrices(X, known)
    F = model.components_.T
    np.testing.assert_allclose(F.T @ within @ F, np.eye(F.shape[1]), atol=1e-6)
    spread = F.T @ between @ F
    np.testing.assert_allclose(spread, np.diag(model.ratios_), atol=1e-5 * spread.max())


def test_dca_variants_agree_where_cannot_links_span_everything(iris):
    X, _, known = iris
    one = DCA(variant="default", shrinkage=0).fit(X, constraints=known)
    other = DCA(variant="published", shrinkage=0).fit(X, constraints=known)
    np.testing.assert_allclose(one.ratios_, other.ratios_, rtol=1e-6)
    few = Constraints(known.must_link, known.cannot_link[:2], n_samples=150)
    better = DCA(1, variant="default").fit(X, constraints=few)
    worse = DCA(1, variant="published").fit(X, constraints=few)
    assert better.ratios_[0] >= worse.ratios_[0] - 1e-9


def test_dca_without_knowledge_keeps_as_many_columns_as_asked_for(iris):
    X, _, _ = iris
    for kept in (1, 2, 4):
        with pytest.warns(ConstraintWarning, match="Euclidean"):
            model = DCA(kept).fit(X, constraints=Constraints(n_samples=150))
        assert model.transform(X).shape == (150, kept)
        assert model.ratios_.shape == (kept,)


@pytest.mark.parametrize("variant", ["default", "published"])
def test_units_of_a_feature_change_no_ratio(iris, variant):
    X, _, known = iris
    units = np.array([1.0, 1e7, 1.0, 1e-5])
    plain = DCA(variant=variant, shrinkage=0).fit(X, constraints=known).ratios_
    other = DCA(variant=variant, shrinkage=0).fit(X * units, constraints=known).ratios_
    np.testing.assert_allclose(other, plain, rtol=1e-6)


def test_units_of_a_feature_change_nothing_in_mmc_as_published(iris):
    X, _, known = iris
    units = np.array([1.0, 1e7, 1.0, 1e-5])
    for diagonal in (False, True):
        plain = MMC(shrinkage=0, shape="diagonal" if diagonal else "full").fit(X, constraints=known)
        other = MMC(shrinkage=0, shape="diagonal" if diagonal else "full").fit(
            X * units, constraints=known
        )
        assert other.objective_ == pytest.approx(plain.objective_, rel=1e-4)


def test_weights_of_links_are_in_both_matrices_of_dca():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    must, cannot = np.arange(12).reshape(6, 2), np.array([(0, 2), (1, 3), (4, 6), (8, 20)])
    must_weight, cannot_weight = np.array([1, 3, 1, 1, 2, 1.0]), np.array([1, 3, 5, 0.5])
    known = Constraints(
        must,
        cannot,
        must_link_weight=must_weight,
        cannot_link_weight=cannot_weight,
        n_samples=30,
    )
    means = X[must].mean(axis=1)
    apart = np.array([means[0] - means[1], means[2] - means[3], means[4] - X[20]])
    # Two links of 1 and 3 part the first two chunklets: together they weigh 2.
    between = np.einsum("n,ni,nj->ij", [2, 5, 0.5], apart, apart) / 7.5
    offsets = X[must] - means[:, None]
    within = np.einsum("n,nki,nkj->ij", must_weight / 2, offsets, offsets) / must_weight.sum()
    model = DCA(shrinkage=0).fit(X, constraints=known)
    expected = linalg.eigh(between, within, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.ratios_, expected, rtol=1e-5)


@pytest.mark.parametrize("diagonal", [False, True])
def test_mmc_that_stops_early_says_how_far_it_is(diagonal):
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    known = Constraints.sample(y, 400, random_state=0)
    best = MMC(shape="diagonal" if diagonal else "full", tol=1e-6, max_iter=20_000).fit(
        X, constraints=known
    )
    with pytest.warns(ConvergenceWarning, match=r"after 1 steps \(max_iter=1\).*more is possible"):
        model = MMC(shape="diagonal" if diagonal else "full", max_iter=1).fit(X, constraints=known)
    assert not model.converged_
    assert model.gap_ > 1e-4
    assert model.objective_ > best.objective_ >= (1 + model.gap_) * model.objective_


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_mmc_finds_the_optimum_of_an_independent_solver(shape):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(14, 3)) * [1.0, 10.0, 0.2]
        known = Constraints(
            [(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 8), (2, 9), (4, 10), (11, 12)], n_samples=14
        )
        near, far = (X[p[:, 0]] - X[p[:, 1]] for p in (known.must_link, known.cannot_link))
        S = near.T @ near
        S = S + np.diag(1e-6 * np.diagonal(S))  # the ridge that keeps every direction bounded
        scale = np.sqrt(np.diagonal(S))

        def metric(flat, scale=scale):
            W = flat.reshape(3, 3) if shape == "full" else np.diag(flat)
            return (W / scale).T @ (W / scale)

        def minus_lengths(flat, S=S, far=far, metric=metric):
            A = metric(flat)
            return -np.sqrt(np.einsum("nd,nd->n", far @ A, far)).sum() / np.sqrt(np.sum(A * S))

        found = min(
            minimize(minus_lengths, rng.normal(size=9 if shape == "full" else 3)).fun
            for _ in range(12)
        )
        model = MMC(shape=shape, shrinkage=0, tol=1e-9).fit(X, constraints=known)
        assert model.converged_
        assert model.objective_ == pytest.approx(found, rel=1e-7)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_mmc_comes_as_near_to_the_optimum_as_it_is_asked_to(load, shape):
    X, y = load(return_X_y=True)
    cases = [(n, seed) for n in (30, 60, 200) for seed in range(3 if len(X) < 1000 else 1)]
    for n, seed in cases:
        known = Constraints.sample(y, n, random_state=seed)
        for shrinkage in (0.0, 0.1):
            model = MMC(shape=shape, shrinkage=shrinkage, tol=1e-10)
            with warnings.catch_warnings():
                warnings.simplefilter("error", ConvergenceWarning)
                warnings.simplefilter("ignore", ConstraintWarning)  # must-links span few directions
                model.fit(X, constraints=known)
            assert model.gap_ <= 1e-10
            assert model.n_iter_ < 150


def test_mmc_at_the_end_of_rounding_does_not_ask_for_more_steps(iris):
    X, _, known = iris
    for shape in ("full", "diagonal"):
        model = MMC(shape=shape, tol=0).fit(X, constraints=known)
        assert model.converged_  # what is left is rounding
        assert model.gap_ < 1e-11


def test_dca_needs_cannot_links(iris):
    X, _, known = iris
    with pytest.raises(SidelightError, match="use RCA"):
        DCA().fit(X, constraints=Constraints(known.must_link, n_samples=150))


def test_order_of_the_pairs_and_units_do_not_matter():
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    known = Constraints.sample(y, 100, random_state=0)
    one = MMC().fit(X, constraints=known)
    again = MMC().fit(X + 100.0, constraints=known)
    np.testing.assert_allclose(
        one.get_mahalanobis_matrix(), again.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-6
    )


def test_mmc_bad_input(iris):
    X, _, known = iris
    with pytest.raises(SidelightError, match="needs rows that are known to be apart"):
        MMC().fit(X, constraints=Constraints(known.must_link, n_samples=150))
    same = np.vstack([X[:1], X[:1], X[2:10]])
    ids = [f"iris {i}" for i in range(10)]
    with (
        pytest.warns(ConstraintWarning, match="1 of 1 cannot-links"),
        pytest.raises(SidelightError, match=r"the same in every feature.*'iris 0' and 'iris 1'"),
    ):
        MMC().fit(same, constraints=Constraints([(ids[2], ids[3])], [(ids[0], ids[1])], ids=ids))
    with pytest.warns(ConstraintWarning, match="nothing bounds"):
        MMC().fit(same, constraints=Constraints([(0, 1)], [(2, 3)], n_samples=10))


# --- what it is made of ---


def test_weights_of_pairs_are_factors_of_their_lengths_in_mmc(iris):
    X, _, known = iris
    rng = np.random.default_rng(0)
    weights = [rng.uniform(0.5, 3, len(p)) for p in (known.must_link, known.cannot_link)]
    heavy = Constraints(
        known.must_link,
        known.cannot_link,
        must_link_weight=weights[0],
        cannot_link_weight=weights[1],
        n_samples=150,
    )
    near, far = (pair_differences(X, p) for p in (known.must_link, known.cannot_link))
    S = (near * weights[0][:, None]).T @ near
    for diagonal in (False, True):
        model = MMC(
            shrinkage=0, tol=1e-7, shape="diagonal" if diagonal else "full", max_iter=5000
        ).fit(X, constraints=heavy)
        A = model.get_mahalanobis_matrix()
        assert np.trace(A @ S) == pytest.approx(1.0, rel=1e-4)
        assert objective(A, far * weights[1][:, None]) == pytest.approx(-model.objective_)


def objective(A, far):
    return np.sqrt(np.einsum("nd,nd->n", far @ A, far)).sum()


def test_full_mmc_is_optimal_and_uses_its_budget(iris):
    X, _, known = iris
    model = MMC(shrinkage=0, tol=1e-6, max_iter=3000).fit(X, constraints=known)
    near, far = (pair_differences(X, p) for p in (known.must_link, known.cannot_link))
    S = near.T @ near
    A = model.get_mahalanobis_matrix()
    assert np.trace(A @ S) == pytest.approx(1.0, rel=1e-4)
    assert objective(A, far) == pytest.approx(-model.objective_)
    assert 0 <= model.gap_ <= 1e-6
    assert np.all(np.diff(model.history_) <= 0)
    # KKT: where the metric has weight, the gradient of the objective is a multiple of S.
    lengths = np.sqrt(np.einsum("nd,nd->n", far @ A, far))
    G = (far / (2 * lengths[:, None])).T @ far
    multiplier = np.sum(G * A)
    worst = linalg.eigh(G, S, eigvals_only=True)[-1]
    assert worst == pytest.approx(multiplier, rel=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(50):  # nothing feasible is better
        B = rng.normal(size=(4, 4))
        B = B @ B.T
        assert objective(B / np.trace(B @ S), far) <= -model.objective_ * (1 + 1e-6)


def test_full_beats_diagonal_beats_euclid(iris):
    X, _, known = iris
    near, far = (pair_differences(X, p) for p in (known.must_link, known.cannot_link))
    S = near.T @ near
    full = -MMC(shrinkage=0, tol=1e-5).fit(X, constraints=known).objective_
    weights = MMC(shape="diagonal", shrinkage=0).fit(X, constraints=known)
    A = weights.get_mahalanobis_matrix()
    assert np.trace(A @ S) == pytest.approx(1.0, rel=1e-4)
    euclid = objective(np.eye(4) / np.trace(S), far)
    assert full > objective(A, far) > euclid
    assert objective(A, far) == pytest.approx(-weights.objective_, rel=1e-6)


def test_diagonal_mmc_fulfils_its_optimality_conditions():
    X, y = load_wine(return_X_y=True)
    X = X / X.std(axis=0)
    known = Constraints.sample(y, 100, random_state=0)
    model = MMC(shape="diagonal", shrinkage=0).fit(X, constraints=known)
    assert model.converged_
    s = (pair_differences(X, known.must_link) ** 2).sum(axis=0)
    squares = pair_differences(X, known.cannot_link) ** 2
    a = model.get_mahalanobis_matrix().diagonal()
    slopes = (0.5 / np.sqrt(squares @ a)) @ squares / s  # gain of the lengths per unit of budget
    used = a > 1e-9 * a.max()
    assert 0 < np.count_nonzero(used) < 13  # both kinds of conditions are there to be tested
    np.testing.assert_allclose(slopes[used], slopes.max(), rtol=1e-2)
    assert np.all(slopes[~used] <= slopes.max())


def lengths_by_hand(z, root):
    B = root @ root.T if root.ndim == 2 else np.diag(root**2)
    return np.sqrt(np.einsum("nd,nd->n", z @ B, z)).sum(), np.trace(B), np.linalg.slogdet(B)[1]


@pytest.mark.parametrize("cone", [Matrices(), Diagonals()], ids=["full", "diagonal"])
def test_newton_directions_of_mmc_solve_for_slopes_by_finite_differences(cone):
    rng = np.random.default_rng(0)
    z, barrier = rng.normal(size=(9, 3)), 0.3
    problem = LengthProblem(z, cone)
    root = cone.moved(cone.identity(3), 0.1 * cone.identity(3))

    def value(step):
        length, trace, log_det = lengths_by_hand(z, cone.moved(root, step))
        return (trace - length) / barrier - log_det

    u = cone.seen(z, root)
    p = np.einsum("nd,nd->n", u, u)
    gradient = (cone.trace(root) - cone.sum_of(u, 0.5 / np.sqrt(p))) / barrier - cone.identity(3)
    direction = cone.direction(gradient, u, 0.25 * p**-1.5 / barrier)
    h = 1e-4
    for _ in range(5):
        ahead = rng.normal(size=gradient.shape)
        ahead = ahead + ahead.T if ahead.ndim == 2 else ahead
        ahead /= np.linalg.norm(ahead)
        slope = (value(h * ahead) - value(-h * ahead)) / (2 * h)
        assert slope == pytest.approx(np.sum(gradient * ahead), rel=1e-5, abs=1e-5)
        signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        at = [value(h * (a * ahead + b * direction)) for a, b in signs]
        bent = (at[0] - at[1] - at[2] + at[3]) / (4 * h**2)
        assert bent == pytest.approx(-np.sum(gradient * ahead), abs=0.1 * np.linalg.norm(gradient))
    last = list(problem.search(1e-9))[-1]
    assert last.is_within(1e-9)
