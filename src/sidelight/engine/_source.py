"""The one interface to rows: fixed blocks, mapped by threads, reduced in a fixed order."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._in_memory import is_collection
from sidelight._progress import Reading, reading
from sidelight._typing import Array
from sidelight.engine._extent import largest_by_column
from sidelight.engine._reductions import Maximum
from sidelight.engine._threads import get_threads, one_thread_blas
from sidelight.exceptions import SidelightError
from sidelight.io.inner import is_on_disk

Arrays = tuple[Array, ...]
BlockFunction = Callable[..., tuple[Sequence[Any], Sequence[Array]]]
BlockResult = tuple[int, int, Sequence[Any], Sequence[Array]]


class RowSource(ABC):
    """Rows of a table, wherever they live.

    A new kind of source sets ``n_rows``, ``n_features`` and ``dtype`` and implements
    :attr:`blocks`, :meth:`take` and :meth:`read`; :meth:`tasks`, :meth:`with_missing` and
    ``max_parallel`` where reading costs.

    Algorithms use :meth:`map_reduce`, :meth:`take` and :attr:`blocks` only. The blocks depend on
    the shape, the element type and the memory budget, never on the number of threads, and sums are
    added in the order of the blocks: any number of threads gives the same result to the last bit.

    Attributes
    ----------
    n_rows, n_features : int
        Shape of the table.
    dtype : numpy.dtype
        ``float32`` or ``float64``.
    is_sparse : bool
        Whether blocks are CSR matrices.
    ids : ndarray of shape (n_rows,) or None
        Names of the rows, where the source knows them: constraints with ids are brought into their
        order. None where rows go by position.
    """

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool = False
    ids: Array | None = None

    #: At most this many tasks read rows at the same time, whatever the number of threads: what
    #: keeps rows on disk within their memory budget.
    max_parallel: int | None = None

    #: Whether the rows are in memory as one array or CSR matrix.
    is_in_memory: bool = False

    #: Whether the rows live in partitions elsewhere, and with them what passes leave for each row.
    is_partitioned: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and features."""
        return self.n_rows, self.n_features

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kind = "sparse " if self.is_sparse else ""
        return (
            f"{type(self).__name__}({self.n_rows:,} rows, {self.n_features} features, "
            f"{kind}{self.dtype}, {len(self.blocks)} blocks)"
        )

    @property
    @abstractmethod
    def blocks(self) -> list[tuple[int, int]]:
        """Consecutive half-open ranges of rows ``(start, stop)`` that cover the table."""

    @abstractmethod
    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the rows at these positions, in the order given (ndarray or CSR)."""

    def to_memory(self) -> Any:
        """Return all rows as one array or CSR matrix, without a copy if they are one already."""
        return self.take(np.arange(self.n_rows))

    def largest(self) -> Array:
        """Return the largest ``|x|`` of every column; values that are missing do not count."""
        found = self.map_reduce(lambda block: ((Maximum(largest_by_column(block)),), ()))[0]
        return found[0] if found else np.zeros(self.n_features, dtype=self.dtype)

    def with_missing(self) -> RowSource:
        """Return the same rows, where NaN stands for a missing value.

        Rows on disk are looked at as they are read, and NaN is refused unless asked for like this.
        """
        return self

    def to_be_read_once(self) -> None:  # noqa: B027  (most rows keep nothing)
        """Prepare for a single pass, such as that of a prediction."""

    @abstractmethod
    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        """Yield the blocks of one task, in order."""

    def tasks(self) -> list[tuple[int, ...]]:
        """Return the numbers of the blocks that one thread reads in one go, for every task."""
        return [(number,) for number in range(len(self.blocks))]

    def map_reduce(
        self, function: BlockFunction, *, aligned: Sequence[Any] = ()
    ) -> tuple[Arrays, Arrays]:
        """Apply ``function`` to every block; add its totals and join its rows.

        Parameters
        ----------
        function : callable
            ``function(block, *slices) -> (totals, rows)`` with two tuples: ``totals`` are arrays
            or numbers that are added over the blocks (or :class:`Minimum`, :class:`Maximum`,
            :class:`Top`), ``rows`` are arrays with one entry per row of the block. It depends on
            its arguments only and changes nothing outside: blocks may be mapped by several threads,
            or on several machines.
        aligned : sequence
            Things of length ``n_rows`` that are sliced like the blocks: arrays, or
            ``range(n_rows)`` for the positions of the rows.

        Returns
        -------
        totals : tuple of ndarray
            Totals over the blocks, in block order; floats are added in ``float64``.
        rows : tuple of ndarray
            The row arrays joined in row order.

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight.engine import as_rows
        >>> rows = as_rows(np.arange(6.0).reshape(3, 2))
        >>> (total,), (largest,) = rows.map_reduce(lambda b: ((b.sum(axis=0),), (b.max(axis=1),)))
        >>> total, largest
        (array([6., 9.]), array([1., 3., 5.]))
        """
        counted = None if self.is_in_memory else reading()
        return self.block_results(function, aligned=aligned, counted=counted).finish()

    def block_results(
        self,
        function: BlockFunction,
        *,
        aligned: Sequence[Any] = (),
        counted: Reading | None = None,
    ) -> BlockResults:
        """Return the results of :meth:`map_reduce` before minima, tops and the like are read.

        ``counted`` counts the pass and its rows, for a bar that somebody watches.
        """
        blocks = self.blocks
        results = BlockResults(self.n_rows)
        if counted is not None:
            counted.begin_pass()

        def work(task: tuple[int, ...]) -> list[BlockResult]:
            done = []
            for number, block in zip(task, self.read(task), strict=True):
                start, stop = blocks[number]
                totals, rows = function(block, *(thing[start:stop] for thing in aligned))
                done.append((start, stop, totals, rows))
            return done

        with one_thread_blas:
            for task_results in _in_order(work, self.tasks(), self._workers()):
                for start, stop, totals, rows in task_results:
                    results.add(start, stop, totals, rows)
                    if counted is not None:
                        counted.add(stop - start)
        return results

    def _workers(self) -> int:
        workers = get_threads()
        return workers if self.max_parallel is None else min(workers, self.max_parallel)


class BlockResults:
    """Totals and joined rows of the blocks so far, which are added in their order.

    Attributes
    ----------
    totals : list
        Sums so far, and reductions that can be joined with those of other blocks.
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self.totals: list[Any] = []
        self._rows: list[Array] = []
        self._started = False

    @property
    def rows(self) -> Arrays:
        """Row arrays."""
        return tuple(self._rows)

    def add(self, start: int, stop: int, totals: Sequence[Any], rows: Sequence[Array]) -> None:
        """Add the results of the block of rows ``start`` to ``stop``."""
        if not self._started:
            self._started = True
            self.totals = [_accumulator(total) for total in totals]
            self._rows = [np.empty((self._n_rows, *r.shape[1:]), dtype=r.dtype) for r in rows]
        else:
            self.totals = [
                _joined(so_far, total) for so_far, total in zip(self.totals, totals, strict=True)
            ]
        for joined, piece in zip(self._rows, rows, strict=True):
            joined[start:stop] = piece

    def finish(self) -> tuple[Arrays, Arrays]:
        """Return what ``map_reduce`` returns."""
        totals = tuple(
            total if isinstance(total, np.ndarray) else total.result() for total in self.totals
        )
        return totals, tuple(self._rows)


