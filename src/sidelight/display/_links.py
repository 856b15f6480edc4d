"""Statements about pairs as lines: must-links solid, cannot-links dashed, violated ones red."""

from __future__ import annotations

from typing import Any

from sidelight._typing import Array
from sidelight.display._canvas import Inks, casing
from sidelight.pictures._selection import Links

DASHES = (0, (3.5, 2.5))
#: From so many lines on they are thin.
_MANY = 200


def draw_links(
    ax: Any, xy: Array, links: Links, inks: Inks, wrong: str = "violated"
) -> dict[str, Any]:
    """Draw the pairs; lines by kind, of those kinds that there are, the wrong ones in red."""
    from matplotlib.collections import LineCollection

    width = 1.1 if len(links) <= _MANY else 0.6
    found: dict[str, Any] = {}
    for cannot, kind in ((False, "must-link"), (True, "cannot-link")):
        for violated in (False, True):
            chosen = (links.cannot == cannot) & (links.violated == violated)
            if not chosen.any():
                continue
            name = f"{wrong} {kind}" if violated else kind
            lines = LineCollection(
                list(xy[links.pairs[chosen]]),
                colors=inks.bad if violated else inks.soft,
                linestyles=[DASHES] if cannot else "solid",
                linewidths=2.0 * width if violated else width,
                label=f"{name} ({int(chosen.sum()):,})",
                zorder=3.5 if violated else 1.5,
            )
            if violated:
                lines.set_path_effects(casing(inks, 2.0 * width + 2.0))
            found[name] = ax.add_collection(lines)
    ax.autoscale_view()
    return found
