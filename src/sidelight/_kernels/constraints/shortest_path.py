"""Shortest chains of must-links, classes and groups between rows (breadth-first search)."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def _reach(row: int, members: Array, previous: Array, queue: Array, tail: int) -> int:
    """Put the members that were not seen before into the queue; return its new end."""
    for member in members:
        if previous[member] == -1:
            previous[member] = row
            queue[tail] = member
            tail += 1
    return tail


@kernel
def shortest_chain(
    sources: Array,
    goal_row: int,
    own_class: int,
    longest: int,
    link_start: Array,
    links: Array,
    labels: Array,
    label_start: Array,
    label_rows: Array,
    groups: Array,
    group_start: Array,
    group_rows: Array,
    previous: Array,
    queue: Array,
) -> Array:
    """Rows of a shortest chain from a source to a goal, empty if it takes over ``longest`` links.

    The goal is a row, or with ``own_class`` any row of another class than that (-1 for neither). A
    class or a group is visited once and reaches all its members in one link, so that nothing
    quadratic is needed. ``previous`` comes in and goes out filled with -1; a source is its own
    predecessor.
    """
    tail = 0
    for row in sources:
        previous[row] = row
        queue[tail] = row
        tail += 1
    label_seen = np.zeros(label_start.shape[0], np.bool_)
    group_seen = np.zeros(group_start.shape[0], np.bool_)
    found = -1
    head = 0
    level_end = tail
    level = 0
    while head < tail:
        # Breadth-first search, level by level: chains of one more link.
        if head == level_end:
            level += 1
            level_end = tail
        row = queue[head]
        head += 1
        # A row of another class than ``own_class`` ends the chain, too.
        if row == goal_row or (own_class >= 0 and labels[row] >= 0 and labels[row] != own_class):
            found = row
            break
        if level == longest:
            continue
        # Neighbors by must-links, then by a class and by a group, each of which is expanded once.
        tail = _reach(row, links[link_start[row] : link_start[row + 1]], previous, queue, tail)
        if labels.shape[0] and labels[row] >= 0 and not label_seen[labels[row]]:
            code = labels[row]
            label_seen[code] = True
            members = label_rows[label_start[code] : label_start[code + 1]]
            tail = _reach(row, members, previous, queue, tail)
        if groups.shape[0] and groups[row] >= 0 and not group_seen[groups[row]]:
            code = groups[row]
            group_seen[code] = True
            members = group_rows[group_start[code] : group_start[code + 1]]
            tail = _reach(row, members, previous, queue, tail)
    chain = _walk_back(found, previous, level)
    for place in range(tail):
        previous[queue[place]] = -1
    return chain


@kernel
def _walk_back(found: int, previous: Array, level: int) -> Array:
    if found < 0:
        return np.empty(0, np.int64)
    chain = np.empty(level + 1, np.int64)
    row = found
    for place in range(level, -1, -1):
        chain[place] = row
        row = previous[row]
    return chain