def _joined(so_far: Any, total: Any) -> Any:
    """Add an array in place, or join another reduction."""
    if not isinstance(so_far, np.ndarray):
        return so_far.join(total)
    so_far += total
    return so_far


def _accumulator(total: Any) -> Any:
    """A fresh array to add on: floats are summed in float64, whole numbers in int64."""
    if hasattr(total, "join"):
        return total
    array = np.asarray(total)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array.astype(np.int64) if array.dtype.kind in "iub" else array.copy()


def _in_order(
    work: Callable[[tuple[int, ...]], list[BlockResult]], tasks: list[tuple[int, ...]], workers: int
) -> Iterator[list[BlockResult]]:
    """Run the tasks on threads and give their results in order, few of them waiting at a time."""
    workers = min(workers, len(tasks))
    if workers <= 1:
        for task in tasks:
            yield work(task)
        return
    pending: deque[Future[list[BlockResult]]] = deque()
    remaining = iter(tasks)
    with ThreadPoolExecutor(workers, "sidelight", initializer=one_thread_blas.cover) as pool:
        try:
            for task in remaining:
                pending.append(pool.submit(work, task))
                if len(pending) >= 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def as_rows(X: Any, *, memory_budget: int | str | None = None) -> RowSource:
    """Make a :class:`RowSource` of whatever holds the rows.

    Parameters
    ----------
    X : array, CSR matrix, numpy.memmap, path, dataset, query or RowSource
        Files, datasets and queries are those of :func:`open_rows`.
    memory_budget : int or str, default=None
        Bytes that blocks read from disk may take at the same time, or a size such as ``"2GB"``
        (256 MB by default, see :func:`memory`); nothing is copied for arrays in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.engine import as_rows
    >>> as_rows(np.zeros((3, 2), dtype=np.float32))
    ArrayRows(3 rows, 2 features, float32, 1 blocks)
    """
    if isinstance(X, RowSource):
        return X
    if is_on_disk(X):
        return open_rows(X, memory_budget=memory_budget)
    if is_collection(X):
        return rows_of_collection(X)
    if isinstance(X, np.memmap):
        from sidelight.engine._disk import MappedRows

        return MappedRows(X, memory_budget=memory_budget)
    from sidelight.engine._memory import ArrayRows, SparseRows

    if hasattr(X, "tocsr"):
        return SparseRows(X.tocsr())
    return ArrayRows(np.asarray(X))


