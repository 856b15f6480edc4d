"""A fitted estimator with its rows and what was known, checked once, for all pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.constraints import Conditions, Constraints, Violations
from sidelight.constraints.inner import align, check_one_index, own_ids, plain
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError

SHOWN_ID_LENGTH = 48

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Partition:
    """A grouping of the rows: ``codes`` point into ``names``; -1 belongs to no group.

    ``numbers`` are the clusters that the estimator means, without the classes they stand for.
    """

    codes: Codes
    names: tuple[str, ...]
    numbers: tuple[str, ...] = ()

    @cached_property
    def sizes(self) -> Codes:
        """Rows in each group."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    @property
    def n_outside(self) -> int:
        """Rows in no group."""
        return int(np.count_nonzero(self.codes < 0))

    def name(self, code: int) -> str:
        """Name a group for a table."""
        return self.names[code] if code >= 0 else "none"


@dataclass(frozen=True)
class Whole:
    """All rows of a fit, of which a picture shows a sample.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    sizes : mapping of str to int
        Number of rows of every cluster, by its number; ``-1`` stands for none.
    n_drawn : int
        Rows of the sample that were drawn at random: those that clusters are explained by.
    """

    n_rows: int
    sizes: Mapping[str, int]
    n_drawn: int


@dataclass(frozen=True)
class Given:
    """A fitted estimator together with what it was given."""

    estimator: Any
    rows: RowSource
    """The rows as the estimator got them."""
    source: RowSource
    """The rows with their missing values filled."""
    truth: Partition | None
    constraints: Constraints
    ids: Sequence[Any] | npt.NDArray[Any] | None
    feature_names: tuple[str, ...]
    whole: Whole | None = field(default=None, kw_only=True)
    """All rows, where these are a sample of them."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_all(self) -> int:
        """Number of rows of the fit."""
        return self.n_rows if self.whole is None else self.whole.n_rows

    def row_names(self, rows: Iterable[int]) -> list[str]:
        """Name rows the way the user does."""
        if self.ids is None:
            return [f"row {int(row)}" for row in rows]
        return [str(self.ids[int(row)]) for row in rows]


@dataclass(frozen=True)
class Run(Given):
    """The same for an estimator that found clusters."""

    clusters: Partition
    violations: Violations

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have rows."""
        if self.whole is None:
            return len(self.clusters.names)
        return len([number for number in self.whole.sizes if number != "-1"])

    @property
    def size_bounds(self) -> npt.NDArray[np.float64] | None:
        """Lower and upper bound of every cluster, where sizes were asked for and count rows."""
        bounds = getattr(self.estimator, "size_bounds_", None)
        if bounds is None or not np.array_equal(self.estimator.cluster_sizes_, self._all_sizes):
            return None
        return np.asarray(bounds, np.float64)[[int(number) for number in self.clusters.numbers]]

    @property
    def conditions(self) -> Conditions | None:
        """What every cluster had to hold, where that was asked for."""
        wanted = getattr(self.estimator, "conditions_", None)
        return wanted if isinstance(wanted, Conditions) and len(wanted) else None

    @property
    def n_sizes_violated(self) -> int:
        """Clusters that are smaller or larger than asked for."""
        bounds = self.size_bounds
        if bounds is None:
            return 0
        sizes = self.clusters.sizes
        return int(np.count_nonzero((sizes < bounds[:, 0]) | (sizes > bounds[:, 1])))

    @property
    def _all_sizes(self) -> Codes:
        """Rows in each cluster of the estimator, empty ones included."""
        labels = np.asarray(self.estimator.labels_)
        return np.bincount(labels[labels >= 0], minlength=len(self.estimator.size_bounds_))


def make_run(given: Given) -> Run:
    """Add what the estimator found."""
    labels = np.asarray(given.estimator.labels_)
    classes = getattr(given.estimator, "cluster_names_", ())
    return Run(
        **vars(given),
        clusters=clusters_of(labels, classes),
        violations=given.constraints.violations(labels),
    )


def make_given(
    estimator: Any,
    X: Any,
    *,
    constraints: Constraints | None,
    labels_true: Any,
    ids: Sequence[Any] | None,
    feature_names: Sequence[str] | None,
) -> Given:
    """Check that estimator, rows, constraints, true classes and ids are about the same thing."""
    rows = as_rows(X)
    labels = getattr(estimator, "labels_", None)
    n_rows = rows.n_rows if labels is None else len(labels)
    source = _filled(rows, estimator)
    _check_length("X has", source.n_rows, n_rows)
    if constraints is None:
        constraints = Constraints(n_samples=n_rows)
    _check_length("The constraints are about", constraints.n_samples, n_rows)
    constraints = align(constraints, X)
    if ids is not None:
        _check_length("ids names", len(ids), n_rows)
        ids = ids if isinstance(ids, list | tuple | np.ndarray) else list(ids)  # a pandas Series
    if labels_true is not None:
        _check_length("labels_true covers", len(labels_true), n_rows)
        check_one_index(labels_true, X, "labels_true")
    return Given(
        estimator=estimator,
        rows=rows,
        source=source,
        truth=None if labels_true is None else known_classes(labels_true),
        constraints=constraints,
        ids=_ids(constraints, X) if ids is None else ids,
        feature_names=feature_names_of(feature_names, X, estimator, source.n_features),
    )


