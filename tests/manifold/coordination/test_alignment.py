"""Eigenproblems of the alignment: identities of the specification, brute force, exact limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.manifold import LocallyLinearEmbedding
from tests.manifold.coordination.cases import random_charts, s_curve

from sidelight.exceptions import SidelightError
from sidelight.graphs import laplacian
from sidelight.manifold._reconstruction import reconstruction_weights
from sidelight.manifold.coordination._alignment import (
    Agreement,
    align_by_agreement,
    align_by_reconstruction,
    constant_slots,
    range_basis,
)
from sidelight.manifold.coordination._charts import chart_moments, design_of, posterior_entropy


def random_weights(n: int, seed: int = 0) -> sparse.csr_array:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return reconstruction_weights(X, 6)


def sums_of(resp: np.ndarray, local: np.ndarray) -> Agreement:
    design = design_of(resp, local)
    moments = chart_moments(resp, local)
    return Agreement(len(resp), design.mean(axis=0), design.T @ design, moments)


def same_span(one: np.ndarray, other: np.ndarray) -> None:
    """Assert that the columns are the same up to signs."""
    signs = np.sign(np.sum(one * other, axis=0))
    np.testing.assert_allclose(one * signs, other, atol=1e-7 * np.abs(other).max())


class TestReconstruction:
    def test_it_is_the_printed_eigenproblem(self) -> None:
        """Eigenvectors 2 to d + 1 of U'MU v = λ U'U v, dense, with the null vector in front."""
        resp, local = random_charts()
        U, W = design_of(resp, local), random_weights(40)
        error = np.eye(40) - W.toarray()
        left = U.T @ error.T @ error @ U
        null = constant_slots(4, 3).astype(float)
        np.testing.assert_allclose(U @ null, 1.0)
        np.testing.assert_allclose(left @ null, 0.0, atol=1e-12)
        values, vectors = linalg.eigh(left, U.T @ U)
        found = align_by_reconstruction(U.copy(), W, 3, constant_slots(4, 3))
        np.testing.assert_allclose(found.eigenvalues, values[1:4], rtol=1e-8)
        same_span(U @ found.coefficients, U @ vectors[:, 1:4] * np.sqrt(40))

    def test_mean_covariance_and_cost(self) -> None:
        resp, local = random_charts(60, 5, 1)
        U, W = design_of(resp, local), random_weights(60)
        found = align_by_reconstruction(U.copy(), W, 2, constant_slots(5, 2))
        G = U @ found.coefficients
        np.testing.assert_allclose(G.mean(axis=0), 0.0, atol=1e-10)
        np.testing.assert_allclose(G.T @ G / 60, np.eye(2), atol=1e-10)
        cost = np.sum((G - W @ G) ** 2, axis=0) / 60
        np.testing.assert_allclose(cost, found.eigenvalues, rtol=1e-8)

    def test_a_chart_for_every_row_is_locally_linear_embedding(self) -> None:
        X, _ = s_curve(120)
        U = np.eye(120)
        found = align_by_reconstruction(
            U.copy(), reconstruction_weights(X, 10), 2, np.ones(120, dtype=bool)
        )
        model = LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense")
        same_span(U @ found.coefficients, model.fit_transform(X) * np.sqrt(120))

    def test_empty_charts_and_repeated_coordinates_change_nothing(self) -> None:
        resp, local = random_charts()
        W = random_weights(40)
        plain = design_of(resp, local)
        doubled = np.concatenate([local, local[:, :, :1]], axis=2)
        with_empty = np.column_stack([resp, np.zeros(40)])
        padded = np.concatenate([doubled, np.ones((40, 1, 3))], axis=1)
        U = design_of(with_empty, padded)
        one = align_by_reconstruction(plain.copy(), W, 2, constant_slots(4, 3))
        other = align_by_reconstruction(U.copy(), W, 2, constant_slots(5, 4))
        same_span(U @ other.coefficients, plain @ one.coefficients)

    def test_too_few_directions_are_told(self) -> None:
        resp, local = random_charts(40, 1, 1)
        U = design_of(resp, local)
        with pytest.raises(SidelightError, match="span 1 dimension only"):
            align_by_reconstruction(U, random_weights(40), 2, constant_slots(1, 2))


class TestAgreement:
    def test_three_forms_of_the_cost(self) -> None:
        """Distances to the mean, between charts, and the quadratic form (Verbeek, 5.40-5.42)."""
        resp, local = random_charts()
        rng = np.random.default_rng(1)
        L = rng.normal(size=(4 * 3, 2))
        by_chart = L.reshape(4, 3, 2)
        own = by_chart[:, 0] + np.einsum("nkh,khd->nkd", local, by_chart[:, 1:])
        mean = np.einsum("nk,nkd->nd", resp, own)
        to_mean = np.sum(resp[:, :, None] * (own - mean[:, None]) ** 2)
        pairs = np.sum((own[:, :, None] - own[:, None]) ** 2, axis=3)
        between = 0.5 * np.einsum("ns,nt,nst->", resp, resp, pairs)
        sums = sums_of(resp, local)
        form = np.trace(L.T @ (sums.moments - sums.gram) @ L)
        assert to_mean == pytest.approx(between, rel=1e-12)
        assert to_mean == pytest.approx(form, rel=1e-10)

    def test_matrix_of_the_triple_sum(self) -> None:
        """M = 2 (D - UU') is the sum over rows and pairs of charts (Law, section 2.9.2)."""
        resp, local = random_charts(10, 3, 1)
        total = np.zeros((6, 6))
        for r, z in zip(resp, local, strict=True):
            for j in range(3):
                for m in range(3):
                    difference = np.zeros(6)
                    difference[2 * j : 2 * j + 2] += [1.0, z[j, 0]]
                    difference[2 * m : 2 * m + 2] -= [1.0, z[m, 0]]
                    total += r[j] * r[m] * np.outer(difference, difference)
        sums = sums_of(resp, local)
        np.testing.assert_allclose(2 * (sums.moments - sums.gram), total, atol=1e-12)

    def test_constant_is_free_and_nothing_is_negative(self) -> None:
        sums = sums_of(*random_charts())
        form = sums.moments - sums.gram
        np.testing.assert_allclose(form @ constant_slots(4, 3), 0.0, atol=1e-12)
        assert np.linalg.eigvalsh(form).min() > -1e-10

    def test_it_is_the_printed_eigenproblem(self) -> None:
        resp, local = random_charts()
        sums, U = sums_of(resp, local), design_of(resp, local)
        values, vectors = linalg.eigh(sums.moments - sums.gram, sums.gram)
        found = align_by_agreement(sums, 3, constant_slots(4, 3))
        np.testing.assert_allclose(found.eigenvalues, values[1:4], rtol=1e-8)
        same_span(U @ found.coefficients, U @ vectors[:, 1:4] * np.sqrt(40))
        G = U @ found.coefficients
        np.testing.assert_allclose(G.mean(axis=0), 0.0, atol=1e-10)
        np.testing.assert_allclose(G.T @ G / 40, np.eye(3), atol=1e-10)

    def test_without_local_coordinates_it_is_a_laplacian_eigenmap_of_the_charts(self) -> None:
        """D is the degree of Q'Q, and λ_L = λ / (1 + λ) (Verbeek 2004, section 5.2.4)."""
        resp, _ = random_charts(60, 6)
        sums = sums_of(resp, np.empty((60, 6, 0)))
        np.testing.assert_allclose(np.diag(sums.moments), sums.gram.sum(axis=1))
        L = laplacian(sparse.csr_array(sums.gram), "unnormalized").toarray()
        values, vectors = linalg.eigh(L, sums.moments)
        found = align_by_agreement(sums, 2, np.ones(6, dtype=bool))
        mine = found.eigenvalues / (1 + found.eigenvalues)
        np.testing.assert_allclose(mine, values[1:3], rtol=1e-8)
        centered = vectors[:, 1:3] / np.linalg.norm(resp @ vectors[:, 1:3], axis=0) * np.sqrt(60)
        same_span(found.coefficients, centered)

    def test_charts_that_agree_on_flat_rows_cost_nothing(self) -> None:
        rng = np.random.default_rng(0)
        flat = rng.normal(size=(80, 2))
        resp = rng.dirichlet(np.ones(3), size=80)
        turns = rng.normal(size=(3, 2, 2))
        local = np.einsum("kij,nkj->nki", turns, flat[:, None] - rng.normal(size=(3, 2)))
        found = align_by_agreement(sums_of(resp, local), 2, constant_slots(3, 3))
        np.testing.assert_allclose(found.eigenvalues, 0.0, atol=1e-10)
        G = design_of(resp, local) @ found.coefficients
        design = np.column_stack([np.ones(80), flat])
        rest = G - design @ np.linalg.lstsq(design, G, rcond=None)[0]
        np.testing.assert_allclose(rest, 0.0, atol=1e-6)

    def test_hard_responsibilities_make_everything_optimal(self) -> None:
        _, local = random_charts()
        hard = np.eye(4)[np.arange(40) % 4]
        sums = sums_of(hard, local)
        np.testing.assert_allclose(sums.moments, sums.gram, atol=1e-12)
        assert posterior_entropy(hard) == 0.0
        found = align_by_agreement(sums, 2, constant_slots(4, 3))
        np.testing.assert_allclose(found.eigenvalues, 0.0, atol=1e-9)


def test_basis_of_the_range() -> None:
    rng = np.random.default_rng(0)
    half = rng.normal(size=(7, 4))
    gram = half @ half.T
    basis = range_basis(gram, 2)
    assert basis.shape == (7, 4)
    np.testing.assert_allclose(basis.T @ gram @ basis, np.eye(4), atol=1e-9)


def test_entropy_is_in_bits() -> None:
    assert posterior_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])) == pytest.approx(1.0)
