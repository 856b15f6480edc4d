"""Mixtures under equivalence constraints: sums over all labellings, limits, both samplings."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight._kernels.assignment.matching import greedy_matching
from sidelight.cluster import COPKMeans
from sidelight.engine import as_rows
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.mixture import ChunkletMixture, GaussianMixture, PenalizedMixture
from sidelight.mixture.field._rows import FieldRows, hard_rows

SAMPLINGS = ("points", "chunklets")


def fit(X: np.ndarray, k: int = 3, **params: Any) -> ChunkletMixture:
    fitted = {key: params.pop(key) for key in ("constraints", "sample_weight") if key in params}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ChunkletMixture(k, **{"random_state": 0, **params}).fit(X, **fitted)


def blobs(n: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return 2.0 * np.eye(3)[y] + rng.normal(0, 0.8, (n, 3)), y


# ------------------------------------------------------------------ identities of the chapter


def test_without_constraints_it_is_plain_em() -> None:
    X, _ = blobs()
    plain = GaussianMixture(3, n_init=2, random_state=0).fit(X)
    for sampling in SAMPLINGS:
        model = fit(X, sampling_unit=sampling)
        np.testing.assert_array_equal(model.history_, plain.history_)
        np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_labels_alone_are_what_a_gaussian_mixture_does_with_them() -> None:
    X, y = blobs()
    partial = np.where(np.arange(len(y)) % 4 == 0, y, -1)
    start = {"means_init": X[:3], "precisions_init": np.tile(np.eye(3), (3, 1, 1))}
    for sampling in SAMPLINGS:
        model = ChunkletMixture(3, sampling_unit=sampling, **start).fit(X, partial)
        plain = GaussianMixture(3, **start).fit(X, partial)
        np.testing.assert_allclose(model.history_, plain.history_)
        np.testing.assert_allclose(model.means_, plain.means_)
        np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_certain_pairs_of_the_penalised_mixture_are_chunklets() -> None:
    X, y = blobs(40, seed=4)
    known = Constraints.sample(y, 25, random_state=0)
    start = {"means_init": X[:3], "precisions_init": np.tile(np.eye(3), (3, 1, 1))}
    ours = fit(X, constraints=known, max_iter=15, **start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = PenalizedMixture(3, penalty=np.inf, max_iter=15, **start)
        theirs.fit(X, constraints=known)
    np.testing.assert_allclose(ours.history_, theirs.history_, rtol=1e-6)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_one_chunklet_per_class_is_a_supervised_classifier(sampling: str) -> None:
    X, y = blobs()
    closure = Constraints.from_groups(y)
    apart = [(int(np.argmax(y == a)), int(np.argmax(y == b))) for a, b in ((0, 1), (0, 2), (1, 2))]
    known = closure | Constraints(cannot_link=apart, n_samples=len(y))
    model = fit(X, sampling_unit=sampling, constraints=known, reg_covar=0.0, tol=0.0, max_iter=50)
    assert adjusted_rand_index(y, model.labels_) == 1.0
    for c in range(3):
        s = model.labels_[np.argmax(y == c)]
        np.testing.assert_allclose(model.means_[s], X[y == c].mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(model.covariances_[s], np.cov(X[y == c].T, ddof=0), atol=1e-9)


def test_a_forest_and_disjoint_pairs_are_no_approximation() -> None:
    X, y = blobs(60)
    a, b = np.flatnonzero(y == 0)[:8], np.flatnonzero(y == 1)[:8]
    pairs = Constraints(cannot_link=np.column_stack([a, b]), n_samples=60)
    chain = pairs | Constraints(cannot_link=np.column_stack([a[1:], b[:-1]]), n_samples=60)
    exact = fit(X, constraints=chain, inference="exact")
    forest = fit(X, constraints=chain, inference="forest")
    assert forest.n_dropped_ == 0
    np.testing.assert_allclose(forest.history_, exact.history_)
    exact = fit(X, constraints=pairs)
    pseudo = fit(X, constraints=pairs, variant="published")
    np.testing.assert_allclose(pseudo.history_, exact.history_)


def test_pseudo_likelihood_stays_bounded_on_stars() -> None:
    # The source's product over all pairs has no maximum here: one row apart from all others.
    X = np.vstack([np.zeros((1, 2)), np.random.default_rng(0).normal(3, 1, (20, 2))])
    star = Constraints(cannot_link=[(0, i) for i in range(1, 21)], n_samples=21)
    model = fit(X, 2, constraints=star, variant="published", reg_covar=1e-2)
    assert np.isfinite(model.history_).all()
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.n_violations_ == 0


# ------------------------------------------------------------------ limits and behaviour


@pytest.mark.parametrize("variant", ["default", "published"])
@pytest.mark.parametrize("inference", ["auto", "forest"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_likelihood_never_falls(sampling: str, inference: str, variant: str) -> None:
    X, y = blobs(80, seed=2)
    known = Constraints.sample(y, 90, random_state=0)
    model = fit(
        X,
        constraints=known,
        sampling_unit=sampling,
        inference=inference,
        variant=variant,
        tol=0.0,
        max_iter=40,
        init_params="random",
    )
    assert len(model.history_) > 5
    assert np.all(np.diff(model.history_) <= 0)
    assert model.n_violations_ == 0


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random_from_data", "random"])
def test_every_start_complies_and_keeps_the_numbers_of_classes(init: str) -> None:
    X, y = blobs()
    partial = np.where(np.arange(len(y)) % 9 == 0, y, -1)
    known = Constraints.sample(y, 20, random_state=0) | Constraints.from_labels(partial)
    model = fit(X, constraints=known, init_params=init, n_init=2)
    assert model.n_violations_ == 0
    np.testing.assert_array_equal(model.labels_[partial >= 0], partial[partial >= 0])
    assert adjusted_rand_index(y, model.labels_) > 0.6


def test_weights_repeat_rows_with_all_that_ties_them() -> None:
    X, y = blobs(40)
    known = Constraints.sample(y, 25, random_state=3)
    start = {"means_init": X[:3], "precisions_init": np.tile(np.eye(3), (3, 1, 1))}
    for sampling in SAMPLINGS:
        options = {"sampling_unit": sampling, "max_iter": 10, "constraints": known, **start}
        once = fit(X, **options)
        scaled = fit(X, sample_weight=np.full(40, 0.3), **options)
        np.testing.assert_allclose(scaled.history_, once.history_)
        # One connected part counts three times: the same as three copies of it.
        part = connected_rows(known, 0 if len(known.must_link) else 1)
        weight = np.where(part, 3.0, 1.0)
        copies = np.concatenate([np.arange(40), *[np.flatnonzero(part)] * 2])
        place = np.concatenate([np.zeros(40, int), np.repeat([1, 2], part.sum())])
        where = {(r, c): i for i, (r, c) in enumerate(zip(copies, place, strict=True))}

        def copied(pairs: np.ndarray, where: Any = where) -> list[tuple[int, int]]:
            return [
                (where[i, c], where[j, c]) for i, j in pairs for c in range(3) if (i, c) in where
            ]

        several = Constraints(
            copied(known.must_link), copied(known.cannot_link), n_samples=len(copies)
        )
        repeated = fit(X[copies], **{**options, "constraints": several})
        weighted = fit(X, sample_weight=weight, **options)
        np.testing.assert_allclose(weighted.history_, repeated.history_)
        np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-5, atol=1e-6)


def connected_rows(known: Constraints, pair: int) -> np.ndarray:
    """Rows that pairs of any kind connect with the ends of one pair."""
    everything = Constraints(
        np.concatenate([known.must_link, known.cannot_link]), n_samples=known.n_samples
    )
    component = everything.components()
    return component == component[known.must_link[pair, 0]]


def test_uneven_weights_keep_the_ascent() -> None:
    X, y = blobs(60)
    known = Constraints.sample(y, 40, random_state=3)
    weight = np.random.default_rng(0).uniform(0, 3, 60)
    weight[known.must_link[:3].ravel()] = 0.0
    for sampling in SAMPLINGS:
        model = fit(
            X,
            sampling_unit=sampling,
            constraints=known,
            sample_weight=weight,
            tol=0.0,
            max_iter=60,
            reg_covar=0.0,
            init_params="random",
        )
        assert len(model.history_) > 20
        assert np.isfinite(model.means_).all()


def entangled(n: int = 60) -> tuple[np.ndarray, Constraints]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 4
    pairs = np.array([(i, j) for i, j in itertools.combinations(range(n), 2) if y[i] != y[j]])
    chosen = pairs[rng.permutation(len(pairs))[: 8 * n]]
    X = 3.0 * np.eye(4)[y] + rng.normal(0, 1, (n, 4))
    return X, Constraints(cannot_link=chosen, n_samples=n)


def test_too_entangled_for_exact_sums() -> None:
    X, known = entangled()
    with pytest.warns(ConstraintWarning, match=r"\d+ of them were left out of the sums"):
        model = ChunkletMixture(4, random_state=0, reg_covar=1e-3).fit(X, constraints=known)
    assert model.n_violations_ == 0
    assert model.n_dropped_ == len(known.cannot_link) - 59  # a tree on all rows is left
    assert model.inference_ == {"spanning forest": 60}
    with pytest.raises(SidelightError, match="use inference='auto' or 'forest'"):
        ChunkletMixture(4, inference="exact").fit(X, constraints=known)


def test_two_rows_of_gaussians() -> None:
    """Left and right are wanted, above and below are further apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([2.0 * y, np.where(np.arange(200) % 2, 2.5, -2.5)])
    X += rng.normal(0, 0.5, (200, 2))
    known = Constraints.sample(y, protocol="teachers", n_teachers=4, size=6, random_state=0)
    plain = GaussianMixture(2, n_init=5, random_state=0).fit(X)
    cop = COPKMeans(2, random_state=0).fit(X, constraints=known)
    model = fit(X, 2, constraints=known)
    assert adjusted_rand_index(y, plain.labels_) < 0.1
    assert adjusted_rand_index(y, cop.labels_) < 0.5
    assert adjusted_rand_index(y, model.predict(X)) > 0.9


