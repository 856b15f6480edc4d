"""Axes without a window."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("matplotlib")


@pytest.fixture
def ax() -> Any:
    """Axes that pyplot knows nothing of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(4, 4), dpi=100).add_subplot()
