"""Candidates of a comparison: scores with and without the knowledge, stability, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, format_number
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._run import shorten
from sidelight.pictures.kinds._bars import Bars, Series

#: So many of the best candidates are drawn.
MAX_CANDIDATES = 25
_LONGEST_NAME = 32


def candidate_scores(table: Mapping[str, Array], chosen: int | None) -> Bars:
    """Held-out score of every candidate with its standard error, the best first.

    Where no statement was held out, stability under resampling takes the place of the score.

    Parameters
    ----------
    table : dict of str to ndarray
        One entry per candidate in ``name`` and each of ``k``, ``n_clusters``, ``score``, ``error``,
        ``plain_score``, ``gain_error``, ``stability`` and ``seconds``; NaN for what is not known.
    chosen : int or None
        Number of the chosen candidate, which is drawn in any case.
    """
    by_score = bool(np.isfinite(table["score"]).any())
    ranked = table["score" if by_score else "stability"]
    best = _best(ranked, chosen)
    names = [_named(table, number) for number in best.tolist()]
    values = ranked[best]
    said = "held-out score" if by_score else "stability under resampling"
    series = [
        Series(
            "score",
            values,
            errors=np.nan_to_num(table["error"][best]) if by_score else None,
            label="with what is known (bar: standard error)" if by_score else "stability",
        )
    ]
    if np.isfinite(table["plain_score"][best]).any():
        series.append(
            Series(
                "score without",
                table["plain_score"][best],
                errors=np.nan_to_num(table["gain_error"][best]),
                label="the same method without (bar: standard error of the difference)",
            )
        )
    columns = [_column("stability", table, best, "{:.2f}")] if by_score else []
    columns.append(_column("seconds", table, best, "{:.2g}"))
    return Bars(
        title=f"{said[:1].upper()}{said[1:]} of the candidates",
        text=", ".join(
            f"{name}: {format_number(value)}"
            for name, value in zip(names, values.tolist(), strict=True)
        ),
        series=series,
        names=names,
        axis_titles=(said + _left_out(ranked, len(best)), "candidate"),
        largest=max(float(np.max(values)), 1e-300),
        below=True,
        columns=[(title, texts) for title, texts in columns if any(texts)],
        chosen=None if chosen is None else int(np.flatnonzero(best == chosen)[0]),
    )


def _best(ranked: FloatArray, chosen: int | None) -> IntArray:
    """Candidates with a number, the best first, the chosen one among them in any case."""
    order = np.argsort(np.where(np.isnan(ranked), np.inf, -ranked), kind="stable")
    order = order[np.isfinite(ranked[order])]
    if not len(order):
        raise InvalidRequest("No candidate of the comparison has a score: nothing to draw.")
    kept = order[:MAX_CANDIDATES]
    if chosen is not None and chosen in order[MAX_CANDIDATES:]:
        kept = np.append(kept[:-1], chosen)
    return np.asarray(kept, np.int64)


def _named(table: Mapping[str, Array], number: int) -> str:
    """Name of a candidate with its number of clusters, asked for or found."""
    name = shorten(str(table["name"][number]), _LONGEST_NAME)
    k, found = table["k"][number], table["n_clusters"][number]
    if np.isfinite(k):
        return f"{name}, k = {k:g}"
    return f"{name}, {found:g} found" if np.isfinite(found) else name


def _column(
    name: str, table: Mapping[str, Array], best: IntArray, form: str
) -> tuple[str, Sequence[str]]:
    """A column of numbers; empty texts for those that are not known."""
    values = table[name][best]
    return name, [form.format(value) if np.isfinite(value) else "" for value in values]


def _left_out(ranked: FloatArray, n_drawn: int) -> str:
    """Note on what is not drawn."""
    without = int(np.isnan(ranked).sum())
    parts = []
    if n_drawn < len(ranked) - without:
        parts.append(f"the best {n_drawn} of {counted(len(ranked), 'candidate')}")
    if without:
        parts.append(f"{counted(without, 'candidate')} not finished or failed")
    return f"\n({'; '.join(parts)})" if parts else ""
