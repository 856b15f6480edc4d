"""The README and the guide are true: what they show runs, what they list is there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


#: Pages that are made when the docs are built, and the one that a test of its own executes.
ELSEWHERE = {"_build", "generated", "auto_examples", "adding_a_method.rst"}
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


def test_every_method_is_in_the_reference() -> None:
    from sidelight import catalog

    reference = (DOCS / "api" / "index.rst").read_text(encoding="utf-8").split()
    missing = [
        method.cls.__name__
        for method in catalog.methods()
        if f"{method.family}.{method.cls.__name__}" not in reference
    ]
    assert missing == []
