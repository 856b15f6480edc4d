"""``docs/adding_a_method.rst`` is executed: its methods join a copy of the package and pass."""

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
PAGE = ROOT / "docs" / "adding_a_method.rst"
BLOCK = re.compile(
    r"^\.\. code-block:: python\n   :caption: (.+)\n\n((?:   .*\n|\n)+)", re.MULTILINE
)


def blocks() -> list[tuple[str, bool, str]]:
    """Path, whether the file is there already, and the code of every block of the page."""
    found = []
    for caption, code in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        path, comma, _ = caption.partition(", one more ")
        found.append((path, bool(comma), textwrap.dedent(code).strip() + "\n"))
    return found


def copy_with_the_page(folder: Path) -> None:
    """Copy package and common tests, compiled kernels included, and add what the page says."""
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


def test_the_methods_of_the_page_pass_the_contract(tmp_path: Path) -> None:
    copy_with_the_page(tmp_path)
    files = [path for path, is_there, _ in blocks() if not is_there]
    classes = [
        name for _, is_there, code in blocks() if not is_there
        for name in re.findall(r"^class ([A-Z]\w+)", code, flags=re.MULTILINE)
    ]  # fmt: skip
    assert len(files) == len(classes) == len(tags.KINDS)
    look = (
        "from sidelight import catalog; "
        f"found = [catalog.get(name) for name in {classes}]; "
        "assert len({method.tags.kind for method in found}) == len(found); "
        "print(*(method.name for method in found))"
    )
    (tmp_path / "look.py").write_text(look, encoding="utf-8")
    names = run(tmp_path, "look").split()
    chosen = " or ".join([*names, *classes])
    # Names of examples are not in the table of names, which the docs show.
    without = "--ignore=tests/common/test_names.py"
    where = (without, "tests/common", *files)
    said = run(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *where)
    passed = int(re.findall(r"(\d+) passed", said)[0])
    assert passed > 70 * len(names), said
