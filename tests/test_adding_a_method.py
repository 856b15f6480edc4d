"""``docs/adding_a_method*`` is executed: the methods of its pages join a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import sidelight
from sidelight import tags

ROOT = Path(__file__).parent.parent
PACKAGE = Path(sidelight.__file__).parent
#: The first page, and one for every other kind or group of kinds.
FIRST = ROOT / "docs" / "adding_a_method.rst"
PAGES = (FIRST, *sorted(FIRST.with_suffix("").glob("*.rst")))
BLOCK = re.compile(
    r"^\.\. code-block:: python\n   :caption: (.+)\n\n((?:   .*\n|\n)+)", re.MULTILINE
)

#: The catalog of the copy has the methods of the pages, one of each kind; tests of all others would
#: only be collected to be left out.
PLUGIN = """
from sidelight import catalog

found = tuple(catalog.get(name) for name in {classes})
assert len({{method.tags.kind for method in found}}) == len(found)
catalog.methods = lambda: found
"""


def blocks() -> list[tuple[str, bool, str]]:
    """Path, whether the file is there already, and the code of every block of the pages."""
    found = []
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for caption, code in BLOCK.findall(text):
        path, comma, _ = caption.partition(", one more ")
        found.append((path, bool(comma), textwrap.dedent(code).strip() + "\n"))
    return found


def copy_with_the_pages(folder: Path) -> None:
    """Copy package and common tests, compiled kernels included, and add what the pages say."""
    # Another worker may be compiling: its temporary files come and go.
    unfinished = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
    shutil.copytree(PACKAGE, folder / "src" / "sidelight", ignore=unfinished)
    shutil.copytree(ROOT / "tests" / "common", folder / "tests" / "common", ignore=unfinished)
    for page in ROOT.glob("docs/*/*.rst"):  # which docstrings link
        copy = folder / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    for path, is_there, code in blocks():
        file = folder / path
        assert file.exists() == is_there
        before = file.read_text(encoding="utf-8") if is_there else ""
        file.write_text(before + code, encoding="utf-8")


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_methods_of_the_pages_pass_the_contract(tmp_path: Path) -> None:
    copy_with_the_pages(tmp_path)
    files = [path for path, is_there, _ in blocks() if not is_there]
    classes = [
        name for _, is_there, code in blocks() if not is_there
        for name in re.findall(r"^class ([A-Z]\w+)", code, flags=re.MULTILINE)
    ]  # fmt: skip
    assert len(files) == len(classes) == len(tags.KINDS)
    (tmp_path / "only_the_pages.py").write_text(PLUGIN.format(classes=classes), encoding="utf-8")
    common = [f"tests/common/test_{name}.py" for name in ("parameters", "scikit_learn")]
    common.append("tests/common/test_warnings.py::test_warnings_point_at_the_call")
    contract = "tests/common/test_contract.py::test_contract"
    # Methods of the pages that have no parameters are public, too.
    all_public = "--deselect=tests/common/test_parameters.py::test_the_catalog_is_public"
    quiet = ("-q", "-p", "no:cacheprovider", "-p", "only_the_pages", all_public)
    said = run(tmp_path, "pytest", *quiet, contract, *common, *files)
    passed = int(re.findall(r"(\d+) passed", said)[0])
    assert passed > 40 * len(classes), said


def test_the_first_page_says_which_page_to_read_for_every_kind() -> None:
    text = FIRST.read_text(encoding="utf-8")
    table, _, first = text.partition("\nA clusterer\n")
    assert [name for name in tags.KINDS if f"``{name}``" not in table] == []
    linked = re.findall(r":doc:`adding_a_method/(\w+)`", table)
    assert sorted(linked) == [page.stem for page in PAGES[1:]]
    assert re.findall(r"^   class ([A-Z]\w+)", first, flags=re.MULTILINE) == ["MustLinkKMeans"]
