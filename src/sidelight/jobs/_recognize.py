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
from typing import TypeAlias

from sidelight import catalog
from sidelight.io.inner import (
    ALTERNATIVE,
    ASSIGNED,
    CLASS,
    CLUSTER,
    CLUSTERS,
    COLUMN_LABELS,
    ENTITY,
    ID,
    RANKED,
    column_names,
    has_classes,
)

GENERATOR = b'<meta name="generator" content="Sidelight">'
MODEL = b'"sidelight-model-'
#: Key in the metadata of a file of a folder of labels.
PART = b"sidelight"
CONSTRAINTS = ["i", "j", "kind", "weight"]


#: Recognizes the file of a kind that Sidelight wrote, or raises.
Recognizer: TypeAlias = Callable[[Path], bool]


def has_columns(*names: str) -> Recognizer:
    """Return what recognizes a table by its columns."""
    return lambda path: column_names(path) == list(names)


def is_report(path: Path) -> bool:
    """Whether a file is a report."""
    with path.open("rb") as file:
        return GENERATOR in file.read(4096)


def is_model(path: Path) -> bool:
    """Whether a file is a saved model."""
    with zipfile.ZipFile(path) as archive:
        return MODEL in archive.read("schema.json")


def is_labels(path: Path) -> bool:
    """Whether a file has clusters of rows."""
    return column_names(path) in ([ID, CLUSTER], [ID, CLUSTER, CLASS], [ID, CLUSTER, CLUSTERS])


def is_part(path: Path) -> bool:
    """Whether a file has what the rows of one file got, in a folder of such files."""
    if path.suffix.lower() != ".parquet":
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return PART in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def is_classes(path: Path) -> bool:
    """Whether a file has classes of rows."""
    return has_classes(column_names(path))


def is_features(path: Path) -> bool:
    """Whether a file has features that are numbered after a method."""
    if path.suffix.lower() == ".npy":
        return False
    numbered = {f"{method.cls.__name__.lower()}0" for method in catalog.methods()}
    first, second, *_ = column_names(path)  # columns of labels and classes may follow
    return first == "id" and second in numbered


def is_explanation(path: Path) -> bool:
    """Whether a file has an explanation of clusters."""
    from sidelight.explanation.inner import COLUMNS

    return column_names(path) == list(COLUMNS)


def is_ranked(path: Path) -> bool:
    """Whether a file has ranked categories."""
    return column_names(path)[: len(RANKED)] == list(RANKED)


def is_splits(path: Path) -> bool:
    """Whether a file has several splits."""
    first, *others = column_names(path)
    return first == ID and others == [f"{ALTERNATIVE}{n}" for n in range(1, len(others) + 1)]


def is_column_labels(path: Path) -> bool:
    """Whether a file has clusters of columns."""
    return column_names(path) in ([*COLUMN_LABELS], [*COLUMN_LABELS, CLUSTERS])


def is_constraints(path: Path) -> bool:
    """Whether a file has constraints."""
    if path.suffix.lower() == ".json":
        with path.open("rb") as file:
            return re.match(rb'\[\n(\{"i": [^\n]*"kind": |\n\]$)', file.read(4096)) is not None
    return column_names(path) == CONSTRAINTS


def is_entities(path: Path) -> bool:
    """Whether a file has entities of references."""
    return column_names(path) in ([ID, ENTITY], list(ASSIGNED))


def is_predicted(path: Path) -> bool:
    """Whether a file has what some model gives for new rows."""
    kinds = (is_labels, is_classes, is_ranked, is_splits, is_entities, is_features)
    return any(is_one(path) for is_one in kinds)
