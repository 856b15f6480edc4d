"""The report of a map: what it shows is what the map is."""

from __future__ import annotations

import html as html_text
import json
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sidelight.constraints import Constraints
from sidelight.evaluation import lost_and_found_neighbors, map_scores
from sidelight.manifold import IncrementalIsomap, Isomap
from sidelight.mixture import SelfOrganizingMixture
from sidelight.pictures.kinds._points import Points
from sidelight.pictures.maps._grids import mean_distances, near_pairs
from sidelight.pictures.svg._cells import STEPS
from sidelight.pictures.svg._points import placed
from sidelight.report import render_report, write_report
from sidelight.report.maps._colors import coloring_of, lost_steps
from sidelight.report.measures import NEIGHBORS, residual_variance_of

RNG = np.random.default_rng(0)
TURN = RNG.uniform(4, 9, 90)
X = np.column_stack([TURN * np.cos(TURN), RNG.uniform(0, 8, 90), TURN * np.sin(TURN)])
IDS = [f"r-{i}" for i in range(90)]
KINDS = np.array(["inner", "outer"])[(TURN > 6.5).astype(int)]
KNOWN = Constraints([("r-0", "r-1"), ("r-2", "r-3")], [("r-4", "r-5"), ("r-6", "r-7")], ids=IDS)


class FixedMap(BaseEstimator):
    """An estimator whose coordinates are given, so that a test knows what must be reported."""

    def __init__(self, embedding=None):
        self.embedding_ = np.asarray(embedding)

    def fit(self, X):
        return self

    def get_params(self, deep=False):
        return {}

    def transform(self, rows):
        raise AssertionError("rows of the fit have their places already")


@pytest.fixture(scope="module")
def isomap():
    return Isomap(3, n_neighbors=8).fit(X, constraints=KNOWN)


def test_quality_and_changed_neighbors_are_what_they_are(isomap, parse):
    page = parse(render_report(estimator=isomap, X=X, ids=IDS))
    words = page.words()
    scores = map_scores(X, isomap.embedding_, NEIGHBORS)
    for name in ("trustworthiness", "continuity", "neighborhood_preservation"):
        assert f"{scores[name]:.3f}" in words
    assert f"{isomap.residual_variances_[-1]:.3f}" in words
    changes = lost_and_found_neighbors(X, isomap.embedding_, NEIGHBORS)
    worst = int(np.argmax(changes.n_lost))
    lost = changes.lost[changes.lost[:, 0] == worst, 1]
    found = changes.found[changes.found[:, 0] == worst, 1]
    assert f"r-{worst} {int(changes.n_lost[worst])} of {NEIGHBORS} r-{lost[0]}" in words
    assert f"r-{found[0]}" in words
    assert f"{int((changes.n_lost == 0).sum())} of 90 rows kept all" in words
    assert len(page.find("circle", inside="points")) == 90
    assert "Eigenvalues" in words
    assert "Coordinates 1 and 3" in words
    identifiers = [attrs["id"] for _, attrs, _ in page.elements if attrs.get("id")]
    assert len(identifiers) == len(set(identifiers))


def test_residual_variance_is_that_of_the_distances_that_count(isomap):
    assert residual_variance_of(isomap, 0.7) == isomap.residual_variances_[-1]
    grown = IncrementalIsomap(3, n_neighbors=8).fit(X)
    plain = Isomap(3, n_neighbors=8).fit(X)
    assert residual_variance_of(grown, 0.7) == pytest.approx(
        plain.residual_variances_[-1], abs=1e-6
    )
    landmarks = IncrementalIsomap(3, n_landmarks=20, random_state=0).fit(X)
    assert np.isnan(residual_variance_of(landmarks, 0.7))
    assert residual_variance_of(FixedMap(X), 0.7) == 0.7


def test_pairs_on_the_map(isomap, parse):
    words = parse(render_report(estimator=isomap, X=X, constraints=KNOWN)).words()
    assert "Known pairs in order" in words
    drawn = parse(render_report(estimator=isomap, X=X, constraints=KNOWN))
    assert len(drawn.find("line", class_="ml")) == len(drawn.find("line", class_="cl")) == 2
    Z = isomap.embedding_
    rng = np.random.default_rng(0)
    some = rng.integers(90, size=(2_000, 2))
    some = some[some[:, 0] != some[:, 1]]
    typical = np.linalg.norm(Z[some[:, 0]] - Z[some[:, 1]], axis=1).mean()
    far = {pair: np.linalg.norm(Z[pair[0]] - Z[pair[1]]) / typical for pair in ((0, 1), (2, 3))}
    (first, second), distance = max(far.items(), key=lambda one: one[1])
    assert f"must-link r-{first} r-{second} {distance:.2f}" in words


def test_anchors_are_ringed_and_compared(parse):
    anchors = np.full((90, 2), np.nan)
    anchors[[4, 9]] = [[0.0, 0.0], [3.0, 4.0]]
    Z = X[:, :2].copy()
    Z[4], Z[9] = (0.0, 0.0), (0.0, 0.0)
    page = parse(render_report(estimator=FixedMap(Z), X=X, ids=IDS, anchors=anchors))
    assert len(page.find("circle", inside="points", class_="a")) == 2
    assert "r-9 3, 4 0, 0 5" in page.words()
    assert "known: 2 anchors." in page.words()


def test_rows_without_a_place(parse):
    Z = X[:, :2].copy()
    Z[:7] = np.nan
    known = Constraints([(0, 20), (21, 22)], [(30, 40)], n_samples=90)
    page = parse(render_report(estimator=FixedMap(Z), X=X, constraints=known, labels_true=KINDS))
    assert "7 rows have no place on the map." in page.words()
    assert len(page.find("circle", inside="points")) == 83
    assert len(page.find("line", class_="ml")) == 1
    assert "nan" not in page.words().lower().split()


