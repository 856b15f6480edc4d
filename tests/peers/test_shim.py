"""The shim takes parameters of a peer for ours, and the known differences have reasons."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import sklearn
from tests.peers import shim
from tests.peers.__main__ import RELEASE, SUITES, expected, failing, reason

from sidelight.cluster import KMeans, SpectralClustering
from sidelight.manifold import KernelPCA

pytestmark = pytest.mark.skipif(
    not sklearn.__version__.startswith(RELEASE), reason="the shim is made for the release it names"
)


def made(theirs, **given):
    return shim.stand_in(theirs, getattr(*_place(theirs)))(**given)


def _place(theirs):
    package, _, name = theirs.rpartition(".")
    return importlib.import_module(f"sklearn.{package}"), name


def test_what_has_a_counterpart_is_renamed_and_what_says_how_is_passed_over() -> None:
    model = made("cluster.KMeans", n_clusters=3, copy_x=False, algorithm="elkan")
    assert isinstance(model, KMeans)
    assert model.n_clusters == 3
    spectral = made("cluster.SpectralClustering", n_clusters=2, gamma=2.0)
    assert isinstance(spectral, SpectralClustering)
    assert spectral.graph == "full"
    assert np.isclose(np.exp(-(3.0**2) / (2 * spectral.sigma**2)), np.exp(-2.0 * 3.0**2))
    kernel = made("decomposition.KernelPCA", kernel="poly", eigen_solver="arpack")
    assert isinstance(kernel, KernelPCA)
    assert kernel.kernel == "polynomial"


def test_what_has_no_counterpart_is_an_error() -> None:
    with pytest.raises(TypeError, match="coef0"):
        made("decomposition.KernelPCA", coef0=2)


def test_failures_of_all_parameters_of_a_test_are_one() -> None:
    ended = {"test_a[1]": "no", "test_a[2]": "no", "test_b[1]": "", "test_b[2]": "no"}
    assert failing(ended) == {"test_a": "no", "test_b[2]": "no"}
    assert reason("TypeError: f() got an unexpected keyword argument 'p'") == "no parameter p"


def test_known_differences_have_reasons() -> None:
    known = expected()
    assert known
    assert all(why and why != "?" for why in known.values())
    assert {suite for suite, _ in known} <= set(SUITES)