def test_new_rows_that_belong_together_are_judged_together() -> None:
    X, y = blobs()
    known = Constraints.sample(y, 30, random_state=0)
    model = fit(X, constraints=known)
    rng = np.random.default_rng(5)
    # Ten rows of one source between two components: each says little, together they are sure.
    new = np.vstack([0.9 * np.eye(3)[0] + rng.normal(0, 0.8, (10, 3)), X[:2]])
    groups = np.array([0] * 10 + [-1, -1])
    joint = model._components.log_density(model._components.features(new))
    labels = model.predict_jointly(new, Constraints.from_groups(groups))
    total = joint[:10].sum(axis=0) + 10 * np.log(model.weights_)
    np.testing.assert_array_equal(labels[:10], np.argmax(total))
    np.testing.assert_array_equal(labels[10:], model.predict(X[:2]))
    apart = Constraints(cannot_link=[(0, 1)], n_samples=12)
    assert len(set(model.predict_jointly(new, apart)[:2])) == 2
    with pytest.raises(SidelightError, match="Labels of new rows"):
        model.predict_jointly(new, Constraints.from_labels(groups))


def test_wrong_choices_are_named() -> None:
    X, _ = blobs(20)
    for name in ("sampling_unit", "inference", "variant", "covariance_type", "init_params"):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            ChunkletMixture(2, **{name: "guess"}).fit(
                X, constraints=Constraints([(0, 1)], n_samples=20)
            )


