"""``sidelight check``: can these constraints be satisfied, and are they any good?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sidelight import catalog
from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.exceptions import (
    InconsistentConstraints,
    InfeasibleConstraints,
    InvalidRequest,
    SidelightError,
)
from sidelight.io import Table
from sidelight.jobs._parts import knowledge_text, preparation_lines
from sidelight.jobs._result import Result
from sidelight.jobs._table._features import make_features
from sidelight.jobs._table._knowledge import read_knowledge
from sidelight.jobs._table._request import several
from sidelight.jobs._table._rows import read_rows
from sidelight.jobs.check._request import CheckRequest
from sidelight.report.inner import Told

MEANINGS = {
    "coverage": "of the rows are in some constraint (coverage)",
    "informativeness": "of the statements are violated by k-means without them (informativeness)",
    "coherence": "of the pairs of a must-link and a cannot-link do not overlap (coherence)",
    "overlap": "is their mean overlap",
}


@dataclass(frozen=True, eq=False)
class CheckRun(Result):
    """What was found out about constraints.

    Attributes
    ----------
    request : CheckRequest
        What was asked for.
    data : Table
        The rows.
    knowledge : Constraints
        The constraints.
    preparer : object or None
        Transformer that made the features; None where none could be made.
    notes : tuple of str
        Decisions made on the way.
    closure : dict
        What follows from the constraints.
    contradiction : dict or None
        The shortest chain of must-links that contradicts a cannot-link.
    feasibility : list of dict
        For every number of clusters, whether it can satisfy everything.
    quality : dict or None
        Measures of the constraints.
    """

    request: CheckRequest
    data: Table
    knowledge: Constraints
    preparer: Any
    notes: tuple[str, ...]
    closure: dict[str, int]
    contradiction: dict[str, Any] | None
    feasibility: list[dict[str, Any]]
    quality: dict[str, Any] | None

    @property
    def is_fine(self) -> bool:
        """Whether nothing contradicts, and some number of clusters may satisfy everything."""
        possible = any(one["answer"] != "no" for one in self.feasibility)
        return self.contradiction is None and possible

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """1 where something is wrong."""
        return int(not self.is_fine)

    def facts(self) -> dict[str, Any]:
        """Return what was found out as plain values."""
        single = next(iter(self.feasibility), None)
        return {
            "ok": self.is_fine,
            "knowledge": self.knowledge.counts,
            "closure": self.closure,
            "contradiction": self.contradiction,
            "feasibility": self.feasibility if several(self.request.k) else single,
            "quality": self.quality,
        }

    def tell(self) -> list[Told]:
        """Return what follows, what contradicts, what k clusters can satisfy, and measures."""
        parts: list[Told] = []
        if self.quality is not None:
            parts += preparation_lines(self.preparer, raw=self.request.raw)
        parts.append(f"{knowledge_text(self.knowledge)} on {counted(self.data.n_rows, 'row')}")
        return [*parts, *self._closure_lines(), *self._feasibility_lines(), *self._quality_lines()]

    def _closure_lines(self) -> list[Told]:
        closure = self.closure
        joined, largest = closure["components_of_several_rows"], closure["largest_component"]
        entailed = counted(closure["entailed_must_links"], "must-link")
        apart = counted(closure["entailed_cannot_links"], "cannot-link")
        follows = (
            f"Must-links join rows into {counted(joined, 'component')} of several rows, the "
            f"largest of {counted(largest, 'row')}; {entailed} and {apart} follow in all."
        )
        if self.contradiction is None:
            return [follows, "✓ No contradiction."]
        more = closure["contradictions"] - 1
        others = f" {counted(more, 'more contradiction')} like this." if more > 0 else ""
        return [follows, f"✗ {self.contradiction['sentence']}{others}"]

    def _feasibility_lines(self) -> list[Told]:
        if self.contradiction is not None:
            return ["  Feasibility was not looked at: first the contradiction."]
        return [_feasibility_text(facts) for facts in self.feasibility]

    def _quality_lines(self) -> list[Told]:
        if self.quality is None:
            return []
        measured = [name for name in MEANINGS if self.quality[name] is not None]
        return [f"  {self.quality[name]:.3f} {MEANINGS[name]}" for name in measured]


def prepare(request: CheckRequest) -> CheckRun:
    """Look at constraints from all sides."""
    if request.constraints is None and request.must_link is None and request.cannot_link is None:
        raise InvalidRequest(
            "name the constraints to check: --constraints, --must-link, --cannot-link."
        )
    data, features, trouble = _read(request)
    known = read_knowledge(data, request)
    numbers: Any = request.k if several(request.k) else [request.k]
    contradiction = _contradiction(known)
    feasible = [] if contradiction else [_feasibility(known, k) for k in numbers]
    possible = [facts["k"] for facts in feasible if facts["answer"] != "no"]
    k = next(iter(possible or numbers))
    notes = (*data.notes, *known.notes)
    if trouble:
        notes = (*notes, f"The quality of the constraints was not measured. {trouble}")
    return CheckRun(
        request=request,
        data=data,
        knowledge=known,
        preparer=None if features is None else features[0],
        notes=notes,
        closure=_closure_facts(known),
        contradiction=contradiction,
        feasibility=feasible,
        quality=None if features is None else _quality(known, features[1], k),
    )


def _read(request: CheckRequest) -> tuple[Table, Any, str | None]:
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


def _feasibility_text(facts: dict[str, Any]) -> str:
    low, high = facts["lower"], facts["upper"]
    need = f"{low}" if low == high else f"between {low} and {high}"
    if facts["answer"] is None:
        return f"  The cannot-links need {need} clusters; -k K checks a number."
    if facts["answer"] == "yes":
        return f"✓ {facts['k']} clusters can satisfy everything (needed: {need})."
    if facts["answer"] == "no":
        return f"✗ {facts['sentence']}"
    return (
        f"  Whether {facts['k']} clusters can satisfy everything was not found out in time; "
        f"{high} clusters can, and fewer than {low} cannot."
    )
