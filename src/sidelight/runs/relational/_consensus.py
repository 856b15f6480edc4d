"""Several partitions of the same objects: the one that is nearest to all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import listed, worded
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import read_table
from sidelight.io._columns import class_values
from sidelight.runs._shared import (
    PathLike,
    estimator_for,
    knowledge_about,
    method_for,
    paths_of,
    timed_fit,
)
from sidelight.runs.relational._shared import GraphRun, objects_table

DEFAULT = "consensus-clustering"
#: Partitions with missing rows that are named.
MOST_GAPS = 5


@dataclass(frozen=True, eq=False)
class ConsensusRequest:
    """What is asked for: a table with a column for every partition.

    Attributes
    ----------
    data : path-like
        The table.
    method : str
        Name of the method in the catalog.
    columns : sequence of str or None
        Columns that hold a partition each; by default all but the ids.
    id_column, truth : str or None
        Columns with the ids, and with the true classes (for the scores only).
    constraints : Constraints, path-like or None
        What is known for certain, or the file that holds it.
    must_link, cannot_link : path-like or None
        Files of pairs, two ids per line.
    settings : mapping of str to object
        Parameters of the method.
    seed : int
        Seed of the random numbers.
    """

    data: PathLike
    method: str = DEFAULT
    columns: Sequence[str] | None = None
    id_column: str | None = None
    truth: str | None = None
    constraints: Any = None
    must_link: PathLike | None = None
    cannot_link: PathLike | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return paths_of(self.data, self.constraints, self.must_link, self.cannot_link)


@dataclass(frozen=True, eq=False, repr=False)
class ConsensusRun(GraphRun):
    """A consensus of partitions, and how far from it each of them is.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes, files
        As in every run about a graph: the fitted estimator, and what it was given.
    partitions : ndarray of shape (n_objects, n_partitions)
        The partitions as codes; -1 where a partition does not know an object.
    names : tuple of str
        Their columns.
    """

    partitions: Array
    names: tuple[str, ...]

    @property
    def distances(self) -> dict[str, float]:
        """Share of its pairs about which a partition and the consensus differ."""
        known = (self.partitions >= 0).sum(axis=0)
        pairs = np.maximum(known * (known - 1) / 2, 1.0)
        return dict(zip(self.names, (self.estimator.distances_ / pairs).tolist(), strict=True))

    def _own_facts(self) -> dict[str, Any]:
        facts = {
            name: getattr(self.estimator, f"{name}_", None) for name in ("objective", "lower_bound")
        }
        return {
            "n_partitions": len(self.names),
            **facts,
            "distances": self.distances,
            "largest": self.largest(10),
        }


def consensus(request: ConsensusRequest) -> ConsensusRun:
    """Find the partition that is nearest to several ones.

    Parameters
    ----------
    request : ConsensusRequest
        What is asked for.

    Returns
    -------
    ConsensusRun
        The fitted estimator with its data and ways to write it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.runs import ConsensusRequest, consensus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "votes.csv"
    ...     _ = file.write_text("id,a,b,c\\nann,1,x,1\\nbob,1,x,2\\ncid,2,y,2\\n")
    ...     found = consensus(ConsensusRequest(file))
    >>> found.names, found.n_clusters
    (('a', 'b', 'c'), 2)
    """
    method = method_for("consensus", request.method)
    estimator = estimator_for(method, request.settings, request.seed)
    table = read_table(
        request.data,
        id_column=request.id_column,
        truth_column=request.truth,
        columns=None if request.columns is None else list(request.columns),
        as_columns=True,
    )
    if table.columns is None:
        raise SidelightError(
            f"{table.path} has no names of columns; give the partitions as a table (.csv, .tsv, "
            ".xlsx, .parquet)."
        )
    names = table.feature_names
    if len(names) < 2:
        raise InvalidRequest(
            f"{table.path} has one partition, the column {names[0]!r}; a consensus needs at least "
            f"two columns of clusters ({worded('columns=', '--columns')})."
        )
    partitions = np.column_stack(
        [_codes(class_values(table.columns.column(name))) for name in names]
    )
    data = objects_table(
        table.ids, table.n_rows, table.path, truth=table.truth, truth_column=table.truth_column
    )
    knowledge: Constraints = knowledge_about(
        data, request.constraints, request.must_link, request.cannot_link
    )
    seconds = timed_fit(method, estimator, partitions, constraints=knowledge)
    return ConsensusRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=(*table.notes, *_gaps(partitions, names), *knowledge.notes),
        files=tuple(request.inputs),
        partitions=partitions,
        names=tuple(names),
    )


def _codes(values: Array) -> Array:
    """Clusters of a column as numbers from 0; -1 where the partition has none."""
    missing = values == ("" if values.dtype.kind == "U" else -1)
    codes = np.full(len(values), -1, np.int64)
    codes[~missing] = np.unique(values[~missing], return_inverse=True)[1].reshape(-1)
    return codes


def _gaps(partitions: Array, names: Sequence[str]) -> tuple[str, ...]:
    """Tell of rows that a partition does not know."""
    missing = (partitions < 0).sum(axis=0)
    if not missing.any():
        return ()
    gaps = [f"{name!r} ({n:,})" for name, n in zip(names, missing.tolist(), strict=True) if n]
    return (f"Rows without a cluster say nothing there: {listed(gaps[:MOST_GAPS])}.",)
