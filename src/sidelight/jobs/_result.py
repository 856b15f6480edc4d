"""The result of a job: what it says, its facts, and the files that it can write."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sidelight.exceptions import SidelightError
from sidelight.io.inner import write_columns, write_together
from sidelight.jobs._outputs import KINDS, PathLike, check_outputs, is_folder
from sidelight.jobs._recognize import is_part
from sidelight.report.inner import Told, as_html

#: Writes one file.
Writer: TypeAlias = Callable[[Path], None]


def writer_of(columns: Callable[[], dict[str, Any]], spreadsheet_safe: bool) -> Writer:
    """Return what writes columns as a table; they are made when it writes."""
    return lambda path: write_columns(columns(), path, spreadsheet_safe=spreadsheet_safe)


class Result:
    """What came out of a job.

    A result says itself in sentences and tables (``tell``), in plain values (``facts``), as a page
    (``report``) and in files (``write``); a notebook shows what it tells.
    """

    if TYPE_CHECKING:  # a field of some results, a property of others

        @property
        def notes(self) -> tuple[str, ...]:
            """Sentences about decisions that were made on the way."""

    #: Exit code of the command: 1 where the answer is that something is wrong.
    exit_code: int = 0
    #: Whether labels can go to a folder, with a file for every file of rows.
    writes_folders: bool = False
    #: How to keep what came out, said where nothing was written; None for the usual sentence.
    advice: str | None = None

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace: those that the request names."""
        request = getattr(self, "request", None)
        return () if request is None else request.inputs

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values: what ``--json`` prints."""
        raise NotImplementedError

    def row_values(self) -> dict[str, Any]:
        """Return the values of all rows, which ``--json`` prints where they are not written."""
        return {}

    def check_replaced(self, **outputs: Path) -> None:
        """Refuse files that are there already and hold something else than what came out."""

    def written_facts(self) -> dict[str, Any]:
        """Return facts that are certain only after the files were written."""
        return {}

    def module(self, name: str) -> Any:
        """Return a module of the job, which is imported when it is needed."""
        return importlib.import_module(f"{type(self).__module__.rpartition('.')[0]}.{name}")

    def tell(self) -> list[Told]:
        """Return what came out as lines and tables: the ``words`` of the job."""
        told: list[Told] = self.module("_words").words(self)
        return told

    def writers(self, spreadsheet_safe: bool) -> Mapping[str, Writer]:
        """Return what can be written, by kind."""
        return {}

    def write(
        self, *, spreadsheet_safe: bool = False, **outputs: str | os.PathLike[str] | None
    ) -> dict[str, Path]:
        """Write several files, or none of them where one cannot be written.

        What was there before is replaced, unless it was read for this job.

        Parameters
        ----------
        spreadsheet_safe : bool, default=False
            Whether texts in a CSV or Excel file that a spreadsheet would run as formulas (they
            begin with ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front.
        **outputs : path-like or None
            Where to write, by kind: ``labels``, ``report``, ``model`` ... as the job has them.

        Returns
        -------
        dict of str to Path
            The files that were written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sidelight import jobs
        >>> found = jobs.run("cocluster", data=[[1, 1, 0], [1, 1, 0], [0, 0, 1]], k=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = found.write(labels=Path(folder) / "labels.csv")
        ...     print(written["labels"].read_text().splitlines()[0])
        id,cluster
        """
        paths = check_outputs(inputs=self.inputs, folders=self.writes_folders, **outputs)
        writers = self.writers(spreadsheet_safe)
        for kind in paths:
            if kind not in writers:
                raise SidelightError(
                    f"{type(self).__name__} writes {', '.join(writers)}, and no {kind}."
                )
        folders = {path for kind, path in paths.items() if KINDS[kind].in_parts and is_folder(path)}
        write_together({path: writers[kind] for kind, path in paths.items()}, folders, is_part)
        return paths

    def report(self, path: PathLike) -> Path:
        """Write the report as one HTML file."""
        return self.write(report=path)["report"]

    def save(self, path: PathLike) -> Path:
        """Keep the model with all that new rows need, for :func:`sidelight.jobs.load_model`."""
        return self.write(model=path)["model"]

    def _repr_html_(self) -> str:
        return as_html([*self.notes, *self.tell()])
