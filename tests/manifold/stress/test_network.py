"""The auto-associative network: gradient, linear limit, rebuilt rows, restarts, bad input."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from sidelight.datasets import make_s_surface
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.manifold import AutoassociativeNetwork
from sidelight.manifold.stress._layers import Layers

pytestmark = pytest.mark.filterwarnings("ignore:The error of:UserWarning")


def draw(seed=0, n=40, d=5):
    return np.random.default_rng(seed).normal(size=(n, d)) @ np.diag(np.arange(d, 0, -1.0))


def components_error(X, n_components):
    pca = PCA(n_components).fit(X)
    return np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2) / len(X)


@pytest.mark.parametrize("hidden", [2, 7, (6, 4)])
def test_linear_units_find_the_subspace_of_principal_components(hidden):
    X = draw()
    network = AutoassociativeNetwork(2, hidden_layer_sizes=hidden, activation="identity", alpha=0.0)
    network.set_params(random_state=0).fit(X)
    assert network.reconstruction_error_ == pytest.approx(components_error(X, 2), rel=1e-9)
    rebuilt = network.inverse_transform(network.transform(X))
    pca = PCA(2).fit(X)
    np.testing.assert_allclose(rebuilt, pca.inverse_transform(pca.transform(X)), atol=1e-6)


def test_as_many_linear_units_as_features_make_no_error():
    X = draw(2, d=3)
    network = AutoassociativeNetwork(3, activation="identity", alpha=0.0, random_state=0).fit(X)
    assert network.reconstruction_error_ < 1e-20
    np.testing.assert_allclose(network.inverse_transform(network.embedding_), X, atol=1e-9)


def test_bent_units_rebuild_a_bent_surface_better_than_components():
    X = make_s_surface(200, random_state=0).data
    network = AutoassociativeNetwork(2, n_init=3, random_state=0).fit(X)
    assert network.reconstruction_error_ < 0.5 * components_error(X, 2)


def test_attributes_are_about_the_rows_as_given():
    X = 100 + 30 * draw(3)
    network = AutoassociativeNetwork(random_state=0).fit(X)
    rebuilt = network.inverse_transform(network.embedding_)
    error = np.sum((X - rebuilt) ** 2) / len(X)
    assert network.reconstruction_error_ == pytest.approx(error, rel=1e-9)
    spread = np.sum((X - X.mean(axis=0)) ** 2) / len(X)
    squares = sum(float(np.sum(weights**2)) for weights in network.coefs_)
    assert network.objective_ == pytest.approx(error / spread + 1e-6 * squares, rel=1e-9)
    assert np.all(np.diff(network.history_) <= 0)
    assert network.n_iter_ == len(network.history_) - 1
    assert [weights.shape for weights in network.coefs_] == [(5, 10), (10, 2), (2, 10), (10, 5)]
    assert [len(biases) for biases in network.intercepts_] == [10, 2, 10, 5]


def test_units_do_not_matter():
    X = draw(4)
    one = AutoassociativeNetwork(random_state=0, max_iter=50).fit(X)
    other = AutoassociativeNetwork(random_state=0, max_iter=50).fit(1024 * X)
    np.testing.assert_allclose(other.embedding_, 1024 * one.embedding_, rtol=1e-6)


def test_dearer_weights_are_smaller():
    X = draw(5)
    sizes = [
        sum(
            float(np.sum(weights**2))
            for weights in AutoassociativeNetwork(alpha=alpha, random_state=0).fit(X).coefs_
        )
        for alpha in (0.0, 1e-2)
    ]
    assert sizes[1] < 0.5 * sizes[0]


def test_the_best_restart_is_kept():
    X = draw(6)
    settings = {"max_iter": 60, "random_state": 3}
    single = AutoassociativeNetwork(**settings).fit(X).objective_
    assert AutoassociativeNetwork(n_init=4, **settings).fit(X).objective_ <= single


def test_fewer_hidden_units_than_coordinates_and_more_coordinates_than_features():
    for network in (
        AutoassociativeNetwork(3, hidden_layer_sizes=2),
        AutoassociativeNetwork(4, hidden_layer_sizes=(3, 5)),
    ):
        network.set_params(random_state=0, max_iter=40).fit(draw(7, d=3))
        assert np.isfinite(network.embedding_).all()
        assert network.embedding_.shape[1] == network.n_components


def test_an_end_in_full_fall_is_told():
    with pytest.warns(ConvergenceWarning, match="still falls, by [0-9]+ % of the variance"):
        network = AutoassociativeNetwork(max_iter=3, random_state=0).fit(
            make_s_surface(100, random_state=0).data
        )
    assert not network.converged_


def test_bad_input_is_explained():
    with pytest.raises(SidelightError, match="All rows are the same"):
        AutoassociativeNetwork().fit(np.ones((4, 3)))
    with pytest.raises(SidelightError, match="hidden_layer_sizes must be"):
        AutoassociativeNetwork(hidden_layer_sizes=()).fit(draw())
    network = AutoassociativeNetwork(random_state=0, max_iter=50).fit(draw())
    with pytest.raises(SidelightError, match="Z has 3 columns, but the map has 2 coordinates"):
        network.inverse_transform(np.zeros((2, 3)))


# --- what it is made of ---


@pytest.mark.parametrize("encoder", [(4, 3, 2), (4, 6, 5, 1), (3, 1, 2)])
@pytest.mark.parametrize("straight", [False, True])
def test_gradient_by_finite_differences(encoder, straight):
    layers = Layers(encoder, straight)
    rng = np.random.RandomState(0)
    vector, rows = layers.random(rng), rng.normal(size=(7, encoder[0]))
    _, gradient = layers.error(vector, rows)
    step = 1e-6
    for place in range(layers.n_weights):
        move = np.zeros_like(vector)
        move[place] = step
        rise = layers.error(vector + move, rows)[0] - layers.error(vector - move, rows)[0]
        assert gradient[place] == pytest.approx(rise / (2 * step), rel=1e-5, abs=1e-6)


def test_error_is_that_of_decoded_codes():
    layers = Layers((4, 6, 5, 2), straight=False)
    rng = np.random.RandomState(0)
    vector, rows = layers.random(rng), rng.normal(size=(7, 4))
    rebuilt = layers.decode(vector, layers.encode(vector, rows))
    assert layers.error(vector, rows)[0] == pytest.approx(np.sum((rows - rebuilt) ** 2))


def test_forward_pass_by_hand():
    layers = Layers((2, 3, 1), straight=False)
    vector = layers.random(np.random.RandomState(1))
    (w1, b1), (w2, b2), (w3, b3), (w4, b4) = layers.split(vector)
    x = np.array([[0.3, -0.7]])
    code = np.tanh(x @ w1 + b1) @ w2 + b2
    np.testing.assert_allclose(layers.encode(vector, x), code)
    np.testing.assert_allclose(layers.decode(vector, code), np.tanh(code @ w3 + b3) @ w4 + b4)
    assert sum(w.size + b.size for w, b in layers.split(vector)) == layers.n_weights


def test_linear_units_find_it_from_random_weights_too():
    X = draw(1)
    network = AutoassociativeNetwork(2, activation="identity", alpha=0.0, tol=1e-9, max_iter=3000)
    layers = Layers((5, 8, 2), straight=True)
    scaled = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean())
    end = network._train(layers, as_rows(scaled), layers.random(np.random.RandomState(0)))
    assert end.objective == pytest.approx(components_error(scaled, 2) / 5, rel=1e-4)
