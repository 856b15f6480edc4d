"""Pictures as data, and the same data in both renderers: what is drawn is what was derived."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from sidelight.constraints import Ordering
from sidelight.display._canvas import inks_of
from sidelight.display._draw._bars import draw_bars, draw_mirrored
from sidelight.display._draw._cells import draw_cells, draw_nodes
from sidelight.display._draw._curves import draw_curves
from sidelight.display._draw._lanes import draw_lanes
from sidelight.display._draw._points import draw_points
from sidelight.pictures._histograms import certainty, pair_distances
from sidelight.pictures._pairs import Distances, PairDistances
from sidelight.pictures._progress import by_step, first_step
from sidelight.pictures._scores import by_number, learning
from sidelight.pictures._selection import Links
from sidelight.pictures._sizes import cluster_sizes
from sidelight.pictures._trees import merge_tree
from sidelight.pictures.coclustering._blocks import table_blocks, timeline
from sidelight.pictures.coclustering._pictures import cluster_lanes, table_cells
from sidelight.pictures.kinds._bars import named_bars
from sidelight.pictures.kinds._cells import WRONG as WRONG_CELL
from sidelight.pictures.kinds._cells import Cells, Layer, shares_of_rows
from sidelight.pictures.kinds._curves import MAX_POINTS, Curve, Curves
from sidelight.pictures.kinds._points import Lines, Mark, Points, Text, link_lines, regions_on
from sidelight.pictures.maps._grids import cell_outline, grid_cells, near_pairs
from sidelight.pictures.maps._growth import steady_frames
from sidelight.pictures.privacy._loss import loss_search
from sidelight.pictures.privacy._sizes import class_sizes
from sidelight.pictures.relational._absorption import absorption
from sidelight.pictures.relational._curve import ResolutionCurve, rates
from sidelight.pictures.svg._points import placed
from sidelight.pictures.svg._render import svg_of

RNG = np.random.default_rng(0)


def numbers(pattern, svg):
    """All matches of a pattern as arrays of floats."""
    found = re.finditer(pattern, svg)
    return np.array([[float(one) for one in match.groups()] for match in found])


def dots(svg):
    return numbers(r'<circle class="dot[^"]*" cx="([\d.]+)" cy="([\d.]+)"', svg)


def test_pictures_need_neither_matplotlib_nor_pages():
    code = (
        "import sys, sidelight.pictures.svg._render\n"
        "found = {'matplotlib', 'jinja2', 'markupsafe'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestCurves:
    def test_only_finite_points_are_shown_and_both_ends_of_many(self):
        y = np.linspace(0.0, 1.0, 5_000)
        y[[0, 7]] = np.nan
        shown = Curve("a", np.arange(5_000), y).shown
        assert len(shown) == MAX_POINTS
        assert (shown[0], shown[-1]) == (1, 4_999)
        assert 7 not in shown
        assert len(Curve("a", np.arange(3), np.full(3, np.nan)).shown) == 0

    def test_steps_are_counted_from_the_first(self):
        picture = by_step({"one": np.array([9.0, np.nan, 4.0])}, "Objective", first=3)
        (curve,) = picture.curves
        assert curve.x.tolist() == [3, 4, 5]
        assert curve.titles[2] == "iteration 5: 4"
        assert picture.text == "From 9 to 4 in 2 recorded values."
        assert len(dots(svg_of(picture))) == 2

    @pytest.mark.parametrize(("n_iter", "n_entries", "first"), [(3, 3, 1), (3, 4, 0), (None, 4, 1)])
    def test_a_history_that_is_longer_than_the_search_begins_before_it(
        self, n_iter, n_entries, first
    ):
        fitted = type("Fitted", (), {"history_": np.zeros(n_entries), "n_iter_": n_iter})
        assert first_step(fitted) == first

    def test_both_renderers_draw_the_same_points(self, ax):
        heights = np.array([0.2, 0.7, 0.4])
        picture = learning(np.array([0, 10, 20]), {"m": heights[:, None]}, ("n", "score"))
        line = draw_curves(ax, picture, inks_of(ax)).lines["m"]
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([[0, 10, 20], heights]))
        x, y = dots(svg_of(picture)).T
        # A picture of a page is an affine image of the data, its vertical axis turned.
        assert np.corrcoef(x, [0, 10, 20])[0, 1] == pytest.approx(1.0, abs=1e-4)
        assert np.corrcoef(y, heights)[0, 1] == pytest.approx(-1.0, abs=1e-4)

    def test_errors_reach_from_below_to_above(self):
        points = {"a": [(2, 0.6, 0.1), (3, 0.8, 0.05)], "b": [(2, 0.5, 0.0), (3, 0.9, 0.2)]}
        picture = by_number(points, "Score by number of clusters", "")
        svg = svg_of(picture)
        (path,) = re.findall(r'<path class="error k0" d="([^"]*)"', svg)
        bars = numbers(r"M[\d.]+ ([\d.]+)V([\d.]+)", path)
        heights = np.diff(bars, axis=1).ravel()
        assert heights[0] / heights[1] == pytest.approx(0.1 / 0.05, abs=0.02)
        assert 'class="error k1" d="M' in svg  # an error of zero is not drawn
        assert svg.count("<title>a</title>") == 1

    def test_a_step_holds_up_to_the_next_and_to_the_edge(self):
        curve = ResolutionCurve(np.array([0.9, 0.5]), np.array([1.0, 0.5]), np.array([0.5, 1.0]))
        picture = rates(curve, 0.7)
        svg = svg_of(picture)
        (path,) = re.findall(r'<path class="line precision" d="([^"]*)"', svg)
        assert re.sub(r"[\d. ]+", "", path) == "MHVH"
        left = float(re.search(r'class="gridline" d="M([\d.]+)', svg).group(1))
        assert path.endswith(f"H{left:.1f}")
        assert 'class="mark"' in svg
        assert 'class="mark"' not in svg_of(rates(curve, None))

    def test_names_stand_apart(self):
        curve = ResolutionCurve(np.array([0.9, 0.5]), np.ones(2), np.ones(2))
        heights = numbers(
            r'<text class="name [^"]*" x="[\d.]+" y="([\d.]+)"', svg_of(rates(curve, None))
        )
        assert (np.diff(np.sort(heights.ravel())) >= 13).all()

    def test_rows_join_in_the_order_of_their_distance(self):
        values, codes = np.array([0.3, 0.1, np.inf, 0.9, 0.2]), np.array([0, 0, -1, 1, 1])
        (every,) = absorption(values).curves
        assert every.y.tolist() == [0.1, 0.2, 0.3, 0.9]
        picture = absorption(values, codes)
        assert {one.name: one.y.tolist() for one in picture.curves} == {
            "0": [0.1, 0.3],
            "1": [0.2, 0.9],
        }
        assert picture.note == "1 row joined no cluster"

    def test_the_chosen_number_of_classes_stands_out(self, ax):
        picture = loss_search(np.array([8, 2, 4]), np.array([0.3, 0.5, 0.2]), 4)
        assert picture.curves[0].x.tolist() == [2, 4, 8]
        assert re.findall(r'class="dot here"[^>]*><title>([^<]*)', svg_of(picture)) == [
            "4 classes: 0.2000"
        ]
        drawn = draw_curves(ax, picture, inks_of(ax))
        assert drawn.mark.get_xdata()[0] == drawn.chosen["loss"].get_xdata()[0] == 4

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=90))
    @settings(max_examples=40, deadline=None)
    def test_everything_lies_inside_the_picture(self, values):
        svg = svg_of(by_step({"a": np.array(values)}, "Objective"))
        width, height = numbers(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
        places = numbers(r'c?x="(-?[\d.]+)" c?y="(-?[\d.]+)"', svg)
        assert (places >= 0).all()
        assert (places <= [width, height]).all()


class TestBars:
    def test_sizes_bounds_and_rows_in_none(self, ax):
        bounds = np.array([[0, 60], [2, 4], [3, 9]])
        picture = cluster_sizes(["0", "1", "2"], np.array([5, 1, 3]), bounds, n_outside=2)
        assert picture.names == ["0", "1", "2", "none"]
        assert picture.series[0].values.tolist() == [5, 1, 3, 2]
        assert picture.wrong == [False, True, False, False]
        assert picture.marks == [(), (2.0, 4.0), (3.0, 9.0), ()]  # 0 and 60 say nothing
        assert picture.note == "1 size out of bounds"
        svg = svg_of(picture)
        assert svg.count('class="bound"') == len(
            draw_bars(ax, picture, inks_of(ax)).marks.get_segments()
        )
        assert svg.count('<g class="wrong">') == 1
        assert 'class="kx"' in svg

    def test_columns_are_as_high_as_their_values(self):
        svg = svg_of(cluster_sizes(["a", "b"], np.array([10, 4])))
        base, top = numbers(r'<path class="k\d" d="M[\d.]+ ([\d.]+)V([\d.]+)q', svg).T
        height = base - top + 4  # the corners are round
        assert height[1] / height[0] == pytest.approx(0.4, abs=0.01)

    def test_bars_below_each_other_are_as_long_as_their_values(self):
        picture = named_bars("t", ["x", "y"], np.array([1.0, 0.25]), ["1", "¼"], kept=[True, False])
        svg = svg_of(picture)
        lengths = numbers(r'width="([\d.]+)" height="13', svg).ravel()
        assert lengths[1] / lengths[0] == pytest.approx(0.25, abs=0.01)
        assert svg.count('class="unkept"') == 1

    @given(st.lists(st.integers(1, 300), min_size=1, max_size=50), st.integers(1, 40))
    @settings(max_examples=40, deadline=None)
    def test_every_class_is_counted_once(self, sizes, most):
        picture = class_sizes(np.array(sizes), 5, most)
        values = picture.series[0].values
        assert len(values) <= most
        assert values.sum() == len(sizes)
        small = [edge <= 5 - 0.5 for edge in picture.edges[1:]]
        assert picture.wrong == small
        assert svg_of(picture).count("<rect") == np.count_nonzero(values)

    def test_histograms_of_both_kinds_have_one_area(self, ax):
        together, apart = RNG.exponential(size=30), RNG.exponential(size=500) + 1
        known = PairDistances(Distances(together, together), Distances(apart, 2 * apart))
        pictures = pair_distances(known)
        both = draw_mirrored(ax, pictures, inks_of(ax), ("before", "after"))
        for picture, drawn, base in zip(pictures, both, (1.0, 0.0), strict=True):
            assert [one.values.sum() for one in picture.series] == pytest.approx([1.0, 1.0])
            for kind, series in zip(("together", "apart"), picture.series, strict=True):
                filled = svg_of(picture).count(f'<path class="{kind}"')
                assert filled == np.count_nonzero(series.values)
                heights = drawn.bars[kind].get_data().values
                assert np.count_nonzero(heights != base) == filled
                assert list(drawn.middles[kind].get_xdata()) == [series.middle] * 2
        assert pictures[1].series[1].middle == np.median(2 * apart)

    def test_certainty_counts_all_rows(self):
        picture = certainty(np.array([0.2, 0.34, 0.99, 1.0]), 3, "t")
        assert picture.series[0].values.sum() == 4
        assert [text for _, text in picture.ticks] == ["33%", "67%", "100%"]


class TestCells:
    def test_a_pixel_has_the_color_of_its_layer(self, ax):
        layers = [Layer("a", "k0", 0), Layer("b", "wrong", WRONG_CELL)]
        picture = Cells(title="t", text="", layers=layers, codes=np.array([[1, 0], [0, 2]]))
        inks = inks_of(ax)
        ax.set_position((0, 0, 1, 1))
        draw_cells(ax, picture, inks)
        canvas = FigureCanvasAgg(ax.figure)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba())[:, :, :3] / 255
        expected = [[inks.groups(1)[0], inks.page], [inks.page, inks.bad]]
        for row in range(2):
            for column in range(2):
                found = image[100 + 200 * row, 100 + 200 * column]
                np.testing.assert_allclose(found, to_rgb(expected[row][column]), atol=0.01)
        assert "M0 0.5h1" in svg_of(picture)

    def test_frames_tile_a_table(self):
        X = (RNG.random((12, 7)) < 0.4).astype(int)
        blocks = table_blocks(X, np.arange(12) % 3, np.arange(7) % 3)
        picture = table_cells(X, blocks, (100, 100), (None, list("abcdefg")))
        covered = np.zeros(X.shape, int)
        for frame in picture.frames:
            rows = slice(frame.top, frame.top + frame.height)
            covered[rows, frame.left : frame.left + frame.width] += 1
        assert (covered == 1).all()
        assert sum(frame.outlined for frame in picture.frames) == 3
        of_rows = np.repeat(blocks.rows.clusters, blocks.rows.sizes)
        of_columns = np.repeat(blocks.columns.clusters, blocks.columns.sizes)
        own = of_rows[:, None] == of_columns
        numbers_of = np.array([layer.color for layer in picture.layers])[picture.codes - 1]
        np.testing.assert_array_equal(numbers_of, np.where(own, of_rows[:, None], -1))
        assert picture.names == ([], [list("abcdefg")[j] for j in blocks.columns.order])

    def test_shares_are_those_of_the_rows(self, ax):
        counts = np.array([[3, 1], [0, 0]])
        picture = shares_of_rows(counts, (["a", "b"], ["x", "y"]), ("", ""), title="t", write=True)
        np.testing.assert_allclose(picture.shares, [[0.75, 0.25], [0, 0]])
        drawn = draw_cells(ax, picture, inks_of(ax))
        assert [text.get_text() for text in drawn.texts] == ["3", "1", "0", "0"]

    @pytest.mark.parametrize("turned", [False, True])
    def test_hexagons_share_a_side_with_every_neighbor(self, turned, ax):
        places = np.array(
            [(x + (y % 2) / 2, y * np.sqrt(0.75)) for y in range(4) for x in range(5)]
        )
        places = places[:, ::-1] if turned else places
        edges = near_pairs(places)
        cells = places[:, None] + cell_outline(places, edges, hexagonal=True)
        for one, other in edges:
            near = np.linalg.norm(cells[one][:, None] - cells[other], axis=2) < 1e-9
            assert near.sum() == 2
        picture = grid_cells(places, edges, np.arange(20.0), hexagonal=True, title="t")
        assert (
            svg_of(picture).count("<path")
            == len(draw_nodes(ax, picture, inks_of(ax)).cells.get_paths())
            == 20
        )


def test_lanes_cover_the_order_and_mark_the_jumps(ax):
    line = timeline(np.array([0, 0, 1, 0, -1, 1]), Ordering(range(6)))
    picture = cluster_lanes(line, list("abcdef"), "column")
    assert [one for span in picture.spans for one in range(span.start, span.end)] == list(range(6))
    assert picture.names == ["cluster 0", "cluster 1", "none"]
    assert [span.mark for span in picture.spans if span.mark] == [
        "cluster 0 comes again at d",
        "cluster 1 comes again at f",
    ]
    svg = svg_of(picture)
    drawn = draw_lanes(ax, picture, inks_of(ax))
    bars, marks = drawn.bars, drawn.marks
    assert svg.count('class="jump"') == len(marks.get_xdata()) == 2
    assert svg.count("<rect") == sum(len(lane.get_paths()) for lane in bars) == len(picture.spans)


class TestPoints:
    LINKS = Links(
        np.array([[0, 1], [1, 2], [2, 3], [0, 3]]),
        np.array([False, True, False, True]),
        np.array([False, False, True, False]),
        np.ones(4),
    )

    def picture(self, **options):
        xy = RNG.normal(size=(6, 2))
        codes = np.array([0, 0, 1, 1, -1, 2])
        return Points(title="t", text="", xy=xy, codes=codes, n_colors=3, **options)

    def test_every_link_is_a_line_of_one_kind(self):
        lines = link_lines(self.LINKS)
        assert [one.name for one in lines] == ["must-link", "violated must-link", "cannot-link"]
        assert sorted(np.concatenate([one.numbers for one in lines]).tolist()) == [0, 1, 2, 3]
        for one in lines:
            np.testing.assert_array_equal(self.LINKS.pairs[one.numbers], one.pairs)

    def test_both_renderers_join_the_same_points(self, ax):
        picture = self.picture(lines=link_lines(self.LINKS), interactive=True)
        drawn = draw_points(ax, picture, inks_of(ax))
        svg, at = svg_of(picture), placed(picture)
        for one in picture.lines:
            np.testing.assert_allclose(drawn.lines[one.name].get_segments(), picture.xy[one.pairs])
        for number, x1, y1 in numbers(
            r'class="s [mc]l" data-n="(\d+)" x1="([\d.]+)" y1="([\d.]+)', svg
        ):
            first = self.LINKS.pairs[int(number), 0]
            assert (x1, y1) == pytest.approx((at.x[first], at.y[first]), abs=0.06)
        assert svg.index('id="satisfied"') < svg.index('id="points"') < svg.index('id="violated"')

    def test_texts_and_lines_may_stand_between_the_points(self, ax):
        xy = RNG.normal(size=(6, 2))
        hub = xy.mean(axis=0)
        spokes = np.stack([xy, np.tile(hub, (6, 1))], axis=1)
        none = np.zeros((0, 2), np.int64)
        picture = self.picture(
            lines=[Lines("spokes", none, "faint", places=spokes, label=None)],
            texts=[Text("a < b", hub, "middle"), Text("first", xy[0]), Text("bad", xy[1], "wrong")],
        )
        drawn = draw_points(ax, picture, inks_of(ax))
        np.testing.assert_allclose(drawn.lines["spokes"].get_segments(), spokes)
        assert [text.get_text() for text in drawn.texts] == ["a < b", "first", "bad"]
        np.testing.assert_array_equal(drawn.texts[1].xy, xy[0])
        assert drawn.texts[2].get_color() == inks_of(ax).bad
        assert ax.get_legend() is None  # lines without a label need no words
        svg, at = svg_of(picture), placed(picture)
        ((x, y),) = at.place(hub[None])
        assert f'<text class="middle" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">a &lt; b<' in svg
        ends = numbers(r"M([\d.-]+) ([\d.-]+)L([\d.-]+) ([\d.-]+)", svg)
        np.testing.assert_allclose(ends[:, 2:], np.tile([[x, y]], (6, 1)), atol=0.06)

    def test_merges_have_their_corners_in_both_renderers(self, ax):
        linkage = np.array([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, np.inf, 4]])
        picture = merge_tree(linkage, np.array([0, 0, 1, 1]), list("abcd"))
        drawn = draw_points(ax, picture, inks_of(ax))
        branches = np.array(drawn.lines["branches"].get_segments())
        assert branches[:, :, 1].tolist() == [[0, 1, 1, 0], [0, 2, 2, 0]]
        assert len(drawn.lines["forbidden"].get_segments()) == 1
        svg, at = svg_of(picture), placed(picture)
        for code, corners in enumerate(branches):
            (path,) = re.findall(rf'<path class="s k{code}" d="([^"]*)"', svg)
            ends = numbers(r"M([\d.-]+) ([\d.-]+)L([\d.-]+) ([\d.-]+)", path)
            found = np.concatenate([ends[:, :2], ends[-1:, 2:]])
            np.testing.assert_allclose(found, at.place(corners), atol=0.06)
        assert svg.count("<line") == 3  # the three sides of what is forbidden
        assert [text for _, text in picture.ticks] == [picture.titles[at] for at in range(4)]

    def test_names_stand_in_the_picture_or_in_a_legend(self, ax):
        names = {0: "ash", 1: "birch", 2: "cedar"}
        drawn = draw_points(ax, self.picture(names=names), inks_of(ax))
        assert [text.get_text() for text in drawn.names] == ["ash", "birch", "cedar"]
        assert ax.get_legend() is None
        assert draw_points(ax, self.picture(names=names, listed=True), inks_of(ax)).names == []
        assert [text.get_text() for text in ax.get_legend().get_texts()] == list(names.values())

    def test_long_names_are_whole_or_say_where_words_are_left_out(self):
        names = {0: "malignant", 1: "a very long name of a class", 2: "cedar"}
        svg = svg_of(self.picture(names=names))
        (marks,) = re.findall(r'<g id="marks">(.*?)</g></g></g>', svg)
        shown = re.findall(r"<text[^>]*>(.*?)</text>", marks)
        assert shown == ["malignant", "a very … class", "cedar"]
        assert re.findall(r"<title>(.*?)</title>", marks) == [names[1]]
        boxes = numbers(r'translate\(([\d.-]+) [\d.-]+\)"><g>.*?width="([\d.-]+)"', marks)
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg).group(1))
        assert np.all(boxes[:, 0] - boxes[:, 1] / 2 >= 0)
        assert np.all(boxes[:, 0] + boxes[:, 1] / 2 <= width)

    def test_numbers_color_points_on_a_scale(self, ax):
        picture = self.picture(values=np.arange(6.0), value_title="size")
        drawn = draw_points(ax, picture, inks_of(ax), legend=False)
        assert drawn.colorbar is None
        np.testing.assert_array_equal(drawn.points.get_array(), np.arange(6.0))
        drawn = draw_points(ax, picture, inks_of(ax))
        assert drawn.colorbar.ax.get_ylabel() == "size"

    def test_marks_are_classes_of_a_page(self, ax):
        one = np.arange(6) == 2
        picture = self.picture(
            marks={Mark.GIVEN: one, Mark.DOUBTFUL: np.roll(one, 1), Mark.WRONG: np.roll(one, 2)}
        )
        found = re.findall(r'<circle class="([^"]*)"', svg_of(picture))
        assert found == ["k0", "k0", "k1 a", "k1 u", "kx w", "k2"]
        drawn = draw_points(ax, picture, inks_of(ax))
        assert len(drawn.points.get_offsets()) == 5  # those of a given class stand apart
        np.testing.assert_array_equal(drawn.marks[Mark.GIVEN].get_offsets(), picture.xy[[2]])
        np.testing.assert_array_equal(drawn.marks[Mark.WRONG].get_offsets(), picture.xy[[4]])

    def test_few_far_rows_lie_on_the_edge(self):
        xy = np.vstack([RNG.normal(size=(300, 2)), [[1e6, 0.0]]])
        at = placed(Points(title="t", text="", xy=xy, codes=np.zeros(301, int)))
        assert at.n_beyond == 1
        assert at.x[-1] == pytest.approx(at.box.width - at.box.right)

    def test_regions_are_the_colors_of_their_places(self, ax):
        xy = RNG.normal(size=(40, 2))
        regions = regions_on(xy, (7, 5), lambda places: (places[:, 0] > 0).astype(int))
        assert regions.codes.shape == (5, 7)
        np.testing.assert_array_equal(regions.codes, np.tile(regions.x > 0, (5, 1)))
        picture = Points(
            title="t", text="", xy=xy, codes=np.zeros(40, int), n_colors=2, regions=regions
        )
        svg = svg_of(picture)
        rects = numbers(
            r'<rect class="k[01]" x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="([\d.]+)"', svg
        )
        box = placed(picture).box
        assert rects.prod(axis=1).sum() == pytest.approx(
            box.inner_width * box.inner_height, rel=1e-3
        )
        mesh = draw_points(ax, picture, inks_of(ax)).regions
        np.testing.assert_array_equal(np.ravel(mesh.get_array()), regions.codes.ravel() + 1)

    def test_frames_that_merely_turn_stand_still(self):
        last = RNG.normal(size=(20, 2))
        turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
        frames = steady_frames([last[:12] @ turn + 3, last], [np.arange(12), np.arange(20)])
        np.testing.assert_allclose(frames[0], last[:12], atol=1e-9)


def test_names_are_text_not_markup():
    bad = "<b>&"
    curve = Curve(bad, np.arange(2), np.arange(2.0), titles=[bad, bad])
    pictures = [
        Curves(title=bad, text=bad, curves=[curve, curve], axis_titles=(bad, bad)),
        named_bars(bad, [bad], np.ones(1), [bad]),
        cluster_sizes([bad], np.array([3])),
        shares_of_rows(np.ones((1, 1), int), ([bad], [bad]), (bad, bad), title=bad, write=True),
        cluster_lanes(timeline(np.zeros(2, int), Ordering(range(2))), [bad, bad]),
        Points(
            title=bad,
            text=bad,
            xy=np.eye(2),
            codes=np.zeros(2, int),
            names={0: bad},
            titles=[bad, bad],
        ),
    ]
    for picture in pictures:
        svg = svg_of(picture)
        assert "<b>" not in svg
        assert "&lt;b&gt;" in svg
