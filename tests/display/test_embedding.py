"""Maps: places are the coordinates, lines the graph and the neighbors that were lost and found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight.cluster import KMeans
from sidelight.datasets import make_strip, make_swiss_roll
from sidelight.display import EmbeddingDisplay, GrowthDisplay, SpectrumDisplay
from sidelight.evaluation import lost_and_found_neighbors, residual_variance
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.manifold import ConstrainedPCA, SammonMapping
from sidelight.pictures.maps._growth import steady_frames

STRIP = make_strip(60, ambient=4, random_state=0)
Z = STRIP.coordinates


def pairs(display):
    """Ends of the lines of a display, by what these are."""
    return {lines.name: lines.pairs for lines in display.picture.lines}


class TestEmbedding:
    def test_points_are_the_coordinates_of_the_fit(self, ax):
        model = SammonMapping().fit(STRIP.data)
        display = EmbeddingDisplay.from_estimator(model, ax=ax)
        np.testing.assert_array_equal(display.drawn_.points.get_offsets(), model.embedding_)
        assert ax.get_title() == "SammonMapping"
        assert display.drawn_.lines == {}
        assert display.drawn_.colorbar is None

    def test_a_pipeline_draws_its_last_step(self, ax):
        pipeline = make_pipeline(StandardScaler(), SammonMapping()).fit(STRIP.data)
        display = EmbeddingDisplay.from_estimator(pipeline, ax=ax)
        np.testing.assert_array_equal(display.drawn_.points.get_offsets(), pipeline[-1].embedding_)

    def test_numbers_get_a_scale_and_labels_a_legend(self, ax):
        display = EmbeddingDisplay.from_coordinates(Z, color=Z[:, 0], ax=ax)
        np.testing.assert_array_equal(display.drawn_.points.get_array(), Z[:, 0])
        assert display.drawn_.colorbar is not None
        words = np.where(Z[:, 0] > 2, "far", "near")
        display = EmbeddingDisplay.from_coordinates(Z, color=words, ax=ax)
        assert display.picture.names == {0: "far", 1: "near"}
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["far", "near"]
        colors = display.drawn_.points.get_facecolors()
        assert len(np.unique(colors, axis=0)) == 2
        same = (colors[:, None] == colors[None]).all(axis=2)
        np.testing.assert_array_equal(same, words[:, None] == words[None])

    def test_clusters_are_groups_and_rows_in_none_are_grey(self, ax):
        labels = KMeans(3, random_state=0).fit(Z).labels_.copy()
        labels[:4] = -1
        display = EmbeddingDisplay.from_coordinates(Z, color=labels, ax=ax)
        assert display.picture.names == {0: "0", 1: "1", 2: "2"}
        np.testing.assert_array_equal(display.picture.codes, labels)

    def test_a_column_colors_by_name_or_number(self, ax):
        frame = pd.DataFrame(STRIP.data, columns=["a", "b", "c", "d"])
        display = EmbeddingDisplay.from_coordinates(Z, frame, color="c", ax=ax)
        np.testing.assert_array_equal(display.drawn_.points.get_array(), STRIP.data[:, 2])
        assert display.picture.value_title == "c"
        display = EmbeddingDisplay.from_coordinates(Z, STRIP.data, color=1, ax=ax)
        np.testing.assert_array_equal(display.drawn_.points.get_array(), STRIP.data[:, 1])

    def test_edges_of_the_graph_are_lines(self, ax):
        graph = sparse.csr_array(([1.0, 1.0, 2.0], ([0, 1, 4], [1, 0, 7])), shape=(60, 60))
        display = EmbeddingDisplay.from_coordinates(Z, graph=graph + graph.T, ax=ax)
        segments = np.array(display.drawn_.lines["graph"].get_segments())
        np.testing.assert_array_equal(segments, Z[[[0, 1], [4, 7]]])

    def test_true_takes_the_graph_of_the_estimator(self, ax):
        class Mapped(BaseEstimator):
            def fit(self, X):
                self.embedding_ = X
                self.graph_ = sparse.csr_array(([1.0], ([2], [3])), shape=(60, 60))
                return self

        display = EmbeddingDisplay.from_estimator(Mapped().fit(Z), graph=True, ax=ax)
        np.testing.assert_array_equal(pairs(display)["graph"], [[2, 3]])
        with pytest.raises(InvalidRequest, match="keeps no neighborhood graph"):
            EmbeddingDisplay.from_estimator(SammonMapping().fit(Z), graph=True)

    def test_neighbors_lost_and_found_are_those_of_the_measure(self, ax):
        flat = Z * [1, 0.05]
        changes = lost_and_found_neighbors(STRIP.data, flat, 4)
        display = EmbeddingDisplay.from_coordinates(flat, STRIP.data, n_neighbors=4, ax=ax)
        np.testing.assert_array_equal(pairs(display)["lost"], changes.lost)
        np.testing.assert_array_equal(pairs(display)["found"], changes.found)
        assert len(display.drawn_.lines["lost"].get_segments()) == len(changes.lost)
        words = [text.get_text() for text in ax.get_legend().get_texts()]
        assert f"{len(changes.lost)} neighbors lost" in words

    def test_rows_without_a_place_are_left_out_and_told(self, ax):
        places = Z.copy()
        places[[5, 9]] = np.nan
        display = EmbeddingDisplay.from_coordinates(
            places, STRIP.data, n_neighbors=3, color=Z[:, 0], ids=range(60), ax=ax
        )
        assert 5 not in display.picture.rows
        assert "2 rows without a place" in ax.get_title()
        assert len(display.drawn_.points.get_offsets()) == 58
        np.testing.assert_array_equal(display.drawn_.points.get_array(), np.delete(Z[:, 0], [5, 9]))
        assert display.picture.texts[5].text == "6"
        graph = sparse.csr_array(([1.0], ([4], [5])), shape=(58, 58))
        display = EmbeddingDisplay.from_coordinates(places, graph=graph, ax=ax)
        np.testing.assert_array_equal(display.picture.rows[pairs(display)["graph"]], [[4, 6]])

    def test_of_many_rows_a_sample_is_drawn(self, ax):
        places = np.random.default_rng(0).normal(size=(4500, 2))
        graph = sparse.eye_array(4500, k=1).tocsr()
        display = EmbeddingDisplay.from_coordinates(places, graph=graph, ids=range(4500), ax=ax)
        assert len(display.picture.rows) == 4000
        assert "4,000 of 4,500 rows drawn" in ax.get_title()
        np.testing.assert_array_equal(display.picture.xy, places[display.picture.rows])
        np.testing.assert_array_equal(
            np.diff(display.picture.rows[pairs(display)["graph"]], axis=1), 1
        )
        assert len(display.drawn_.texts) == 150

    def test_one_coordinate_is_a_strip_and_of_three_two_are_chosen(self, ax):
        display = EmbeddingDisplay.from_coordinates(Z[:, 0], ax=ax)
        np.testing.assert_array_equal(display.picture.xy[:, 0], Z[:, 0])
        assert ax.get_ylabel() == "(random height)"
        display = EmbeddingDisplay.from_coordinates(STRIP.data, coordinates=(2, 0), ax=ax)
        np.testing.assert_array_equal(display.picture.xy, STRIP.data[:, [2, 0]])
        assert ax.get_xlabel() == "3rd coordinate"

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            (lambda: EmbeddingDisplay.from_estimator(KMeans(2).fit(Z)), "no embedding_"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, STRIP.data[:5]), "X has 5 rows"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, n_neighbors=3), "pass them as X"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, color="age"), "pass the rows as X"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, Z, color=7), "no column 7"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, color=[1, 2]), "one value for each"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, ids=["a"]), "1 ids"),
            (lambda: EmbeddingDisplay.from_coordinates(Z, coordinates=(0, 2)), "two of 2"),
            (lambda: EmbeddingDisplay.from_coordinates(Z * np.nan), "nothing to draw"),
            (lambda: EmbeddingDisplay.from_coordinates([["a", "b"]]), "are numbers"),
            (lambda: EmbeddingDisplay.from_coordinates(np.zeros((2, 2, 2))), "one row per point"),
            (
                lambda: EmbeddingDisplay.from_coordinates(Z, graph=sparse.eye_array(3)),
                "graph has 3 rows",
            ),
        ],
    )
    def test_bad_requests_are_explained(self, asked, said):
        with pytest.raises(SidelightError, match=said):
            asked()


class TestSpectrum:
    def test_eigenvalues_of_the_fit(self, ax):
        model = ConstrainedPCA(2).fit(STRIP.data)
        display = SpectrumDisplay.from_estimator(model, ax=ax)
        x, y = display.drawn_.lines["ConstrainedPCA"].get_data()
        np.testing.assert_array_equal(x, [1, 2])
        np.testing.assert_array_equal(y, model.eigenvalues_)

    def test_residual_variance_by_dimension(self, ax):
        roll = make_swiss_roll(80, random_state=0)
        D = roll.geodesics()
        maps = {"true": roll.coordinates, "rows": roll.data}
        display = SpectrumDisplay.from_coordinates(D, maps, chosen=2, ax=ax)
        for curve, places in zip(display.picture.curves, maps.values(), strict=True):
            wanted = [residual_variance(D, places[:, :d]) for d in range(1, places.shape[1] + 1)]
            np.testing.assert_allclose(curve.y, wanted)
        assert display.drawn_.mark.get_xdata()[0] == 2

    def test_without_eigenvalues_there_is_nothing_to_draw(self):
        with pytest.raises(InvalidRequest, match="has no eigenvalues_"):
            SpectrumDisplay.from_estimator(SammonMapping().fit(Z))


class TestGrowth:
    def test_frames_are_turned_onto_the_next(self):
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
        frames = [(Z[:20] - 5) @ turn, Z[:40] @ turn.T + 3, Z]
        steady = steady_frames(frames, [np.arange(len(frame)) for frame in frames])
        for frame, places in zip(steady, (Z[:20], Z[:40], Z), strict=True):
            np.testing.assert_allclose(frame, places, atol=1e-9)

    def test_each_frame_has_axes_with_common_limits_and_new_rows_outlined(self):
        display = GrowthDisplay.from_frames([Z[:20], Z[:40], Z], color=Z[:, 0])
        assert [len(drawn.points.get_offsets()) for drawn in display.drawn_] == [20, 40, 60]
        assert len({ax.get_xlim() for ax in display.axes_}) == 1
        outlines = np.asarray(display.drawn_[1].points.get_linewidths())
        np.testing.assert_array_equal(outlines > 0, np.arange(40) >= 20)
        assert {drawn.points.get_clim() for drawn in display.drawn_} == {
            (Z[:, 0].min(), Z[:, 0].max())
        }

    def test_a_map_that_forgets(self):
        rows = [np.arange(30), np.arange(20, 50)]
        display = GrowthDisplay.from_frames([Z[one] for one in rows], rows=rows)
        outlines = np.asarray(display.drawn_[1].points.get_linewidths())
        np.testing.assert_array_equal(outlines > 0, rows[1] >= 30)

    def test_frames_of_a_stream(self):
        class Stream(BaseEstimator):
            def partial_fit(self, X):
                self.seen_ = np.vstack([getattr(self, "seen_", np.empty((0, 4))), X])
                self.embedding_ = self.seen_[:, :2]
                return self

        display = GrowthDisplay.from_stream(Stream(), STRIP.data, n_frames=3)
        assert [len(frame.xy) for frame in display.picture] == [20, 40, 60]
        np.testing.assert_allclose(display.picture[-1].xy, STRIP.data[:, :2])
        assert [frame.heading for frame in display.picture] == ["20 rows", "40 rows", "60 rows"]

    def test_the_animation_draws_every_frame(self):
        display = GrowthDisplay.from_frames([Z[:20], Z])
        film = display.animate(interval=10)
        film._init_draw()
        for number in film.new_frame_seq():
            film._draw_frame(number)
        assert film._fig.axes[0].get_title() == "60 rows"

    def test_axes_may_be_given(self):
        from matplotlib.figure import Figure

        axes = Figure().subplots(1, 2)
        display = GrowthDisplay.from_frames([Z[:20], Z], titles=["early", "late"], ax=axes)
        assert display.axes_ == list(axes)
        assert axes[1].get_title() == "late"

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            (lambda: GrowthDisplay.from_frames([]), "no frames"),
            (lambda: GrowthDisplay.from_frames([Z], rows=[[0, 1]]), "one for every place"),
            (lambda: GrowthDisplay.from_stream(SammonMapping(), Z), "no partial_fit"),
        ],
    )
    def test_bad_requests_are_explained(self, asked, said):
        with pytest.raises(SidelightError, match=said):
            asked()

    def test_axes_have_to_be_as_many_as_frames(self, ax):
        with pytest.raises(InvalidRequest, match="2 frames but 1 axes"):
            GrowthDisplay.from_frames([Z[:9], Z], ax=[ax])
