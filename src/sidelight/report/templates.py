"""Templates, style sheets and scripts: where they are found, and how a page is filled.

Shared inside of the house: pages of jobs bring files of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

KIT = "sidelight.report"


def render(template: str, context: Mapping[str, Any], package: str = KIT) -> str:
    """Fill a template of a package; it may extend and import those of the kit.

    Everything that is not markup of ours is escaped.
    """
    # Jinja2 is imported when a page is made, not when this package is.
    import jinja2
    from markupsafe import Markup

    from sidelight.pictures._run import shorten

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: resource(name, package)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["shorten"] = shorten
    environment.globals["css"] = Markup(resource("report.css"))
    environment.globals["script"] = Markup(resource("report.js"))
    html: str = environment.get_template(template).render(context)
    return html


def resource(name: str, package: str = KIT) -> str:
    """Read a style sheet, script or template of a package, or of the kit where it has none."""
    own = resources.files(package).joinpath(name)
    return (own if own.is_file() else resources.files(KIT).joinpath(name)).read_text("utf-8")
