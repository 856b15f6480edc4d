"""Displays of several splits: counts of old against new, maps side by side."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sidelight import KnownSplits
from sidelight.cluster import CondEns, KMeans, find_alternatives
from sidelight.display import ContingencyDisplay, SplitsDisplay
from sidelight.exceptions import InvalidRequest, SidelightError

KNOWN = {"country": ["it", "no", "it", "it", "no", "no"]}
LABELS = [5, 5, 5, 2, 2, -1]


def test_counts_and_shades() -> None:
    display = ContingencyDisplay.from_labels(KNOWN, LABELS, title="old and new")
    assert display.picture.names == (["it", "no"], ["-1", "2", "5"])
    shares = np.asarray(display.drawn_.image.get_array())
    np.testing.assert_allclose(shares, [[0, 1 / 3, 2 / 3], [1 / 3, 1 / 3, 1 / 3]])
    assert [text.get_text() for text in display.drawn_.texts] == list("012111")
    assert display.ax_.get_ylabel() == "country"
    assert "old and new\nvariation of information" in display.ax_.get_title()


def test_many_cells_have_no_numbers() -> None:
    labels = np.arange(900) % 30
    display = ContingencyDisplay.from_labels(labels, np.arange(900) // 30)
    assert display.drawn_.texts == []


def test_one_split_in_classes_is_drawn() -> None:
    with pytest.raises(InvalidRequest, match="one known split in classes"):
        ContingencyDisplay.from_labels(KnownSplits([[0, 1, 0], [1, 1, 0]]), [0, 1, 1])
    with pytest.raises(InvalidRequest, match="one known split in classes"):
        ContingencyDisplay.from_labels([0.5, 1.5, 2.5], [0, 1, 1])
    with pytest.raises(SidelightError, match="about 3 rows"):
        ContingencyDisplay.from_labels(KNOWN, [0, 1, 1])


def test_a_panel_for_every_split() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    known = {"side": X[:, 0] > 0, "age": rng.normal(size=60)}
    found = find_alternatives(CondEns(2, random_state=0), X, 2, known={"side": known["side"]})
    display = SplitsDisplay.from_estimators(found, X, known=known, features=[0, 1])
    assert [ax.get_title() for ax in display.axes_] == ["side", "alternative 1", "alternative 2"]
    for shown in display.drawn_:
        np.testing.assert_array_equal(shown.points.get_offsets(), X)
    codes = display.picture[1].codes
    assert len({*zip(codes.tolist(), found[0].labels_.tolist(), strict=True)}) == 2


def test_given_axes() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KMeans(2, random_state=0).fit(X)
    _, axes = plt.subplots(1, 2)
    display = SplitsDisplay.from_estimators([model, model], X, ax=axes)
    assert display.ax_ is axes[0]
    assert display.figure_ is axes[0].figure
    with pytest.raises(InvalidRequest, match="1 splits but 2 axes"):
        SplitsDisplay.from_estimators([model], X, ax=axes)
    with pytest.raises(InvalidRequest, match="one fitted clusterer"):
        SplitsDisplay.from_estimators([], X)
    with pytest.raises(ValueError, match="not fitted"):
        SplitsDisplay.from_estimators([KMeans(2)], X)
