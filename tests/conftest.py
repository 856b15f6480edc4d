"""Settings shared by all tests."""

from __future__ import annotations

import os
import signal

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

# A shell that starts the suite in the background lets it ignore Ctrl-C, which tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
