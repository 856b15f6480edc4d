"""Mean field under violation penalties: fixed point and bound, weights, annealing, selection."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.engine import as_rows
from sidelight.evaluation import adjusted_rand_index, class_weighted_f
from sidelight.mixture import GaussianMixture, MeanFieldMixture, PenalizedMixture
from sidelight.mixture.constrained import _mean_field
from sidelight.mixture.constrained._mean_field import GRID
from sidelight.mixture.constrained._tempered import Tempered
from sidelight.mixture.field._rows import FieldRows, coupled_rows


def blobs(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return 2.0 * np.eye(3)[y] + rng.normal(0, 0.8, (n, 3)), y


def four_clouds(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Left and right are wanted, above and below are further apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 60)
    corner = np.column_stack([2.0 * y - 1, np.where(np.arange(120) % 2, 1.5, -1.5)])
    return corner + rng.normal(0, 0.35, (120, 2)), y


def started(X: np.ndarray, k: int) -> dict[str, np.ndarray]:
    d = X.shape[1]
    return {"means_init": X[:k].copy(), "precisions_init": np.tile(np.eye(d), (k, 1, 1))}


def fit(model: Any, X: np.ndarray, known: Constraints | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, constraints=known)


# ------------------------------------------------------------------ fixed point and bound


def test_twice_the_weight_of_the_penalised_mixture() -> None:
    """The same posterior; only the penalized mixture knows the normalizer of the prior."""
    X, y = blobs()
    known = Constraints.sample(y, 30, random_state=0)
    start = started(X, 3)
    ours = MeanFieldMixture(3, penalty=1.4, n_init=1, max_iter=1, random_state=0, **start)
    theirs = PenalizedMixture(
        3, penalty=0.7, inference="mean-field", max_iter=1, random_state=0, **start
    )
    fit(ours, X, known)
    fit(theirs, X, known)
    np.testing.assert_allclose(ours.means_, theirs.means_)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_)
    assert np.abs(ours.weights_ - theirs.weights_).max() > 1e-4


# ------------------------------------------------------------------ limits and weights


def test_without_constraints_it_is_plain_em() -> None:
    X, _ = blobs()
    plain = GaussianMixture(3, random_state=0).fit(X)
    model = MeanFieldMixture(3, annealing=False, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.history_, plain.history_)
    np.testing.assert_array_equal(model.means_, plain.means_)
    assert model.constrained_weight_ == 1.0
    assert model.disagreement_ == 0.0


def test_a_whole_weight_is_so_many_copies_of_the_constrained_rows() -> None:
    X, y = blobs(50)
    known = Constraints.sample(y, 12, random_state=0)
    rows = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    options = {"penalty": 0.5, "n_init": 1, "max_iter": 8, "random_state": 0, **started(X, 3)}
    weighted = fit(MeanFieldMixture(3, constrained_weight=3, **options), X, known)
    where = np.full(50, -1)
    where[rows] = np.arange(len(rows))

    def copies(pairs: np.ndarray) -> np.ndarray:
        return np.concatenate([pairs, *(50 + c * len(rows) + where[pairs] for c in (0, 1))])

    repeated = Constraints(
        copies(known.must_link), copies(known.cannot_link), n_samples=50 + 2 * len(rows)
    )
    plain = fit(MeanFieldMixture(3, **options), np.vstack([X, X[rows], X[rows]]), repeated)
    np.testing.assert_allclose(weighted.means_, plain.means_, rtol=5e-3)
    np.testing.assert_allclose(weighted.weights_, plain.weights_, rtol=5e-3)
    total = plain.history_ * (50 + 2 * len(rows))
    np.testing.assert_allclose(50 * weighted.history_, total, rtol=1e-4)


def test_large_weights_of_full_knowledge_are_supervised() -> None:
    X, y = blobs(80)
    some = np.arange(30)
    every = np.array(list(itertools.combinations(some, 2)))
    same = y[every[:, 0]] == y[every[:, 1]]
    known = Constraints(every[same], every[~same], n_samples=80)
    model = fit(MeanFieldMixture(3, constrained_weight=1e6, random_state=0), X, known)
    for c in range(3):
        mine = some[y[some] == c]
        s = model.labels_[mine[0]]
        np.testing.assert_allclose(model.means_[s], X[mine].mean(axis=0), atol=1e-3)
    assert model.n_violations_ == 0


@pytest.mark.parametrize("penalty", [0.5, 5.0, 1000.0])
def test_bound_never_falls(penalty: float) -> None:
    X, y = blobs(80, seed=1)
    known = Constraints.sample(y, 60, random_state=0).flip(0.1, random_state=0)
    for weight in (1.0, 10.0):
        model = MeanFieldMixture(
            3, penalty=penalty, constrained_weight=weight, tol=0.0, max_iter=60, random_state=0
        )
        model.set_params(init_params="random", annealing=False, n_init=1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The constraints contradict themselves")
            fit(model, X, known)
        assert len(model.history_) > 5
        assert np.all(np.diff(model.history_) <= 0)


def test_wrong_pairs_are_left_violated_when_they_are_not_trusted() -> None:
    X, y = blobs(120, seed=3)
    known = Constraints.sample(y, 60, protocol="disjoint", random_state=0)
    noisy = known.flip(0.2, random_state=0)
    trusting = MeanFieldMixture(3, penalty=1000.0, random_state=0)
    careful = MeanFieldMixture(3, penalty=float(np.log(0.8 / 0.2)), random_state=0)
    fit(trusting, X, noisy)
    fit(careful, X, noisy)
    assert trusting.n_violations_ == 0
    assert careful.n_violations_ >= 5
    score = [adjusted_rand_index(y, m.labels_) for m in (trusting, careful)]
    assert score[1] > score[0]


# ------------------------------------------------------------------ annealing and selection


def test_annealing_is_no_worse_than_the_median_of_random_starts() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(3 * c, 0.6, (25, 2)) for c in np.eye(2)[[0, 1, 0, 1]] * 2])
    X[50:] += [4, 4]
    random = [
        fit(
            GaussianMixture(
                4, covariance_type="spherical", init_params="random", random_state=seed
            ),
            X,
        ).objective_
        for seed in range(9)
    ]
    annealed = [
        fit(
            MeanFieldMixture(4, covariance_type="spherical", n_init=1, random_state=seed), X
        ).objective_
        for seed in range(3)
    ]
    assert np.median(annealed) <= np.median(random) + 1e-6


def test_annealing_lets_the_pairs_lead() -> None:
    scores = {True: [], False: []}
    for seed in range(4):
        X, y = four_clouds(seed)
        known = Constraints.sample(y, 24, random_state=seed)
        for annealing, found in scores.items():
            model = MeanFieldMixture(2, annealing=annealing, n_init=1, random_state=seed)
            found.append(class_weighted_f(y, fit(model, X, known).predict(X)))
    assert np.min(scores[True]) > 0.98
    assert np.mean(scores[False]) < 0.8


def test_wrong_choices_are_named() -> None:
    X, _ = blobs(20)
    for name, value in (("penalty", -1), ("constrained_weight", 0), ("n_splits", 1)):
        with pytest.raises(ValueError, match=name):
            MeanFieldMixture(2, **{name: value}).fit(X)


# --- what it is made of ---


def couple(known: Constraints, k: int, penalty: float) -> FieldRows:
    return coupled_rows(
        known,
        k,
        None,
        strength=penalty,
        by_marginals=True,
        inference="mean-field",
        coupled_prior=False,
        random_state=0,
    )


# ------------------------------------------------------------------ fixed point and bound


def random_field(seed: int, penalty: float) -> tuple[FieldRows, np.ndarray, np.ndarray]:
    rng = np.random.RandomState(seed)
    known = Constraints.sample(rng.randint(3, size=6), 7, random_state=seed)
    rows = couple(known, 3, penalty)
    return rows, rng.randn(len(rows.rows), 3), np.log(rng.dirichlet(np.ones(3)))


@pytest.mark.parametrize("penalty", [0.3, 2.0, 1000.0])
@pytest.mark.parametrize("seed", range(4))
def test_fixed_point_and_bound(seed: int, penalty: float) -> None:
    rows, density, log_pi = random_field(seed, penalty)
    q, bound, _ = rows.e_step(density, log_pi)
    known = Constraints.sample(np.random.RandomState(seed).randint(3, size=6), 7, random_state=seed)
    position = np.full(6, -1)
    position[rows.rows] = np.arange(len(rows.rows))
    rho = np.zeros((len(q), len(q)))
    for pairs, sign in ((known.must_link, 1), (known.cannot_link, -1)):
        for i, j in position[pairs]:
            rho[i, j] = rho[j, i] = sign * penalty

    joint = density + log_pi
    np.testing.assert_allclose(q, softmax(joint + rho @ q, axis=1), atol=5e-4)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(q > 0, q * np.log(q), 0.0).sum()
    value = entropy + (q * joint).sum() + 0.5 * np.einsum("ij,is,js->", rho, q, q)
    assert bound == pytest.approx(value, abs=1e-6)

    every = np.array(list(itertools.product(range(3), repeat=len(q))))
    same = every[:, :, None] == every[:, None, :]
    weight = joint[np.arange(len(q)), every].sum(axis=1)
    exact = logsumexp(weight + 0.5 * (rho * same).sum(axis=(1, 2)))
    assert bound <= exact + 1e-9


def test_a_single_pair_is_exact_without_coupling_and_too_sure_with_it() -> None:
    # Both rows lean to component 0; the link makes them surer, mean field more than it should.
    density = np.log([[0.7, 0.3], [0.6, 0.4]])
    uniform = np.log([0.5, 0.5])
    known = Constraints([(0, 1)], n_samples=2)
    for penalty in (1e-9, 1.0, 3.0):
        q = couple(known, 2, penalty).e_step(density, uniform).resp
        joint = np.exp(density)[0][:, None] * np.exp(density)[1] * np.exp(penalty * np.eye(2))
        exact = joint.sum(axis=1) / joint.sum()
        if penalty < 1e-6:
            np.testing.assert_allclose(q[0], exact, atol=1e-8)
        else:
            assert q[0, 0] > exact[0] > 0.7


def test_known_classes_lead_their_neighbours() -> None:
    known = Constraints([(0, 1)], [(0, 2)], labels=[1, -1, -1, 0], n_samples=4)
    q = couple(known, 2, 5.0).e_step(np.zeros((4, 2)), np.log([0.5, 0.5])).resp
    np.testing.assert_array_equal(q[[0, 3]], [[0, 1], [1, 0]])
    np.testing.assert_allclose(q[[1, 2], [1, 0]], 1 / (1 + np.exp(-5)))


# ------------------------------------------------------------------ annealing and selection


def test_all_centres_are_the_mean_when_it_is_hot() -> None:
    X, _ = blobs()
    model = GaussianMixture(3)
    whole = model._whole_data(as_rows(X), 3, None)
    from dataclasses import replace

    from sidelight.mixture._core import em

    start = replace(whole, means=X[:3].copy())
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    result = em(
        as_rows(X), Tempered(start, 1e-9), np.full(3, -np.log(3)), sample_weight=weight, max_iter=1
    )
    center = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(result.components.components.means, np.tile(center, (3, 1)))


def test_tempered_components_are_the_components_at_temperature_one() -> None:
    X, _ = blobs()
    whole = GaussianMixture(3)._whole_data(as_rows(X), 3, None)
    features = whole.features(X)
    np.testing.assert_array_equal(
        Tempered(whole, 1.0).log_density(features), whole.log_density(features)
    )
    np.testing.assert_allclose(
        Tempered(whole, 0.25).log_density(features), 0.25 * whole.log_density(features)
    )


def test_the_smallest_weight_with_the_fewest_violations_is_chosen() -> None:
    X, y = four_clouds(0)
    known = Constraints.sample(y, 4, random_state=0)
    options = {"penalty": 1000.0, "annealing": False, "n_init": 1, "random_state": 0}
    plain = fit(MeanFieldMixture(2, **options), X, known)
    assert plain.disagreement_ > 0  # two points at the same place have different labels
    model = fit(MeanFieldMixture(2, constrained_weight="auto", **options), X, known)
    tried, violated = model.search_["constrained_weight"], model.search_["violated"]
    np.testing.assert_array_equal(tried, GRID[: len(tried)])
    assert model.constrained_weight_ == tried[np.argmin(violated)]
    assert len(tried) == len(GRID) or violated[-1] == 0
    assert violated.min() < violated[0]


def test_many_pairs_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs(90)
    known = Constraints.sample(y, 64, random_state=0)
    used: list[Constraints] = []
    counted: list[Constraints] = []
    couple_rows, violations = MeanFieldMixture._couple, _mean_field._violations

    def remember_used(self: Any, part: Constraints, *rest: Any) -> Any:
        used.append(part)
        return couple_rows(self, part, *rest)

    def remember_counted(found: Any, source: Any, part: Constraints) -> int:
        counted.append(part)
        return violations(found, source, part)

    monkeypatch.setattr(MeanFieldMixture, "_couple", remember_used)
    monkeypatch.setattr(_mean_field, "_violations", remember_counted)
    model = MeanFieldMixture(
        3, constrained_weight="auto", annealing=False, n_init=1, random_state=0, max_iter=10
    )
    fit(model, X, known)
    assert len(counted) == 3 * len(model.search_["violated"])
    assert used[-1] == known  # the last fit uses everything
    for part, held_out in zip(used, counted, strict=False):
        assert held_out.n_pairs > 10
        assert (part & held_out).n_pairs == 0
        assert part.n_pairs + held_out.n_pairs == known.n_pairs
    fit(model.set_params(n_splits=9), X, known)  # too few for so many folds
    assert counted[-1] == used[-1] == known
