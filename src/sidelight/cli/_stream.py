"""``sidelight embed --stream``: rows through a pipe, coordinates as they come."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.cli._perform import Files, perform
from sidelight.cli._screen import Screen
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io.inner import harmless
from sidelight.jobs import EmbedRequest, Job, MapStream, Result
from sidelight.jobs.inner import START, lines_of, open_lines, replaced_notes

JSON_LINES = ".jsonl"


class _Stop(BaseException):
    """Ctrl-C while the stream waits for a line."""


class _Lines:
    """Lines of a file or pipe, which end at its end or with Ctrl-C.

    A row that is being placed when Ctrl-C comes is finished first, so that the map stays whole.
    """

    def __init__(self, lines: Any) -> None:
        self._lines = iter(lines)
        self._waits = False
        self.stopped = False

    def __iter__(self) -> Iterator[str | bytes]:
        return self

    def __next__(self) -> str | bytes:
        if self.stopped:
            raise StopIteration
        self._waits = True
        try:
            return next(self._lines)
        except _Stop:
            raise StopIteration from None
        finally:
            self._waits = False

    def stop(self, *_: object) -> None:
        """Handle the signal; a second one interrupts whatever is going on."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        if self._waits:
            raise _Stop


class _Places:
    """Where the coordinates go, a line for each row: a file or standard output.

    ``opened`` is called when the first row takes the place of what was in the file.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        spreadsheet_safe: bool,
        as_json: bool,
        opened: Callable[[], None],
    ) -> None:
        self.path = path
        self.as_json = as_json if path is None else path.suffix.lower() == JSON_LINES
        self._between = "\t" if path is not None and path.suffix.lower() == ".tsv" else ","
        self._spreadsheet_safe = spreadsheet_safe
        self._opened = opened
        self._file: Any = None
        self._n_written = 0

    def write(self, row_id: Any, place: Any, names: list[str]) -> None:
        """Write a row, at once."""
        values = [None if value != value else value for value in np.asarray(place).tolist()]
        if self.as_json:
            text = json.dumps({"id": row_id, **dict(zip(names, values, strict=True))}) + "\n"
        else:
            shown = harmless(row_id) if self._spreadsheet_safe else row_id
            text = self._line([shown, *values])
            if self._n_written == 0:
                text = self._line(["id", *names]) + text
        if self.path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            self._append(self.path, text.encode())
        self._n_written += 1

    def _append(self, path: Path, text: bytes) -> None:
        """Write lines as they are: whole, or not at all where the disk is full."""
        if self._file is None:  # not before there is something to write
            self._file = path.open("wb", buffering=0)
            self._opened()
        end = self._file.tell() if self._file.seekable() else None
        try:
            while text:
                text = text[self._file.write(text) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            if end is not None:
                with contextlib.suppress(OSError):
                    self._file.truncate(end)
            raise SidelightError(
                f"{path}: {error.strerror}; it holds the first {counted(self._n_written, 'row')}."
            ) from error

    def _line(self, values: list[Any]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=self._between, lineterminator="\n").writerow(values)
        return text.getvalue()

    def close(self) -> None:
        if self.path is not None and self._file is not None:
            self._file.close()


def run(job: Job, request: EmbedRequest, files: Files, screen: Screen) -> Result | None:
    """Map a table at once, or rows as they come."""
    outputs = files.outputs
    if request.stream:
        _run_stream(request, files, screen)
        return None
    if outputs["final"] is not None:
        raise InvalidRequest("--final is for rows that come one after the other: --stream.")
    if outputs["predictions"] is not None and not request.views:
        raise InvalidRequest("--predict-view is for several tables: --view names the others.")
    if outputs["model"] is not None and request.views:
        raise InvalidRequest("a map of several views cannot be saved; in Python, pickle it.")
    asked = {kind: path for kind, path in outputs.items() if kind != "final"}
    return perform(job, request, replace(files, outputs=asked), screen)


def _run_stream(request: EmbedRequest, files: Files, screen: Screen) -> None:
    """Place rows until they end, then write what was asked for about all of them."""
    outputs, safe = files.outputs, files.spreadsheet_safe
    if request.views or outputs["predictions"] is not None:
        raise InvalidRequest("--view makes a map of whole tables: --stream has no use.")
    coordinates = outputs["coordinates"]
    at_end = {kind: outputs[kind] for kind in ("final", "report", "model")}
    inputs = [] if request.is_piped else request.inputs
    free = replace(files, outputs={"stream": coordinates, **at_end})
    old = free.check_free(inputs)
    places = _Places(
        coordinates,
        spreadsheet_safe=safe,
        as_json=screen.as_json,
        opened=lambda: screen.note(*replaced_notes(old, ["stream"])),
    )
    with _opened(request, screen) as lines:
        stream = MapStream(
            request,
            start=START if request.start is None else request.start,
            keep=at_end["final"] is not None or at_end["report"] is not None,
            lines=lines,
        )
        problem = _place_all(stream, places, screen)
    found = stream.finish()
    screen.note(*found.notes[len(stream.notes) :])
    paths: dict[str, Any] = {} if coordinates is None else {"stream": coordinates}
    outputs = {"coordinates": at_end.pop("final"), **at_end}
    paths |= replace(files, outputs=outputs).write(found)
    replaced = ["final" if kind == "coordinates" else kind for kind in paths if kind != "stream"]
    screen.note(*replaced_notes(old, replaced))
    _tell(stream, found, lines, places, screen, paths)
    if problem is not None:
        came = counted(stream.n_rows, "row")
        raise SidelightError(f"{problem} The map has the {came} that came before.")


def _tell(
    stream: MapStream, found: Any, lines: _Lines, places: _Places, screen: Screen, paths: Any
) -> None:
    """Print the result; to standard error where standard output holds the rows."""
    columns = counted(len(found.features_in), "column")
    ended = "; ended by Ctrl-C" if lines.stopped else ""
    summary = (
        f"{type(found.estimator).__name__} on {found.data.path}: "
        f"{counted(stream.n_rows, 'row')}, {columns}, in {found.seconds:.2f} s{ended}"
    )
    told = [summary]
    if paths:
        told.append(f"Written: {', '.join(map(str, paths.values()))}")
    if places.path is not None:
        screen.tell(*told)
    elif screen.prints_text:
        print(*told, sep="\n", file=sys.stderr)
    facts = {"command": "embed", **found.facts(), "n_rows": stream.n_rows}
    facts |= {"left_out": stream.n_left_out, "interrupted": lines.stopped}
    facts["outputs"] = {kind: str(path) for kind, path in paths.items()}
    screen.result(facts)


def _place_all(stream: MapStream, places: _Places, screen: Screen) -> SidelightError | None:
    """Write a line for each row that is placed; return what ended the stream early."""
    told = 0
    try:
        for row_id, place in stream:
            if told < len(stream.notes):
                screen.note(*stream.notes[told:])
                told = len(stream.notes)
            if not screen.quiet or places.path is not None:
                places.write(row_id, place, stream.feature_names)
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    except SidelightError as problem:
        if not stream.growth.n_start:
            raise
        return problem
    finally:
        places.close()
    screen.note(*stream.notes[told:])
    return None


@contextlib.contextmanager
def _opened(request: EmbedRequest, screen: Screen) -> Iterator[_Lines]:
    """Open the rows, and let Ctrl-C end them."""
    if request.is_piped:
        if sys.stdin.isatty():
            screen.note("Reading rows from the terminal; Ctrl-D ends them.")
        opened: Any = contextlib.nullcontext(getattr(sys.stdin, "buffer", sys.stdin))
    else:
        opened = open_lines(Path(request.data))
    with opened as file:
        lines = _Lines(lines_of(file))
        before = signal.signal(signal.SIGINT, lines.stop)
        try:
            yield lines
        finally:
            signal.signal(signal.SIGINT, before)
