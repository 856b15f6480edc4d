"""Settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# One thread of our own per worker: the suite itself runs on several processes.
os.environ.setdefault("OMP_NUM_THREADS", "2")

# Properties are checked on the same examples everywhere, and a slow machine is not a failure.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
