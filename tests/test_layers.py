"""The contracts on imports cover the package, and the docs draw what the contracts say."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import sidelight
from sidelight import catalog

PACKAGE = Path(sidelight.__file__).parent
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def layers(docs_module: Any) -> Any:
    return docs_module("layers")


def first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, f"{path} has no docstring"
    return text.split("\n")[0]


def test_families_use_mixtures_and_clusterers_and_no_other_family(layers: Any) -> None:
    of_families = [
        [room.name for room in layer.rooms]
        for layer in layers.layers()
        if {room.name for room in layer.rooms} & set(catalog.FAMILIES)
    ]
    others = sorted(set(catalog.FAMILIES) - {"mixture", "cluster"})
    assert of_families == [others, ["mixture"], ["cluster"]]
    siblings = [{room.name for room in layer.rooms} for layer in layers.layers() if layer.siblings]
    assert siblings == []


def test_every_room_is_in_the_table_with_its_first_line(layers: Any) -> None:
    rows = dict(re.findall(r"\* - ``(.+)``\n     - (.+)\n", layers.table()))
    packages = {path.parent: path for path in PACKAGE.rglob("__init__.py")} | {
        path.with_suffix(""): path for path in PACKAGE.glob("[!_]*.py")
    }
    del packages[PACKAGE]
    for name, path in packages.items():
        dotted = ".".join(name.relative_to(PACKAGE).parts)
        assert rows.get(dotted) == first_line(path), dotted


def test_the_picture_shows_the_layers_of_the_contract(layers: Any) -> None:
    (contract,) = (one for one in layers.contracts() if one["type"] == "layers")
    stated = [set(re.findall(r"\w+", line)) for line in contract["layers"]]
    there = [{name for name in layer if (layers.find_room(name))} for layer in stated]
    picture = ElementTree.fromstring(layers.picture())
    bands = picture.findall(f"{SVG}g[@class='layer']")
    drawn = []
    for band in bands:
        rooms = band.findall(f"{SVG}g[@class='room']")
        drawn.append({room.find(f"{SVG}text/{SVG}tspan").text for room in rooms})  # type: ignore
    assert drawn == [layer for layer in there if layer]
    tops = [float(band.find(f"{SVG}rect").get("y")) for band in bands]  # type: ignore
    assert tops == sorted(tops)


def test_the_picture_shows_the_rooms_of_the_families(layers: Any) -> None:
    words = set(re.findall(r"\w+", re.sub(r"<[^>]*>", " ", layers.picture())))
    for family in catalog.FAMILIES:
        rooms = {path.parent.name for path in (PACKAGE / family).glob("*/__init__.py")}
        assert rooms <= words


def test_all_that_is_drawn_lies_inside_the_picture(layers: Any) -> None:
    picture = ElementTree.fromstring(layers.picture())
    _, _, width, height = map(float, picture.get("viewBox").split())  # type: ignore
    for box in picture.iter(f"{SVG}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        assert x + float(box.get("width")) <= width  # type: ignore
        assert y + float(box.get("height")) <= height  # type: ignore
