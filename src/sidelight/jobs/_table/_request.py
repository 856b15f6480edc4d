"""From a request to rows, features, knowledge and an estimator: all that a fit needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from scipy import sparse

from sidelight import catalog
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.jobs._options import write_numbers
from sidelight.jobs._table._asked import Rows
from sidelight.jobs._table._estimator import make_estimator, named_method
from sidelight.jobs._table._features import make_features
from sidelight.jobs._table._knowledge import read_knowledge
from sidelight.jobs._table._rows import read_rows
from sidelight.jobs._table._run import Prepared

#: Parameters that say that the columns are a matrix between rows, and of what.
GIVEN_AS_MATRIX = {
    "metric": "distances",
    "graph": "similarities",
    "similarity": "similarities",
    "kernel": "kernels",
}

#: Chooses the method where none is named, and says why.
Choice: TypeAlias = Callable[[Table, Constraints], tuple[Method, tuple[str, ...]]]


def kmeans_or_pckmeans(data: Table, knowledge: Constraints) -> tuple[Method, tuple[str, ...]]:
    """Choose ``pckmeans`` where something is known about the rows, else ``kmeans``."""
    return catalog.get("kmeans" if knowledge.is_empty else "pckmeans"), ()


def several(k: Any) -> bool:
    """Whether more than one number of clusters is to be tried."""
    return k is not None and not hasattr(k, "__index__")


def prepare(
    request: Rows,
    choose: Choice = kmeans_or_pckmeans,
    *,
    aside: Sequence[str] = (),
    parameters: Callable[[Method], Mapping[str, Any]] = lambda method: {},
    kind: type[Prepared] = Prepared,
) -> Prepared:
    """Read rows and knowledge, choose the method and make its estimator.

    Parameters
    ----------
    request : Rows
        What is asked for.
    choose : callable, default=kmeans_or_pckmeans
        Chooses the method where none is named.
    aside : sequence of str, default=()
        Columns that are used for something else and are no features.
    parameters : callable
        Returns the parameters of the method that have options of their own.
    kind : type, default=Prepared
        Class of the value.

    Returns
    -------
    Prepared
        All that a fit needs; ``run()`` does it.
    """
    if several(request.k):
        raise InvalidRequest(
            f"one number is wanted, got {worded('k=', '-k ')}{write_numbers(request.k)}; "
            "`sidelight compare` tells which of several suits."
        )
    method = None if request.method is None else named_method(request.job, request.method)
    request, notes = as_the_method_reads(request, method)
    data = read_rows(request, allow_missing=method is not None and method.tags.missing, aside=aside)
    knowledge = read_knowledge(data, request)
    if method is None:
        method, why = choose(data, knowledge)
        notes += why
    if sparse.issparse(data.X) and not method.tags.sparse:
        raise SidelightError(
            f"{method.cls.__name__} takes no sparse rows, as {data.path} has; give them as a table "
            "(.csv, .parquet, .npy), or choose a method that takes them: `sidelight methods NAME` "
            "tells."
        )
    estimator = make_estimator(
        method,
        settings=request.settings,
        seed=request.seed,
        k=request.k,
        n_classes=len(knowledge.label_names),
        **parameters(method),
    )
    check_not_prepared(request, estimator)
    preparer, X = make_features(data, request, method.tags)
    notes = (*data.notes, *notes, *knowledge.notes)
    return kind(request, method, estimator, data, X, preparer, knowledge, notes)


def check_not_prepared(request: Rows, estimator: Any) -> None:
    """Refuse to scale columns that are a matrix between rows."""
    for name, what in GIVEN_AS_MATRIX.items():
        value = getattr(estimator, name, None)
        if request.prepare and isinstance(value, str) and value == "precomputed":
            raise InvalidRequest(f"{what} are taken as they are: {worded('raw=True', '--raw')}.")


def as_the_method_reads(request: Rows, method: Method | None) -> tuple[Rows, tuple[str, ...]]:
    """Leave out the preparation for methods that read columns as they are, and say so."""
    if method is None or not method.tags.raw_columns or not request.prepare:
        return request, ()
    if request.kinds or request.weights or request.scale:
        raise InvalidRequest(
            f"{method.cls.__name__} reads columns as they are, so that "
            + worded("kinds, weights and scale have", "--as, --weight and --scale have")
            + " no use."
        )
    told = f"{method.cls.__name__} reads columns as they are: nothing was scaled or encoded."
    asked: Any = request
    return dataclasses.replace(asked, raw=True), (told,)
