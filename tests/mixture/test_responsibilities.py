"""Kernels of the e-step against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp, softmax

from sidelight._kernels.mixture.responsibilities import (
    NOTHING,
    add_sparse_sums,
    exponentials,
    log_sums,
    posterior_rows,
    posteriors,
    sparse_products,
    square_columns,
)


def test_exponentials_are_exact_to_the_last_bits() -> None:
    rng = np.random.RandomState(0)
    values = np.concatenate([[0.0, -1e-300, NOTHING, -np.log(2) / 2], -38 * rng.uniform(size=5000)])
    found = values.copy()
    exponentials(found, np.empty(len(found), dtype=np.int64))
    exact = np.where(values > NOTHING, np.exp(values), 0.0)
    np.testing.assert_allclose(found, exact, rtol=4.5e-16)
    assert found[0] == 1.0
    small = np.array([-39.0, -1e300, -np.inf])
    exponentials(small, np.empty(3, dtype=np.int64))
    assert small.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 3), (70, 100), (3000, 2)])
def test_posteriors_of_any_number_of_rows(n: int, k: int) -> None:
    rng = np.random.RandomState(n)
    joint = rng.normal(scale=20, size=(n, k)) - 700
    weights = rng.uniform(size=n) * (rng.uniform(size=n) < 0.8)
    resp = joint.copy()
    likelihood = posterior_rows(resp, weights)
    exact = softmax(joint, axis=1)
    np.testing.assert_allclose(resp, weights[:, None] * exact, rtol=1e-12, atol=1e-16)
    assert likelihood == pytest.approx(weights @ logsumexp(joint, axis=1), rel=1e-13)
    assert not resp[weights == 0].any()
    densities, shares = np.empty(n), np.empty((n, k), dtype=np.float32)
    log_sums(joint, densities)
    np.testing.assert_allclose(densities, logsumexp(joint, axis=1), rtol=1e-14)
    posteriors(joint.copy(), shares)
    np.testing.assert_allclose(shares, exact, rtol=1e-6, atol=1e-30)


def test_rows_that_no_component_can_have() -> None:
    joint = np.array([[0.0, -1.0], [-np.inf, -np.inf]])
    assert posterior_rows(joint.copy(), np.ones(2)) == -np.inf
    assert posterior_rows(joint.copy(), np.array([1.0, 0.0])) == pytest.approx(logsumexp(joint[0]))
    densities = np.empty(2)
    log_sums(joint, densities)
    assert densities[1] == -np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_sparse_rows(dtype: type) -> None:
    rng = np.random.RandomState(0)
    rows = sparse.random_array((30, 11), density=0.3, format="csr", rng=rng).astype(dtype)
    eta, resp = rng.normal(size=(11, 4)), rng.uniform(size=(30, 4))
    out, sums = np.full((30, 4), np.nan), np.ones((11, 4))
    sparse_products(rows.data, rows.indices, rows.indptr, eta, out)
    add_sparse_sums(rows.data, rows.indices, rows.indptr, resp, sums)
    np.testing.assert_allclose(out, rows.astype(float) @ eta, atol=1e-14)
    np.testing.assert_allclose(sums, 1 + rows.astype(float).T @ resp, atol=1e-14)


@pytest.mark.parametrize("summed", [False, True])
def test_squares_of_centered_rows(summed: bool) -> None:
    rng = np.random.RandomState(0)
    rows, origin = rng.normal(size=(9, 3)), rng.normal(size=3)
    out = np.full((4 if summed else 6, 9), np.nan)
    square_columns(rows, origin, out)
    centered = (rows - origin).T
    np.testing.assert_allclose(out[:3], centered)
    squares = centered**2
    np.testing.assert_allclose(out[3:], squares.sum(axis=0, keepdims=True) if summed else squares)
