"""``docs/adding_a_job.rst`` is executed: its job joins a copy of the package and runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import sidelight

ROOT = Path(__file__).parent.parent
PACKAGE = Path(sidelight.__file__).parent
PAGE = ROOT / "docs" / "adding_a_job.rst"
BLOCK = re.compile(
    r"^\.\. code-block:: python\n   :caption: (.+)\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
ROWS = "id,a,b\nu,1,2\nv,3,4\nw,1,2\nx,1,2\ny,3,4\nz,5,6\n"


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Path:
    """A copy of the package with the job of the page."""
    folder = tmp_path_factory.mktemp("job")
    unfinished = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
    shutil.copytree(PACKAGE, folder / "sidelight", ignore=unfinished)
    for caption, code in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        path, is_there, _ = caption.partition(", one more ")
        file = folder / Path(path).relative_to("src")
        assert file.exists() == bool(is_there)
        before = file.read_text(encoding="utf-8") if is_there else ""
        file.parent.mkdir(exist_ok=True)
        file.write_text(before + textwrap.dedent(code).strip() + "\n", encoding="utf-8")
    (folder / "rows.csv").write_text(ROWS)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_job_is_a_command_with_checked_options(extended):
    ended = run(extended, "-m", "sidelight", "repeats", "rows.csv", "--json")
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert facts["sizes"] == [3, 2]
    assert dict(zip(facts["ids"], facts["labels"], strict=True)) == {
        **dict.fromkeys("uwx", 0),
        **dict.fromkeys("vy", 1),
        "z": -1,
    }
    shown = run(extended, "-m", "sidelight", "repeats", "--help")
    assert "--times" in shown.stdout
    assert "--id-column" in shown.stdout
    refused = run(extended, "-m", "sidelight", "repeats", "rows.csv", "--times", "1")
    assert refused.returncode == 2
    assert "--times must be a whole number of at least 2" in refused.stderr


def test_python_gets_the_same_result_and_files(extended):
    program = (
        "from sidelight import jobs\n"
        "found = jobs.run('repeats', data='rows.csv', times=3)\n"
        "found.write(labels='groups.csv')\n"
        "print(found.facts()['sizes'], found.request.command_line())\n"
    )
    ended = run(extended, "-c", program)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "[3] sidelight repeats rows.csv --times 3"
    written = (extended / "groups.csv").read_text().splitlines()
    assert written[:2] == ["id,cluster", "u,0"]
