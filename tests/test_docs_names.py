"""Files, functions and classes that the docs name are there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sidelight import catalog
from sidelight._fit.parameters import declared

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "sidelight"
#: Pages for those who read and change the code: every file and name in them is looked up.
FOR_DEVELOPERS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    DOCS / "architecture.rst",
    DOCS / "adding_a_job.rst",
    DOCS / "adding_a_method.rst",
    *sorted((DOCS / "adding_a_method").glob("*.rst")),
)
#: Where a path in a page may begin.
PLACES = (ROOT, PACKAGE, DOCS, ROOT / "src")
PAGES = sorted(
    page
    for page in DOCS.rglob("[!_]*.rst")
    if not {"_build", "generated", "auto_examples"} & set(page.relative_to(DOCS).parts)
)
LITERAL = re.compile(r"``(.+?)``|(?<![`:])`([^`\n]+)`(?!`)", re.DOTALL)
ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`(?:[^`<]*<)?[~!]?([\w.]+)>?`")
DOC = re.compile(r":doc:`(?:[^`<]*<)?([^`>]+)>?`")
TOCTREE = re.compile(r"\.\. toctree::\n(?:   :.*\n)*\n((?:   .+\n)+)")
#: Made when the docs are built, and by `make`.
BUILT = ("auto_examples/index", "docs/_build", ".venv/bin")
#: Names of scikit-learn.
OTHERS = {"check_estimator"}
BLOCK = re.compile(r"^\.\. code-block::.*\n(?:   .*\n|\n)+|^```.*?^```", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def literals(text: str) -> list[str]:
    """Return what stands in quotes of code, and where Markdown links lead."""
    found = [one or other for one, other in LITERAL.findall(text)]
    return found + re.findall(r"\]\(([^)#:]+)\)", text)


def paths(text: str) -> list[str]:
    """Return the words of a text's literals that look like paths of the repository."""
    words = [word.rstrip(".,") for literal in literals(text) for word in literal.split()]
    shape = re.compile(r"[\w.]+(/[\w.*]*)+|\w+\.(py|pyi|md|rst)")
    return [word for word in words if shape.fullmatch(word) and not word.startswith(BUILT)]


@cache
def words_of_the_code() -> frozenset[str]:
    """Return every word of the code, its tests and its settings, and of the names of methods."""
    files = [
        file
        for folder in ("src", "tests", "docs", "experiments", "benchmarks")
        for suffix in ("py", "pyi")
        for file in (ROOT / folder).rglob(f"*.{suffix}")
        if file != Path(__file__) and "auto_examples" not in file.parts
    ]
    files += [ROOT / "pyproject.toml", ROOT / "Makefile", *(DOCS / "names").glob("*.csv")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    names = " ".join(method.name for method in catalog.methods())
    return frozenset(re.findall(r"\w+", text + names))


def exists(path: str) -> bool:
    """Whether there is such a file or folder, wherever in the repository the path begins."""
    if "/" not in path and any(PACKAGE.rglob(path)):
        return True
    return any(any(place.glob(path.strip("/"))) for place in PLACES)


def unknown_words(page: Path) -> list[str]:
    """Return names in the literals of a page that occur neither in the code nor in its own code."""
    own = set(re.findall(r"\w+", "".join(BLOCK.findall(page.read_text(encoding="utf-8")))))
    text = prose(page)
    checked = set(paths(text))
    names = {
        word
        for literal in literals(text)
        if literal not in checked and not set(literal) & set("$|")
        for word in re.findall(r"[A-Za-z_]\w+", literal)
    }
    return sorted(names - words_of_the_code() - own - OTHERS)


@pytest.mark.parametrize("page", FOR_DEVELOPERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_names_of_a_page_are_there(page: Path) -> None:
    assert [path for path in paths(prose(page)) if not exists(path)] == []
    assert unknown_words(page) == []


def test_files_and_names_that_are_not_there_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.rst"
    page.write_text("See ``src/sidelight/nothing.py``, ``tests/`` and ``no_such_name()``.\n")
    assert [path for path in paths(prose(page)) if not exists(path)] == ["src/sidelight/nothing.py"]
    assert unknown_words(page) == ["no_such_name"]


def find(dotted: str) -> Any:
    """Return the module, class or attribute of a dotted name."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in ROLE.findall(text):
        if name.startswith("sidelight."):
            find(name)
    for target in DOC.findall(text) + [
        line.strip() for entries in TOCTREE.findall(text) for line in entries.splitlines()
    ]:
        path = DOCS / target[1:] if target.startswith("/") else page.parent / target
        there = path.with_suffix(".rst").exists() or path.with_suffix(".md").exists()
        script = DOCS / "examples" / f"{path.name}.py"  # of which the gallery makes the page
        assert there or script.exists() or target.strip("/") in BUILT, target


def reference() -> list[str]:
    """Return the names that the reference lists."""
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    return re.findall(r"^   ([A-Za-z]\w*(?:\.\w+)*)$", text, flags=re.MULTILINE)


def test_the_reference_lists_what_is_there_once() -> None:
    names = reference()
    assert sorted(set(names)) == sorted(names)
    for name in names:
        find(f"sidelight.{name}")


def test_every_public_class_and_function_is_in_the_reference() -> None:
    listed = {find(f"sidelight.{name}") for name in reference()}
    missing = []
    for door in PACKAGE.rglob("__init__.pyi"):
        package = ".".join(door.parent.relative_to(ROOT / "src").parts)
        for name in re.findall(r" as (\w+)$", door.read_text(encoding="utf-8"), flags=re.M):
            value = find(f"{package}.{name}")
            if (inspect.isclass(value) or inspect.isfunction(value)) and value not in listed:
                missing.append(f"{package}.{name}")
    assert missing == []


def test_the_changelog_has_names_of_today(tmp_path: Path) -> None:
    page = tmp_path / "CHANGELOG.md"
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    page.write_text(re.sub(r"^\|.*?(?<!\\)\|", "|", text, flags=re.MULTILINE))  # old names
    assert unknown_words(page) == []
    assert [path for path in paths(page.read_text()) if not exists(path)] == []


def test_new_names_of_parameters_and_attributes_belong_to_the_method() -> None:
    """``Class(name=`` and ``Class.name_`` of the changelog."""
    methods = {method.cls.__name__: method.cls for method in catalog.methods()}
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    new = re.sub(r"^\|.*?(?<!\\)\|", "|", text, flags=re.MULTILINE)
    wrong = [
        f"{name}({parameter}=)"
        for name, parameters in re.findall(r"`([A-Z]\w+)\(([^`]*)\)`", new)
        for parameter in re.findall(r"(\w+)=", parameters)
        if name in methods and parameter not in declared(methods[name])
    ] + [
        f"{name}.{attribute}"
        for name, attribute in re.findall(r"`([A-Z]\w+)\.(\w+_)\b", new)
        if name in methods and attribute not in (methods[name].__doc__ or "")
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ["jobs", "jobs/_table"])
def test_the_manual_of_a_room_names_its_modules_and_what_is_in_them(room: str) -> None:
    door = PACKAGE / room / "__init__.py"
    text = ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or ""
    words = {word for literal in literals(text) for word in re.findall(r"\w+", literal)}
    modules = {one.stem for one in door.parent.glob("_[a-z]*.py")}
    assert modules - words == set()
    named = re.findall(r"^(?:\d+\.|-) (.+?):", text, flags=re.MULTILINE)
    assert {word for part in named for word in re.findall(r"``(\w+)``", part)} - modules <= {
        "_table"
    }
    assert words <= words_of_the_code() | {path.parent.name for path in PACKAGE.rglob("*.py")}