def opened(X: Any) -> Any:
    """Return rows that are to be read from elsewhere as a :class:`RowSource`; all else as it is.

    While a client of Dask is active, files are read by its workers.

    Parameters
    ----------
    X : object
        What a user gave for rows: an array, a data frame, a path, a query.
    """
    if is_on_disk(X):
        rows = as_rows(X)
        if "distributed" in sys.modules:
            from sidelight.engine.dask._collections import rows_of_files

            return rows_of_files(rows)
        return rows
    return as_rows(X) if is_collection(X) or _needs_a_copy(X) else X


def _needs_a_copy(X: Any) -> bool:
    """Whether a memory map would be copied into memory, were it taken for an array."""
    if not isinstance(X, np.memmap) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return False
    return floating_dtype(X.dtype) != X.dtype or not X.flags.c_contiguous


def rows_of_collection(X: Any) -> RowSource:
    """Return the rows of a collection of Dask, which stay on its workers.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The collection.
    """
    from sidelight.engine.dask._collections import rows_of_collection as on_workers

    return on_workers(X)


def open_rows(
    path: Any,
    columns: Sequence[str] | None = None,
    memory_budget: int | str | None = None,
    *,
    id_column: str | None = None,
    ids: Any = None,
) -> RowSource:
    """Open rows on disk; they are read block by block, as often as an algorithm needs them.

    Parameters
    ----------
    path : path, sequence of paths, pyarrow.dataset.Dataset, polars.LazyFrame or DuckDB relation
        A ``.npy`` file with a matrix, or a file with one column per feature: Parquet, Feather
        (``.feather``, ``.arrow``, ``.ipc``), CSV (``.csv``, ``.csv.gz``, ``.tsv``). A folder of
        such files, a pattern such as ``"big/*.parquet"`` or a list of files stands for the rows of
        all of them, one file after the other (``part-2`` before ``part-10``). Text files and
        queries, which cannot be read from the middle, are written once into a temporary Arrow or
        Parquet file (in ``TMPDIR``), which is removed together with the rows. What was decoded is
        kept for the next pass: in memory where all of it fits into half of the memory budget, else
        in a temporary file of plain numbers in ``TMPDIR``, which nothing leaves behind. It is
        written where the folder is on a disk with three times its size free; elsewhere files are
        decoded in every pass.
    columns : sequence of str, default=None
        Columns to use; by default all numeric ones but the ids, which all files must have in the
        same order.
    memory_budget : int or str, default=None
        Bytes that blocks may take in memory at the same time, or a size such as ``"500MB"``; by
        default that of ``with memory(...)``, else 256 MB.
    id_column : str, default=None
        Column that names the rows: no feature, and what the ids of constraints are looked up in.
        Without it, and without ``columns``, a column of whole numbers or text, each there once,
        whose name says so (``id``, ``customer_id``, the index of pandas) is taken. The ids are held
        in memory, and no two files may share one.
    ids : array of shape (n_rows,), default=None
        Names of the rows, for files without such a column, such as ``.npy``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from sidelight.cluster import KMeans
    >>> from sidelight.engine import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.npy"
    ...     np.save(path, np.array([[0.0], [0.1], [5.0], [5.1]]))
    ...     labels = KMeans(n_clusters=2, random_state=0).fit_predict(open_rows(path))
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    from sidelight.engine._open import open_on_disk

    if not is_on_disk(path):
        raise SidelightError(
            f"open_rows opens files, datasets and queries, not {type(path).__name__}; as_rows(X) "
            "takes arrays."
        )
    return open_on_disk(path, columns, memory_budget, id_column=id_column, ids=ids)


def equal_blocks(n_rows: int, rows_per_block: int) -> list[tuple[int, int]]:
    """Cut ``n_rows`` into blocks of ``rows_per_block`` rows, the last one shorter."""
    return [
        (start, min(start + rows_per_block, n_rows)) for start in range(0, n_rows, rows_per_block)
    ]


def floating_dtype(dtype: Any) -> np.dtype[Any]:
    """Element type that rows of this type are computed in: float32 stays, float64 otherwise."""
    return (
        np.dtype(np.float32) if np.result_type(dtype, np.float32) == np.float32 else np.dtype(float)
    )
