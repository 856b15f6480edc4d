"""The README and the guide are true: what they show runs, what they list is there."""

from __future__ import annotations

import doctest
import html
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


#: Pages that are made when the docs are built, and those that tests of their own execute.
ELSEWHERE = {
    *("_build", "generated", "auto_examples"),
    *("adding_a_method.rst", "adding_a_method"),
    *("howto", "coming_from", "quickstart.rst", "tutorial.rst", "faq.rst"),  # test_docs_pages
    *("command_line.rst", "customer_duplicates.rst"),  # likewise
}
PAGES = sorted(
    page for page in DOCS.rglob("[!_]*.rst") if not ELSEWHERE & set(page.relative_to(DOCS).parts)
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_examples_in_the_guide_run(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0


def test_the_ten_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 12
    exec(compile(code, "README.md", "exec"), {})
    plain, told = map(float, capsys.readouterr().out.split("\n")[:2])
    stated_plain, stated_told = map(float, re.findall(r"# (0\.\d\d):", code))
    assert plain == pytest.approx(stated_plain, abs=0.006)
    assert told == pytest.approx(stated_told, abs=0.006)


def test_the_readme_lists_the_methods_of_the_catalog(docs_module: Any) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert docs_module("generate").readme_with_table(text) == text


def test_what_is_made_from_the_code_is_kept_as_it_would_be_made_now(docs_module: Any) -> None:
    for path, text in docs_module("generate").kept().items():
        assert path.read_text(encoding="utf-8") == text, f"run python docs/generate.py: {path.name}"


def test_words_fit_their_boxes_in_the_picture_of_the_layers(docs_module: Any) -> None:
    layers = docs_module("layers")
    rooms = re.findall(r'<g class="room">.*?</g>', layers.picture())
    assert len(rooms) == sum(len(layer.rooms) for layer in layers.layers())
    for room in rooms:
        left, width = map(
            float, re.search(r'<rect x="([\d.]+)".*? width="([\d.]+)"', room).groups()
        )
        assert layers.MARGIN < left < left + width < layers.WIDTH - layers.MARGIN
        for x, text in re.findall(r'<text x="([\d.]+)".*?>(.*?)</text>', room):
            spans = [html.unescape(span) for span in re.findall(r">([^<>]+)<", text)]
            gaps = sum(map(float, re.findall(r'dx="(\d+)"', text)))
            needed = gaps + layers.CHARACTER * sum(map(len, spans))
            assert float(x) + needed < left + width, spans


FORMULA = re.compile(
    r":math:`(?P<inline>[^`]+)`|^(?P<indent> *)\.\. math::(?P<block>.*\n(?:(?P=indent) +.*\n|\n)*)",
    re.MULTILINE,
)


def test_formulas_are_drawn_without_a_network(docs_module: Any) -> None:
    """Every formula of the guide and of the docstrings becomes MathML with nothing left over."""
    formulas = docs_module("formulas")
    sources = [*DOCS.rglob("[!_]*.rst"), *(ROOT / "src").rglob("*.py")]
    found = 0
    for path in sources:
        for match in FORMULA.finditer(path.read_text(encoding="utf-8")):
            latex = match["inline"] or match["block"]
            drawn = ElementTree.fromstring(formulas.mathml(latex, block=not match["inline"]))
            assert "\\" not in "".join(drawn.itertext()), f"{path.name}: {latex}"
            found += 1
    assert found > 150
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert re.search(r'^html_math_renderer = "mathml"', settings, re.MULTILINE)


def test_every_method_is_in_the_reference() -> None:
    from sidelight import catalog

    reference = (DOCS / "api" / "index.rst").read_text(encoding="utf-8").split()
    missing = [
        method.cls.__name__
        for method in catalog.methods()
        if f"{method.family}.{method.cls.__name__}" not in reference
    ]
    assert missing == []


@pytest.mark.parametrize(
    "family", ["cluster", "mixture", "metric", "manifold", "privacy", "relational"]
)
def test_every_method_is_in_the_guide(family: str) -> None:
    from sidelight import catalog

    guide = "".join(page.read_text(encoding="utf-8") for page in (DOCS / family).glob("*.rst"))
    missing = [
        method.cls.__name__
        for method in catalog.methods(family=family)
        if not re.search(rf"[.`\s]{method.cls.__name__}\b", guide)
    ]
    assert missing == []


def test_how_to_pages_have_their_parts() -> None:
    pages = [page for page in (DOCS / "howto").glob("*.rst") if page.stem != "index"]
    assert len(pages) == 20
    index = (DOCS / "howto" / "index.rst").read_text(encoding="utf-8")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "**The problem.**" in text, page
        for part in ("In Python", "On the command line", "What to watch for"):
            assert f"\n{part}\n---" in text, page
        assert f":doc:`{page.stem}`" in index


def test_the_home_page_shows_all_customers_twice(docs_module: Any) -> None:
    text = docs_module("home_picture").figure()
    panels = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert [len(re.findall("<(?:circle|rect) ", panel)) for panel in panels] == [400, 400]
    assert [len(re.findall("<line ", panel)) for panel in panels] == [0, 30]
    plain, told = map(float, re.findall(r"Rand index\): (0\.\d\d)", text))
    assert plain < 0.6 < 0.8 < told
    # Docutils refuses longer lines.
    assert max(map(len, text.splitlines())) < 10_000
