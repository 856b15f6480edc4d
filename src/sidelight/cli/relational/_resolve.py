"""``sidelight resolve``: references to entities, with the pairs that are in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidelight._words import counted, set_by
from sidelight.cli._errors import UsageError
from sidelight.cli._options import split_names
from sidelight.cli._run import claim
from sidelight.cli._screen import Screen, number, plain_text, table
from sidelight.cli.relational._correlate import ending, finish, heading, largest_table
from sidelight.exceptions import SidelightError
from sidelight.io._columns import is_number
from sidelight.runs.relational import ResolveRequest, ResolveRun, resolve

SHOWN_DOUBTFUL = 5
#: Options that set parameters of the methods.
OPTIONS = {
    "compare": "--compare",
    "blocking": "--block",
    "threshold": "--threshold",
    "relational_share": "--alpha",
}


def read_compare(given: Sequence[str]) -> dict[str, Any]:
    """Read ``name:name,year:number*2``.

    Examples
    --------
    >>> read_compare(["name:name,title:words"])
    {'name': 'name', 'title': 'words'}
    """
    found: dict[str, Any] = {}
    for text in split_names(list(given)) or ():
        column, colon, how = text.rpartition(":")
        if not colon or not column or not how:
            raise UsageError(f"--compare {text}: write COLUMN:KIND, such as name:name.")
        if column in found:
            raise UsageError(f"--compare names the column {column!r} twice.")
        kind, star, weight = how.partition("*")
        found[column] = _weighted(kind, weight, text) if star else kind
    return found


def _weighted(kind: str, weight: str, text: str) -> Any:
    from sidelight.relational import ColumnComparison

    if not is_number(weight):
        raise UsageError(f"--compare {text}: a weight is a number.")
    try:
        return ColumnComparison(kind, weight=float(weight))
    except SidelightError as error:
        raise UsageError(f"--compare {text}: {error}") from None


def read_block(key: str) -> str | tuple[str, ...]:
    """Read a key, or several that all have to agree: ``city&name:prefix2``.

    Examples
    --------
    >>> read_block("name:last"), read_block("city & name:prefix2")
    ('name:last', ('city', 'name:prefix2'))
    """
    parts = tuple(part.strip() for part in key.split("&"))
    if not all(parts):
        raise UsageError(f"--block {key}: write COLUMN, COLUMN:prefix3 or A&B.")
    return parts if len(parts) > 1 else parts[0]


def run(
    request: ResolveRequest,
    screen: Screen,
    *,
    force: bool,
    safe_ids: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress(), set_by(OPTIONS):
        found = resolve(request)
    finish(found, "resolve", screen, _parts, safe_ids=safe_ids, **outputs)


def _parts(found: ResolveRun, facts: dict[str, Any]) -> list[Any]:
    entities = counted(facts["n_entities"], "entity", "entities")
    parts: list[Any] = [
        heading(found, "reference", f"{entities} at the threshold {found.threshold:g}"),
        *(plain_text(line) for line in found.blocking_lines()),
        largest_table(found, "Entity", "References"),
    ]
    doubtful = found.doubtful(SHOWN_DOUBTFUL)
    if len(doubtful["i"]):
        ids = found.data.row_ids
        cells = [
            (ids[i], ids[j], f"{similarity:.3f}", reason)
            for i, j, similarity, reason in zip(
                *(doubtful[name] for name in ("i", "j", "similarity", "reason")), strict=True
            )
        ]
        headers = ("In doubt", "", "Similarity", "What would decide it")
        parts.append(table(*headers, rows=cells, justify=("left", "left", "right", "left")))
    parts += ending(found)
    if "best" in facts:
        best = facts["best"]
        parts.append(
            f"Best pairwise F1 over the threshold: {best['f1']:.3f} at {number(best['threshold'])}"
            f" (this run: {found.threshold:g})."
        )
    return parts