def test_tables_of_a_million_entries_are_made_only_where_they_are_asked_for() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(24) % 4
    X = 3 * np.eye(4)[y] + rng.normal(size=(24, 4))
    apart = np.array([(i, j) for i in range(24) for j in range(i) if y[i] != y[j]])
    known = Constraints(cannot_link=apart[rng.permutation(len(apart))[:48]], n_samples=24)
    settings = {"covariance_type": "spherical", "n_init": 1, "max_iter": 2, "random_state": 0}
    field = {}
    for inference in ("auto", "exact"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            model = ChunkletMixture(4, inference=inference, **settings).fit(X, constraints=known)
        field[inference] = set(model.inference_)
        assert model.n_violations_ == 0
    assert "spanning forest" in field["auto"]
    assert "spanning forest" not in field["exact"]


# --- what it is made of ---


def constrain(known: Constraints, k: int, weights: Any = None, **params: Any) -> FieldRows:
    return hard_rows(known, k, as_rows(np.zeros((known.n_samples, 1))), weights, **params)


def random_field(seed: int, n: int, k: int) -> tuple[Constraints, np.ndarray, np.ndarray]:
    """Pairs true to some labels, log-densities and log-weights that have nothing to do with it."""
    rng = np.random.RandomState(seed)
    y = rng.randint(k, size=n)
    known = Constraints.sample(y, 6, random_state=seed)
    return known, rng.randn(n, k), np.log(rng.dirichlet(np.ones(k)))


def enumerate_labellings(known: Constraints, k: int) -> np.ndarray:
    every = np.array(list(itertools.product(range(k), repeat=known.n_samples)))
    fine = np.ones(len(every), dtype=bool)
    for i, j in known.must_link:
        fine &= every[:, i] == every[:, j]
    for i, j in known.cannot_link:
        fine &= every[:, i] != every[:, j]
    return every[fine]


# ------------------------------------------------------------------ against all labellings


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_posterior_is_the_sum_over_all_labellings(seed: int, k: int, sampling: str) -> None:
    known, density, log_pi = random_field(seed, 7, k)
    rows = constrain(known, k, sampling=sampling)
    resp, log_likelihood, _ = rows.e_step(density[rows.rows], log_pi)

    labellings = enumerate_labellings(known, k)
    first = np.arange(7) if sampling == "points" else known.closure().first_row
    prior = log_pi[labellings[:, first]].sum(axis=1)
    joint = prior + density[np.arange(7), labellings].sum(axis=1)
    p = softmax(joint)
    marginals = np.array([[p[labellings[:, i] == s].sum() for s in range(k)] for i in range(7)])
    free = np.setdiff1d(np.arange(7), rows.rows)
    of_free = logsumexp(density[free] + log_pi, axis=1).sum()
    np.testing.assert_allclose(resp, marginals[rows.rows], atol=1e-12)
    assert log_likelihood + of_free == pytest.approx(logsumexp(joint) - logsumexp(prior))

    best = labellings[np.argmax(joint)]
    np.testing.assert_array_equal(rows.labels(density[rows.rows], log_pi), best[rows.rows])


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("seed", range(4))
def test_mixing_weights_maximise_the_expected_likelihood(seed: int, sampling: str) -> None:
    known, density, log_pi = random_field(seed, 8, 3)
    rows = constrain(known, 3, sampling=sampling)
    resp, _, counts = rows.e_step(density[rows.rows], log_pi)
    free = np.array([5.0, 2.0, 3.0])
    new = rows.m_step(free, counts, log_pi)

    labellings = enumerate_labellings(known, 3)[:, rows.rows]
    first = np.unique(known.components()[rows.rows], return_index=True)[1]
    drawn = np.arange(len(rows.rows)) if sampling == "points" else first
    wanted = free + resp[drawn].sum(axis=0)

    def expected(eta: np.ndarray) -> float:
        eta = eta - logsumexp(eta)
        every = np.unique(labellings, axis=0)
        return float(wanted @ eta - logsumexp(eta[every[:, drawn]].sum(axis=1)))

    at = expected(new)
    for direction in np.random.RandomState(0).randn(20, 3):
        assert expected(new + 1e-3 * direction) <= at + 1e-12
    assert at >= expected(log_pi)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_known_classes_fix_components_and_bar_their_neighbours(sampling: str) -> None:
    known = Constraints(
        cannot_link=[(0, 1)], must_link=[(2, 3)], labels=[7, -1, 5, -1, -1], n_samples=5
    )
    rng = np.random.RandomState(0)
    density, log_pi = rng.randn(5, 3), np.log([0.5, 0.3, 0.2])
    rows = constrain(known, 3, sampling=sampling)
    resp, log_likelihood, _ = rows.e_step(density[rows.rows], log_pi)
    np.testing.assert_array_equal(rows.rows, [0, 1, 2, 3])
    np.testing.assert_array_equal(rows.classes, [5, 7])
    joint = density + log_pi
    # Row 0 is of class 7, component 1; row 1 is not; rows 2 and 3 are of class 5, component 0.
    np.testing.assert_allclose(resp[[0, 2, 3]], np.eye(3)[[1, 0, 0]])
    np.testing.assert_allclose(resp[1], softmax(np.where([0, 1, 0], -np.inf, joint[1])))
    value = joint[0, 1] + joint[[2, 3], 0].sum() + logsumexp(joint[1, [0, 2]])
    assert log_likelihood == pytest.approx(value)
    np.testing.assert_array_equal(rows.labels(density[rows.rows], log_pi)[[0, 2, 3]], [1, 0, 0])


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_gradient_vanishes_where_em_ends(sampling: str) -> None:
    X, y = blobs(60)
    known = Constraints.sample(y, 30, random_state=1)
    model = fit(
        X,
        sampling_unit=sampling,
        constraints=known,
        tol=0.0,
        max_iter=3000,
        reg_covar=0.0,
        n_init=1,
    )
    rows = hard_rows(known, 3, as_rows(X), sampling=sampling)
    free = np.setdiff1d(np.arange(60), rows.rows)
    from dataclasses import replace

    def log_likelihood(means: np.ndarray, log_pi: np.ndarray) -> float:
        components = replace(model._components, means=means)
        density = components.log_density(components.features(X))
        log_pi = log_pi - logsumexp(log_pi)
        of_free = logsumexp(density[free] + log_pi, axis=1).sum()
        return float(of_free + rows.e_step(density[rows.rows], log_pi)[1])

    means, log_pi = model._components.means, model._log_weights
    assert log_likelihood(means, log_pi) / 60 == pytest.approx(-model.objective_)
    step = 1e-5
    for direction in np.random.RandomState(0).randn(6, 12):
        a, b = direction[:9].reshape(3, 3), direction[9:]
        up = log_likelihood(means + step * a, log_pi + step * b)
        down = log_likelihood(means - step * a, log_pi - step * b)
        assert abs(up - down) / (2 * step) < 2e-3


# ------------------------------------------------------------------ identities of the chapter


def test_equal_weights_make_both_samplings_agree() -> None:
    known, density, _ = random_field(3, 9, 3)
    uniform = np.full(3, -np.log(3))
    posteriors = []
    for sampling in SAMPLINGS:
        rows = constrain(known, 3, sampling=sampling)
        posteriors.append(rows.e_step(density[rows.rows], uniform)[0])
    np.testing.assert_allclose(*posteriors, atol=1e-12)


def test_mixing_weights_count_chunklets_or_rows_in_closed_form() -> None:
    groups = np.repeat(np.arange(10), 4)
    known = Constraints.from_groups(groups)
    rng = np.random.RandomState(0)
    density, log_pi = rng.randn(40, 3), np.log([0.2, 0.3, 0.5])
    for sampling, power in (("chunklets", 1.0), ("points", 1 / 4)):
        rows = constrain(known, 3, sampling=sampling)
        resp, _, counts = rows.e_step(density, log_pi)
        new = rows.m_step(np.zeros(3), counts, log_pi)
        share = resp[::4].mean(axis=0) ** power
        np.testing.assert_allclose(np.exp(new), share / share.sum(), atol=1e-7)


def test_rows_of_a_chunklet_share_their_posterior() -> None:
    known = Constraints.from_groups([0, 0, 0, -1, 1, 1])
    rng = np.random.RandomState(1)
    density, log_pi = rng.randn(6, 2), np.log([0.4, 0.6])
    rows = constrain(known, 2, sampling="chunklets")
    resp = rows.e_step(density[rows.rows], log_pi).resp
    np.testing.assert_array_equal(resp[0], resp[1])
    np.testing.assert_array_equal(resp[0], resp[2])
    # Twice every row: the densities count twice, the mixing weight once.
    twice = constrain(Constraints.from_groups(np.repeat([0, 1], 6)), 2, sampling="chunklets")
    doubled = twice.e_step(np.repeat(density[:6], 2, axis=0), log_pi).resp
    odds = np.log(doubled[0, 0] / doubled[0, 1])
    expected = 2 * (density[:3, 0] - density[:3, 1]).sum() + log_pi[0] - log_pi[1]
    assert odds == pytest.approx(expected)


def test_a_pair_and_a_full_clique_apart() -> None:
    rng = np.random.RandomState(2)
    density, log_pi = rng.randn(4, 4), np.log(np.full(4, 0.25))
    a, b = softmax(density[:2], axis=1)
    pair = constrain(Constraints(cannot_link=[(0, 1)], n_samples=2), 4)
    resp = pair.e_step(density[:2], log_pi).resp
    np.testing.assert_allclose(resp[0], a * (1 - b) / (1 - a @ b))
    clique = constrain(
        Constraints(cannot_link=list(itertools.combinations(range(4), 2)), n_samples=4), 4
    )
    resp = clique.e_step(density, log_pi).resp
    np.testing.assert_allclose(resp.sum(axis=0), 1.0)


def test_greedy_matching_is_maximal() -> None:
    rng = np.random.default_rng(0)
    edges = np.unique(rng.integers(20, size=(60, 2)), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    chosen = greedy_matching(edges, 20)
    ends = edges[chosen].ravel()
    assert len(np.unique(ends)) == len(ends)
    assert np.isin(edges[~chosen], ends).any(axis=1).all()


# ------------------------------------------------------------------ limits and behaviour


@pytest.mark.parametrize("seed", range(4))
def test_vanishing_width_is_constrained_k_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(0, 10, (30, 2)), rng.integers(3, size=30)
    known = Constraints.sample(y, 25, random_state=seed)
    rows = hard_rows(known, 3, as_rows(X))
    centers, uniform = X[:3].copy(), np.full(3, -np.log(3))
    cop = COPKMeans(3, variant="exact", init=centers, n_init=1, max_iter=1).fit(
        X, constraints=known
    )
    narrow = -0.5 * ((X[:, None] - centers) ** 2).sum(axis=2) / 1e-4**2
    resp = softmax(narrow, axis=1)
    resp[rows.rows] = rows.e_step(narrow[rows.rows], uniform)[0]
    labels = resp.argmax(axis=1)
    np.testing.assert_allclose(resp.max(axis=1), 1.0)
    cost = ((X - centers[labels]) ** 2).sum()
    assert cost == pytest.approx(cop.history_[0])  # the exact assignment at the same centres
    labels[rows.rows] = rows.labels(narrow[rows.rows], uniform)
    assert known.violations(labels).n == 0
