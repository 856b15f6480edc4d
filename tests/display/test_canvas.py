"""What all displays have in common: axes in and out, inks, no traces, no Matplotlib."""

from __future__ import annotations

import inspect
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.common.docstrings import entries_by_section

from sidelight import Constraints, Relations, display
from sidelight.cluster import CDKMeans, ConstrainedAgglomeration, KMeans, PCKMeans, TextCategories
from sidelight.display._canvas import inks_of
from sidelight.evaluation import ConstraintSearchCV
from sidelight.exceptions import InvalidRequest
from sidelight.manifold import Isomap
from sidelight.metric import RCA
from sidelight.mixture import GaussianMixture, SelfOrganizingMixture
from sidelight.pictures._sizes import cluster_sizes
from sidelight.pictures.kinds._palette import DARK, LIGHT
from sidelight.privacy import Anonymizer
from sidelight.semi_supervised import HarmonicClassifier, SemiBoostClassifier

PATH = Relations([(0, 1), (1, 2), (2, 3)], n_samples=4)
PLACES = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
TABLE = {"name": ["a", "b"], "score": [0.7, 0.9], "error": [0.1, 0.1]}


def makers(X, y, known):
    """A function of ax that draws, for every display."""
    model = KMeans(3, random_state=0).fit(X)
    search = ConstraintSearchCV(PCKMeans(), {"n_clusters": [2, 3]}, random_state=0)
    search.fit(X, constraints=known)
    metric = RCA().fit(X, constraints=Constraints(known.must_link, n_samples=60))
    tree = ConstrainedAgglomeration(3).fit(X, constraints=known)
    mixture = GaussianMixture(2, random_state=0).fit(X)
    places = Isomap().fit(X)
    half = np.where(np.arange(60) % 4 == 0, y, -1)
    classes = HarmonicClassifier(5).fit(X, half)
    boosted = SemiBoostClassifier(n_estimators=3, random_state=0).fit(X, half)
    make = {
        "ClusterDisplay": ("from_estimator", (model, X)),
        "ConstraintsDisplay": ("from_constraints", (known,)),
        "ComparisonDisplay": ("from_comparison", (TABLE,)),
        "SearchDisplay": ("from_estimator", (search,)),
        "LearningCurveDisplay": ("from_scores", ([0, 1], {"a": [[0.1, 0.2], [0.3, 0.2]]})),
        "ConvergenceDisplay": ("from_estimator", (model,)),
        "SizesDisplay": ("from_estimator", (model,)),
        "DendrogramDisplay": ("from_estimator", (tree,)),
        "PairDistancesDisplay": ("from_estimator", (metric, X, known)),
        "DensityDisplay": ("from_estimator", (mixture, X)),
        "EmbeddingDisplay": ("from_estimator", (places, X)),
        "SpectrumDisplay": ("from_estimator", (places,)),
        "GrowthDisplay": ("from_frames", ([places.embedding_],)),
        "DecisionDisplay": ("from_estimator", (classes, X, half)),
        "StagesDisplay": ("from_estimator", (boosted,)),
        "MapDisplay": ("from_estimator", (SelfOrganizingMixture((3, 3)).fit(X),)),
        "SignMatrixDisplay": ("from_relations", (PATH, [0, 0, 1, 1])),
        "ConnectedClustersDisplay": ("from_labels", (PLACES, PATH, [0, 0, 1, 1])),
        "AbsorptionDisplay": ("from_thresholds", ([0.5, 0.1, 3.0],)),
        "ResolutionCurveDisplay": ("from_curve", ([0.9, 0.6], [1.0, 0.5], [0.5, 1.0])),
    }
    counts = np.repeat(np.eye(2), 8, axis=0)
    categories = TextCategories().fit(counts, np.repeat([0, 1], 8))
    make["CategoryFlowDisplay"] = ("from_estimator", (categories,))
    make["SplitsDisplay"] = ("from_estimators", ([model], X))
    make["ContingencyDisplay"] = ("from_labels", ({"truth": y}, model.labels_))
    blocks = CDKMeans(2, n_init=1, random_state=0).fit(counts)
    make["CoclusterDisplay"] = ("from_estimator", (blocks, counts))
    make["TimelineDisplay"] = ("from_labels", ([0, 0, 1, 0], range(4)))
    published = Anonymizer(5).fit(X)
    make["ClassSizesDisplay"] = ("from_estimator", (published,))
    make["LossSearchDisplay"] = ("from_estimator", (published,))
    return {
        name: lambda ax=None, name=name, how=how, given=given: getattr(getattr(display, name), how)(
            *given, ax=ax
        )
        for name, (how, given) in make.items()
    }


