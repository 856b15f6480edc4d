"""Checks of what users give as conditions: names, masks and least numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import frozen
from sidelight.exceptions import SidelightError


def check_mapping(conditions: Any) -> dict[str, tuple[Any, Any]]:
    """Conditions by name, each a pair of a mask and a number."""
    if conditions is None:
        return {}
    if not isinstance(conditions, Mapping):
        raise SidelightError(
            'Conditions are given by name, as in {"smoker": (mask, 5)}, not as '
            f"{type(conditions).__name__}."
        )
    for name, value in conditions.items():
        if not isinstance(name, str):
            raise SidelightError(f"The name of a condition must be a text, got {name!r}.")
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise SidelightError(
                f"The condition {name!r} must be a pair of a mask and a number, as in (mask, 5)."
            )
    return {name: tuple(value) for name, value in conditions.items()}


def read_index(ids: Any) -> RowIndex:
    """Ids of the rows, all different, and where each is."""
    index = RowIndex(canonical.as_ids(ids))
    canonical.check_unique(index)
    return index


def read_mask(mask: Any, n: int, name: str, index: RowIndex | None) -> Array:
    """Rows with a property as True and False, in the order of the ids."""
    if mask is None:
        return np.ones(n, dtype=bool)
    if index is not None:
        places = alignment.rows_in_order(index, n, mask, f"the mask of {name!r}")
        if places is not None:
            mask = mask.iloc[np.argsort(places)]
    try:
        values = np.asarray(mask)
    except (ValueError, TypeError) as error:
        raise SidelightError(
            f"The mask of {name!r} must be True or False for every row."
        ) from error
    if values.dtype == object and all(isinstance(v, bool | np.bool_) for v in values.ravel()):
        values = values.astype(bool)
    if values.shape != (n,):
        raise SidelightError(
            f"The mask of {name!r} must hold True or False for each of the {n} rows, got shape "
            f"{values.shape}."
        )
    if values.dtype != bool:
        plain = values.dtype.kind in "iuf" and bool(np.all((values == 0) | (values == 1)))
        if not plain:
            row = _first_odd(values)
            raise SidelightError(
                f"The mask of {name!r} must hold True or False (or 1 or 0) for every row; row "
                f"{row} has {values[row]!r}. A condition on a column is written as an expression: "
                "Conditions.from_expressions(table, ['count(age >= 60) >= 5'])."
            )
        values = values == 1
    return values


def _first_odd(values: Array) -> int:
    for row, value in enumerate(values.tolist()):
        if not isinstance(value, bool) and value not in (0, 1):
            return row
    return 0


def read_least(m: Any, name: str) -> Any:
    """One number, or one for each cluster."""
    values = np.asarray(m)
    whole = values.dtype.kind in "iu" or (
        values.dtype.kind == "f"
        and bool(np.all(np.isfinite(values) & (values == np.floor(values))))
    )
    if not whole or values.ndim > 1 or values.size == 0 or np.any(values < 0):
        raise SidelightError(
            f"The condition {name!r} needs a whole number of rows that is not negative, or one for "
            f"each cluster, got {m!r}."
        )
    if values.ndim == 0:
        return int(values)
    return frozen(values.astype(np.int64))


def different_names(names: list[str]) -> list[str]:
    """Names of conditions, the second of a name with a number behind it."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def same_ids(one: Array | None, other: Array | None) -> bool:
    """Whether both have the same ids, or both none."""
    if one is None or other is None:
        return one is None and other is None
    return bool(np.array_equal(one, other))


def number_text(m: Any) -> str:
    """A least number as text, or those of the clusters with slashes between them."""
    return str(m) if np.ndim(m) == 0 else "/".join(map(str, m))
