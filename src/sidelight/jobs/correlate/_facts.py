"""Facts about a partition of scored pairs: agreements by kind, strongest disagreements."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import format_number
from sidelight.constraints import Relations


def worst_disagreements(relations: Relations, labels: Array, most: int) -> list[dict[str, Any]]:
    """Return the scored pairs that the partition is most against, by name."""
    edges, scores = relations.edges, relations.scores
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    wrong = np.flatnonzero(np.where(same, scores < 0, scores > 0))
    wrong = wrong[np.argsort(-np.abs(scores[wrong]), kind="stable")][:most]
    return [
        {
            "first": _name(relations, pair[0]),
            "second": _name(relations, pair[1]),
            "score": format_number(float(score)),
            "kind": "together" if joined else "apart",
            "clusters": [int(label) for label in labels[pair]],
        }
        for pair, score, joined in zip(edges[wrong], scores[wrong], same[wrong], strict=True)
    ]


def _name(relations: Relations, position: int) -> str:
    return f"row {int(position)}" if relations.ids is None else str(relations.ids[position])


def pair_kinds(relations: Relations, labels: Array) -> list[tuple[str, int, float, bool]]:
    """Return kinds of scores: name, number, sum, and whether the partition is against them."""
    edges, scores = relations.edges, relations.scores
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    kinds = [
        ("positive, and together", (scores > 0) & same, False),
        ("negative, and apart", (scores < 0) & ~same, False),
        ("positive, but apart", (scores > 0) & ~same, True),
        ("negative, but together", (scores < 0) & same, True),
    ]
    return [
        (name, int(chosen.sum()), float(np.abs(scores[chosen]).sum()), against)
        for name, chosen, against in kinds
    ]
