"""Missing values are left out exactly (Verbeek 2004, section 4.2.2), for every family."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal
from tests.mixture.som.nodes import FAMILIES, make_nodes, rows_of

from sidelight.exceptions import SidelightError
from sidelight.mixture import SelfOrganizingMixture
from sidelight.mixture.som._categories import Cells, pair_by_information

DISCRETE = ["bernoulli", "categorical", "paired"]


def fitted(family: str, rows: np.ndarray, shape: tuple[int, ...] = (3,)) -> SelfOrganizingMixture:
    name = {"paired": "categorical", "own-spherical": "spherical"}.get(family, family)
    return SelfOrganizingMixture(
        shape,
        component=name,  # type: ignore[arg-type]
        column_pairs=family == "paired",
        shared_variance=family != "own-spherical",
    ).fit(rows)


@pytest.mark.parametrize("family", DISCRETE)
def test_density_of_a_row_with_holes_is_the_sum_over_all_ways_to_fill_it(family: str) -> None:
    rows = rows_of(family, 60, missing=0.2)
    model = fitted(family, rows)
    values = [np.unique(column[~np.isnan(column)]) for column in rows.T]
    for row in rows[np.isnan(rows).sum(axis=1) > 0][:8]:
        options = [value if np.isnan(x) else [x] for x, value in zip(row, values, strict=True)]
        complete = np.array(list(itertools.product(*options)))
        assert model.score_samples(row[None])[0] == pytest.approx(
            logsumexp(model.score_samples(complete)), rel=1e-9
        )


@pytest.mark.parametrize("family", ["spherical", "own-spherical", "diag", "full", "ppca"])
def test_density_and_expectation_are_those_of_partitioned_gaussians(family: str) -> None:
    rows = rows_of(family, 80, missing=0.2)
    model = fitted(family, rows)
    k, d = model.means_.shape
    covariances = np.array(
        [
            c * np.eye(d) if np.ndim(c) == 0 else np.diag(c) if c.ndim == 1 else c
            for c in model.covariances_
        ]
    )
    imputed = model.impute(rows)
    for number in np.flatnonzero(np.isnan(rows).any(axis=1))[:10]:
        row = rows[number]
        o, h = ~np.isnan(row), np.isnan(row)
        if not o.any():
            continue
        logs = np.array(
            [
                multivariate_normal.logpdf(row[o], model.means_[s][o], covariances[s][np.ix_(o, o)])
                for s in range(k)
            ]
        )
        assert model.score_samples(row[None])[0] == pytest.approx(
            logsumexp(logs) - np.log(k), rel=1e-8
        )
        expected = [
            model.means_[s][h]
            + covariances[s][np.ix_(h, o)]
            @ np.linalg.solve(covariances[s][np.ix_(o, o)], row[o] - model.means_[s][o])
            for s in range(k)
        ]
        np.testing.assert_allclose(
            imputed[number][h], softmax(logs) @ np.array(expected), rtol=1e-7
        )
        np.testing.assert_array_equal(imputed[number][o], row[o])


@pytest.mark.parametrize("family", [f for f in FAMILIES if f not in ("multinomial", "mixed")])
def test_em_of_one_node_ends_at_the_maximum_of_the_marginal_likelihood(family: str) -> None:
    """The likelihood of what there is has no slope at the end of EM."""
    rows = rows_of(family, 60, missing=0.3)
    nodes = make_nodes(rows, family, (1,))
    parameters = nodes.parameters
    for _ in range(300):
        parameters = nodes.steps.m_step(nodes.steps.e_step(parameters, nodes.stage(0.0)))
    (part,) = parameters.parts
    best = nodes.steps.log_likelihood(parameters)
    rng = np.random.default_rng(0)
    inner = getattr(part, "inner", part)
    for _ in range(10):
        moved = _moved(inner, rng, 1e-3)
        other = type(part)(moved) if inner is not part else moved
        assert nodes.steps.log_likelihood(parameters._replace(parts=(other,))) <= best + 1e-9


def _moved(components, rng, size):  # type: ignore[no-untyped-def]
    """The same components a little to the side, still valid ones."""
    from dataclasses import replace

    if hasattr(components, "log_probabilities"):
        logs = components.log_probabilities + rng.normal(scale=size, size=(1, 1)) * 0
        logs = logs + rng.normal(scale=size, size=logs.shape)
        ends = np.append(components.starts, logs.shape[1])
        for a, b in itertools.pairwise(ends):
            logs[:, a:b] -= logsumexp(logs[:, a:b], axis=1, keepdims=True)
        return replace(components, log_probabilities=logs)
    if hasattr(components, "log_yes"):
        odds = components.log_yes - components.log_no + rng.normal(scale=size)
        return replace(components, log_yes=-np.logaddexp(0, -odds), log_no=-np.logaddexp(0, odds))
    if hasattr(components, "loadings"):
        return replace(
            components,
            loadings=components.loadings + rng.normal(scale=size, size=components.loadings.shape),
            noise_variances=components.noise_variances * np.exp(rng.normal(scale=size)),
        )
    return replace(
        components,
        means=components.means + rng.normal(scale=size, size=components.means.shape),
        covariances=components.covariances * np.exp(rng.normal(scale=size)),
    )


def test_categories_are_filled_by_the_most_probable_one_given_the_partner() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 200).astype(float)
    rows = np.column_stack([first, (first + 1) % 3, rng.integers(0, 2, 200)])
    holes = rows.copy()
    holes[::4, 1] = np.nan
    holes[1::4, 0] = np.nan
    model = SelfOrganizingMixture((2,), component="categorical", column_pairs=True).fit(holes)
    np.testing.assert_array_equal(model.impute(holes)[:, :2], rows[:, :2])
    alone = SelfOrganizingMixture((1,), component="categorical").fit(holes)
    assert np.mean(alone.impute(holes)[:, 1] == rows[:, 1]) < 0.95


def test_rows_without_any_value_are_placed_by_the_weights() -> None:
    rows = rows_of("full", 60)
    rows[5] = np.nan
    model = SelfOrganizingMixture((3,), component="full").fit(rows)
    np.testing.assert_allclose(model.predict_proba(rows[5:6]), 1 / 3)
    assert np.isfinite(model.embedding_).all()


def test_a_column_without_values_is_named() -> None:
    for family in ("spherical", "full", "categorical"):
        rows = rows_of("categorical", 30)
        rows[:, 1] = np.nan
        with pytest.raises(SidelightError, match="column 1"):
            SelfOrganizingMixture((2,), component=family).fit(rows)  # type: ignore[arg-type]


def test_a_category_that_was_never_seen_counts_as_missing() -> None:
    rows = rows_of("categorical", 60)
    for pairs in (False, True):
        model = SelfOrganizingMixture((3,), component="categorical", column_pairs=pairs).fit(rows)
        unseen, missing = rows[:1].copy(), rows[:1].copy()
        unseen[0, 2], missing[0, 2] = 99.0, np.nan
        np.testing.assert_array_equal(model.score_samples(unseen), model.score_samples(missing))


def test_missing_at_random_leaves_the_means_where_they_are() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    holes = np.where(rng.uniform(size=rows.shape) < 0.2, np.nan, rows)
    full = SelfOrganizingMixture((1,), component="full").fit(holes)
    np.testing.assert_allclose(full.means_, 0, atol=4 / np.sqrt(2000))
    np.testing.assert_allclose(full.covariances_[0], np.cov(rows.T), atol=0.1)


# --- what it is made of ---


def test_pairs_are_those_of_most_information() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(0, 3, 500) for _ in range(3))
    noisy = np.where(rng.uniform(size=500) < 0.2, rng.integers(0, 3, 500), b)
    codes = np.column_stack([a, b, c, a, noisy])
    assert pair_by_information(codes) == [(0, 3), (1, 4), (2,)]


def test_members_of_marginals_are_the_cells_with_their_value() -> None:
    from sidelight.mixture.som._categories import make_cells

    cells: Cells = make_cells([(0, 2), (1,)], np.array([2, 3, 2]))
    assert cells.n_cells == 2 * 2 + 3
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 1)
    found = np.hstack([shares, np.zeros((1, 3))]) @ cells.members
    table = shares.reshape(2, 2)
    np.testing.assert_allclose(found[0], [*table.sum(axis=1), *table.sum(axis=0)])