def _ids(constraints: Constraints, X: Any) -> npt.NDArray[Any] | None:
    """Names of the rows: those of the constraints, else the index of a data frame."""
    return own_ids(X) if constraints.ids is None else constraints.ids


def _filled(source: RowSource, estimator: Any) -> RowSource:
    """Fill missing values, for the picture and the table of features."""
    tags = getattr(estimator, "__sidelight_tags__", None)
    if source.is_sparse or tags is None or not tags().missing:
        return source
    rows = source.take(np.arange(source.n_rows))
    missing = np.isnan(rows)
    if not missing.any():
        return source
    if hasattr(estimator, "impute"):
        return as_rows(estimator.impute(rows))
    means = rows.sum(axis=0, where=~missing) / np.maximum((~missing).sum(axis=0), 1)
    return as_rows(np.where(missing, means.astype(rows.dtype), rows))


def sample_rows(n_rows: int, most: int, rng: np.random.Generator) -> Codes:
    """Positions of all rows, or of a random sample of ``most`` rows, ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, most, replace=False))


def shorten(text: str, limit: int = SHOWN_ID_LENGTH) -> str:
    """Cut a long text in the middle, where ids tend to be alike.

    Examples
    --------
    >>> shorten("customer-0001-of-the-northern-region", 15)
    'custome…-region'
    """
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def shorten_words(text: str, limit: int) -> str:
    """Leave out words in the middle of a long name; a word itself is cut only if it is too long.

    Examples
    --------
    >>> shorten_words("loyalty_programme_membership_duration_months", 30)
    'loyalty_programme_…_months'
    """
    if len(text) <= limit:
        return text
    words = re.findall(r"[^\W_]+[\W_]*|[\W_]+", text)
    last = words[-1]
    start = ""
    for word in words[:-1]:
        if len(start) + len(word) + 2 + len(last) > limit:
            break
        start += word
    if not start:
        return shorten(text, limit)
    between = re.search(r"[\W_]*$", start)
    return f"{start}…{between.group()[-1:] if between else ''}{last}"


def _check_length(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise SidelightError(
            f"{what} {found} rows but the estimator was fitted on {expected}; "
            "give the report what the fit was given."
        )


def clusters_of(labels: Any, classes: Sequence[Any] = ()) -> Partition:
    """Clusters in their sorted order, with the class that each stands for; -1 is none of them."""
    values, codes = np.unique(labels, return_inverse=True)
    outside = int(values.dtype.kind in "iu" and len(values) > 0 and values[0] == -1)
    numbers = tuple(str(value) for value in values[outside:])
    codes = codes.reshape(-1).astype(np.int64) - outside
    return Partition(codes, with_classes(numbers, classes), numbers)


def with_classes(numbers: Sequence[str], classes: Sequence[Any]) -> tuple[str, ...]:
    """Names of clusters, with the class that each stands for, as in ``0: vip``."""
    class_of = {str(cluster): name for cluster, name in enumerate(classes) if name is not None}
    return tuple(f"{n}: {class_of[n]}" if n in class_of else n for n in numbers)


def known_classes(values: Any) -> Partition:
    """Read classes the way constraints do: -1, None, NaN and "" are unknown."""
    coded = Constraints.from_labels(plain(values))
    names = () if coded.label_names is None else tuple(str(name) for name in coded.label_names)
    codes = np.full(len(values), -1) if coded.labels is None else coded.labels
    return Partition(np.asarray(codes, dtype=np.int64), names)


def feature_names_of(
    given: Sequence[str] | None, X: Any, estimator: Any, n_features: int
) -> tuple[str, ...]:
    """Names of the features: those given, else of a data frame, else of the fit, else numbers."""
    columns = getattr(X, "columns", None)
    if given is not None:
        names = [str(name) for name in given]
        if len(names) != n_features:
            raise SidelightError(
                f"feature_names has {len(names)} names but X has {n_features} columns; "
                "give one name for each column, in their order."
            )
    elif columns is not None and len(columns) == n_features:
        names = [str(name) for name in columns]
    elif len(fitted := getattr(estimator, "feature_names_in_", ())) == n_features:
        names = [str(name) for name in fitted]
    else:
        names = [f"feature {number}" for number in range(n_features)]
    return tuple(names)
