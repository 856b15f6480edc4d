"""Parts of pages that are still templates."""

from __future__ import annotations

from typing import Any

from sidelight.report.cards import MAX_GROUPS as MAX_GROUPS
from sidelight.report.figures import figure
from sidelight.report.plot import for_script as for_script

Section = dict[str, Any]
ICONS = {"good": "M3 8.5l3.2 3.2L13 4.8", "bad": "M4 4l8 8M12 4l-8 8", "none": "M3.5 8h9"}


def objective(estimator: Any) -> Section:
    """Draw the minimized objective, or the log-likelihood, by iteration."""
    from sidelight.report.page import objective_panel

    found = objective_panel(estimator)
    return {"objective": None if found is None else figure(*found[:3])}


def status(fine: bool | None, text: str) -> Section:
    """The line at the top of the page: good, bad or neither."""
    kind = "none" if fine is None else "good" if fine else "bad"
    return {"kind": kind, "icon": ICONS[kind], "text": text}
