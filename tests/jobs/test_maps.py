"""Maps of every kind: saved, loaded, and the same places again."""

import warnings

import numpy as np
import pytest

from sidelight import catalog, jobs
from sidelight.exceptions import InvalidRequest
from sidelight.io import write_table
from sidelight.jobs import EmbedRequest, apply_model
from sidelight.report import measures

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(70, 4)) + 3 * np.eye(2, 4)[RNG.integers(2, size=70)])
NEW = np.abs(X[:10] + RNG.normal(scale=0.1, size=(10, 4)))


@pytest.mark.parametrize("method", catalog.methods(kind="embedding"), ids=lambda m: m.name)
def test_every_map_is_the_same_after_a_detour_through_a_file(method, tmp_path):
    write_table(tmp_path / "rows.csv", X, list("abcd"))
    write_table(tmp_path / "new.csv", NEW, list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = jobs.run(EmbedRequest(tmp_path / "rows.csv", method=method.name, raw=True))
        expected = [found.estimator.transform(rows) for rows in (X, NEW)]
        model = jobs.load_model(found.save(tmp_path / "map.skops"))
        places = [apply_model(model, tmp_path / n).features for n in ("rows.csv", "new.csv")]
    assert found.features.shape == (70, 2)
    np.testing.assert_array_equal(found.features, found.estimator.embedding_)
    for got, wanted in zip(places, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * np.ptp(wanted))


def quality(rows, places):
    found = measures.measured_map(None, lambda chosen: rows[chosen], places)
    return {} if found is None else {one.name: value for one, value in found.shown}


def test_quality_is_measured_on_a_sample_of_the_rows_with_a_place(monkeypatch):
    places = X[:, :2].copy()
    assert quality(X[:, :2], places)["neighborhood_preservation"] == 1.0
    places[:5] = np.nan
    assert quality(X[:, :2], places)["neighborhood_preservation"] == 1.0
    monkeypatch.setattr(measures, "MAX_MEASURED", 20)
    assert quality(X[:, :2], places)["trustworthiness"] == 1.0
    assert quality(X[:2], places[5:7]) == {}
    assert quality(np.full((30, 2), np.nan), places[5:35]) == {}


def test_a_request_of_a_map_is_a_command(tmp_path):
    request = EmbedRequest(
        "rows.csv",
        k=3,
        method="isomap",
        ignore=["a", "b"],
        color="t",
    )
    assert request.command_line() == (
        "sidelight embed rows.csv -d 3 --method isomap --color t --ignore a,b"
    )
    found = jobs.run(EmbedRequest(X, method="isomap", color=X[:, 0], raw=True))
    assert found.facts()["quality"] == found.quality
    assert found.write(coordinates=tmp_path / "map.csv")["coordinates"].exists()
    with pytest.raises(InvalidRequest, match="one value per row"):
        jobs.run(EmbedRequest(X, method="isomap", color=[1, 2], raw=True))
    with pytest.raises(InvalidRequest, match="is for maps"):
        jobs.run(EmbedRequest(X, k=2, method="rca", color=X[:, 0], raw=True))


def test_a_saved_map_does_not_keep_how_it_grew(tmp_path):
    found = jobs.run(EmbedRequest(X, method="incremental-isomap", raw=True))
    assert len(found.estimator.updates_) == 1
    model = jobs.load_model(found.save(tmp_path / "map.skops"))
    assert model.estimator.updates_ == []
    assert len(found.estimator.updates_) == 1
    np.testing.assert_allclose(model.estimator.transform(NEW), found.estimator.transform(NEW))
    further = model.estimator.partial_fit(NEW)
    assert further.embedding_.shape == (80, 2)
