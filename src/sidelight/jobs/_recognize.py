"""Whether a file is one that Sidelight wrote, so that it may be replaced without asking.

A report says so in its head, a model in its schema, answers in their first line. Tables carry no
such mark and go by their columns: ``id, cluster`` (and ``class``) are labels, ``i, j, kind,
weight`` constraints, ``id, class`` and a ``p_`` or ``score_`` per class are classes,
``cluster, class, about, text ...`` an explanation, ``id, entity`` (and ``similarity, also``)
entities, ``i, j, similarity ...`` doubtful pairs, ``id, class, category, moved ...`` categories,
``id, category, cosine, why`` ranked ones, ``id, alternative_1 ...`` splits, ``column, cluster,
weight`` clusters of columns, ``id`` and features that are numbered after a method (``rca0``) what
``transform`` writes. Selected features keep the names that the user gave them, and a NumPy file has
no names at all: these are never taken for ours.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from sidelight import catalog
from sidelight.io.inner import (
    ALTERNATIVE,
    ASSIGNED,
    CATEGORIZED,
    CLASS,
    CLUSTER,
    CLUSTERS,
    COLUMN_LABELS,
    DOUBTFUL,
    ENTITY,
    ID,
    RANKED,
    column_names,
    has_classes,
)

GENERATOR = b'<meta name="generator" content="Sidelight">'
MODEL = b'"sidelight-model-'
CONSTRAINTS = ["i", "j", "kind", "weight"]


def is_ours(path: Path, kind: str) -> bool:
    """Whether an existing file is empty, or an output of this kind that Sidelight wrote."""
    if path.stat().st_size == 0:
        return True
    try:
        return RECOGNIZED[kind](path)
    except Exception:  # whatever else can be in a file, it is not what we wrote
        return False


def _is_report(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR in file.read(4096)


def _is_model(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return MODEL in archive.read("schema.json")


def _is_labels(path: Path) -> bool:
    return column_names(path) in ([ID, CLUSTER], [ID, CLUSTER, CLASS], [ID, CLUSTER, CLUSTERS])


def _is_classes(path: Path) -> bool:
    return has_classes(column_names(path))


def _is_features(path: Path) -> bool:
    if path.suffix.lower() == ".npy":
        return False
    numbered = {f"{method.cls.__name__.lower()}0" for method in catalog.methods()}
    first, second, *_ = column_names(path)  # columns of labels and classes may follow
    return first == "id" and second in numbered


def _is_explanation(path: Path) -> bool:
    from sidelight.explanation.inner import COLUMNS

    return column_names(path) == list(COLUMNS)


def _is_entities(path: Path) -> bool:
    return column_names(path) in ([ID, ENTITY], list(ASSIGNED))


def _is_doubtful(path: Path) -> bool:
    return column_names(path) == list(DOUBTFUL)


def _is_categories(path: Path) -> bool:
    return column_names(path) == list(CATEGORIZED)


def _is_ranked(path: Path) -> bool:
    return column_names(path)[: len(RANKED)] == list(RANKED)


def _is_splits(path: Path) -> bool:
    first, *others = column_names(path)
    return first == ID and others == [f"{ALTERNATIVE}{n}" for n in range(1, len(others) + 1)]


def _is_column_labels(path: Path) -> bool:
    return column_names(path) in ([*COLUMN_LABELS], [*COLUMN_LABELS, CLUSTERS])


def _is_constraints(path: Path) -> bool:
    if path.suffix.lower() == ".json":
        with path.open("rb") as file:
            return re.match(rb'\[\n(\{"i": [^\n]*"kind": |\n\]$)', file.read(4096)) is not None
    return column_names(path) == CONSTRAINTS


def _is_predicted(path: Path) -> bool:
    kinds = (_is_labels, _is_classes, _is_ranked, _is_splits, _is_entities, _is_features)
    return any(is_one(path) for is_one in kinds)


RECOGNIZED: dict[str, Callable[[Path], bool]] = {
    "labels": _is_labels,
    "predicted": _is_predicted,
    "classes": _is_classes,
    "splits": _is_splits,
    "features": _is_features,
    "coordinates": _is_features,
    "final": _is_features,
    "stream": _is_features,
    "predictions": lambda path: False,  # they have names of the user's columns
    "report": _is_report,
    "model": _is_model,
    "constraints": _is_constraints,
    "explanation": _is_explanation,
    "entities": _is_entities,
    "doubtful": _is_doubtful,
    "categories": _is_categories,
    "ranked": _is_ranked,
    "columns": _is_column_labels,
    "published": lambda path: False,  # it has names of the user's columns
}
