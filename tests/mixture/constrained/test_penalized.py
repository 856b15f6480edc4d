"""Penalised probabilistic clustering: its likelihood, its limits, its approximations."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import ConstraintWarning, InfeasibleConstraints, SidelightError
from sidelight.mixture import GaussianMixture, MeanFieldMixture, PenalizedMixture
from sidelight.mixture.field._rows import FieldRows, coupled_rows


def blobs(n: int = 60, seed: int = 0, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return centers[y] + rng.normal(0, spread, (n, 2)), y


def fit(X: np.ndarray, k: int = 3, **params: Any) -> PenalizedMixture:
    fitted = {
        key: params.pop(key) for key in ("constraints", "y", "sample_weight") if key in params
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The constraints contradict themselves")
        warnings.filterwarnings("ignore", "1 of 3 components end without a row")
        return PenalizedMixture(k, random_state=0, **params).fit(X, **fitted)


def log_joint(model: PenalizedMixture, X: np.ndarray) -> np.ndarray:
    """``log π_s + log N(x; μ_s, Σ_s)`` by SciPy."""
    densities = [
        multivariate_normal(mean, covariance).logpdf(X)
        for mean, covariance in zip(model.means_, model.covariances_, strict=True)
    ]
    return np.log(model.weights_) + np.transpose(densities)


def test_without_weight_it_is_plain_em() -> None:
    X, y = blobs()
    known = Constraints.sample(y, 30, random_state=0)
    plain = GaussianMixture(3, random_state=0).fit(X)
    for model in (fit(X, constraints=known, penalty=0.0), fit(X)):
        np.testing.assert_allclose(model.history_, plain.history_)
        np.testing.assert_allclose(model.means_, plain.means_)


@pytest.mark.parametrize("seed", range(4))
def test_log_likelihood_is_the_sum_over_all_labellings(seed: int) -> None:
    rng = np.random.RandomState(seed)
    X = rng.randn(7, 2)
    pairs = np.array(list(itertools.combinations(range(7), 2)))
    stated = pairs[rng.permutation(len(pairs))[:8]]
    weight = rng.rand(8) * 1.5
    known = Constraints(
        stated[:4],
        stated[4:],
        n_samples=7,
        must_link_weight=weight[:4],
        cannot_link_weight=weight[4:],
    )
    model = fit(X, constraints=known, penalty=1.0, reg_covar=0.1, max_iter=3)
    w = np.zeros((7, 7))
    for (i, j), value in zip(stated, weight * np.repeat([1, -1], 4), strict=True):
        w[i, j] = w[j, i] = value
    joint, log_pi = log_joint(model, X), np.log(model.weights_)
    posterior, prior = [], []
    for z in itertools.product(range(3), repeat=7):
        same = np.equal.outer(z, z)
        coupled = (w * same).sum()  # over ordered pairs, as in the book
        posterior.append(joint[np.arange(7), list(z)].sum() + coupled)
        prior.append(log_pi[list(z)].sum() + coupled)
    assert -model.objective_ * 7 == pytest.approx(logsumexp(posterior) - logsumexp(prior))


def test_disjoint_pairs_in_closed_form() -> None:
    X, y = blobs()
    known = Constraints.sample(y, 15, protocol="disjoint", random_state=1)
    model = fit(X, constraints=known, penalty=0.8)
    joint = log_joint(model, X)
    a = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    s0 = (model.weights_**2).sum()
    expected = logsumexp(joint, axis=1).sum()
    for pairs, sign in ((known.must_link, 1), (known.cannot_link, -1)):
        kappa = np.expm1(2 * 0.8 * sign)
        s = (a[pairs[:, 0]] * a[pairs[:, 1]]).sum(axis=1)
        expected += (np.log1p(kappa * s) - np.log1p(kappa * s0)).sum()
    assert -model.objective_ * len(X) == pytest.approx(expected)


def test_certain_must_links_are_chunklets() -> None:
    X, _ = blobs()
    chain = [(i, i + 3) for i in range(0, 24, 3)] + [(1, 4), (2, 5)]
    model = fit(X, constraints=Constraints(chain, n_samples=60), penalty=np.inf)
    by_group = np.full(60, -1)
    for number, rows in enumerate((np.arange(0, 27, 3), [1, 4], [2, 5])):
        by_group[rows] = number
        assert len(set(model.labels_[rows])) == 1
    # Rows are drawn, then linked: the mixing weight counts for each row of a chunklet.
    grouped = fit(X, constraints=Constraints.from_groups(by_group))
    np.testing.assert_allclose(grouped.means_, model.means_)
    joint, log_pi = log_joint(model, X), np.log(model.weights_)
    expected = logsumexp(joint[by_group < 0], axis=1).sum()
    for number in range(3):
        rows = by_group == number
        expected += logsumexp(joint[rows].sum(axis=0)) - logsumexp(rows.sum() * log_pi)
    assert -model.objective_ * 60 == pytest.approx(expected)


def test_huge_weights_are_certain() -> None:
    X, y = blobs(spread=2.0)
    known = Constraints.sample(y, 20, random_state=3)
    huge = fit(X, constraints=known, penalty=1e3, tol=1e-9)
    certain = fit(X, constraints=known, penalty=np.inf, tol=1e-9)
    assert certain.n_violations_ == huge.n_violations_ == 0
    np.testing.assert_allclose(huge.means_, certain.means_, atol=1e-4)
    np.testing.assert_allclose(huge.weights_, certain.weights_, atol=1e-4)
    assert huge.objective_ == pytest.approx(certain.objective_, abs=1e-6)


@pytest.mark.parametrize("penalty", [0.5, 1.3, 3.0, 8.0, np.inf])
@pytest.mark.parametrize("inference", ["auto", "forest", "mean-field"])
def test_the_bound_never_falls(penalty: float, inference: str) -> None:
    X, y = blobs(spread=1.5)
    known = Constraints.sample(y, 40, random_state=5)
    model = fit(X, constraints=known, penalty=penalty, inference=inference, tol=0, max_iter=40)
    assert np.all(np.diff(model.history_) <= 1e-9)
    assert len(model.history_) > 4


def test_certainties() -> None:
    X, y = blobs(spread=1.5)
    known = Constraints.sample(y, 20, random_state=4)

    def believed(certainty: float, sign: int = 1) -> PenalizedMixture:
        links = (known.must_link, known.cannot_link)[::sign]
        weight = (certainty,) * 2
        stated = Constraints(
            *links, n_samples=60, must_link_weight=weight[0], cannot_link_weight=weight[1]
        )
        return fit(X, constraints=stated, weights_are_probabilities=True)

    plain = GaussianMixture(3, random_state=0).fit(X)
    np.testing.assert_allclose(believed(0.5).means_, plain.means_)  # says nothing
    np.testing.assert_allclose(believed(0.9).means_, believed(0.1, sign=-1).means_)
    by_weight = fit(X, constraints=known, penalty=0.5 * np.log(0.9 / 0.1))
    np.testing.assert_allclose(believed(0.9).means_, by_weight.means_)
    certain = fit(X, constraints=known, penalty=np.inf)
    np.testing.assert_allclose(believed(1.0).means_, certain.means_)
    with pytest.raises(SidelightError, match=r"weight 2, which is no probability"):
        fit(
            X,
            constraints=Constraints([(0, 3)], n_samples=60, must_link_weight=2.0),
            weights_are_probabilities=True,
        )


def test_known_classes_are_certain_and_spread_along_pairs() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [2.6]])
    y = np.array([1, -1, -1, 0, -1, -1, -1])
    labelled = fit(X, k=2, y=y, reg_covar=0.1)
    np.testing.assert_array_equal(labelled.labels_[:6], [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(labelled.classes_, [0, 1])
    for partner, label in ((0, 1), (3, 0)):
        pair = Constraints([(partner, 6)], n_samples=7)
        model = fit(X, k=2, y=y, constraints=pair, penalty=30.0, reg_covar=0.1)
        assert model.labels_[6] == label


def test_weights_of_rows_are_copies() -> None:
    X, y = blobs(n=30)
    known = Constraints.sample(y, 8, random_state=0)
    start = {"means_init": X[:3], "precisions_init": np.tile(np.eye(2), (3, 1, 1))}
    twice = Constraints(
        np.concatenate([known.must_link, known.must_link + 30]),
        np.concatenate([known.cannot_link, known.cannot_link + 30]),
        n_samples=60,
    )
    copied = fit(np.tile(X, (2, 1)), constraints=twice, weights_init=np.ones(3) / 3, **start)
    weighted = fit(
        X, constraints=known, sample_weight=np.full(30, 2.0), weights_init=np.ones(3) / 3, **start
    )
    np.testing.assert_allclose(weighted.history_, copied.history_)
    np.testing.assert_allclose(weighted.means_, copied.means_)


@pytest.mark.parametrize("inference", ["gibbs", "mean-field", "forest"])
def test_approximations_come_close(inference: str) -> None:
    X, y = blobs(n=150, spread=1.0)
    known = Constraints.sample(y, 120, random_state=6)
    exact = fit(X, constraints=known, penalty=0.7)
    model = fit(X, constraints=known, penalty=0.7, inference=inference)
    approximate = {"forest": "spanning forest", "gibbs": "tables"}.get(inference, inference)
    assert approximate in model.inference_  # small tables are single blocks of Gibbs sampling
    assert np.abs(model.means_ - exact.means_).max() < 0.3
    assert adjusted_rand_index(exact.labels_, model.labels_) > 0.85
    again = fit(X, constraints=known, penalty=0.7, inference=inference)
    np.testing.assert_array_equal(model.means_, again.means_)


def enumerated(model: Any, X: np.ndarray, known: Constraints, penalty: float) -> float:
    """``L`` per row of a fitted mixture, over all labelings."""
    n, k = len(X), len(model.weights_)
    z = np.array(list(itertools.product(range(k), repeat=n)))
    coupled = np.zeros(len(z))
    for pairs, sign in ((known.must_link, 2), (known.cannot_link, -2)):
        coupled += sign * penalty * (z[:, pairs[:, 0]] == z[:, pairs[:, 1]]).sum(axis=1)
    posterior = log_joint(model, X)[np.arange(n), z].sum(axis=1) + coupled
    prior = np.log(model.weights_)[z].sum(axis=1) + coupled
    return float(logsumexp(posterior) - logsumexp(prior)) / n


@pytest.mark.parametrize("seed", range(6))
def test_mean_field_is_a_bound_and_gibbs_is_exact_on_few_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, penalty = 2 + seed % 2, 0.3 * (1 + seed)
    X = 2 * rng.normal(size=(8, 2))
    known = Constraints.sample(rng.integers(0, k, 8), 7, random_state=seed)
    options = {"k": k, "constraints": known, "penalty": penalty, "reg_covar": 0.3, "tol": 1e-9}
    bound = fit(X, inference="mean-field", **options)
    truth = enumerated(bound, X, known, penalty)
    assert truth - 0.1 < -bound.objective_ <= truth + 1e-9
    drawn = fit(X, inference="gibbs", **options)
    assert -drawn.objective_ == pytest.approx(enumerated(drawn, X, known, penalty))


def test_pairs_choose_between_two_clusterings() -> None:
    """Four blobs; the pairs tell that left and right are meant, not above and below."""
    rng = np.random.default_rng(3)
    corner = np.array(list(itertools.product([-1.0, 1.0], repeat=2)))
    X = np.repeat(corner, 50, axis=0) + rng.normal(0, 0.4, (200, 2))
    y = np.repeat([0, 0, 1, 1], 50)
    known = Constraints.sample(y, 20, protocol="disjoint", random_state=3)
    plain = GaussianMixture(2, n_init=5, random_state=3).fit(X)
    model = PenalizedMixture(2, n_init=5, random_state=3).fit(X, constraints=known)
    assert adjusted_rand_index(y, plain.labels_) < 0.1
    assert adjusted_rand_index(y, model.labels_) > 0.95
    assert adjusted_rand_index(y, model.predict(X)) > 0.95  # new rows need no pairs


def test_a_lattice_by_mean_field() -> None:
    """Neighbouring sites prefer to agree: a noisy image of two halves."""
    rng = np.random.default_rng(0)
    side = 30
    y = (np.arange(side * side) % side >= side // 2).astype(int)
    X = (2 * y + rng.normal(0, 1.0, side * side))[:, None]
    site = np.arange(side * side).reshape(side, side)
    right = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    below = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    lattice = Constraints(np.concatenate([right, below]), n_samples=side * side)
    plain = GaussianMixture(2, random_state=0).fit(X)
    model = fit(X, k=2, constraints=lattice, penalty=0.4, inference="mean-field")
    assert adjusted_rand_index(y, plain.labels_) < 0.6
    assert adjusted_rand_index(y, model.labels_) > 0.9
    with pytest.warns(ConstraintWarning, match="approximated"):
        PenalizedMixture(2, penalty=0.4, random_state=0).fit(X, constraints=lattice)
    with pytest.raises(SidelightError, match="cannot be summed over exactly"):
        fit(X, k=2, constraints=lattice, inference="exact")
    with pytest.warns(ConstraintWarning, match="without a row"):
        PenalizedMixture(2, penalty=5.0, inference="mean-field", random_state=0).fit(
            rng.normal(size=(side * side, 1)), constraints=lattice
        )


def test_what_cannot_be_is_said() -> None:
    X, _ = blobs(n=12)
    ids = [f"r{i}" for i in range(12)]
    apart = Constraints(cannot_link=[("r0", "r1"), ("r1", "r2"), ("r0", "r2")], ids=ids)
    with pytest.raises(InfeasibleConstraints, match="r0"):
        fit(X, k=2, constraints=apart, penalty=np.inf)
    assert fit(X, k=2, constraints=apart, penalty=2.0, reg_covar=0.1).n_violations_ >= 1
    for wrong in ({"penalty": -1.0}, {"inference": "magic"}, {"n_sweeps": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fit(X, **wrong)


# ------------------------------------------------------------------ the price by default


def clouds(d: int, n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping Gaussians whose distance is the same in any dimension."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = rng.normal(size=(3, d)) * 2.5 / np.sqrt(d)
    return means[y] + rng.normal(size=(n, d)), y


@pytest.mark.parametrize("kind", [PenalizedMixture, MeanFieldMixture])
def test_a_pair_costs_what_its_rows_are_worth(kind: Any) -> None:
    X, y = clouds(30)
    known = Constraints.sample(y, 40, random_state=0)
    options = {"covariance_type": "diag", "random_state": 0}
    model = kind(3, **options).fit(X, constraints=known)
    plain = GaussianMixture(3, tol=1e-3, max_iter=20, **options).fit(X)
    joint = np.sort(np.log(plain.predict_proba(X)), axis=1)
    nats = max(np.median(joint[:, 2] - joint[:, 1]) / 2, 2.0)
    unit = 2 if kind is PenalizedMixture else 1
    assert unit * model.penalty_ == pytest.approx(nats, rel=0.05)
    # No unit of the rows is in it, and rows that count twice are two rows.
    scaled = kind(3, **options, reg_covar=1.0).fit(1000 * X, constraints=known)
    assert scaled.penalty_ == pytest.approx(model.penalty_, rel=1e-3)
    weighted = kind(3, **options).fit(X, constraints=known, sample_weight=np.full(300, 2.0))
    assert weighted.penalty_ == pytest.approx(model.penalty_)


@pytest.mark.parametrize("kind", [PenalizedMixture, MeanFieldMixture])
def test_pairs_are_heard_in_many_dimensions(kind: Any) -> None:
    """At any fixed price they are not, while a huge one follows wrong pairs."""
    X, y = clouds(18, seed=1)
    right = Constraints.sample(y, 150, random_state=1)
    plain = GaussianMixture(3, random_state=0).fit(X)
    model = kind(3, random_state=0).fit(X, constraints=right)
    assert model.n_violations_ < 0.5 * right.violations(plain.labels_).n
    wrong = right.flip(0.2, random_state=1)
    misled = kind(3, random_state=0).fit(X, constraints=wrong)
    index = adjusted_rand_index(y, misled.predict(X))
    assert index > adjusted_rand_index(y, plain.labels_) - 0.15


# --- what it is made of ---


def test_moments_match_at_the_end() -> None:
    X, y = blobs(spread=1.2)
    known = Constraints.sample(y, 25, random_state=2)
    model = fit(X, constraints=known, penalty=1.0, tol=1e-12, max_iter=3000)
    rows = couple(known, 1.0)
    log_pi = np.log(model.weights_)
    joint = log_joint(model, X)
    resp = rows.e_step((joint - log_pi)[rows.rows], log_pi).resp
    free = np.setdiff1d(np.arange(60), rows.rows)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))[free]
    expected = rows.field.prior_counts(log_pi)[0] + len(free) * model.weights_
    np.testing.assert_allclose(resp.sum(axis=0) + posterior.sum(axis=0), expected, atol=1e-3)


def couple(known: Constraints, w: float, k: int = 3) -> FieldRows:
    return coupled_rows(known, k, None, strength=2 * w, inference="exact")


def test_narrow_components_make_it_constrained_k_means() -> None:
    """σ → ασ, w → w/α²: the E-step minimises ½ Σ ‖x - μ‖² - σ² Σ w [z_i = z_j], hard."""
    rng = np.random.RandomState(0)
    X = rng.randn(8, 2)
    centers = X[:2] + 0.1
    squared = ((X[:, None] - centers) ** 2).sum(axis=2)
    known = Constraints([(0, 1), (2, 3), (3, 4)], [(4, 5), (5, 6), (6, 7)], n_samples=8)
    sigma, w = 1.0, 0.3
    costs = []
    for z in itertools.product(range(2), repeat=8):
        cost = 0.5 * squared[np.arange(8), list(z)].sum()
        cost += sum(2 * sigma**2 * w for i, j in known.must_link if z[i] != z[j])
        cost += sum(2 * sigma**2 * w for i, j in known.cannot_link if z[i] == z[j])
        costs.append(cost)
    best = list(itertools.product(range(2), repeat=8))[int(np.argmin(costs))]
    alpha = 1e-2
    rows = couple(known, w / alpha**2, k=2)
    density = -0.5 * squared / (alpha * sigma) ** 2
    resp = rows.e_step(density, np.log([0.5, 0.5])).resp
    np.testing.assert_array_equal(resp.argmax(axis=1), best)
    np.testing.assert_allclose(resp.max(axis=1), 1.0)
    np.testing.assert_array_equal(rows.labels(density, np.log([0.5, 0.5])), best)


@pytest.mark.parametrize("weighted", [False, True])
def test_responsibilities_are_the_slopes_of_the_likelihood(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    known = Constraints(
        [(0, 1), (3, 4), (6, 7)],
        [(1, 2), (5, 6)],
        n_samples=9,
        labels=[-1] * 8 + [1],
        must_link_weight=[0.8, 1.0, 0.6],
        cannot_link_weight=[0.3, 1.0],
    )
    sample_weight = rng.uniform(0.2, 3.0, 9) if weighted else None
    rows = coupled_rows(known, 3, sample_weight, strength=1.0, certainties=True, inference="exact")
    density, log_pi = rng.normal(size=(9, 3)), np.log([0.2, 0.5, 0.3])
    resp = rows.e_step(density, log_pi).resp
    h = 1e-6
    for i in range(9):
        for s in range(3):
            up, down = density.copy(), density.copy()
            up[i, s] += h
            down[i, s] -= h
            slope = (rows.e_step(up, log_pi)[1] - rows.e_step(down, log_pi)[1]) / (2 * h)
            assert slope == pytest.approx(resp[i, s], abs=1e-7)
    # The same for the mixing weights: rows that there are, less those that the prior expects.
    counts = rows.field.prior_counts(log_pi)[0]
    for s in range(3):
        move = h * np.eye(3)[s]
        slope = (
            rows.e_step(density, log_pi + move)[1] - rows.e_step(density, log_pi - move)[1]
        ) / (2 * h)
        assert slope == pytest.approx(resp[:, s].sum() - counts[s], abs=1e-6)
