"""What is asked for, and how it becomes rows, knowledge and an estimator."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Conditions, Constraints
from sidelight.constraints.algebra._alignment import (
    align,
    align_to_ids,
    check_one_index,
    own_ids,
    warn_of_positions,
)
from sidelight.constraints.algebra._operations import statements_of
from sidelight.constraints.algebra._plain import plain, read_classes, text_of
from sidelight.constraints.exchange._files import rows_named_in
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table, read_pairs, read_table
from sidelight.io._id_column import MAX_NOTES, note_on_others, sounds_like_ids
from sidelight.io._pairs import rows_named_in_pairs
from sidelight.runs._classes import (
    BASE,
    base_learner,
    check_labels,
    default_classifier,
    notes_on_labels,
)
from sidelight.runs._conditions import DEFAULT, check_takes_conditions, read_conditions
from sidelight.runs._features import IN_MEMORY, frame_table, is_frame, make_features
from sidelight.runs._maps import (
    check_map_options,
    colored_only,
    default_map,
    with_map_options,
)
from sidelight.runs._run import Prepared, Run
from sidelight.tags import KINDS

#: Parameters that a request sets by other means.
RESERVED = {
    "random_state": ("seed=", "--seed"),
    BASE: ("base=", "--base"),
    "verbose": ("sidelight.progress()", "no option (--quiet shows no progress)"),
}

#: Parameters that say that the columns are a matrix between rows, and of what.
GIVEN_AS_MATRIX = {
    "metric": "distances",
    "graph": "similarities",
    "similarity": "similarities",
    "kernel": "kernels",
}


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked for: which rows, by which method, and what is known about them.

    Attributes
    ----------
    data : path-like, Table, array, CSR matrix or data frame
        The rows; a path is read by :func:`sidelight.io.read_table`.
    k : int, sequence of int or None
        Number of clusters, components, dimensions or features to keep, whichever the method has. Of
        several numbers of clusters, ``run`` takes the one that
        :func:`sidelight.evaluation.compare` chooses.
    method : str or None
        Name of the method in the catalog; by default ``pckmeans`` where something is known about
        the rows, else ``kmeans``. Of classifiers (``command="classify"``) by default
        ``pairwise-logistic-regression`` where pairs or groups are known, else ``semiboost``.
    constraints : Constraints, path-like or None
        Side information, or the file that holds it.
    must_link, cannot_link : path-like or None
        Files of pairs, two ids per line.
    labels : str, array-like or None
        Labels that are known for some of the rows: the name of their column, or one value per row.
    truth : str, array-like or None
        True classes, for the scores only: the name of their column, or one value per row.
    settings : mapping of str to object
        Parameters of the method. Text is read as the declaration of the parameter says, so that
        ``"10"`` is a number where one is wanted.
    id_column : str or None
        Column that names the rows, where the data is a path.
    columns, drop : sequence of str
        Columns to use as features, and to leave out, where the data is a path or a data frame.
    prepare : bool
        Whether the columns go through a :class:`sidelight.preparation.TablePreparer`, which takes
        columns of any kind and brings them to one scale; else they must be numbers, which are
        taken as they are. True for every command of the command line unless ``--raw`` is given.
    kinds : mapping of str to str
        What columns hold, where it should not be found out (``kinds`` of the preparer).
    weights : mapping of str to float
        How many features a column counts as (``weights`` of the preparer).
    scale : {"standard", "robust", "range", "none"} or None
        Scale of the numbers (``scale`` of the preparer); None is ``"standard"``, except that
        sparse rows are taken as they are.
    seed : int
        Seed of the random numbers.
    base : str, estimator or None
        Learner that a classifier is to wrap (its parameter ``estimator``): a name such as
        ``"tree"``, or a classifier of scikit-learn.
    command : {"cluster", "transform", "embed", "select", "classify"} or None
        Command whose methods are meant; by default that of the method.
    anchors : path-like, array-like or None
        Known coordinates of some rows, for maps that take them: a file with the id of a row and
        its coordinates in each line, or an array with a row for each row of the data, NaN where
        nothing is known.
    ignore : sequence of str
        Columns that maps leave out of the distances, after their linear effect on the others is
        removed.
    color : str, array-like or None
        Colors of the points in the report of a map: the name of a column, which is then no feature
        unless ``columns`` names it, or one value per row.
    views : sequence of path-like or Table
        Further tables of numbers, which show some of the things that ``data`` shows, for
        :func:`run_views`.
    correspondences : Correspondences, path-like or None
        Which rows of the views show the same thing, or the file that says so.
    conditions : Conditions, str or sequence of str
        What every cluster has to hold, for methods that take it: an object, or expressions on the
        columns of the table such as ``"count(income >= 50000) >= 3"``, used as features or not.

    Examples
    --------
    >>> from sidelight.datasets import example_paths
    >>> from sidelight.runs import Request, run
    >>> data, links = example_paths()
    >>> found = run(Request(data, k=3, constraints=links, truth="variety"))
    >>> found.method.name, found.data.n_rows
    ('pckmeans', 240)
    >>> bool(found.scores["unconstrained"]["clustering_accuracy"] > 0.8)
    True
    """

    data: Any
    k: int | Sequence[int] | None = None
    method: str | None = None
    constraints: Constraints | str | os.PathLike[str] | None = None
    must_link: str | os.PathLike[str] | None = None
    cannot_link: str | os.PathLike[str] | None = None
    labels: Any = None
    truth: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    id_column: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    prepare: bool = False
    kinds: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    scale: str | None = None
    seed: int = 0
    base: Any = None
    command: str | None = None
    anchors: Any = None
    ignore: Sequence[str] = ()
    color: Any = None
    views: Sequence[Any] = ()
    correspondences: Any = None
    conditions: Any = ()

    @property
    def path(self) -> Path | None:
        """The file of the rows; None for rows in memory."""
        return Path(self.data) if isinstance(self.data, str | os.PathLike) else None

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        given = (self.data, self.constraints, self.must_link, self.cannot_link, self.anchors)
        given = (*given, self.correspondences, *self.views)
        return [Path(one) for one in given if isinstance(one, str | os.PathLike)]

    @property
    def map_options(self) -> bool:
        """Whether anything is asked for that only maps have."""
        return self.anchors is not None or bool(self.ignore) or self.color is not None

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory.

        Examples
        --------
        >>> from sidelight.runs import Request
        >>> Request("rows.csv", k=3, prepare=True, weights={"age": 2}).command_line()
        'sidelight cluster rows.csv -k 3 --seed 0 --weight age=2'
        """
        command = self.command or "cluster"
        sizes = {kind.command: kind.option for kind in KINDS.values()}
        given = {
            sizes.get(command, "-k"): numbers_text(self.k),
            "--method": self.method,
            "--base": self.base,
            "--constraints": self.constraints,
            "--must-link": self.must_link,
            "--cannot-link": self.cannot_link,
            "--label-column": self.labels,
            "--truth-column": self.truth,
            "--id-column": self.id_column,
            "--columns": ",".join(self.columns or ()) or None,
            "--drop": ",".join(self.drop) or None,
            "--anchors": self.anchors,
            "--ignore": ",".join(self.ignore) or None,
            "--color": self.color,
            "--correspondences": self.correspondences,
            "--scale": self.scale,
            "--seed": self.seed,
        }
        options = {name: value for name, value in given.items() if value is not None}
        values = (self.data, *self.views, *options.values(), *self.settings.values())
        if isinstance(self.conditions, Conditions):
            return None
        if not all(isinstance(value, str | int | float | os.PathLike | None) for value in values):
            return None
        words = [word for pair in options.items() for word in pair]
        words += [word for view in self.views for word in ("--view", view)]
        texts = [self.conditions] if isinstance(self.conditions, str) else self.conditions
        words += [word for text in texts for word in ("--at-least", text)]
        words += [] if self.prepare else ["--raw"]
        repeated = {"--as": self.kinds, "--weight": self.weights, "--set": self.settings}
        for option, pairs in repeated.items():
            for name, value in pairs.items():
                said = value if isinstance(value, str | int | float) else _order(value)
                words += [option, f"{name}={said}"]
        return shlex.join(map(str, ["sidelight", command, self.data, *words]))


def several(k: Any) -> bool:
    """Whether more than one number of clusters is to be tried."""
    return k is not None and not isinstance(k, Integral)


def numbers_text(k: Any) -> Any:
    """Numbers of clusters as the command line takes them.

    Examples
    --------
    >>> from sidelight.runs._request import numbers_text
    >>> numbers_text(3), numbers_text([2, 3, 4]), numbers_text([2, 3, 5])
    (3, '2:4', '2,3,5')
    """
    if not several(k):
        return k
    numbers = sorted({int(one) for one in k})
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}:{numbers[-1]}"
    return ",".join(map(str, numbers))


def _order(levels: Any) -> str:
    """Levels from low to high, as the command line takes them."""
    return f"ordered:{'<'.join(map(str, levels))}"


def run(request: Request) -> Run:
    """Read, fit and score what a request asks for.

    Parameters
    ----------
    request : Request
        What is asked for.

    Returns
    -------
    Run
        The fitted estimator with its data, scores and ways to write them.

    Examples
    --------
    >>> from sidelight.runs import Request, run
    >>> found = run(Request([[0.0], [0.1], [5.0], [5.1]], k=2, truth=["a", "a", "b", "b"]))
    >>> found.method.name, found.scores["all"]["adjusted_rand_index"]
    ('kmeans', 1.0)
    """
    if several(request.k):
        from sidelight.runs._compare import choose_number

        return choose_number(request)
    return prepare(request).fit()


def prepare(request: Request) -> Prepared:
    """Read rows and knowledge, choose the method and make its estimator.

    Parameters
    ----------
    request : Request
        What is asked for.

    Returns
    -------
    Prepared
        All that a fit needs; ``fit()`` does it.
    """
    if several(request.k):
        raise InvalidRequest(
            f"one number is wanted, got {worded('k=', '-k ')}{numbers_text(request.k)}; "
            "`sidelight compare` tells which of several suits."
        )
    if request.views or request.correspondences is not None:
        raise InvalidRequest("several views are mapped by run_views.")
    method = _named_method(request)
    if method is not None and request.map_options:
        check_map_options(request, method)
    has_conditions = isinstance(request.conditions, Conditions) or bool(request.conditions)
    if method is not None and has_conditions:
        check_takes_conditions(method)
    request, told = _as_the_method_reads(request, method)
    data = read_rows(request, allow_missing=method is not None and method.tags.missing)
    knowledge = read_knowledge(data, request)
    if method is None and request.command == "embed":
        method, why = default_map(data.n_rows)
        told = (*told, why)
        if request.map_options:
            check_map_options(request, method)
    elif method is None and request.command == "classify":
        method, why = default_classifier(knowledge)
        told = (*told, why)
    elif method is None and has_conditions:
        method = catalog.get(DEFAULT)
    elif method is None:
        method = catalog.get("kmeans" if knowledge.is_empty else "pckmeans")
    if method.tags.kind == "classifier":
        check_labels(data, knowledge)
        told += notes_on_labels(knowledge)
    if sparse.issparse(data.X) and not method.tags.sparse:
        raise SidelightError(
            f"{method.cls.__name__} takes no sparse rows, as {data.path} has; give them as a table "
            "(.csv, .parquet, .npy), or choose a method that takes them: `sidelight methods NAME` "
            "tells."
        )
    request = dataclasses.replace(request, command=method.kind.command)
    estimator = make_estimator(method, request, n_classes=len(knowledge.label_names))
    for name, what in GIVEN_AS_MATRIX.items():
        value = getattr(estimator, name, None)
        if request.prepare and isinstance(value, str) and value == "precomputed":
            raise InvalidRequest(
                f"{what} are taken as they are: {worded('prepare=False', '--raw')}."
            )
    preparer, X = make_features(data, request, method.tags)
    conditions = read_conditions(request, data) if has_conditions else None
    notes = (*data.notes, *told, *knowledge.notes, *(conditions.notes if conditions else ()))
    prepared = Prepared(
        request, method, estimator, data, X, preparer, knowledge, notes, conditions=conditions
    )
    return with_map_options(prepared) if request.map_options else prepared


def _as_the_method_reads(
    request: Request, method: Method | None
) -> tuple[Request, tuple[str, ...]]:
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
    return dataclasses.replace(request, prepare=False), (told,)


def _named_method(request: Request) -> Method | None:
    """Find the method by its name, and refuse one that another command runs."""
    if request.method is None:
        if request.command in (None, "cluster", "embed", "classify"):
            return None
        names = [m.name for m in catalog.methods() if m.kind.command == request.command]
        raise InvalidRequest(f"say how: -m NAME, one of {', '.join(names)}.")
    wanted = next((name for name, k in KINDS.items() if k.command == request.command), None)
    method = catalog.get(request.method, kind=wanted)
    kind = method.kind
    if request.command not in (None, kind.command):
        raise InvalidRequest(
            f"{method.name} gives {kind.gives}: `sidelight {kind.command} DATA -m {method.name}`."
        )
    return method


# --- rows and knowledge -----------------------------------------------------------------------


def read_rows(request: Request, *, allow_missing: bool = False) -> Table:
    """Read the rows, or take those in memory; labels and truth may be given beside them."""
    beside = {"labels": request.labels, "truth": request.truth}
    names = {kind: value for kind, value in beside.items() if isinstance(value, str)}
    colored = () if request.color is None else colored_only(request)
    if request.path is not None:
        data = read_table(
            request.path,
            id_column=request.id_column,
            label_column=names.get("labels"),
            truth_column=names.get("truth"),
            columns=request.columns,
            drop=(*request.drop, *colored),
            allow_missing=allow_missing,
            as_columns=request.prepare,
            named=(lambda: _named_rows(request)) if len(request.inputs) > 1 else None,
        )
    elif request.prepare and is_frame(request.data):
        data = frame_table(
            request,
            label_column=names.get("labels"),
            truth_column=names.get("truth"),
            colored=colored,
        )
    elif names or request.columns is not None or request.drop or request.id_column:
        raise InvalidRequest(
            "columns are chosen by name only where the data is a file, or a data frame with "
            "prepare=True."
        )
    else:
        data = request.data if isinstance(request.data, Table) else _in_memory(request.data)
    known = request.constraints
    if data.ids is None and isinstance(known, Constraints) and known.ids is not None:
        known = align(known, request.data, "data")
        if known.n_samples == data.n_rows:  # rows without names get those of the constraints
            data = dataclasses.replace(data, ids=known.ids)
    for kind, value in beside.items():
        check_one_index(value, request.data, kind, "data")
    values = {
        kind: _classes(value, data.n_rows, kind)
        for kind, value in beside.items()
        if value is not None and kind not in names
    }
    return dataclasses.replace(data, **values) if values else data


def _named_rows(request: Request) -> set[str]:
    """Everything that the files of knowledge name rows by."""
    names = set()
    if isinstance(request.constraints, str | os.PathLike):
        names |= rows_named_in(request.constraints)
    for file in (request.must_link, request.cannot_link):
        if file is not None:
            names |= rows_named_in_pairs(file)
    return names


def _in_memory(X: Any) -> Table:
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    names = getattr(X, "columns", None)
    if names is None:
        names = [f"x{feature}" for feature in range(rows.shape[1])]
    named = [name for name in map(str, names) if sounds_like_ids(name)]
    notes = [
        f"The column {name!r} is used as a feature; if it only names the rows, make it the index."
        for name in named[:MAX_NOTES]
    ]
    if len(named) > MAX_NOTES:
        notes.append(note_on_others(named[MAX_NOTES:]))
    return Table(rows, own_ids(X), tuple(map(str, names)), IN_MEMORY, notes=tuple(notes))


def _classes(values: Any, n_rows: int, name: str) -> Any:
    """Classes as a table holds them: whole numbers with -1, or text with "", where unknown."""
    given = plain(values)
    if given.shape != (n_rows,):
        raise InvalidRequest(f"{name} must hold one value per row, {n_rows}, got {given.shape}.")
    if given.dtype.kind == "i":
        return given
    codes, names = read_classes(given, name)
    return np.append([text_of(class_name) for class_name in names.tolist()], "")[codes]


def read_knowledge(data: Table, request: Request) -> Constraints:
    """Everything that is known about the rows, from all the places where it was given."""
    place: dict[str, Any] = {"n_samples": data.n_rows, "ids": data.ids}
    knowledge = Constraints(**place)
    if isinstance(request.constraints, Constraints):
        knowledge |= _about(request.constraints, data, request.data)
    elif request.constraints is not None:
        knowledge |= Constraints.read(request.constraints, **place)
    files = {"must_link": request.must_link, "cannot_link": request.cannot_link}
    pairs: dict[str, Any] = {
        kind: data.row_ids[read_pairs(file, data.row_ids)]
        for kind, file in files.items()
        if file is not None
    }
    if pairs:
        knowledge |= Constraints(**pairs, **place)
    if data.labels is not None:
        knowledge |= Constraints(labels=data.labels, **place)
    return knowledge


def _about(known: Constraints, data: Table, rows: Any) -> Constraints:
    """Constraints made elsewhere, in the order of the rows and under their ids.

    Constraints without ids are about positions.
    """
    known = align(known, rows, "data")
    if known.ids is not None and data.ids is not None:
        known = align_to_ids(known, data.ids, "data")
    elif data.id_column is not None and known.n_pairs:
        raise InvalidRequest(
            f"the column {data.id_column!r} names the rows, but the constraints have no ids, so "
            "that their numbers could be positions or ids; make them with the ids of the rows."
        )
    else:
        warn_of_positions(known, rows, "data")
    if known.n_samples != data.n_rows:
        raise InvalidRequest(
            f"the constraints are about {known.n_samples} rows, the data has {data.n_rows}."
        )
    return Constraints(n_samples=data.n_rows, ids=data.ids)._derive(statements_of(known))


# --- the estimator ----------------------------------------------------------------------------


def make_estimator(method: Method, request: Request, *, n_classes: int = 0) -> Any:
    """Make the estimator as it was asked for."""
    chosen = _settings(method, request.settings) | _size(method, request.k, n_classes)
    if request.base is not None:
        chosen[BASE] = base_learner(method, request.base)
    if "random_state" in declared(method.cls):
        chosen["random_state"] = request.seed
    return method.cls(**chosen)


def _settings(method: Method, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings by their declarations, which also read text."""
    parameters = declared(method.cls)
    others = {
        method.size_parameter or "": ("k=", method.kind.option),
        **RESERVED,
    }
    free = sorted(set(parameters) - set(others))
    chosen = {}
    for name, value in settings.items():
        if name in parameters and name in others:
            raise InvalidRequest(f"use {worded(*others[name])} for {name}.")
        if name not in free:
            raise InvalidRequest(
                f"{method.cls.__name__} has no parameter {name!r}; it has {', '.join(free)}."
            )
        chosen[name] = parameters[name].parse(value) if isinstance(value, str) else value
        parameters[name].check(chosen[name])
    return chosen


def _size(method: Method, k: Any, n_classes: int) -> dict[str, Any]:
    """The parameter that ``k`` sets; clusterers that can do without find the number themselves."""
    size, clusters = method.size_parameter, method.tags.kind == "clusterer"
    if k is not None and size is not None:
        return {size: k}
    if k is not None:
        raise InvalidRequest(
            f"{method.cls.__name__} has no number to choose by "
            f"{worded('k=', method.kind.option or '-k')}."
        )
    if clusters and method.tags.needs_n_clusters:
        hint = f" (the labels know {n_classes} classes)" if n_classes else ""
        raise InvalidRequest(
            f"say how many clusters {method.cls.__name__} is to find: -k 3, for example{hint}."
        )
    return {size: None} if clusters and size == "n_clusters" else {}
