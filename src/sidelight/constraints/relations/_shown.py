"""Relations in words: one line, a few lines, and a small table of HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from sidelight._words import counted

#: Largest number of edges and hyper-edges that are written out.
SHOWN = 3
#: Longer names are cut.
LONGEST = 32


def line(relations: Any) -> str:
    """Objects, ids, and the number of edges and hyper-edges."""
    return f"<Relations of {_objects(relations)}: {', '.join(_parts(relations))}>"


def summarize(relations: Any) -> str:
    """Summary of the relations in a few lines."""
    lines = [f"{_objects(relations)}: {', '.join(_parts(relations))}."]
    if relations.n_edges:
        scores, degree = relations.scores, relations.degree
        lines.append(
            f"Scores from {scores.min():g} to {scores.max():g}; "
            f"{2 * relations.n_edges / relations.n_samples:.3g} edges per object, at most "
            f"{degree.max():,}; {counted(int((degree == 0).sum()), 'object')} without any."
        )
    if relations.n_hyperedges:
        sizes = np.bincount(relations.incidence.indices, minlength=relations.n_hyperedges)
        lines.append(
            f"Hyper-edges of {sizes.min():,} to {sizes.max():,} objects, {sizes.mean():.3g} in the "
            "mean."
        )
    sizes = np.bincount(relations.components(), minlength=1)
    lines.append(
        f"{counted(int((sizes > 0).sum()), 'component')}, the largest of "
        f"{counted(int(sizes.max()), 'object')}."
    )
    return "\n".join([*lines, *relations.notes])


def table(relations: Any) -> str:
    """Relations as HTML: the first edges and hyper-edges, by the user's ids."""
    rows = []
    if relations.n_edges:
        first = zip(
            relations.describe_pairs(relations.edges[:SHOWN]),
            relations.scores[:SHOWN].tolist(),
            strict=True,
        )
        shown = [f"{_cut(pair)}: {score:g}" for pair, score in first]
        rows.append(("edges", relations.n_edges, _with_more(shown, relations.n_edges)))
    if relations.n_hyperedges:
        members = relations.incidence[:, :SHOWN].tocsc()
        shown = []
        for k, name in enumerate(relations.hyperedge_names[:SHOWN].tolist()):
            own = members.indices[members.indptr[k] : members.indptr[k + 1]]
            names = [_cut(one) for one in relations.name_rows(np.sort(own)[:SHOWN])]
            shown.append(f"{_cut(str(name))}: {_with_more(names, len(own))}")
        total = relations.n_hyperedges
        rows.append(("hyper-edges", total, _with_more(shown, total, "; ")))
    caption = escape(f"Relations of {_objects(relations)}")
    if not rows:
        return f"<div>{caption}: no edges</div>"
    body = "".join(
        f"<tr><td>{kind}</td><td>{number:,}</td><td>{escape(shown)}</td></tr>"
        for kind, number, shown in rows
    )
    # No colors of its own: the page may be light or dark.
    return (
        f'<table style="text-align:left"><caption>{caption}</caption><thead><tr><th>kind</th>'
        f"<th>number</th><th>first</th></tr></thead><tbody>{body}</tbody></table>"
    )


def _objects(relations: Any) -> str:
    objects = counted(relations.n_samples, "object")
    if relations.ids is None or not relations.n_samples:
        return objects
    first, last = (_cut(name) for name in relations.name_rows([0, relations.n_samples - 1]))
    return f"{objects} {first}" if relations.n_samples == 1 else f"{objects} {first} to {last}"


def _parts(relations: Any) -> list[str]:
    parts = []
    if relations.n_edges or not relations.n_hyperedges:
        n_negative = int((relations.scores < 0).sum())
        signs = f", {n_negative:,} of them negative" if n_negative else ""
        parts.append(f"{counted(relations.n_edges, 'edge')}{signs}")
    if relations.n_hyperedges:
        parts.append(counted(relations.n_hyperedges, "hyper-edge"))
    return parts


def _with_more(listed: list[str], total: int, mark: str = ", ") -> str:
    more = [f"{total - len(listed):,} more"] if total > len(listed) else []
    return mark.join([*listed, *more])


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
