"""The template of all pages, style sheets and scripts: where they are found, how a page is filled.

Shared inside of the house: pages of jobs bring files of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

KIT = "sidelight.report"


def render(template: str, context: Mapping[str, Any]) -> str:
    """Fill a template of the kit; everything that is not markup of ours is escaped."""
    # Jinja2 is imported when a page is made, not when this package is.
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(resource(template)).render(context)


def resource(name: str, package: str = KIT) -> str:
    """Read a style sheet, script or template of a package, or of the kit where it has none."""
    own = resources.files(package).joinpath(name)
    return (own if own.is_file() else resources.files(KIT).joinpath(name)).read_text("utf-8")
