"""What is not in memory, as its libraries make it: nothing of them is installed for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np


class Array:
    """A Dask array: NumPy pulls it into memory without being asked twice."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values)
        self.shape, self.ndim, self.dtype = (
            self._values.shape,
            self._values.ndim,
            self._values.dtype,
        )
        self.pulled = 0

    def __dask_graph__(self) -> dict[str, int]:
        return {"rows": 0}

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.pulled += 1
        return self._values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: Any) -> Any:
        self.pulled += 1
        return self._values[key]

    def compute(self) -> Any:
        return self._values


class DataFrame(Array):
    """A Dask data frame: it has names of columns, and looks like one of pandas."""

    @property
    def columns(self) -> list[str]:
        return [f"x{j}" for j in range(self.shape[1])]

    iloc = loc = index = None


class LazyFrame:
    """A query of polars that has not run."""

    def __init__(self, values: Any) -> None:
        self.columns = [f"x{j}" for j in range(np.shape(values)[1])]

    def __len__(self) -> int:
        raise TypeError("a lazy frame has no length")


Array.__module__ = "dask.array.core"
DataFrame.__module__ = "dask.dataframe.dask_expr._collection"
LazyFrame.__module__ = "polars.lazyframe.frame"
