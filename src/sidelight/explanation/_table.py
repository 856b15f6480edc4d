"""An explanation as a plain table, and as HTML for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from sidelight._words import counted
from sidelight.explanation._format import percent
from sidelight.explanation._traits import shown

if TYPE_CHECKING:
    from sidelight.explanation._comparisons import Trait
    from sidelight.explanation._explanation import Explanation, Profile

#: Columns of the table: texts, then numbers.
TEXTS = ("cluster", "class", "about", "text", "column", "level", "inside", "rest")
NUMBERS = (
    "effect",
    "low",
    "high",
    "lift",
    "lift_low",
    "lift_high",
    "chance",
    "rows",
    "share",
    "precision",
    "coverage",
)
COLUMNS = (*TEXTS, *NUMBERS)

_HTML_TRAITS = 5
_HTML_CLUSTERS = 30


def table_rows(explanation: Explanation) -> list[dict[str, Any]]:
    """All sizes, traits, typical and doubtful rows and rules, one below the other."""
    rows = [row for profile in explanation.clusters for row in _profile_rows(explanation, profile)]
    if n := explanation.n_outside:
        text = f"{counted(n, 'row')} in no {explanation.noun}"
        rows.append(_row("-1", "", "size", text, rows=n, share=n / explanation.n_rows))
    return rows


def _profile_rows(explanation: Explanation, profile: Profile) -> Iterator[dict[str, Any]]:
    def row(about: str, text: str, **values: Any) -> dict[str, Any]:
        return _row(profile.name, profile.class_name, about, text, **values)

    yield row("size", counted(profile.size, "row"), rows=profile.size, share=profile.share)
    for trait in profile.traits:
        yield row("trait", trait.text, **_trait_values(trait))
    for typical in explanation.typical[profile.name]:
        yield row("typical row", str(typical))
    for doubt in explanation.doubtful[profile.name]:
        yield row("doubtful row", str(doubt.row), rest=doubt.other, effect=doubt.margin)
    for rule in explanation.rules.of(profile.name):
        yield row(
            "rule",
            rule.text,
            rows=rule.n_matching,
            precision=rule.precision,
            coverage=rule.coverage,
        )


def _row(cluster: str, class_name: str, about: str, text: str, **values: Any) -> dict[str, Any]:
    texts = {"cluster": cluster, "class": class_name, "about": about, "text": text}
    empty: dict[str, Any] = dict.fromkeys(TEXTS, "") | dict.fromkeys(NUMBERS)
    return empty | texts | values


def _trait_values(trait: Trait) -> dict[str, Any]:
    lifts = {name: getattr(trait, name) for name in ("lift", "lift_low", "lift_high")}
    return {
        "column": trait.column,
        "level": trait.level,
        "inside": _plain(trait.inside, trait.inside_text, trait.about),
        "rest": _plain(trait.rest, trait.rest_text, trait.about),
        "effect": trait.effect,
        "low": trait.low,
        "high": trait.high,
        "chance": trait.chance,
        **{name: None if math.isnan(lift) else lift for name, lift in lifts.items()},
    }


def _plain(value: float, text: str, about: str) -> str:
    """A value as a machine reads it: numbers without separators, shares from 0 to 1."""
    if about != "value":
        return f"{value:.6g}"
    plain = text.replace(",", "")
    return plain if plain.replace(".", "").removeprefix("-").isdigit() else text


def html(explanation: Explanation) -> str:
    """A table for notebooks: clusters with their traits, typical rows and rules."""
    profiles = explanation.clusters[:_HTML_CLUSTERS]
    rows = "".join(_html_row(explanation, profile) for profile in profiles)
    notes = [*explanation.notes, *explanation._outside_sentence(), explanation.rules.sentence]
    if len(profiles) < len(explanation.clusters):
        notes.insert(0, f"The first {len(profiles)} of {len(explanation.clusters)} are shown.")
    heads = "".join(
        f'<th style="text-align:left">{head}</th>'
        for head in (
            explanation.noun.capitalize(),
            "Rows",
            "What sets it apart",
            "Typical rows",
            "Rules",
        )
    )
    return (
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>{escape(' '.join(notes))}</p>"
    )


def _html_row(explanation: Explanation, profile: Profile) -> str:
    traits = [trait.text for trait in shown(profile.traits, _HTML_TRAITS)]
    rules = [
        f"{rule.text} ({percent(rule.precision)} right, covers {percent(rule.coverage)})"
        for rule in explanation.rules.of(profile.name)
    ]
    typical = ", ".join(str(row) for row in explanation.typical[profile.name])
    cells = [
        escape(profile.title),
        f"{profile.size:,} ({percent(profile.share)})",
        "<br>".join(map(escape, traits)) or "no single value or range",
        escape(typical),
        "<br>".join(map(escape, rules)) or "none",
    ]
    style = 'style="text-align:left;vertical-align:top"'
    return "<tr>" + "".join(f"<td {style}>{cell}</td>" for cell in cells) + "</tr>"
