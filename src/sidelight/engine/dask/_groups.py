"""Which worker does which partition in a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def group_by_worker(
    holders: Mapping[int, Sequence[str]],
    workers: Sequence[str],
    before: Mapping[int, str],
    sizes: Mapping[int, float],
) -> dict[str, list[int]]:
    """Give every partition to a worker; return the partitions of each.

    A partition stays with the worker of the pass before if that still holds it, since the values
    of its rows are there, and goes to another holder otherwise. What no worker holds, and what a
    worker has too much of, goes to the worker with the least to do: a worker that comes late gets
    its part, and moving stops where it would not shorten the pass.

    Parameters
    ----------
    holders : mapping of int to sequence of str
        Workers that hold each partition.
    workers : sequence of str
        All workers.
    before : mapping of int to str
        Worker of each partition in the pass before.
    sizes : mapping of int to float
        Work of each partition, such as its number of rows.

    Returns
    -------
    groups : dict of str to list of int
        Numbers of the partitions of each worker, ascending; only workers that have some.
    """
    order = {worker: place for place, worker in enumerate(sorted(workers))}
    load = dict.fromkeys(order, 0.0)
    groups: dict[str, list[int]] = {worker: [] for worker in order}

    def give(number: int, worker: str) -> None:
        groups[worker].append(number)
        load[worker] += sizes[number]

    def least(among: Sequence[str]) -> str:
        return min(among, key=lambda worker: (load[worker], order[worker]))

    homeless = []
    for number in sorted(holders):
        there = [worker for worker in holders[number] if worker in order]
        last = before.get(number)
        if last in there:
            give(number, last)
        elif there:
            give(number, least(there))
        else:
            homeless.append(number)
    for number in homeless:
        give(number, least(list(order)))
    _even_out(groups, load, sizes, order)
    return {worker: sorted(numbers) for worker, numbers in groups.items() if numbers}


def _even_out(
    groups: dict[str, list[int]],
    load: dict[str, float],
    sizes: Mapping[int, float],
    order: Mapping[str, int],
) -> None:
    """Move partitions from the worker with the most to that with the least, while it pays."""
    for _ in range(sum(map(len, groups.values()))):
        most = max(groups, key=lambda worker: (load[worker], -order[worker]))
        least = min(groups, key=lambda worker: (load[worker], order[worker]))
        # A move costs a copy of the partition: differences below a part of it are left.
        fitting = [n for n in groups[most] if load[least] + 1.25 * sizes[n] < load[most]]
        if not fitting:
            return
        number = max(fitting, key=lambda n: (sizes[n], n))
        groups[most].remove(number)
        groups[least].append(number)
        load[most] -= sizes[number]
        load[least] += sizes[number]
