"""What a published table leaves open, from that table alone: whoever has it finds the same.

No figure here depends on a value that was left out, or on where in its range a value was: it could
be solved for that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.privacy.anonymizer._columns import Column, Kind, as_numbers, usual_range
from sidelight.privacy.anonymizer._hierarchy import Hierarchy, shares_of
from sidelight.privacy.anonymizer._measures import penalties_of_texts
from sidelight.privacy.anonymizer._publish import (
    ANY,
    NOTHING,
    different_texts,
    read_dates,
    read_range,
    read_set,
    single,
)

#: Points that stand for the rows of a published range.
POINTS = 5


def shares_left_open(
    columns: Sequence[Column], published: Sequence[Array], hierarchies: Mapping[str, Hierarchy]
) -> dict[str, float]:
    """Mean share of every column that its published values leave open.

    Of a range its width as a share of what the published ranges span, but for ends that are far
    out; of a set its number of categories as a share of all that the table names; of a node of a
    hierarchy its leaves as a share of all. ``*`` leaves everything open.

    Parameters
    ----------
    columns : sequence of Column
        Names and kinds of the columns.
    published : sequence of arrays of texts
        The published values.
    hierarchies : dict of str to Hierarchy
        Hierarchies that were used, by column.
    """
    found = {}
    for column, values in zip(columns, published, strict=True):
        texts, places = different_texts(values)
        counts = np.bincount(places, minlength=len(texts))
        shares = _shares(column.kind, texts, counts, hierarchies.get(column.name))
        found[column.name] = float(shares @ counts / counts.sum())
    return found


def _shares(
    kind: Kind, texts: list[str], counts: IntArray, hierarchy: Hierarchy | None
) -> FloatArray:
    if hierarchy is not None:
        of_nodes = {single(name): share for name, share in shares_of(hierarchy).items()}
        of_nodes[ANY] = 1.0
        return np.array([of_nodes.get(text, 0.0) for text in texts])  # single numbers: 0
    if kind == "category":
        shares = penalties_of_texts(_named(texts), texts, None)
        shares[[text == ANY for text in texts]] = 1.0  # also where no category is named
        return shares
    return penalties_of_texts(_ends(kind, texts, counts), texts, None)


def _named(texts: list[str]) -> Column:
    """All categories that published values name."""
    names = {name for text in texts if text != ANY for name in read_set(text)}
    values = np.array(sorted(name for name in names if name is not None), dtype=object)
    return Column("", "category", np.array([-1] if None in names else [], np.int64), values)


def _ends(kind: Kind, texts: list[str], counts: IntArray) -> Column:
    """A column with what the published ranges span: their rows are taken to lie evenly in them."""
    read = read_dates if kind == "date" else read_range
    known = [place for place, text in enumerate(texts) if text not in (ANY, NOTHING)]
    ends = np.array([read(texts[place]) for place in known])
    if not len(known):
        return Column("", kind, np.zeros(0, np.int64), ends)
    parts = as_numbers(ends) / 8  # differences of large numbers may overflow
    least, largest = float(parts.min()), float(parts.max())
    steps = np.linspace(0.0, 1.0, POINTS)
    points = parts[:, :1] * (1 - steps) + parts[:, 1:] * steps
    values, place = np.unique(points, return_inverse=True)
    weights = np.bincount(place.ravel(), np.repeat(counts[known], POINTS)).astype(np.int64)
    low, high = usual_range(values, weights)
    low, high = 8 * max(low, least), 8 * min(high, largest)
    if kind == "date":
        low, high = (np.int64(round(end)).astype(ends.dtype) for end in (low, high))
    spanned = np.array([ends.min(), low, high, ends.max()])
    return Column("", kind, np.zeros(0, np.int64), spanned, center=(1, 2))
