"""Arrays that a fitted model shares with the caller, wherever in the model they are."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

#: What is not part of a model, though it can be reached from one.
OUTSIDE = (type, types.ModuleType, types.FrameType, str, bytes, int, float)


def arrays_in(thing: Any) -> Iterator[np.ndarray]:
    """All arrays that can be reached from an object, by attributes, containers and closures."""
    seen: set[int] = set()
    todo = [thing]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, OUTSIDE):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            yield one
            if one.dtype.kind == "O":
                todo += one.ravel().tolist()
        elif isinstance(one, types.FunctionType):
            todo += [*(one.__closure__ or ()), *(one.__defaults__ or ())]
        else:
            todo += gc.get_referents(one)


def buffers_of(given: Any) -> list[np.ndarray]:
    """The arrays that hold the numbers of a table, a matrix or an array."""
    if sparse.issparse(given):
        return [
            getattr(given, name) for name in ("data", "indices", "indptr") if hasattr(given, name)
        ]
    if isinstance(given, pd.DataFrame):
        return [given.to_numpy(copy=False)]
    return [given]


def shared(model: Any, *given: Any) -> list[tuple[int, ...]]:
    """Shapes of the arrays of a model that lie in the memory of what was given."""
    lent = [part for one in given for part in buffers_of(one) if part.size]
    return [
        own.shape
        for own in arrays_in(vars(model))
        if any(np.may_share_memory(own, part) for part in lent)
    ]
