"""Displays of categories: where the documents of classes went."""

from __future__ import annotations

import numpy as np
import pytest

from sidelight.cluster import KMeans, TextCategories
from sidelight.datasets import make_category_corpus
from sidelight.display import CategoryFlowDisplay
from sidelight.display.categories import _flow
from sidelight.exceptions import InvalidRequest


@pytest.fixture(scope="module")
def model():
    corpus = make_category_corpus(1500, n_topics=6, n_duplicated=1, random_state=0)
    names = np.array(corpus.extras["class_names"])
    return TextCategories().fit(corpus.data, names[corpus.extras["labels"]])


def test_shares_of_the_classes(model, ax):
    display = CategoryFlowDisplay.from_estimator(model, ax=ax)
    shares = np.asarray(display.drawn_.image.get_array())
    assert shares.shape == (len(model.classes_), len(model.category_names_))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    rows = [label.get_text() for label in ax.get_yticklabels()]
    columns = [label.get_text() for label in ax.get_xticklabels()]
    for row, name in enumerate(rows):
        code = model.classes_.tolist().index(name)
        category = model.class_category_[code]
        assert shares[row].argmax() == columns.index(model.category_names_[category])
    written = sum(int(text.get_text().replace(",", "")) for text in display.drawn_.texts)
    assert written == model.constituents_.sum()


def test_of_many_the_largest_are_drawn(model, ax, monkeypatch):
    monkeypatch.setattr(_flow, "MOST", 3)
    display = CategoryFlowDisplay.from_estimator(model, ax=ax)
    assert display.picture.codes.shape == (3, 3)
    assert "3 of 6 categories" in ax.get_title()


def test_what_has_no_categories_is_told(ax):
    kmeans = KMeans(2, random_state=0).fit([[0.0], [1.0]])
    with pytest.raises(InvalidRequest, match="makes no categories"):
        CategoryFlowDisplay.from_estimator(kmeans, ax=ax)