@pytest.fixture(scope="module")
def draw(blobs, known):
    return makers(*blobs, known)


def test_every_display_is_tested_here(draw):
    assert set(draw) == set(display.__all__)


@pytest.mark.parametrize("name", display.__all__)
def test_docstrings_describe_what_there_is(name):
    cls = getattr(display, name)
    sections = entries_by_section(cls)
    fields = list(inspect.signature(cls).parameters)
    assert sorted(sections["Parameters"]) == sorted(fields)
    assert "ax_" in inspect.getdoc(cls).partition("Attributes")[2]
    for method in [cls.plot, *(getattr(cls, one) for one in vars(cls) if one.startswith("from_"))]:
        sections = entries_by_section(method)
        signature = inspect.signature(method).parameters
        stars = {
            one.name: "*" * one.kind.name.count("VAR_KEYWORD") * 2 for one in signature.values()
        }
        wanted = [stars[one] + one for one in signature if one != "self"]
        assert sections["Parameters"] == wanted, method.__qualname__
        assert "Returns" in sections


@pytest.mark.parametrize("name", display.__all__)
def test_axes_in_and_out(draw, name):
    ax = Figure(layout="constrained").subplots()
    drawn = draw[name](ax)
    assert type(drawn).__name__ == name
    assert drawn.ax_ is ax
    assert drawn.figure_ is ax.figure
    assert plt.get_fignums() == []  # axes that are given leave pyplot alone
    assert ax.get_xlabel()
    assert ax.get_ylabel() or name == "ConstraintsDisplay"  # a layout has no meaning upwards
    again = Figure().subplots()
    assert drawn.plot(again) is drawn
    assert drawn.ax_ is again
    ax.figure.draw_without_rendering()
    again.figure.draw_without_rendering()


@pytest.mark.parametrize("name", display.__all__)
def test_new_axes_are_in_a_new_figure_of_pyplot(draw, name):
    first = plt.figure()
    drawn = draw[name]()
    assert plt.get_fignums() == [1, 2]
    assert plt.gcf() is drawn.figure_
    assert drawn.figure_ is not first
    assert first.axes == []


@pytest.mark.parametrize("name", display.__all__)
def test_displays_read_on_a_dark_page(draw, name):
    with plt.style.context("dark_background"):
        drawn = draw[name](Figure().subplots())
        assert inks_of(drawn.ax_).mode == "dark"
        drawn.figure_.draw_without_rendering()


def test_inks_follow_the_page_of_the_axes():
    ax = Figure().subplots()
    assert inks_of(ax).groups(3) == list(LIGHT[:3])
    ax.set_facecolor("#101010")
    assert inks_of(ax).groups(3) == list(DARK[:3])
    ax.set_facecolor("none")
    assert inks_of(ax).mode == "light"  # behind it the figure
    ax.figure.set_facecolor("black")
    assert inks_of(ax).mode == "dark"
    ax.figure.set_facecolor("none")
    ax.xaxis.label.set_color("white")  # what is written in white stands on something dark
    assert inks_of(ax).mode == "dark"


def test_several_axes_are_refused(draw):
    axes = Figure().subplots(2, 2)
    with pytest.raises(InvalidRequest, match="got ndarray; of several axes pass one"):
        draw["SizesDisplay"](axes)


def test_repr_tells_whether_it_is_drawn(draw):
    assert repr(draw["SizesDisplay"](Figure().subplots())) == "<SizesDisplay>"
    made = display.SizesDisplay(cluster_sizes(["0"], np.ones(1)))
    assert repr(made) == "<SizesDisplay, not drawn yet>"


MISSING = """
import sys
import numpy as np
from sidelight import Constraints, Relations, display
[getattr(display, name) for name in display.__all__]
assert "matplotlib" not in sys.modules  # it is imported to draw, not before
sys.modules["matplotlib"] = None  # as if it were not installed
for call in (
    lambda: display.ClusterDisplay.from_labels(np.eye(3), [0, 1, 1]),
    lambda: display.ConstraintsDisplay.from_constraints(Constraints(n_samples=1)),
    lambda: display.SizesDisplay.from_labels([0, 1, 1]),
):
    try:
        call()
    except ImportError as error:
        print(error)
print(Constraints([(0, 1)], n_samples=2)._repr_html_()[:6])
"""


def test_a_sentence_where_matplotlib_is_missing():
    done = subprocess.run(
        [sys.executable, "-c", MISSING], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "ClusterDisplay draws with Matplotlib, which is not installed: "
        'pip install "sidelight[plots]" brings it.'
    )
    assert [line.split()[0] for line in lines[1:3]] == ["ConstraintsDisplay", "SizesDisplay"]
    assert lines[3] == "<table"
