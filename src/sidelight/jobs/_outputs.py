"""Files that jobs write: where they may go, how they are checked, and which of them are ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight._words import listed
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import (
    CATEGORIZED,
    DOUBTFUL,
    check_apart,
    check_can_be_read_again,
    check_folder,
    check_labels_path,
    check_table_path,
    check_writable,
    is_same_file,
)
from sidelight.jobs import _recognize as ours

PathLike = str | os.PathLike[str]
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PLAIN_TABLES = (*CSV, ".xlsx", ".parquet")


@dataclass(frozen=True)
class OutputKind:
    """Rules of a kind of file.

    Attributes
    ----------
    endings : tuple of str
        Allowed endings of its name; empty where ``check`` looks at them.
    check : callable or None
        Raises where the file cannot be of this kind.
    recognize : callable or None
        Whether Sidelight wrote a file; None where nothing tells.
    holds : str
        What is in the file, for sentences; empty for the kind itself.
    in_parts : bool
        Whether it may be a folder with a file for every file of rows.
    """

    endings: tuple[str, ...] = ()
    check: Callable[[Any], Any] | None = None
    recognize: ours.Recognizer | None = None
    holds: str = ""
    in_parts: bool = False

    def is_ours(self, path: Path) -> bool:
        """Whether an existing file is empty, or one of this kind that Sidelight wrote."""
        if path.is_dir():
            return all(map(ours.is_part, files_of_folder(path)))
        if path.stat().st_size == 0:
            return True
        try:
            return self.recognize is not None and self.recognize(path)
        except Exception:  # whatever else can be in a file, it is not what we wrote
            return False


def _check_published(path: PathLike) -> None:
    """Complain about a file that the table to publish cannot be written to and read from."""
    check_can_be_read_again(path)
    check_table_path(path)


def _labeled(recognize: ours.Recognizer) -> OutputKind:
    return OutputKind((), check_labels_path, recognize)


def _numbers(recognize: ours.Recognizer | None, holds: str = "") -> OutputKind:
    return OutputKind((), check_table_path, recognize, holds)


#: What jobs write, by kind.
KINDS: dict[str, OutputKind] = {
    "labels": OutputKind((), check_labels_path, ours.is_labels, in_parts=True),
    "classes": _labeled(ours.is_classes),
    "entities": _labeled(ours.is_entities),
    "categories": _labeled(ours.has_columns(*CATEGORIZED)),
    "ranked": _labeled(ours.is_ranked),
    "splits": _labeled(ours.is_splits),
    "columns": _labeled(ours.is_column_labels),
    "features": _numbers(ours.is_features),
    "coordinates": _numbers(ours.is_features),
    "predictions": _numbers(None),  # they have names of the user's columns
    "predicted": OutputKind(
        (), check_table_path, ours.is_predicted, "what the model gives", in_parts=True
    ),
    "final": _numbers(ours.is_features),
    "stream": OutputKind((".csv", ".tsv", ".jsonl"), None, ours.is_features),
    "report": OutputKind((".html", ".htm"), None, ours.is_report),
    "model": OutputKind((".skops",), None, ours.is_model),
    "constraints": OutputKind((*CSV, ".json", ".parquet"), None, ours.is_constraints),
    "answers": OutputKind(),
    "explanation": OutputKind(PLAIN_TABLES, check_table_path, ours.is_explanation),
    "doubtful": OutputKind(PLAIN_TABLES, check_table_path, ours.has_columns(*DOUBTFUL)),
    "published": OutputKind(PLAIN_TABLES, _check_published),  # it has names of the user's columns
}


def is_folder(path: Path) -> bool:
    """Whether an output is meant to be a folder: one that is there, or a name without an ending."""
    return not path.suffix or (os.path.isdir(path) and not path.name.lower().endswith(PLAIN_TABLES))


def files_of_folder(path: Path) -> list[Path]:
    """Return what is in a folder, but for what is hidden."""
    return sorted(one for one in path.iterdir() if not one.name.startswith("."))


def check_outputs(
    *, inputs: Iterable[PathLike] = (), folders: bool = False, **outputs: PathLike | None
) -> dict[str, Path]:
    """Complain about a place where a file cannot be written before the work, not after it.

    Parameters
    ----------
    inputs : iterable of path-like
        Files that are read: none of them may be an output, by whatever name or link.
    folders : bool, default=False
        Whether labels may go to a folder, with a file for every file of rows.
    **outputs : path-like or None
        Where files are to go, by kind (:data:`KINDS`); each to a file of its own.

    Returns
    -------
    dict of str to Path
        Those that are given.
    """
    paths = {kind: Path(path) for kind, path in outputs.items() if path is not None}
    inputs = list(inputs)
    for kind, path in paths.items():
        rules = KINDS[kind]
        if folders and rules.in_parts and is_folder(path):
            _check_folder(path, inputs)
            continue
        if rules.endings and not path.name.lower().endswith(rules.endings):
            raise SidelightError(f"{path} should end in {' or '.join(rules.endings)}.")
        if rules.check is not None:
            rules.check(path)
        check_writable(path)
    check_apart(paths.values(), inputs)
    return paths


def _check_folder(path: Path, inputs: Iterable[PathLike]) -> None:
    """Refuse a folder that cannot be written to, or that rows are read from."""
    check_folder(path)
    if any(is_same_file(path, Path(source).parent) for source in inputs):
        raise InvalidRequest(
            f"Cannot write into {path}: files of this folder are read here; name another folder."
        )


def check_outputs_free(
    inputs: Iterable[PathLike],
    *,
    force: bool,
    folders: bool = False,
    **outputs: PathLike | None,
) -> dict[str, Path]:
    """Make sure, before any work, that a command may write its outputs.

    An output is never an input. A file that is there already is replaced only by ``force`` where it
    is not an output of the same kind that Sidelight wrote.

    Returns
    -------
    dict of str to Path
        Files that are to be replaced, by kind; :func:`replaced_notes` says so once they are.
    """
    paths = check_outputs(inputs=inputs, folders=folders, **outputs)
    # Answers are appended to, and a pipe or a device has no content to lose.
    old = {kind: path for kind, path in paths.items() if kind != "answers" and _is_there(path)}
    strange = [str(path) for kind, path in old.items() if not KINDS[kind].is_ours(path)]
    if strange and not force:
        exist, are = ("exists", "is") if len(strange) == 1 else ("exist", "are")
        raise InvalidRequest(
            f"{listed(strange)} {exist} and {are} not recognized as an output of this kind that "
            "Sidelight wrote; name another file, or replace it with --force."
        )
    return old


def _is_there(path: Path) -> bool:
    return path.is_file() or (path.is_dir() and bool(files_of_folder(path)))


def replaced_notes(old: Mapping[str, Path], written: Container[str]) -> list[str]:
    """Return the sentence about files that were replaced: those of ``old`` that were written."""
    names = [str(path) for kind, path in old.items() if kind in written]
    return [f"Replaced what was in {listed(names)}."] if names else []
