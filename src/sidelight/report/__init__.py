"""The self-contained HTML report of a run: one file that opens offline."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, {"_report": ["render_report", "write_report"]})

if TYPE_CHECKING:
    from sidelight.report._report import render_report as render_report
    from sidelight.report._report import write_report as write_report
