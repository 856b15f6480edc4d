"""Local clusterings: the classes of a known split, and a base clusterer fitted to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.cluster.kmeans import KMeans
from sidelight.constraints import KnownSplits
from sidelight.exceptions import ConstraintWarning, InvalidParameter

#: Names of the number of clusters of a base clusterer.
NUMBERS = ("n_clusters", "n_components")

#: Starts of the base clusterer where none is given: with as many runs, no slower than k-means.
BASE_STARTS = 3

#: Largest number of classes that are named in a warning.
SHOWN = 3


@dataclass(frozen=True)
class KnownClass:
    """The rows of one known class.

    Attributes
    ----------
    name : str
        Name of the class, or of the classes of a cell of the product.
    rows : array or CSR matrix
        Rows of the class.
    n_clusters : int
        Number of clusters to look for.
    """

    name: str
    rows: Any
    n_clusters: int


@dataclass(frozen=True)
class LocalModel:
    """A base clusterer fitted to one class.

    Attributes
    ----------
    model : estimator
        The fitted clusterer.
    classes : ndarray
        Labels that it gave to the rows of the fit, ascending.
    codes : ndarray of int64
        Number of every label, counted in the order in which they occur first: whatever the
        clusterer calls its clusters, the combination is the same.
    """

    model: Any
    classes: Array
    codes: IntArray

    @classmethod
    def of(cls, model: Any, rows: Any) -> tuple[LocalModel, IntArray]:
        """Label all rows of the fit, and number the labels."""
        given = np.asarray(model.predict(rows))
        classes, first, places = np.unique(given, return_index=True, return_inverse=True)
        codes = np.argsort(np.argsort(first))
        return cls(model, classes, codes), codes[places.reshape(-1)]

    def labels(self, rows: Any) -> IntArray:
        """Numbers of the labels of other rows; -1 for a label that no row of the fit has."""
        given = np.asarray(self.model.predict(rows))
        places = np.minimum(np.searchsorted(self.classes, given), len(self.classes) - 1)
        return np.where(self.classes[places] == given, self.codes[places], -1)


def split_rows(
    rows: Any, cells: IntArray, splits: KnownSplits, numbers: IntArray
) -> list[KnownClass]:
    """Cut the rows into the classes of the known splits; small ones look for fewer clusters."""
    sizes = np.bincount(cells, minlength=len(numbers))
    order = np.split(np.argsort(cells, kind="stable"), np.cumsum(sizes)[:-1])
    names = cell_names(splits, cells)
    fewer = np.flatnonzero(sizes < numbers)
    if len(fewer):
        shown = ", ".join(
            f"{names[cell]} ({counted(int(sizes[cell]), 'row')})" for cell in fewer[:SHOWN]
        )
        more = f" and {len(fewer) - SHOWN} more" if len(fewer) > SHOWN else ""
        warn(
            f"{counted(len(fewer), 'known class')} {'has' if len(fewer) == 1 else 'have'} fewer "
            f"rows than the clusters looked for within: {shown}{more}. As many clusters as rows "
            "are looked for there, and a class of one row has no say.",
            ConstraintWarning,
        )
    return [
        KnownClass(
            names[cell], rows if len(sizes) == 1 else rows[members], min(int(number), len(members))
        )
        for cell, (members, number) in enumerate(zip(order, numbers.tolist(), strict=True))
    ]


def cell_names(splits: KnownSplits, cells: IntArray) -> list[str]:
    """Names of the cells of the product: that of the class, or those of all classes."""
    if splits.is_empty:
        return ["all rows"]
    first = np.unique(cells, return_index=True)[1]
    columns = [
        [f"{split} = {name}" for name in names[codes[first]].tolist()]
        for split, codes, names in zip(
            splits.split_names, splits.codes.T, splits.class_names, strict=True
        )
    ]
    return [" and ".join(names) for names in zip(*columns, strict=True)]


def fit_local(base: Any, part: KnownClass, seed: int) -> Any:
    """Fit the base clusterer to the rows of a class."""
    return configured(base, part.n_clusters, seed).fit(part.rows)


def configured(base: Any, n_clusters: int, seed: int) -> Any:
    """A copy of the base clusterer with this number of clusters and seed, where it has them."""
    if base is None:
        return KMeans(n_clusters, n_init=BASE_STARTS, random_state=seed)
    name = number_parameter(base)
    chosen: dict[str, Any] = {} if name is None else {name: n_clusters}
    prefix = _prefix(base)
    if f"{prefix}random_state" in base.get_params():
        chosen[f"{prefix}random_state"] = seed
    return clone(base).set_params(**chosen)


def number_parameter(base: Any) -> str | None:
    """Parameter of a clusterer, or of the last step of a pipeline, with its number of clusters."""
    parameters = base.get_params()
    names = [f"{_prefix(base)}{number}" for number in NUMBERS]
    return next((name for name in names if name in parameters), None)


def _prefix(base: Any) -> str:
    return f"{base.steps[-1][0]}__" if hasattr(base, "steps") else ""


def check_base(base: Any, n_local: Any) -> None:
    """Raise unless the base clusterer can be fitted to a class and label all rows."""
    if base is None:
        return
    name = type(base).__name__
    if isinstance(base, type):
        raise InvalidParameter(
            f"estimator must be a clusterer such as {base.__name__}(), not its class."
        )
    for method in ("fit", "predict", "get_params"):
        if not hasattr(base, method):
            raise InvalidParameter(
                "estimator must be a clusterer with fit and predict, since the model of a class "
                f"labels all rows; {name} has no {method}."
            )
    if n_local is not None and number_parameter(base) is None:
        raise InvalidParameter(
            f"n_local was given, but {name} has no n_clusters or n_components to set to it."
        )


def takes_sparse(base: Any) -> bool:
    """Whether a base clusterer declares that it takes CSR matrices."""
    if isinstance(base, type) or not hasattr(base, "__sklearn_tags__"):
        return False
    return bool(get_tags(base).input_tags.sparse)
