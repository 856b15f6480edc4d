"""What only shows in a process of its own: start-up, exit codes, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sidelight import __version__

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas", "ortools", "skops", "jinja2")


def sidelight(*arguments: object, **options):
    command = [sys.executable, "-m", "sidelight", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument):
    code = f"""
import sys
sys.argv = ["sidelight", {argument!r}]
from sidelight.cli import main
try:
    main()
except SystemExit as stop:
    assert stop.code == 0, stop.code
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.strip() == "[]"
    assert (__version__ if argument == "--version" else "cluster") in ended.stdout


def test_a_command_imports_only_what_it_needs(tmp_path):
    np.save(tmp_path / "data.npy", np.random.RandomState(0).normal(size=(50, 2)))
    code = """
import sys
sys.argv = ["sidelight", "cluster", "data.npy", "-k", "2", "--json"]
from sidelight.cli import main
try:
    main()
except SystemExit as stop:
    assert stop.code == 0, stop.code
names = ("pandas", "ortools", "skops", "jinja2", "matplotlib", "sklearn.pipeline")
print([name for name in names if name in sys.modules], file=sys.stderr)
"""
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.strip() == "[]"
    assert json.loads(ended.stdout)["method"] == "kmeans"


def test_exit_codes_of_the_process(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    fine = sidelight("cluster", "data.csv", "-k", 2, "-o", "labels.csv", cwd=tmp_path)
    assert (fine.returncode, (tmp_path / "labels.csv").exists()) == (0, True)
    bad = sidelight("cluster", "data.csv", "-k", 9, cwd=tmp_path)
    assert bad.returncode == 1
    assert bad.stderr.startswith("Error: ")
    wrong = sidelight("cluster", "--nonsense", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_ctrl_c_in_a_long_fit_leaves_no_half_written_output(tmp_path):
    data = tmp_path / "data.npy"
    np.save(data, np.random.RandomState(0).normal(size=(50_000, 8)).astype(np.float32))
    old = tmp_path / "labels.csv"
    old.write_text("old")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "sidelight", "cluster", str(data), "-k", "100"),
            *("--set", "n_init=1000", "--set", "tol=0", "--force", "-o", str(old), "--report"),
            *(str(tmp_path / "report.html"), "--save", str(tmp_path / "model.skops")),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    _wait_until_working(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    # Python ends by the signal itself where that met code made from text, as compilers make it;
    # a shell shows 130 for both.
    assert process.returncode in (130, -signal.SIGINT), err
    assert err.splitlines()[-1] == "Error: Interrupted; no output was written."
    assert old.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["data.npy", "labels.csv"]


def _wait_until_working(pid: int) -> None:
    """Wait until the data is mapped into the process, and then some."""
    maps = Path(f"/proc/{pid}/maps")
    if not maps.exists():
        pytest.skip("needs /proc")
    deadline = time.monotonic() + 60
    while "data.npy" not in maps.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.0)
