"""Counting and listing in sentences; titles of what the command line and the report both show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Kinds of statements, as ``Constraints.counts`` names them, and one statement of each.
STATEMENTS = {
    "must_link": "must-link",
    "cannot_link": "cannot-link",
    "labels": "known label",
    "groups": "group member",
}

#: Scores that are shown, out of those of ``partition_scores``, with their titles.
SCORES = {
    "adjusted_rand_index": "Adjusted Rand index",
    "nmi_arithmetic": "Normalized mutual information",
    "clustering_accuracy": "Accuracy (best matching)",
    "pairwise_f1": "Pairwise F1",
    "purity": "Purity",
}


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Say how many there are.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {plural or noun + ('es' if noun.endswith('s') else 's')}"


def listed(parts: Sequence[str]) -> str:
    """Join with commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def statements(counts: Mapping[str, int]) -> list[str]:
    """Say how many statements of each kind there are, from ``Constraints.counts``.

    Examples
    --------
    >>> statements({"must_link": 2, "cannot_link": 0, "labels": 1, "groups": 0})
    ['2 must-links', '1 known label']
    """
    return [counted(number, STATEMENTS[kind]) for kind, number in counts.items() if number]
