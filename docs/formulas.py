"""Formulas of the docs as MathML, which browsers draw themselves: no script, font or network."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def mathml(latex: str, *, block: bool = False) -> str:
    """Return a formula as a ``<math>`` element."""
    if r"\\" in latex and r"\begin" not in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    latex = latex.replace(r"\arg", r"\operatorname{arg}")  # which the converter does not know
    return convert(" ".join(latex.split()), display="block" if block else "inline")


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer that ``html_math_renderer`` names."""
    from docutils.nodes import SkipNode

    def inline(translator: Any, node: Any) -> None:
        translator.body.append(mathml(node.astext()))
        raise SkipNode

    def block(translator: Any, node: Any) -> None:
        translator.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>')
        raise SkipNode

    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
