"""How what is known shows itself in a notebook: one line, or a small table of HTML.

Nothing here is computed from the statements beyond counting them, so that a set of a million shows
itself at once: contradictions are found by :meth:`Constraints.closure`, not by looking at a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._words import counted
from sidelight.constraints.algebra._canonical import CLASS_KINDS, PAIR_KINDS, name_rows
from sidelight.constraints.exchange._describe import describe

if TYPE_CHECKING:
    from sidelight.constraints.algebra._closure import Closure
    from sidelight.constraints.algebra._violations import Violations

#: Largest number of statements of a kind that are written out.
SHOWN = 3
#: Longer names of rows and classes are cut.
LONGEST = 32

# No colors of its own: the page may be light or dark.
_TABLE = '<table style="text-align:left">'


def line(known: Any) -> str:
    """Constraints in one line: rows, ids, and the number of statements of each kind.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> Constraints([("ann", "bob")], ids=["ann", "bob", "cid"])
    <Constraints on 3 rows 'ann' to 'cid': 1 must-link>
    """
    return f"<Constraints on {_rows(known)}: {describe(known)}{_weights(known)}>"


def table(known: Any) -> str:
    """Constraints as HTML: a row for every kind with its first statements, by the user's ids."""
    caption = f"Constraints on {_rows(known)}{_weights(known)}"
    rows = list(_kinds(known))
    if not rows:
        return f"<div>{escape(caption)}: nothing known</div>"
    return _html(caption, ("kind", "number", "first statements"), rows)


def closure_line(closure: Closure) -> str:
    """A closure in one line: components, entailed pairs, contradictions."""
    return f"<Closure on {_components(closure)}: {', '.join(_entailed(closure))}>"


def closure_table(closure: Closure) -> str:
    """A closure as HTML, with rows by their positions."""
    together, apart, trouble = _entailed(closure)
    first = _shown_pairs(closure.contradictions, None)
    rows = [
        ("must-link", together, f"within {counted(int((closure.sizes > 1).sum()), 'component')}"),
        ("cannot-link", apart, "between components"),
        ("contradictions", trouble, first),
    ]
    return _html(f"Closure on {_components(closure)}", ("kind", "entailed", "where"), rows)


def violations_table(found: Violations) -> str:
    """Violations as HTML: how many of each kind, and the first of them in sentences."""
    if not found:
        return f"<div>{escape(str(found))}</div>"
    caption = f"{found.n:,} of {counted(found.n_stated, 'statement')} violated"
    kinds = [
        ("must-link", len(found.must_link)),
        ("cannot-link", len(found.cannot_link)),
        ("class", len(found.labels)),
        ("group", len(found.groups)),
    ]
    numbers = _html(caption, ("kind", "violated"), [(k, f"{n:,}") for k, n in kinds if n])
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in found.describe())
    return f"{numbers}<ul>{sentences}</ul>"


def _rows(known: Any) -> str:
    rows = counted(known.n_samples, "row")
    if known.ids is None or not known.n_samples:
        return rows
    first, last = (_cut(name) for name in name_rows([0, known.n_samples - 1], known.ids))
    return f"{rows} {first}" if known.n_samples == 1 else f"{rows} {first} to {last}"


def _weights(known: Any) -> str:
    """Range of the weights, where there are several."""
    stated = [known.must_link_weight, known.cannot_link_weight]
    low = min((weight.min() for weight in stated if len(weight)), default=1.0)
    high = max((weight.max() for weight in stated if len(weight)), default=1.0)
    return "" if low == high == 1.0 else f", weights {low:g} to {high:g}"


def _kinds(known: Any) -> Iterator[tuple[str, str, str]]:
    """Name, number and first statements of every kind that occurs."""
    for kind in PAIR_KINDS:
        pairs = getattr(known, kind.field)
        if len(pairs):
            yield kind.word, f"{len(pairs):,}", _shown_pairs(pairs, known.ids)
    for kind in CLASS_KINDS:
        codes, names = getattr(known, kind.field), getattr(known, kind.names_field)
        if codes is None:
            continue
        members = np.flatnonzero(codes >= 0)
        first = members[:SHOWN]
        labeled = zip(name_rows(first, known.ids), names[codes[first]].tolist(), strict=True)
        listed = [f"{_cut(row)}: {_cut(str(name))}" for row, name in labeled]
        word = "class" if kind.field == "labels" else "group"
        number = f"{len(members):,} of {counted(len(names), word)}"
        yield kind.field, number, _with_more(listed, len(members))


def _shown_pairs(pairs: Any, ids: Any) -> str:
    """First of the pairs, by the names of their rows."""
    listed = [" – ".join(_cut(name) for name in name_rows(pair, ids)) for pair in pairs[:SHOWN]]
    return _with_more(listed, len(pairs))


def _with_more(listed: Sequence[str], total: int) -> str:
    more = [f"{total - len(listed):,} more"] if total > len(listed) else []
    return ", ".join([*listed, *more])


def _components(closure: Closure) -> str:
    rows = counted(len(closure.component), "row")
    largest = counted(int(closure.sizes.max(initial=0)), "row")
    return f"{rows} in {counted(closure.n_components, 'component')} (the largest of {largest})"


def _entailed(closure: Closure) -> tuple[str, str, str]:
    contradictions = len(closure.contradictions)
    return (
        f"{counted(closure.n_entailed_must_link, 'pair')} together",
        f"{counted(closure.n_entailed_cannot_link, 'pair')} apart",
        counted(contradictions, "contradiction") if contradictions else "no contradiction",
    )


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _html(caption: str, head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A small table; every text is escaped here and nowhere else."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"{_TABLE}<caption>{escape(caption)}</caption>"
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )
