"""Numba's cache where neither the package nor the home folder can be written."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import sidelight

ROWS = "id,a\n" + "".join(f"p{i},{i % 2 * 9 + i}\n" for i in range(8))
LOOP = """
import numpy as np
from sidelight import catalog
from sidelight._kernels.constraints.unionfind import find
catalog.methods()
assert find(np.array([0, 0, 1]), 2) == 0
"""


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory):
    """A copy of the package in which no cache can be written, even by root, and no home."""
    root = tmp_path_factory.mktemp("read-only")
    package = root / "site" / "sidelight"
    home = Path(sidelight.__file__).parent
    shutil.copytree(home, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *filter(Path.is_dir, package.rglob("*"))]:
        (folder / "__pycache__").write_text("a file where the folder should be")
    temporary = root / "tmp"
    temporary.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {
        "PYTHONPATH": str(root / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": os.devnull,
        "XDG_CACHE_HOME": f"{os.devnull}/cache",
        "TMPDIR": str(temporary),
    }
    return temporary, environment


def python(environment, *arguments, cwd):
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )


def folder_of(temporary: Path) -> Path:
    return temporary / f"sidelight-numba-{os.getuid()}"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of users are those of POSIX")
def test_a_command_keeps_its_loops_in_a_temporary_folder(nowhere, tmp_path):
    temporary, environment = nowhere
    (tmp_path / "rows.csv").write_text(ROWS)
    ended = python(environment, "-m", "sidelight", "cluster", "rows.csv", "-k", "2", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if "NUMBA_CACHE_DIR" in line]
    folder = folder_of(temporary)
    assert line.startswith("Warning: ")
    assert str(folder) in line
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbi"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of users are those of POSIX")
def test_a_folder_that_others_can_write_is_not_trusted(nowhere, tmp_path):
    _, environment = nowhere
    folder = folder_of(tmp_path)
    folder.mkdir()
    folder.chmod(0o777)
    ended = python({**environment, "TMPDIR": str(tmp_path)}, "-c", LOOP, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("UserWarning") == 1
    assert "not kept" in ended.stderr
    assert list(folder.iterdir()) == []
