"""Several partitions of the same objects: the one that is nearest to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import worded
from sidelight.exceptions import InvalidRequest
from sidelight.io.inner import class_values
from sidelight.jobs._graph import GraphRun, objects_table, read_columns
from sidelight.jobs._method import estimator_for, method_for, timed_fit
from sidelight.jobs._table._knowledge import read_knowledge
from sidelight.jobs.consensus._facts import Partition, describe_partition, note_gaps
from sidelight.jobs.consensus._request import ConsensusRequest


@dataclass(frozen=True, eq=False, repr=False)
class ConsensusRun(GraphRun):
    """A consensus of partitions, and how far from it each of them is.

    Attributes
    ----------
    method, estimator, data, knowledge, seconds, notes
        As in every run about a graph: the fitted estimator, and what it was given.
    request : ConsensusRequest
        What was asked for.
    partitions : ndarray of shape (n_objects, n_partitions)
        The partitions as codes; -1 where a partition does not know an object.
    names : tuple of str
        Their columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import jobs
    >>> votes = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"], "c": [1, 2, 2]})
    >>> found = jobs.run("consensus", data=votes)
    >>> found.names, found.labels.tolist()
    (('a', 'b', 'c'), [0, 0, 1])
    """

    request: ConsensusRequest
    partitions: Array
    names: tuple[str, ...]

    @cached_property
    def described(self) -> list[Partition]:
        """The given partitions: clusters, missing rows, pairs that differ from the consensus."""
        about = zip(self.names, self.partitions.T, self.estimator.distances_, strict=True)
        return [describe_partition(*one) for one in about]

    @property
    def distances(self) -> dict[str, float]:
        """Share of its pairs about which a partition and the consensus differ."""
        return {one.name: one.distance for one in self.described}

    def _own_facts(self) -> dict[str, Any]:
        return {
            "n_partitions": len(self.names),
            **self.fitted("objective", "lower_bound"),
            "distances": self.distances,
            "largest": self.largest(10),
        }


def prepare(request: ConsensusRequest) -> ConsensusRun:
    """Find the partition that is nearest to several ones."""
    method = method_for("consensus", request.method)
    estimator = estimator_for(method, request.settings, request.seed)
    table = read_columns(
        request.data,
        "partitions",
        id_column=request.id_column,
        truth_column=request.truth,
        columns=None if request.columns is None else list(request.columns),
    )
    names = table.feature_names
    if len(names) < 2:
        raise InvalidRequest(
            f"{table.path} has one partition, the column {names[0]!r}; a consensus needs at least "
            f"two columns of clusters ({worded('columns=', '--columns')})."
        )
    columns: Any = table.columns
    partitions = np.column_stack([_codes(class_values(columns.column(name))) for name in names])
    data = objects_table(table.ids, table.n_rows, table.path, table)
    knowledge = read_knowledge(data, request)
    seconds = timed_fit(method, estimator, partitions, constraints=knowledge)
    return ConsensusRun(
        method=method,
        estimator=estimator,
        data=data,
        knowledge=knowledge,
        seconds=seconds,
        notes=(*table.notes, *note_gaps(partitions, names), *knowledge.notes),
        request=request,
        partitions=partitions,
        names=tuple(names),
    )


def _codes(values: Array) -> Array:
    """Return the clusters of a column as numbers from 0; -1 where the partition has none."""
    missing = values == ("" if values.dtype.kind == "U" else -1)
    codes = np.full(len(values), -1, np.int64)
    codes[~missing] = np.unique(values[~missing], return_inverse=True)[1].reshape(-1)
    return codes
