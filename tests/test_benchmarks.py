"""The harness of the benchmarks: peers cannot change the process in which we run."""

from __future__ import annotations

import os

import numpy as np
from benchmarks.harness import apart, compare


def make_numpy_raise() -> int:
    np.seterr(all="raise")
    return os.getpid()


def test_peer_that_changes_the_settings_of_numpy_changes_its_own_process_only() -> None:
    before = np.geterr()
    assert apart(make_numpy_raise) != os.getpid()
    assert np.geterr() == before


def test_seconds_that_a_peer_tells_are_compared() -> None:
    row = compare("nothing", lambda: None, lambda: 1e9, peer="a slow one", seconds_of=float)
    assert row["theirs"] == 1e9
    assert 0 <= row["ratio"] < 1e-6
