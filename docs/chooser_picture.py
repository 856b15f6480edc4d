"""Draw a tree of questions as SVG that follows the theme, light or dark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

LINE = 20
GAP = 10
INDENT = 8
ANSWER, LAST = 184, 322  # widths of an answer and of the methods
BETWEEN = 26
#: Colors of the theme, with a light one where there is no theme.
INK = "var(--pst-color-text-base, #1d2433)"
MUTED = "var(--pst-color-text-muted, #48566b)"
EDGE = "var(--pst-color-border, #8a94a6)"
PAPER = "var(--pst-color-surface, #f3f4f5)"
LINK = "var(--pst-color-link, #0a58ca)"
SHOWN = 3  # methods of a leaf that are drawn


def draw(
    title: str, questions: Sequence[str], leaves: Sequence[Any], figures: Callable[..., Any]
) -> str:
    """Return a figure: the questions from left to right, the methods at the right.

    Parameters
    ----------
    title : str
        What the tree is about.
    questions : sequence of str
        Heading of every column of answers.
    leaves : sequence of Leaf
        From the top down; neighbors with the same first answers share their boxes.
    figures : callable
        Called with a leaf and a method; returns what was measured, or None.
    """
    depth = len(questions)
    left = [number * (ANSWER + BETWEEN) + 1 for number in range(depth + 1)]
    width = left[-1] + LAST + 1
    tops, height = _tops(leaves)
    body = [
        _text(left[number], 16, question, weight="bold")
        for number, question in enumerate([*questions, "Take"])
    ]
    for level in range(depth):
        for first, last in _runs(leaves, level):
            if not leaves[first].path[level]:
                continue
            middle = (tops[first][0] + tops[last][1]) / 2
            body.append(_answer(left[level], middle, leaves[first].path[level]))
    for number, leaf in enumerate(leaves):
        body.append(_methods(left[depth], tops[number], leaf, figures))
    body += _edges(leaves, left, tops, depth)
    label = escape(f"{title}: {' '.join(questions)}")
    return (
        '<div class="sl-tree"><svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width:g} {height:g}" style="max-width: {width:g}px" role="img" '
        f'aria-label="{label}" font-size="13" '
        f'font-family="var(--pst-font-family-base, sans-serif)">\n{chr(10).join(body)}\n'
        "</svg></div>"
    )


def _tops(leaves: Sequence[Any]) -> tuple[list[tuple[float, float]], float]:
    """Return where the box of every leaf begins and ends, and the height of the picture."""
    found = []
    top = 30.0
    for leaf in leaves:
        bottom = top + LINE * _n_lines(leaf) + 8
        found.append((top, bottom))
        top = bottom + GAP
    return found, top


def _n_lines(leaf: Any) -> int:
    return min(len(leaf.methods), SHOWN) + (len(leaf.methods) > SHOWN)


def _runs(leaves: Sequence[Any], level: int) -> list[tuple[int, int]]:
    """Return first and last leaf of every answer of a level."""
    found: list[tuple[int, int]] = []
    for number, leaf in enumerate(leaves):
        same = found and leaves[found[-1][0]].path[: level + 1] == leaf.path[: level + 1]
        if same:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _answer(left: float, middle: float, words: str) -> str:
    top = middle - LINE / 2 - 4
    return (
        f'<g class="answer"><rect x="{left:g}" y="{top:g}" width="{ANSWER}" height="{LINE + 8}" '
        f'rx="5" fill="{PAPER}" stroke="{EDGE}"/>{_text(left + INDENT, middle + 5, words)}</g>'
    )


def _methods(
    left: float, place: tuple[float, float], leaf: Any, figures: Callable[..., Any]
) -> str:
    top, bottom = place
    parts = [
        f'<g class="leaf"><rect x="{left:g}" y="{top:g}" width="{LAST}" '
        f'height="{bottom - top:g}" rx="5" fill="none" stroke="{EDGE}"/>'
    ]
    for number, method in enumerate(leaf.methods[:SHOWN]):
        base = top + LINE * (number + 1) - 1
        name = method.cls.__name__
        weight = "bold" if method in leaf.recommended else "normal"
        link = f"../api/generated/sidelight.{method.family}.{name}.html"
        text = _text(left + INDENT, base, name, weight=weight, color=LINK)
        parts.append(f'<a href="{link}"><title>{escape(method.tags.summary)}</title>{text}</a>')
        if (known := figures(leaf, method)) is not None:
            gain = f"{known.nothing:.2f} → {known.told:.2f}"
            parts.append(_text(left + LAST - INDENT, base, gain, color=MUTED, anchor="end"))
    if len(leaf.methods) > SHOWN:
        base = top + LINE * (SHOWN + 1) - 1
        more = _text(left + INDENT, base, f"and {len(leaf.methods) - SHOWN} more", color=LINK)
        parts.append(f'<a href="#choose-{leaf.anchor}">{more}</a>')
    return "".join([*parts, "</g>"])


def _edges(
    leaves: Sequence[Any], left: list[float], tops: list[tuple[float, float]], depth: int
) -> list[str]:
    """Return the lines between an answer and what follows it; an empty answer is passed over."""
    found = []
    for level in range(1, depth + 1):
        runs = [(n, n) for n in range(len(leaves))] if level == depth else _runs(leaves, level)
        for first, last in runs:
            if level < depth and not leaves[first].path[level]:
                continue
            before = level - 1
            while not leaves[first].path[before]:
                before -= 1
            (parent,) = [run for run in _runs(leaves, before) if run[0] <= first <= run[1]]
            start = (tops[parent[0]][0] + tops[parent[1]][1]) / 2
            end = (tops[first][0] + tops[last][1]) / 2
            found.append(_curve(left[before] + ANSWER, start, left[level], end))
    return found


def _curve(x: float, y: float, right: float, end: float) -> str:
    """Return a line that leaves and arrives level."""
    turn = right - BETWEEN / 2
    return (
        f'<path d="M{x:g} {y:g} H{right - BETWEEN:g} C{turn:g} {y:g} {turn:g} {end:g} '
        f'{right:g} {end:g}" fill="none" stroke="{EDGE}"/>'
    )


def _text(
    left: float,
    base: float,
    words: str,
    *,
    weight: str = "normal",
    color: str = INK,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{left:g}" y="{base:g}" fill="{color}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )
