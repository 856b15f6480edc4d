"""The page that chooses a method: every method is in it, and what it recommends was measured."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from sidelight import catalog
from sidelight.tags import KNOWLEDGE

NOISE = 0.03  # differences of means over five draws that say nothing
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def chooser(docs_module: Any) -> Any:
    return docs_module("chooser")


@pytest.fixture(scope="module")
def leaves(chooser: Any) -> list[Any]:
    return [*chooser.clusterer_leaves(), *chooser.other_leaves()]


def pictures(chooser: Any) -> list[ElementTree.Element]:
    found = re.findall(r"<svg.*?</svg>", chooser.page(), flags=re.DOTALL)
    return [ElementTree.fromstring(one) for one in found]


def test_every_method_is_in_a_leaf_and_on_the_page(chooser: Any, leaves: list[Any]) -> None:
    placed = {method.name for leaf in leaves for method in leaf.methods}
    assert placed == {method.name for method in catalog.methods()}
    page = chooser.page()
    for method in catalog.methods():
        assert f":class:`~sidelight.{method.family}.{method.cls.__name__}`" in page


def test_a_leaf_says_what_its_methods_are(chooser: Any, leaves: list[Any]) -> None:
    for leaf in chooser.clusterer_leaves():
        branch, sure, rows = leaf.path
        for method in leaf.methods:
            assert rows == chooser.rows_of(method)
            if chooser.BRANCHES[branch]:
                assert set(method.tags.knowledge) & set(chooser.BRANCHES[branch])
                assert sure == chooser.SURE[method.tags.enforcement]
    assert len({leaf.anchor for leaf in leaves}) == len(leaves)


def test_every_kind_of_knowledge_has_a_branch(chooser: Any) -> None:
    assert {kind for kinds in chooser.BRANCHES.values() for kind in kinds} == set(KNOWLEDGE)


def test_recommended_methods_stand_first_where_they_belong(chooser: Any, leaves: list[Any]) -> None:
    seen = set()
    for leaf in leaves:
        assert leaf.methods[: len(leaf.recommended)] == leaf.recommended
        seen |= {method.name for method in leaf.recommended}
    assert seen == set(chooser.RECOMMENDED)


def test_figures_bear_the_recommendations_out(chooser: Any, leaves: list[Any]) -> None:
    figures = chooser.measured()
    assert len(figures) > 30
    for name in chooser.RECOMMENDED:
        if name in figures:
            assert figures[name].told > figures[name].nothing, name
            assert figures[name].n_worse <= 2, name
    # No method that was left out of a leaf of pairs is better by more than the noise.
    for leaf in leaves:
        told = {m: figures[m.name].told for m in leaf.methods if m.name in figures}
        best = max((told[m] for m in leaf.recommended if m in told), default=None)
        if best is not None:
            others = [value for m, value in told.items() if m not in leaf.recommended]
            assert all(value <= best + NOISE for value in others), leaf.path


def test_figures_of_the_page_are_those_of_the_results(chooser: Any) -> None:
    _, _, part = chooser.MEASURED.read_text(encoding="utf-8").partition("## All methods, stand")
    (row,) = re.findall(r"^\| mpckmeans \|(.*)\|$", part.partition("\n## ")[0], flags=re.MULTILINE)
    nothing, _, told, *_ = (cell.strip() for cell in row.split("|"))
    assert f"Measured: {nothing} → {told}." in chooser.page()


def test_links_of_the_pictures_lead_somewhere(chooser: Any) -> None:
    page = chooser.page()
    for picture in pictures(chooser):
        links = [link.get("href") or "" for link in picture.iter(f"{SVG}a")]
        assert links
        for link in links:
            if link.startswith("#"):
                assert f".. _{link[1:]}:" in page
            else:
                (name,) = re.findall(r"\.\./api/generated/sidelight\.(.+)\.html", link)
                family, class_name = name.split(".")
                assert catalog.get(class_name).family == family


def test_all_that_is_drawn_lies_inside_the_pictures(chooser: Any) -> None:
    for picture in pictures(chooser):
        _, _, width, height = map(float, (picture.get("viewBox") or "").split())
        for box in picture.iter(f"{SVG}rect"):
            x, y, w, h = (float(box.get(name) or 0) for name in ("x", "y", "width", "height"))
            assert min(x, y) >= 0
            assert x + w <= width
            assert y + h <= height
        for text in picture.iter(f"{SVG}text"):
            left, letters = float(text.get("x") or 0), len(text.text or "")
            if text.get("text-anchor") == "start":
                assert left + 7.0 * letters <= width
        for answer in picture.iter(f"{SVG}g"):
            if answer.get("class") == "answer":
                box, text = answer[0], answer[1]
                assert 7.3 * len(text.text or "") + 16 <= float(box.get("width") or 0), text.text
