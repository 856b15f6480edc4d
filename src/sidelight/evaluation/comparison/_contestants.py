"""Methods that are compared: from names or estimators to fits with a number of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sidelight import catalog
from sidelight._words import worded
from sidelight.engine import RowSource
from sidelight.evaluation._candidates import set_seed, takers
from sidelight.exceptions import InconsistentConstraints, SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints

#: Numbers of clusters that are tried where none is given.
FEWEST, MOST = 2, 8
#: How many numbers of clusters are tried at least, where cannot-links ask for many.
AT_LEAST = 4
#: What stands for a method without the knowledge where the method cannot do without.
BASELINE = "kmeans"


@dataclass(frozen=True)
class Contestant:
    """A method in a comparison.

    Attributes
    ----------
    name : str
        Name of the method.
    estimator : object
        Estimator that is cloned for every fit.
    size : str or None
        Parameter that sets the number of clusters; None if the method finds it.
    learns : bool
        Whether the method uses anything of what is known.
    """

    name: str
    estimator: Any
    size: str | None
    learns: bool

    def make(self, k: int | None, seed: int) -> Any:
        """Return an estimator that is ready to be fitted."""
        estimator = clone(self.estimator)
        if k is not None and self.size is not None:
            estimator.set_params(**{self.size: k})
        return set_seed(estimator, seed)

    @property
    def predicts(self) -> bool:
        """Whether new rows can be assigned to its clusters."""
        return hasattr(self.estimator, "predict")


def choose_contestants(methods: Any, X: Any, known: Constraints) -> list[Contestant]:
    """Make contestants of names, of a mapping of estimators, or of what the catalog proposes."""
    if methods is None:
        methods = _proposed(X, known)
    if isinstance(methods, str):
        methods = [name for name in methods.split(",") if name.strip()]
    if isinstance(methods, Mapping):
        made = [
            Contestant(str(name), estimator, size_parameter(estimator), learns(estimator, known))
            for name, estimator in methods.items()
        ]
    elif isinstance(methods, Iterable):
        made = [named(name, known) for name in dict.fromkeys(methods)]
    else:
        raise TypeError(f"methods must be names or a mapping, not {type(methods).__name__}.")
    if not made:
        raise SidelightError(
            "No method is left to compare: name some with "
            + worded("methods=", "--methods")
            + "; `sidelight methods` lists them."
        )
    return made


def named(name: Any, known: Constraints) -> Contestant:
    """Make a contestant of a method of the catalog."""
    if not isinstance(name, str):
        raise TypeError(
            "methods must be names of the catalog; pass estimators as a mapping from a name to "
            f"each, got {type(name).__name__}."
        )
    method = catalog.get(name.strip(), kind="clusterer")
    if method.tags.kind != "clusterer":
        raise SidelightError(
            f"{method.name} gives {method.kind.gives}, and only clusters are compared; "
            + worded("put it into a pipeline with a clusterer.", "name methods that find clusters.")
        )
    estimator = method.cls()
    return Contestant(method.name, estimator, method.size_parameter, learns(estimator, known))


def _proposed(X: Any, known: Constraints) -> list[str]:
    """Names of the methods that the catalog proposes for such rows."""
    n_rows, n_features = (X.n_rows, X.n_features) if isinstance(X, RowSource) else X.shape
    missing = _has_gaps(X)
    found = catalog.candidates(
        known, n_rows, n_features, sparse=sparse.issparse(X), missing=missing
    )
    if missing and not found:
        raise SidelightError(
            "Values are missing, and no method that uses what is known models them: fill them "
            "first (sidelight.preparation.TablePreparer does), or name the methods."
        )
    return [method.name for method in found]


def _has_gaps(X: Any) -> bool:
    """Whether values of a table of numbers are missing."""
    if sparse.issparse(X) or isinstance(X, RowSource):
        return False
    try:
        return bool(np.isnan(np.asarray(X, dtype=np.float64)).any())
    except (TypeError, ValueError):  # columns of other kinds, for pipelines that take them
        return False


def size_parameter(estimator: Any) -> str | None:
    """Parameter that sets the number of clusters, that of the last step of a pipeline."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    parameters = estimator.get_params(deep=False)
    found = next((size for size in ("n_clusters", "n_components") if size in parameters), None)
    return None if found is None else prefix + found


def learns(estimator: Any, known: Constraints) -> bool:
    """Whether anything of what is known changes a fit."""
    kinds = {kind.replace("_", "-") for kind, number in known.counts.items() if number}
    for _, part in takers(estimator):
        tags = getattr(part, "__sidelight_tags__", None)
        if kinds and (tags is None or kinds & set(tags().knowledge)):
            return True
    return False


# --- numbers of clusters ----------------------------------------------------------------------


def choose_numbers(n_clusters: Any, known: Constraints, n_rows: int) -> list[int]:
    """Numbers of clusters to try: those given, the number of known classes, or a usual range."""
    if n_clusters is None:
        if len(known.label_names) >= FEWEST:
            return [min(len(known.label_names), n_rows)]
        low = max(FEWEST, _needed(known))
        high = max(MOST, low + AT_LEAST - 1)
        return [k for k in range(low, high + 1) if k < n_rows] or [min(low, n_rows)]
    given = [n_clusters] if isinstance(n_clusters, Integral) else list(n_clusters)
    numbers = sorted({int(k) for k in given if isinstance(k, Integral)})
    if not numbers or len(given) != len([k for k in given if isinstance(k, Integral)]):
        raise SidelightError(
            f"{worded('n_clusters', '-k')} must be a whole number, a range or a list of them, got "
            f"{n_clusters!r}."
        )
    if numbers[0] < 1 or numbers[-1] > n_rows:
        raise SidelightError(
            f"{worded('n_clusters', '-k')} must be between 1 and the number of rows, {n_rows}, got "
            f"{numbers[0] if numbers[0] < 1 else numbers[-1]}."
        )
    return numbers


def _needed(known: Constraints) -> int:
    """Number of clusters that the cannot-links need at least; 1 where they contradict others."""
    try:
        return int(known.feasibility(1).lower)
    except InconsistentConstraints:
        return 1


def middle_out(numbers: list[int]) -> list[int]:
    """The numbers from the middle one outwards.

    Examples
    --------
    >>> middle_out([2, 3, 4, 5, 6])
    [4, 3, 5, 2, 6]
    """
    middle = (len(numbers) - 1) / 2
    order = sorted(range(len(numbers)), key=lambda place: (abs(place - middle), place))
    return [numbers[place] for place in order]
