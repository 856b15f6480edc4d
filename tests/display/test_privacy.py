"""Pictures of tables to publish: sizes of classes, and the loss of numbers of classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from sidelight.display import ClassSizesDisplay, LossSearchDisplay
from sidelight.exceptions import InvalidRequest
from sidelight.pictures.privacy._sizes import class_sizes
from sidelight.privacy import check_anonymity


class Published(BaseEstimator):
    """A table that was published, with what was tried before."""

    def __init__(self, k=3):
        self.k = k
        self.labels_ = np.array([0, 0, 0, -1, 1, 1, 1, 1, 2, 2, 2])
        self.published_ = object()
        self.search_ = {"n_clusters": np.array([3, 1, 2]), "ncp": np.array([0.1, 0.9, 0.4])}

    def fit(self, X, y=None):
        return self


def test_bars_count_the_classes():
    display = ClassSizesDisplay.from_estimator(Published())
    assert [bar.get_height() for bar in display.drawn_.bars["classes"]] == [2, 1]
    assert [bar.get_x() + 0.5 for bar in display.drawn_.bars["classes"]] == [3, 4]
    assert display.drawn_.mark.get_xdata()[0] == 2.5
    assert "1 row left out" in "".join(text.get_text() for text in display.figure_.findobj(text_of))


def text_of(artist):
    return hasattr(artist, "get_text")


def test_classes_that_are_too_small_stand_out():
    table = {"q": ["a"] * 2 + ["b"] * 5 + ["c"] * 6}
    display = ClassSizesDisplay.from_check(check_anonymity(table, "q", k=5))
    colors = [bar.get_facecolor() for bar in display.drawn_.bars["classes"]]
    assert colors[0] != colors[-1]
    assert colors[3] == colors[-1]


def test_many_sizes_share_bars():
    sizes = np.arange(10, 1010)
    display = ClassSizesDisplay(class_sizes(sizes, None, 40)).plot()
    assert len(display.drawn_.bars["classes"]) <= 40
    assert sum(bar.get_height() for bar in display.drawn_.bars["classes"]) == 1000
    assert display.drawn_.mark is None


def test_losses_by_number_of_classes():
    display = LossSearchDisplay.from_estimator(Published())
    assert display.drawn_.lines["loss"].get_xdata().tolist() == [1, 2, 3]
    assert display.drawn_.lines["loss"].get_ydata().tolist() == [0.9, 0.4, 0.1]
    assert display.drawn_.mark.get_xdata()[0] == 3


@pytest.mark.parametrize("display", [ClassSizesDisplay, LossSearchDisplay])
def test_other_estimators_are_refused(display):
    model = KMeans(2, n_init=1).fit(np.eye(4))
    with pytest.raises(InvalidRequest, match="Anonymizer does"):
        display.from_estimator(model)
