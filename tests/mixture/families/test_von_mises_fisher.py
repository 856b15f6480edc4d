"""Directions: normalisers, concentrations and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, sparse
from scipy.special import iv
from sklearn.metrics import adjusted_rand_score

from sidelight.mixture import VonMisesFisherMixture
from sidelight.mixture.families._bessel import bessel_ratio, concentration, log_bessel
from sidelight.mixture.families._von_mises_fisher import log_normalizer


def test_lengths_do_not_matter_and_sparse_equals_dense():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(200, 8)) * (rng.uniform(size=(200, 8)) < 0.5) + np.eye(8)[rng.integers(8)]
    one = VonMisesFisherMixture(3, random_state=0).fit(X)
    longer = VonMisesFisherMixture(3, random_state=0).fit(X * rng.uniform(1, 9, size=(200, 1)))
    thin = VonMisesFisherMixture(3, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(longer.labels_, one.labels_)
    np.testing.assert_array_equal(thin.labels_, one.labels_)
    np.testing.assert_allclose(thin.means_, one.means_, atol=1e-9)


def test_equal_concentrations_and_weights_go_by_the_cosine():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4))
    model = VonMisesFisherMixture(3, random_state=0, max_iter=5).fit(X)
    model._components.concentrations[:] = 7.0
    model._components.__dict__.pop("natural", None)
    model._log_weights = np.log(np.full(3, 1 / 3))
    np.testing.assert_array_equal(model.predict(X), np.argmax(X @ model.means_.T, axis=1))


def test_rows_of_zeros_are_named():
    with pytest.raises(ValueError, match=r"Row 1 is all zeros.*no direction"):
        VonMisesFisherMixture(2).fit(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))


# --- what it is made of ---


@pytest.mark.parametrize("order", [0.0, 0.5, 3.0, 20.5])
def test_log_bessel_where_the_function_can_be_computed(order):
    x = np.array([0.1, 1.0, 10.0, 300.0])
    np.testing.assert_allclose(log_bessel(order, x), np.log(iv(order, x)), rtol=1e-10)


@pytest.mark.parametrize("order", [2000.0, 12345.5])
@pytest.mark.parametrize("x", [0.5, 30.0, 5000.0, 1e6])
def test_log_bessel_fulfils_the_recurrence_where_it_cannot(order, x):
    below, here, above = (
        float(log_bessel(v, np.array([x]))[0]) for v in (order - 1, order, order + 1)
    )
    # I_{v-1}(x) - I_{v+1}(x) = (2 v / x) I_v(x)
    assert np.exp(below - here) - np.exp(above - here) == pytest.approx(2 * order / x, rel=1e-6)


@pytest.mark.parametrize("kappa", [1e-6, 0.7, 12.0])
def test_densities_integrate_to_one(kappa):
    on_circle = integrate.quad(
        lambda t: np.exp(log_normalizer(2, np.array([kappa]))[0] + kappa * np.cos(t)), 0, 2 * np.pi
    )[0]
    assert on_circle == pytest.approx(1.0)
    on_sphere = integrate.quad(
        lambda c: 2 * np.pi * np.exp(log_normalizer(3, np.array([kappa]))[0] + kappa * c), -1, 1
    )[0]
    assert on_sphere == pytest.approx(1.0)
    on_ends = np.exp(log_normalizer(1, np.array([kappa]))[0]) * 2 * np.cosh(kappa)
    assert on_ends == pytest.approx(1.0)


def test_ratio_on_the_sphere_has_a_closed_form():
    kappa = np.array([0.1, 1.0, 30.0])
    np.testing.assert_allclose(bessel_ratio(3, kappa), 1 / np.tanh(kappa) - 1 / kappa, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 50, 5000])
def test_concentration_inverts_the_ratio(d):
    lengths = np.array([0.05, 0.3, 0.6, 0.9])
    kappa = concentration(d, lengths, 1e9)
    np.testing.assert_allclose(bessel_ratio(d, kappa), lengths, rtol=1e-7)
    together = concentration(d, np.array([1.0]), 1e6)[0]
    assert together == pytest.approx(1e6) or (d == 1 and np.tanh(together) == 1.0)


def test_a_mixture_is_found_again_from_its_own_samples():
    rng = np.random.default_rng(0)
    means = np.linalg.qr(rng.normal(size=(5, 5)))[0][:3]
    model = VonMisesFisherMixture(3, random_state=0).fit(np.repeat(means, 5, axis=0))
    model._components.concentrations[:] = [5.0, 20.0, 60.0]
    X, y = model.sample(6000)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    for s in range(3):
        length = np.linalg.norm(X[y == s].mean(axis=0))
        assert length == pytest.approx(bessel_ratio(5, np.array([5.0, 20.0, 60.0]))[s], abs=0.03)
    again = VonMisesFisherMixture(3, random_state=1).fit(X)
    assert adjusted_rand_score(y, again.labels_) > 0.85
    np.testing.assert_allclose(np.sort(again.concentrations_), [5, 20, 60], rtol=0.15)
    assert np.all(np.diff(again.history_) <= 1e-10)
