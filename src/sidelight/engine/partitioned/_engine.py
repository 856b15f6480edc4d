"""What an engine does: four verbs on partitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

Work = Callable[[Any, Any], Any]


class Loss(NamedTuple):
    """A worker that was lost during a pass.

    Attributes
    ----------
    worker : str
        Its name.
    n_partitions : int
        Number of its partitions that were done again elsewhere.

    Examples
    --------
    >>> from sidelight.engine import Loss
    >>> Loss("tcp://10.0.0.7:41203", 3).n_partitions
    3
    """

    worker: str
    n_partitions: int


class Engine(ABC):
    """Where partitions of rows live, and how work is brought to them.

    An engine of your own implements :meth:`partitions` and :meth:`map_in_order`; that is all that
    a fit needs. :meth:`persist` and :meth:`write` have plain forms that suit every engine.

    A partition is whatever :func:`sidelight.engine.as_rows` takes on the side of the worker: an
    array, a CSR matrix, a data frame of numbers, a path.

    Attributes
    ----------
    sizes : mapping of int to int
        Number of rows of each partition, once they have been looked at.

    Examples
    --------
    Partitions that are loaded when it is their turn, one after the other:

    >>> import numpy as np
    >>> from sidelight.cluster import KMeans
    >>> from sidelight.engine import Engine, PartitionedRows
    >>> class Loaded(Engine):
    ...     def __init__(self, loaders):
    ...         self.loaders = loaders
    ...
    ...     def partitions(self):
    ...         return [f"part {number}" for number in range(len(self.loaders))]
    ...
    ...     def map_in_order(self, work, orders):
    ...         for number in sorted(orders):
    ...             yield number, work(self.loaders[number](), orders[number])
    >>> engine = Loaded([lambda: np.array([[0.0], [0.1]]), lambda: np.array([[5.0], [5.1]])])
    >>> model = KMeans(2, random_state=0).fit(PartitionedRows(engine))
    >>> model.cluster_sizes_.tolist()
    [2, 2]
    """

    sizes: Mapping[int, int] = MappingProxyType({})

    @abstractmethod
    def partitions(self) -> Sequence[str]:
        """Return the names of the partitions, in the order of their rows, for messages."""

    @abstractmethod
    def map_in_order(self, work: Work, orders: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
        """Yield ``(number, work(partition, order))`` for numbered partitions, by their numbers.

        ``work`` and the orders are pickled by value (cloudpickle) and may be carried out in any
        order, on any worker, and more than once: results of a second time are left out.
        """

    def persist(self) -> None:  # noqa: B027  (what is read anew each time needs nothing)
        """Keep the partitions where they are worked on, as far as there is room."""

    def write(
        self, fill: Callable[[Any, Any, str], Any], orders: Mapping[int, Any], files: Sequence[Path]
    ) -> None:
        """Write a file for each partition: ``fill(partition, order, path)`` beside it.

        The workers have to reach the folder, as on one machine or a shared disk.
        """
        named = {number: (order, str(files[number])) for number, order in orders.items()}
        for _ in self.map_in_order(_Fill(fill), named):
            pass

    def losses(self) -> list[Loss]:
        """Return the workers that were lost since the last call."""
        return []

    @property
    def workers(self) -> int:
        """Number of partitions that can be worked on at the same time."""
        return 1


class _Fill:
    """Write the file of a partition."""

    def __init__(self, fill: Callable[[Any, Any, str], Any]) -> None:
        self._fill = fill

    def __call__(self, partition: Any, order: tuple[Any, str]) -> None:
        self._fill(partition, *order)
