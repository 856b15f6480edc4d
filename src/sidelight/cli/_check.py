"""``sidelight check``: can these constraints be satisfied, and are they any good?"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sidelight import catalog
from sidelight._words import counted
from sidelight.cli._errors import UsageError
from sidelight.cli._screen import Screen, knowledge_text, plain_text, preparation_lines
from sidelight.constraints import Constraints
from sidelight.exceptions import InconsistentConstraints, InfeasibleConstraints, SidelightError
from sidelight.io import Table
from sidelight.jobs import Request
from sidelight.jobs._table._features import make_features
from sidelight.jobs._table._request import read_knowledge, read_rows, several

MEANINGS = {
    "coverage": "of the rows are in some constraint (coverage)",
    "informativeness": "of the statements are violated by k-means without them (informativeness)",
    "coherence": "of the pairs of a must-link and a cannot-link do not overlap (coherence)",
    "overlap": "is their mean overlap",
}


def run(request: Request, screen: Screen) -> bool:
    """Look at the constraints from all sides; whether nothing is wrong with them."""
    if request.constraints is None and request.must_link is None and request.cannot_link is None:
        raise UsageError(
            "Name the constraints to check: --constraints, --must-link, --cannot-link."
        )
    data, features, trouble = _read(request)
    known = read_knowledge(data, request)
    numbers: Any = request.k if several(request.k) else [request.k]
    screen.note(*data.notes, *known.notes)
    if features is not None:
        screen.show(*preparation_lines(features[0], raw=not request.prepare))
    screen.show(f"{knowledge_text(known)} on {counted(data.n_rows, 'row')}")
    closure = _closure_facts(known)
    contradiction = _contradiction(known)
    feasible = [] if contradiction else [_feasibility(known, k) for k in numbers]
    possible = [facts["k"] for facts in feasible if facts["answer"] != "no"]
    k = next(iter(possible or numbers))
    quality = None if features is None else _quality(known, features[1], k)
    if trouble:
        screen.note(f"The quality of the constraints was not measured. {trouble}")
    _show(closure, contradiction, feasible, quality, screen)
    fine = contradiction is None and bool(possible)
    feasibility = feasible if several(request.k) else next(iter(feasible), None)
    screen.result(
        {
            "command": "check",
            "ok": fine,
            "knowledge": known.counts,
            "closure": closure,
            "contradiction": contradiction,
            "feasibility": feasibility,
            "quality": quality,
        }
    )
    return fine


def _read(request: Request) -> tuple[Table, Any, str | None]:
    """Read the rows and make their features; only their ids, and why, where there are none.

    Contradictions and feasibility are about ids alone.
    """
    try:
        data = read_rows(request)
        return data, make_features(data, request, catalog.get("kmeans").tags), None
    except SidelightError as trouble:
        if request.columns is not None or request.kinds or request.weights:
            raise
        return read_rows(replace(request, columns=[], drop=())), None, str(trouble)


def _closure_facts(known: Constraints) -> dict[str, int]:
    closure = known.closure(on_contradiction="keep")
    joined = closure.sizes[closure.sizes > 1]
    return {
        "components": int(closure.n_components),
        "components_of_several_rows": len(joined),
        "largest_component": int(closure.sizes.max(initial=0)),
        "entailed_must_links": closure.n_entailed_must_link,
        "entailed_cannot_links": closure.n_entailed_cannot_link,
        "contradictions": len(closure.contradictions),
    }


def _contradiction(known: Constraints) -> dict[str, Any] | None:
    """The shortest chain of must-links that contradicts a cannot-link."""
    try:
        known.closure()
    except InconsistentConstraints as error:
        ids = np.arange(known.n_samples) if known.ids is None else known.ids
        return {
            "sentence": str(error),
            "pair": ids[list(error.pair)],
            "chain": ids[list(error.chain)],
        }
    return None


def _feasibility(known: Constraints, k: int | None) -> dict[str, Any]:
    """Whether k clusters can satisfy the cannot-links, and what they need in any case."""
    asked = known.feasibility(1 if k is None else k)
    answer = {"k": k, "lower": asked.lower, "upper": asked.upper}
    if k is None:
        return {**answer, "answer": None, "sentence": None, "clique": None}
    sentence, clique = None, None
    try:
        known.check_feasible(k)
    except InfeasibleConstraints as error:
        ids = np.arange(known.n_samples) if known.ids is None else known.ids
        sentence = str(error)
        clique = None if error.clique is None else ids[list(error.clique)]
    return {**answer, "answer": asked.answer, "sentence": sentence, "clique": clique}


def _quality(known: Constraints, X: Any, k: int | None) -> dict[str, Any]:
    """Measures of the set; how informative it is shows against clusters made without it."""
    labels = None
    if k is not None:
        from sidelight.cluster import KMeans

        labels = KMeans(n_clusters=k, random_state=0).fit(X).labels_
    return asdict(known.quality(X, labels=labels))


def _show(
    closure: dict[str, int],
    contradiction: dict[str, Any] | None,
    feasible: list[dict[str, Any]],
    quality: dict[str, Any] | None,
    screen: Screen,
) -> None:
    joined, largest = closure["components_of_several_rows"], closure["largest_component"]
    screen.show(
        f"Must-links join rows into {counted(joined, 'component')} of several rows, the largest "
        f"of {counted(largest, 'row')}; {counted(closure['entailed_must_links'], 'must-link')} and "
        f"{counted(closure['entailed_cannot_links'], 'cannot-link')} follow in all."
    )
    if contradiction is None:
        screen.show("[green]✓[/] No contradiction.")
    else:
        more = closure["contradictions"] - 1
        screen.show(
            f"[red]✗[/] {plain_text(contradiction['sentence'])}"
            + (f" {counted(more, 'more contradiction')} like this." if more > 0 else "")
        )
    if contradiction is not None:
        screen.show("  Feasibility was not looked at: first the contradiction.")
    screen.show(*map(_feasibility_text, feasible))
    if quality is not None:
        known = [name for name in MEANINGS if quality[name] is not None]
        screen.show(*(f"  {quality[name]:.3f} {MEANINGS[name]}" for name in known))


def _feasibility_text(facts: dict[str, Any]) -> str:
    low, high = facts["lower"], facts["upper"]
    need = f"{low}" if low == high else f"between {low} and {high}"
    if facts["answer"] is None:
        return f"  The cannot-links need {need} clusters; -k K checks a number."
    if facts["answer"] == "yes":
        return f"[green]✓[/] {facts['k']} clusters can satisfy everything (needed: {need})."
    if facts["answer"] == "no":
        return f"[red]✗[/] {plain_text(facts['sentence'])}"
    return (
        f"  Whether {facts['k']} clusters can satisfy everything was not found out in time; "
        f"{high} clusters can, and fewer than {low} cannot."
    )
