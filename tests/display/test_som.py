"""Pictures of maps: cells, values and edges are those of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight.cluster import KMeans
from sidelight.display import MapDisplay
from sidelight.exceptions import InvalidRequest
from sidelight.mixture import GenerativeTopographicMap, KohonenMap, SelfOrganizingMixture
from sidelight.pictures.maps._grids import mean_distances


@pytest.fixture(scope="module")
def som(blobs):
    return SelfOrganizingMixture((4, 5), random_state=0).fit(blobs[0])


def polygons(display):
    return np.array([path.vertices[:-1] for path in display.drawn_.cells.get_paths()])


def area(cells):
    x, y = np.moveaxis(cells, 2, 0)
    return 0.5 * np.abs(np.sum(x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1), axis=1))


def test_u_matrix_is_the_mean_distance_to_the_neighbors(som, ax):
    display = MapDisplay.from_estimator(som, ax=ax)
    corner = np.linalg.norm(som.means_[[1, 5]] - som.means_[0], axis=1).mean()
    assert display.picture.values[0] == pytest.approx(corner)
    inner = np.linalg.norm(som.means_[[1, 5, 7, 11]] - som.means_[6], axis=1).mean()
    assert display.picture.values[6] == pytest.approx(inner)
    np.testing.assert_allclose(display.drawn_.cells.get_array(), display.picture.values)
    np.testing.assert_allclose(polygons(display).mean(axis=1), som.node_positions_, atol=1e-9)


def test_cells_tile_the_plane(blobs, ax):
    for topology, corners in (("rectangular", 4), ("hexagonal", 6)):
        model = KohonenMap((4, 5), topology=topology).fit(blobs[0])
        cells = polygons(MapDisplay.from_estimator(model, ax=ax))
        assert cells.shape == (20, corners, 2)
        one, other = model.edges_[0]
        shared = np.linalg.norm(cells[one][:, None] - cells[other], axis=2) < 1e-9
        assert shared.sum() == 2  # a side


def test_component_plane_is_in_the_units_of_its_column(blobs, ax):
    table = pd.DataFrame(blobs[0], columns=["a", "b", "c", "d"])
    model = SelfOrganizingMixture((3, 3)).fit(table)
    for feature in ("c", 2):
        display = MapDisplay.from_estimator(model, kind="component", feature=feature, ax=ax)
        np.testing.assert_array_equal(display.picture.values, model.means_[:, 2])
        assert display.picture.value_title == "c"


def test_hits_are_areas(som, blobs, ax):
    display = MapDisplay.from_estimator(som, kind="hits", ax=ax)
    counts = np.bincount(som.winners_, minlength=20)
    np.testing.assert_array_equal(display.picture.values, counts)
    np.testing.assert_allclose(
        area(polygons(display)) / area(polygons(display)).max(), counts / counts.max(), atol=1e-9
    )
    few = MapDisplay.from_estimator(som, blobs[0][:7], kind="hits", ax=ax)
    assert few.picture.values.sum() == 7
    assert "rows" in ax.get_title()


def test_grid_joins_neighbors_over_the_rows(som, blobs, ax):
    display = MapDisplay.from_estimator(som, blobs[0], kind="grid", features=[1, 3], ax=ax)
    nodes = display.drawn_.marks["node"].get_offsets()
    np.testing.assert_allclose(nodes, som.means_[:, [1, 3]])
    ends = np.sort(np.array(display.drawn_.lines["edges"].get_segments()), axis=1)
    np.testing.assert_array_equal(ends, np.sort(np.asarray(nodes)[som.edges_], axis=1))
    assert len(ends) == 3 * 5 + 4 * 4
    assert len(display.drawn_.points.get_offsets()) == 60
    plane = MapDisplay.from_estimator(som, blobs[0], kind="grid", ax=ax)
    assert plane.drawn_.marks["node"].get_offsets().shape == (20, 2)


def test_lines_of_nodes_and_pipelines_are_drawn(blobs, ax):
    line = GenerativeTopographicMap((6,)).fit(blobs[0])
    display = MapDisplay.from_estimator(line, ax=ax)
    assert np.ptp(display.picture.places[:, 1]) == 0
    pipeline = make_pipeline(StandardScaler(), KohonenMap((3, 3))).fit(blobs[0])
    assert (
        MapDisplay.from_estimator(pipeline, blobs[0], kind="hits", ax=ax).picture.values.sum() == 60
    )
    over = MapDisplay.from_estimator(pipeline, blobs[0], kind="grid", ax=ax)
    assert np.abs(over.picture.xy).max() < 5


def test_a_torus_has_edges_around_its_ends(blobs):
    model = KohonenMap((4, 5), periodic=True).fit(blobs[0])
    assert len(model.edges_) == 2 * 20
    values = mean_distances(model.means_, model.edges_)
    around = np.linalg.norm(model.means_[[1, 4, 5, 15]] - model.means_[0], axis=1).mean()
    assert values[0] == pytest.approx(around)


def test_what_cannot_be_drawn_is_told(som, blobs, ax):
    with pytest.raises(InvalidRequest, match="no fitted self-organizing map"):
        MapDisplay.from_estimator(KMeans(2).fit(blobs[0]), ax=ax)
    with pytest.raises(InvalidRequest, match="kind is one of"):
        MapDisplay.from_estimator(som, kind="tree", ax=ax)
    with pytest.raises(InvalidRequest, match="give feature"):
        MapDisplay.from_estimator(som, kind="component", ax=ax)
    with pytest.raises(InvalidRequest, match="no column 'z'"):
        MapDisplay.from_estimator(som, kind="component", feature="z", ax=ax)
    with pytest.raises(InvalidRequest, match="give X"):
        MapDisplay.from_estimator(som, kind="grid", ax=ax)
    space = KohonenMap((2, 2, 2)).fit(blobs[0])
    with pytest.raises(InvalidRequest, match="3 axes"):
        MapDisplay.from_estimator(space, ax=ax)
