"""Ctrl-C while a hard question is being answered, and after it: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time

HARD = """
import os, signal, sys, threading, time
import numpy as np
from sidelight import Constraints

upper = np.triu(np.random.default_rng(0).random((90, 90)) < 0.5, 1)
hard = Constraints(cannot_link=np.argwhere(upper), n_samples=90)
"""
DURING = """
hard.feasibility(15)  # so that everything is imported when the signal comes
timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
try:
    hard.feasibility(12, time_limit=100)
except KeyboardInterrupt:
    print("interrupted")
"""
AFTER = """
print(hard.feasibility(15).answer)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HARD + program], capture_output=True, text=True, timeout=90
    )


def test_ctrl_c_ends_the_search():
    started = time.perf_counter()
    ended = run(DURING)
    assert (ended.returncode, ended.stdout) == (0, "interrupted\n"), ended.stderr
    assert time.perf_counter() - started < 60


def test_ctrl_c_after_a_search_is_what_it_was_before():
    ended = run(AFTER)
    assert (ended.returncode, ended.stdout) == (0, "yes\ninterrupted\n"), ended.stderr
