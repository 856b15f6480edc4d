"""The shape in which every generator and loader returns its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sidelight.constraints import Constraints


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data matrix with its classes and where it comes from.

    Attributes
    ----------
    data : ndarray or CSR array of shape (n, d)
        Numbers only; missing values are NaN.
    target : ndarray of int64, shape (n,)
        Class of each row as a position in ``target_names``; -1 where unknown.
    feature_names : tuple of str
        Names of the columns.
    target_names : tuple of str
        Names of the classes.
    description : str
        What it is, its source, and what to know about it.
    ids : tuple of str or None
        Names of the rows.
    constraints : Constraints or None
        What is known about the rows, where the set comes with side information.
    extras : mapping of str to object
        More that belongs to the set; each generator says what.
    """

    data: Any
    target: npt.NDArray[np.int64]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    description: str
    ids: tuple[str, ...] | None = None
    constraints: Constraints | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.data.shape[1])

    def __repr__(self) -> str:
        title = self.description.split("\n", 1)[0]
        return (
            f"Dataset({self.n_samples} rows, {self.n_features} features, "
            f"{len(self.target_names)} classes: {title})"
        )
