"""Who does which partition: holders first, loads even, the same every time."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sidelight.engine.dask._groups import group_by_worker

NAMES = ["a", "b", "c", "d"]


@st.composite
def clusters(draw: Any) -> Any:
    workers = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    n = draw(st.integers(0, 12))
    holders = {i: draw(st.lists(st.sampled_from(NAMES), unique=True)) for i in range(n)}
    before = {i: draw(st.sampled_from(NAMES)) for i in range(n) if draw(st.booleans())}
    sizes = {i: float(draw(st.integers(0, 9))) for i in range(n)}
    return holders, workers, before, sizes


@given(clusters())
def test_every_partition_goes_to_one_worker_that_is_there(cluster: Any) -> None:
    holders, workers, before, sizes = cluster
    groups = group_by_worker(holders, workers, before, sizes)
    assert sorted(n for numbers in groups.values() for n in numbers) == sorted(holders)
    assert set(groups) <= set(workers)
    assert groups == group_by_worker(holders, workers[::-1], before, sizes)


@given(clusters())
def test_no_single_move_would_shorten_the_pass_much(cluster: Any) -> None:
    holders, workers, before, sizes = cluster
    groups = group_by_worker(holders, workers, before, sizes)
    loads = {w: sum(sizes[n] for n in groups.get(w, [])) for w in workers}
    most, least = max(loads.values()), min(loads.values())
    for worker, numbers in groups.items():
        if loads[worker] == most:
            assert all(least + 1.25 * sizes[n] >= most for n in numbers)


@given(clusters())
def test_groups_that_were_even_stay_as_they_are(cluster: Any) -> None:
    holders, workers, before, sizes = cluster
    groups = group_by_worker(holders, workers, before, sizes)
    where = {n: worker for worker, numbers in groups.items() for n in numbers}
    there = {n: [worker] for n, worker in where.items()}
    assert group_by_worker(there, workers, where, sizes) == groups


def test_a_worker_that_came_late_gets_its_part() -> None:
    holders = {n: ["a"] for n in range(8)}
    groups = group_by_worker(
        holders, ["a", "b"], dict.fromkeys(range(8), "a"), dict.fromkeys(range(8), 1.0)
    )
    assert {worker: len(numbers) for worker, numbers in groups.items()} == {"a": 4, "b": 4}
