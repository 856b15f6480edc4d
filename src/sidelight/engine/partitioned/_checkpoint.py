"""Fits that go on where they were interrupted: ``with checkpoint(path):`` around a fit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

from sklearn.utils import check_random_state

from sidelight.engine._source import RowSource
from sidelight.engine.partitioned._journal import Journal
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows

_journal: ContextVar[Journal | None] = ContextVar("sidelight_checkpoint", default=None)


@contextlib.contextmanager
def checkpoint(
    path: str | os.PathLike[str], *, resume: bool = False, keep: bool = False
) -> Iterator[None]:
    """Write down the state of the fits inside the block after every pass over the rows.

    When the process is killed, the same block with ``resume=True`` goes on after the last pass that
    was written, with the same result up to rounding. The file is removed when the block ends well.
    Fits of methods that read rows block by block (*on disk* in the table of methods) are continued;
    others begin anew. Results of rows, such as ``labels_``, stay where the rows are until they are
    looked at.

    Parameters
    ----------
    path : path
        The file. It grows by the sums of a pass, some kilobytes, with every pass.
    resume : bool, default=False
        Go on from the file, if there is one. Data, methods, parameters and versions have to be the
        same; that is checked, and said where it is not so.
    keep : bool, default=False
        Leave the file when the block ends well: for results that still have to be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from sidelight.cluster import KMeans
    >>> from sidelight.engine import checkpoint
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with checkpoint(pathlib.Path(folder) / "fit.journal", resume=True):
    ...         model = KMeans(2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """
    journal = Journal(Path(path), resume=resume)
    token, done = _journal.set(journal), False
    generator = check_random_state(None)
    try:
        # Fits without a seed draw from NumPy's generator: it begins where it began before.
        generator.set_state(journal.step("random numbers", generator.get_state))
        yield
        done = True
    finally:
        _journal.reset(token)
        journal.close(remove=done and not keep)


def in_checkpoint(source: RowSource, fit: Callable[[], str]) -> RowSource:
    """Return rows whose passes are written down, inside of :func:`checkpoint`; else the same.

    Parameters
    ----------
    source : RowSource
        The rows of a fit.
    fit : callable
        Returns the method with its parameters and what is known, as text.
    """
    journal = _journal.get()
    if journal is None:
        return source
    if not isinstance(source, PartitionedRows):
        # The rows have been checked: NaN is left where the method models it.
        source = PartitionedRows(LocalEngine([source], ["The table"])).with_missing()
    return source.journaled(journal, fit())