@pytest.mark.parametrize("shape", [(90, 1), (90, 2), (4, 2), (2, 1)])
def test_maps_of_any_shape(shape, parse):
    n, d = shape
    page = parse(render_report(estimator=FixedMap(X[:n, :d]), X=X[:n]))
    assert len(page.find("circle", inside="points")) == n
    assert ("Too few rows to measure" in page.words()) == (n < 3)


def test_a_unit_is_as_long_in_both_directions():
    for xy in (np.array([[0.0, 0.0], [10.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 30.0]])):
        at = placed(Points(title="", text="", xy=xy, codes=np.zeros(2, np.int64), equal=True))
        across, up = np.abs(np.diff(at.x)[0]), np.abs(np.diff(at.y)[0])
        assert up / across == pytest.approx(xy[1, 1] / xy[1, 0])
        assert at.n_beyond == 0


def test_colors_of_numbers_and_of_words(parse):
    given = type("Given", (), {"truth": None, "constraints": Constraints(n_samples=90)})()
    number = coloring_of(given, ("turn", np.append(TURN[:-1], np.nan)))
    assert number.ends is not None
    known = number.groups.codes[:-1]
    assert (np.diff(known[np.argsort(TURN[:-1])]) >= 0).all()
    assert (known.min(), known.max(), number.groups.codes[-1]) == (0, STEPS - 1, -1)
    few = coloring_of(given, ("size", np.array([1.0, 2.0, np.nan])))
    assert (few.ends, few.groups.names, few.texts) == (None, ("1", "2"), ("1", "2", ""))
    words = coloring_of(given, ("kind", KINDS))
    assert words.groups.names == ("inner", "outer")
    page = render_report(estimator=FixedMap(X[:, :2]), X=X, color=("<kind>", KINDS), ids=IDS)
    assert "<kind>" not in page
    assert "inner" in parse(page).words()
    assert coloring_of(given, None) is None
    np.testing.assert_array_equal(lost_steps(np.array([0, 1, 10, np.nan]), 10), [0, 1, 5, -1])


def test_the_grid_of_a_self_organizing_map(parse):
    model = SelfOrganizingMixture((4, 3), random_state=0).fit(X)
    page = parse(render_report(estimator=model, X=X, feature_names=["a", "b", "c"]))
    for name in ("umatrix", "plane0", "plane1", "plane2"):
        assert len(page.find("svg", class_=name)) == 1
    assert len(page.find("path", class_="s0")) >= 4
    assert "Borders on the grid" in page.words()
    grid = np.array([(x, y) for x in range(3) for y in range(3)], float)
    vectors = np.zeros((9, 2))
    vectors[4] = [3.0, 4.0]
    middle = mean_distances(vectors, near_pairs(grid))
    assert middle[4] == 5.0
    assert middle[0] == 0.0
    assert middle[1] == pytest.approx(5 / 3)
    shifted = np.array([(x + (y % 2) / 2, y * np.sqrt(0.75)) for y in range(3) for x in range(3)])
    around = mean_distances(vectors, near_pairs(shifted))
    assert around[4] == 5.0
    assert np.count_nonzero(around) == 7


def test_what_the_fit_warned_about_is_told(parse):
    page = parse(render_report(estimator=FixedMap(X[:, :2]), X=X, remarks=["Two parts < joined."]))
    assert "Two parts < joined." in page.words()


# Acts like a user and writes down what the page then shows.
USER = """
<script>
addEventListener("load", () => {
  const seen = {};
  const circles = document.querySelectorAll("#points circle");
  const colors = () => new Set([...circles].map((point) => getComputedStyle(point).fill)).size;
  const shown = (selector) => [...document.querySelectorAll(selector)]
    .filter((element) => getComputedStyle(element).display !== "none").length;
  const legends = () => [".for-cluster", ".for-label", ".for-lost"].map(shown);
  for (const value of ["cluster", "label", "lost"]) {
    document.querySelector(`input[name=colour][value=${value}]`).click();
    seen[value] = [colors(), ...legends()];
  }
  document.getElementById("show-must").click();
  seen.lines = [shown("line.ml"), shown("line.cl")];
  const at = circles[3].getBoundingClientRect();
  document.querySelector("svg.scatter").dispatchEvent(new PointerEvent("pointermove",
    { clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, bubbles: true }));
  seen.tip = [...document.getElementById("tip").children].map((line) => line.textContent);
  document.documentElement.dataset.seen = JSON.stringify(seen);
});
</script>
"""


def test_the_map_in_a_browser(isomap, tmp_path, chromium):
    page = write_report(
        tmp_path / "map.html",
        estimator=isomap,
        X=X,
        constraints=KNOWN,
        labels_true=KINDS,
        color=("turn", TURN),
    )
    page.write_text(page.read_text(encoding="utf-8") + USER, encoding="utf-8")
    dom = chromium(page.as_uri(), "--dump-dom")
    assert 'data-ready="true"' in dom
    assert "data-error" not in dom
    seen = json.loads(html_text.unescape(re.search(r'data-seen="([^"]*)"', dom).group(1)))
    assert seen["cluster"][1:] == [1, 0, 0]
    assert seen["cluster"][0] > 8
    assert seen["label"] == [2, 0, 1, 0]
    assert seen["lost"][1:] == [0, 0, 1]
    assert seen["lines"] == [0, 2]
    assert seen["tip"][0] == "r-3"
    assert seen["tip"][1] == f"turn: {TURN[3]:.4g}"
    assert "nearest rows lost" in seen["tip"][2]
    assert "must-link with r-2" in seen["tip"]
