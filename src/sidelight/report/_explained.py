"""Cards that say what the clusters are, in the user's own units and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.explanation import Explanation, Profile, Rule, Trait, explain_clusters
from sidelight.explanation.inner import percent, shown
from sidelight.pictures._run import Run
from sidelight.preparation import TypedColumn

SHOWN_TRAITS = 8
SHOWN_CLUSTERS = 24
#: Probabilities of more rows take too long to ask for; distances are used instead.
MAX_PROBABILITIES = 100_000


def explained(run: Run, columns: Sequence[TypedColumn] | None) -> dict[str, Any]:
    """Describe every cluster; nothing without typed columns."""
    if not columns or not run.clusters.names:
        return {"explained": None}
    explanation = explain_clusters(
        columns,
        run.estimator.labels_,
        ids=None if run.ids is None else list(run.ids),
        X=run.rows,
        probabilities=_probabilities(run),
    )
    number = {name: code for code, name in enumerate(run.clusters.numbers)}
    profiles = explanation.clusters
    if len(profiles) > SHOWN_CLUSTERS:
        largest = sorted(profile.size for profile in profiles)[-SHOWN_CLUSTERS]
        profiles = tuple(p for p in profiles if p.size >= largest)[:SHOWN_CLUSTERS]
    notes = [explanation.rules.sentence]
    if hidden := len(run.clusters.names) - len(profiles):
        notes.append(f"{counted(hidden, 'smaller cluster')} not shown.")
    return {
        "explained": {
            "cards": [_card(run, explanation, one, number[one.name]) for one in profiles],
            "notes": notes,
        }
    }


def _card(run: Run, explanation: Explanation, profile: Profile, number: int) -> dict[str, Any]:
    traits = shown(profile.traits, SHOWN_TRAITS)
    return {
        "number": number,
        "name": run.clusters.names[number],
        "size": counted(profile.size, "row"),
        "share": percent(profile.share),
        "traits": [_bar(trait) for trait in traits],
        "more": len(profile.traits) - len(traits),
        "otherwise": "" if traits else profile.sentence().split(". ", 1)[-1],
        "typical": [_named(run, row) for row in explanation.typical[profile.name]],
        "doubtful": [
            {"row": _named(run, doubt.row), "other": number_of(run, doubt.other)}
            for doubt in explanation.doubtful[profile.name]
        ],
        "rules": [_rule(rule) for rule in explanation.rules.of(profile.name)],
    }


def number_of(run: Run, cluster: str) -> dict[str, Any]:
    """Number of a cluster, for its color, and its name."""
    number = run.clusters.numbers.index(cluster)
    return {"number": number, "name": run.clusters.names[number]}


def _bar(trait: Trait) -> dict[str, Any]:
    """A trait with the ends of its bar and of its interval, in per cent of the width."""

    def place(effect: float) -> str:
        return f"{50.0 + 50.0 * effect:.1f}"

    interval = f"{trait.low:+.2f} to {trait.high:+.2f}"
    return {
        "what": trait.what,
        "figures": trait.figures,
        "up": trait.effect > 0.0,
        "start": place(min(trait.effect, 0.0)),
        "width": f"{50.0 * abs(trait.effect):.1f}",
        "low": place(trait.low),
        "span": f"{50.0 * (trait.high - trait.low):.1f}",
        "label": f"effect {trait.effect:+.2f}, 95% interval {interval}".replace("-", "−"),
    }


def _rule(rule: Rule) -> dict[str, str]:
    return {
        "text": rule.text,
        "precision": percent(rule.precision),
        "coverage": percent(rule.coverage),
        "matching": counted(rule.n_matching, "row"),
    }


def _named(run: Run, row: Any) -> str:
    return f"row {row}" if run.ids is None else str(row)


def _probabilities(run: Run) -> Any:
    """Probability of every cluster, where the model tells them and the rows are not too many."""
    if not hasattr(run.estimator, "predict_proba") or run.n_rows > MAX_PROBABILITIES:
        return None
    found = np.asarray(run.estimator.predict_proba(run.rows.to_memory()))
    numbers = [int(n) for n in run.clusters.numbers if n.isdigit()]
    fits = len(numbers) == len(run.clusters.numbers) and max(numbers) < found.shape[1]
    return found[:, numbers] if fits else None
