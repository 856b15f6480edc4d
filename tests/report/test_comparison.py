"""The page of a comparison: candidates side by side, then the chosen one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sidelight import Constraints
from sidelight.cluster import KMeans, PCKMeans
from sidelight.evaluation import compare
from sidelight.report import render_report

from .conftest import Page


def render(found, X, known, **more):
    return render_report(
        estimator=found.best_estimator_, X=X, constraints=known, comparison=found, **more
    )


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = 3 * np.eye(3, 4)[y] + rng.normal(size=(90, 4))
    known = Constraints.sample(y, 40, random_state=0)
    methods = {"a<b>": PCKMeans(), "plain": KMeans()}
    return compare(X, methods, constraints=known, n_clusters=[2, 3, 4], n_jobs=1), X, known, y


def test_everything_is_there(case):
    found, X, known, y = case
    page = Page(render(found, X, known, labels_true=y))
    text = " ".join(words for _, words in page.text)
    for sentence in found.verdict:
        assert " ".join(sentence.replace("`", "").split()) in " ".join(text.split())
    assert not page.open  # every tag is closed, in order
    names = [attributes.get("class") for _, attributes, _ in page.elements]
    assert names.count("chosen") == 1
    assert sum(name == "score" for name in names) == 1 + len(found.scored)  # the axis, the bars
    assert {f"scatter map-{n}" for n in range(2)} <= set(names)
    assert "a<b>" in text  # escaped in the page, and read back


def test_one_method_shows_its_numbers(case):
    _, X, known, _ = case
    found = compare(X, "kmeans", constraints=known, n_clusters=[2, 3], n_jobs=1)
    assert "kmeans with k = 2" in render(found, X, known)


def test_a_single_candidate_has_nothing_beside_it(case):
    _, X, known, _ = case
    found = compare(X, "kmeans", constraints=known, n_clusters=3, n_jobs=1)
    html = render(found, X, known)
    assert "Agreement between them" not in html
    assert "side by side" not in html


def test_without_statements(case):
    _, X, _, _ = case
    found = compare(X, "kmeans", n_clusters=[2, 3], n_jobs=1)
    html = render(found, X, None)
    assert "Stability by number of clusters" in html
    assert "Without knowledge" not in html


def test_in_a_real_browser(case, chromium, tmp_path):
    found, X, known, _ = case
    page = tmp_path / "page.html"
    page.write_text(render(found, X, known), encoding="utf-8")
    root = re.search(r"<html[^>]*>", chromium(page.as_uri(), "--dump-dom")).group()
    assert 'data-ready="true"' in root
    assert "data-error" not in root
