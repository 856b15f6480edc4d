"""A heap of tagged keys in two arrays: the smallest key first, of equal keys the smallest tag."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def grown(array: Array) -> Array:
    """A copy of an array in one that is twice as long."""
    longer = np.empty(2 * array.shape[0], array.dtype)
    for place in range(array.shape[0]):
        longer[place] = array[place]
    return longer


@kernel
def sift_up(keys: Array, tags: Array, size: int, key: float, tag: Any) -> None:
    """Put an entry into a heap of this size, which has room for it. Four children per entry."""
    place = size
    while place > 0:
        parent = (place - 1) >> 2
        if keys[parent] < key or (keys[parent] == key and tags[parent] < tag):
            break
        keys[place], tags[place] = keys[parent], tags[parent]
        place = parent
    keys[place], tags[place] = key, tag


@kernel
def sift_down(keys: Array, tags: Array, size: int) -> None:
    """Take the first entry out: the last one of the heap, ``size`` after it, takes its place."""
    key, tag = keys[size], tags[size]
    place = 0
    while True:
        child = 4 * place + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if keys[other] < keys[least] or (
                keys[other] == keys[least] and tags[other] < tags[least]
            ):
                least = other
        if key < keys[least] or (key == keys[least] and tag < tags[least]):
            break
        keys[place], tags[place] = keys[least], tags[least]
        place = least
    keys[place], tags[place] = key, tag
