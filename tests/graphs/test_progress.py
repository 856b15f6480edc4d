"""Stages of graphs that take long: what is shown, that Ctrl-C is heard, that nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import sidelight
from sidelight import Constraints, _progress
from sidelight.cluster import PropagatedSpectralClustering, SpectralClustering
from sidelight.graphs import _build, neighbor_graph


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(900, 3))


@pytest.mark.parametrize("weights", ["local", "cosine"])
def test_neighbors_are_the_same_in_blocks(rows, weights, monkeypatch):
    rows[5:40] = rows[4]  # more rows like it than a row has neighbors
    metric = "cosine" if weights == "cosine" else "euclidean"
    monkeypatch.setattr(_build, "QUERY_ROWS", 100)
    for data in (rows, sparse.csr_array(rows)):
        distances, neighbors = _build._nearest(data, weights, 7)
        expected, _ = NearestNeighbors(n_neighbors=7, metric=metric).fit(data).kneighbors()
        np.testing.assert_allclose(distances, expected, atol=1e-7)
        assert np.all(neighbors != np.arange(900)[:, None])


@pytest.mark.parametrize("asked", ["verbose", "progress"])
def test_every_stage_is_shown(rows, asked, capsys):
    known = Constraints([(0, 1)], [(2, 3)], n_samples=900)
    model = PropagatedSpectralClustering(3, verbose=asked == "verbose", random_state=0)
    with sidelight.progress(show=asked == "progress"):
        model.fit(rows, constraints=known)
    shown = capsys.readouterr().err
    for stage in ("Nearest neighbors", "Constraints spread", "Eigenvectors", "KMeans"):
        assert stage in shown


def test_nothing_is_shown_unasked(rows, capsys):
    SpectralClustering(3, random_state=0).fit(rows)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stage", ["Nearest neighbors", "Eigenvectors"])
@pytest.mark.parametrize("keep_best", [False, True])
def test_an_interruption_between_two_steps_is_heard(rows, stage, keep_best, monkeypatch):
    # Half a graph is not worth keeping, also where the best so far is asked for.
    monkeypatch.setattr(_build, "QUERY_ROWS", 100)
    step = _progress.FitProgress.step

    def interrupted(self, objective=None):
        step(self, objective)
        if self._description == stage and self.n_steps == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(_progress.FitProgress, "step", interrupted)
    with pytest.raises(KeyboardInterrupt), sidelight.progress(show=False, keep_best=keep_best):
        SpectralClustering(3, random_state=0).fit(rows)


def test_a_graph_of_two_rows_and_of_one():
    assert neighbor_graph(np.array([[0.0], [1.0]]), 5).nnz == 2
    assert neighbor_graph(np.array([[0.0]]), 5).nnz == 0
