"""Partitions in this process: one after the other, each by all threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sidelight.engine.partitioned._engine import Engine, Work


class LocalEngine(Engine):
    """Partitions of this process.

    Rows that do not fit into memory come piece by piece, and what passes leave for each row goes
    with its piece. What happens here is what happens on a cluster, without the cluster.

    Parameters
    ----------
    partitions : sequence
        What :func:`sidelight.engine.as_rows` takes, one after the other: arrays, files.
    names : sequence of str, default=None
        Names of the partitions, for messages.
    """

    def __init__(self, partitions: Sequence[Any], names: Sequence[str] | None = None) -> None:
        self._partitions = list(partitions)
        given = (getattr(one, "name", None) for one in partitions)
        self._names = list(names or (n or f"Partition {i}" for i, n in enumerate(given)))

    def partitions(self) -> Sequence[str]:
        """Return the names of the partitions."""
        return self._names

    def map_in_order(self, work: Work, orders: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
        """Yield what work gives for partitions, by their numbers."""
        for number in sorted(orders):
            yield number, work(self._partitions[number], orders[number])
