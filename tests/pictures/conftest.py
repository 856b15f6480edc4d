"""Axes without a window."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

#: Both renderers are compared, which needs Matplotlib.
collect_ignore = [] if find_spec("matplotlib") else ["test_kinds.py"]


@pytest.fixture
def ax() -> Any:
    """Axes that pyplot knows nothing of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(4, 4), dpi=100).add_subplot()
