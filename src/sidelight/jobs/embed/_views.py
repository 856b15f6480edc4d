"""One map of several tables that show the same things: views, joined by correspondences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight import catalog
from sidelight._typing import Array
from sidelight._words import counted, worded
from sidelight.catalog import Method
from sidelight.constraints import Correspondences
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table, read_table
from sidelight.io.inner import check_table_path, close_names, column_names, write_columns
from sidelight.jobs._method import PathLike, timed_fit
from sidelight.jobs._table._estimator import make_estimator
from sidelight.jobs._table._features import scaler_for
from sidelight.jobs._table._run import Outcome, names_out
from sidelight.jobs.embed._maps import map_method
from sidelight.jobs.embed._request import WHOLE_TABLE, EmbedRequest, refuse_given
from sidelight.report.inner import Strong, Told, text_table

DEFAULT = "coordinated-views"
#: Rows whose missing views are predicted at once: each has a covariance matrix.
BLOCK_ROWS = 200


@dataclass(frozen=True, eq=False, repr=False)
class ViewsRun(Outcome):
    """A map of several views with all that it was given.

    Attributes
    ----------
    request : EmbedRequest
        What was asked for.
    method : Method
        The method, out of the catalog.
    estimator : object
        The fitted estimator.
    views : list of Table
        The rows of every view as they were read.
    scaled : list of ndarray
        The rows of every view as the estimator saw them.
    scalers : list
        What scaled them; None where they were taken as they are.
    correspondences : Correspondences
        Which rows show the same object.
    notes : tuple of str
        Decisions made on the way, as sentences for the user.
    seconds : float
        Time of the fit.
    """

    request: EmbedRequest
    method: Method
    estimator: Any
    views: list[Table]
    scaled: list[Array]
    scalers: list[Any]
    correspondences: Correspondences
    notes: tuple[str, ...]
    seconds: float

    @property
    def data(self) -> Table:  # type: ignore[override]
        """The first view."""
        return self.views[0]

    @property
    def labels(self) -> None:
        """Maps find no clusters."""
        return None

    @property
    def names(self) -> list[str]:
        """Names of the views: those of their files, numbered where two are the same."""
        stems = [view.path.name.partition(".")[0] for view in self.views]
        return [
            stem if stems.count(stem) == 1 else f"{stem} {number + 1}"
            for number, stem in enumerate(stems)
        ]

    @property
    def features(self) -> Array:
        """Coordinates of the rows of all views, one view after the other."""
        return np.vstack(self.estimator.embeddings_)

    @property
    def feature_names(self) -> list[str]:  # type: ignore[override]
        """Names of the coordinates."""
        return names_out(self.estimator, [f"x{n}" for n in range(self.table.shape[1])])

    @cached_property
    def table(self) -> Array:
        """All views side by side, a row for each object, NaN where a view does not show it."""
        return self.correspondences.stack(self.scaled)[0]

    @cached_property
    def shown(self) -> npt.NDArray[np.bool_]:
        """Which views show each object."""
        seen = np.zeros((len(self.table), len(self.views)), dtype=bool)
        for view, objects in enumerate(self.correspondences.objects):
            seen[objects, view] = True
        return seen

    @property
    def object_ids(self) -> list[Any]:
        """Name of each object: its id in the first view that shows it."""
        ids: list[Any] = [None] * len(self.table)
        for view, objects in reversed(
            list(zip(self.views, self.correspondences.objects, strict=True))
        ):
            for row_id, place in zip(view.row_ids.tolist(), objects.tolist(), strict=True):
                ids[place] = row_id
        return ids

    def facts(self) -> dict[str, Any]:
        """Return what came out as plain values."""
        known = self.correspondences
        return {
            "data": str(self.views[0].path),
            "views": [str(view.path) for view in self.views],
            "method": self.method.name,
            "parameters": self.estimator.get_params(),
            "n_rows": [view.n_rows for view in self.views],
            "n_links": known.n_links,
            "n_objects": len(self.table),
            "n_in_all_views": int(self.shown.all(axis=1).sum()),
            "seconds": self.seconds,
            "features_out": self.feature_names,
        }

    def predictions(self) -> dict[str, npt.NDArray[Any]]:
        """Return all columns of all views for every object: measured, or predicted.

        Returns
        -------
        dict of str to ndarray
            ``id``, ``views`` (those that show the object), the columns of all views in their own
            units, and for each the standard deviation of its prediction, 0 where it was measured.
        """
        if not hasattr(self.estimator, "predict"):
            able = [
                m.name
                for m in catalog.methods(knowledge="correspondences")
                if hasattr(m.cls, "predict")
            ]
            raise SidelightError(
                f"{self.method.name} does not predict what a view does not show; "
                f"{', '.join(able)} does."
            )
        columns: dict[str, Any] = {"id": np.array(self.object_ids), "views": self._shown_names()}
        spreads: dict[str, Any] = {}
        start = 0
        for view, table in enumerate(self.views):
            width = len(table.feature_names)
            values = self.table[:, start : start + width].copy()
            spread = np.zeros_like(values)
            lacking = np.flatnonzero(~self.shown[:, view])
            for first in range(0, len(lacking), BLOCK_ROWS):
                rows = lacking[first : first + BLOCK_ROWS]
                values[rows], spread[rows] = self._predicted(rows, view)
            names = self._column_names(view)
            columns |= dict(zip(names, self._own_units(values, view).T, strict=True))
            factors = self._factors(view)
            spreads |= {
                f"{name} (sd)": s * f for name, s, f in zip(names, spread.T, factors, strict=True)
            }
            start += width
        return columns | spreads

    def _predicted(self, rows: Array, view: int) -> tuple[Array, Array]:
        """Mean and standard deviation of the columns of a view that does not show the rows."""
        mean, covariance = self.estimator.predict(
            self.table[rows], source=None, target=view, return_cov=True
        )
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        return np.asarray(mean), np.sqrt(np.maximum(variance, 0.0))

    def _shown_names(self) -> npt.NDArray[Any]:
        names = np.array(self.names)
        return np.array(["+".join(names[seen]) for seen in self.shown])

    def _column_names(self, view: int) -> list[str]:
        """Names of the columns, with that of the view where another has one of the same name."""
        everything = [name for table in self.views for name in table.feature_names]
        return [
            name if everything.count(name) == 1 else f"{self.names[view]}.{name}"
            for name in self.views[view].feature_names
        ]

    def _own_units(self, values: Array, view: int) -> Array:
        scaler = self.scalers[view]
        return values if scaler is None else np.asarray(scaler.inverse_transform(values))

    def _factors(self, view: int) -> Array:
        """Units of the user in a unit of the scaled columns."""
        width = len(self.views[view].feature_names)
        steps = self._own_units(np.vstack([np.zeros(width), np.ones(width)]), view)
        return np.asarray(np.abs(steps[1] - steps[0]))

    def tell(self) -> list[Told]:
        """Return how many objects the views show, and their sizes."""
        facts = self.facts()
        rows = [
            (name, f"{view.n_rows:,}", len(view.feature_names))
            for name, view in zip(self.names, self.views, strict=True)
        ]
        head = (
            f": {counted(facts['n_objects'], 'object')}, {facts['n_in_all_views']:,} of them in "
            f"all views, in {self.seconds:.2f} s"
        )
        return [
            (Strong(type(self.estimator).__name__), head),
            text_table("View", "Rows", "Columns", rows=rows),
        ]

    def row_values(self) -> dict[str, Any]:
        """Return ids and coordinates of the rows of every view."""
        return {
            "rows": [places.tolist() for places in self.estimator.embeddings_],
            "ids": [view.row_ids.tolist() for view in self.views],
        }

    # --- files --------------------------------------------------------------------------------

    @property
    def inputs(self) -> Iterable[PathLike]:
        """Files that were read, which no output may replace."""
        return [*(view.path for view in self.views), *self.request.inputs]

    def writers(self, spreadsheet_safe: bool) -> dict[str, Callable[[Path], None]]:
        return {
            "coordinates": partial(self._fill_coordinates, spreadsheet_safe=spreadsheet_safe),
            "predictions": partial(self._fill_predictions, spreadsheet_safe=spreadsheet_safe),
            "report": self._fill_report,
        }

    def _fill_coordinates(self, path: Path, spreadsheet_safe: bool) -> None:
        if check_table_path(path) == "npy":
            np.save(path, self.features)
            return
        columns = {"id": np.array([str(i) for view in self.views for i in view.row_ids.tolist()])}
        columns |= dict(zip(self.feature_names, self.features.T, strict=True))
        sizes = [view.n_rows for view in self.views]
        columns["view"] = np.repeat(self.names, sizes)
        write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)

    def _fill_predictions(self, path: Path, spreadsheet_safe: bool) -> None:
        if check_table_path(path) == "npy":
            raise SidelightError(f"{path}: predictions are written as .csv, .tsv or .parquet.")
        write_columns(self.predictions(), path, spreadsheet_safe=spreadsheet_safe)

    def _fill_report(self, path: Path) -> None:
        from sidelight.report import render_report

        names = [name for view in range(len(self.views)) for name in self._column_names(view)]
        page = render_report(
            estimator=self.estimator,
            X=self.table,
            ids=self.object_ids,
            feature_names=names,
            title=f"{' and '.join(self.names)}: {type(self.estimator).__name__}",
            settings={"views": ", ".join(str(view.path) for view in self.views)},
            command=self.request.command_line(),
            seconds=self.seconds,
            color=("Views", self._shown_names()),
        )
        path.write_text(page, encoding="utf-8")


def run_views(request: EmbedRequest) -> ViewsRun:
    """Read several views and make one map of them.

    Parameters
    ----------
    request : EmbedRequest
        What is asked for: ``data`` and ``views`` are tables of numbers, ``correspondences`` says
        which rows show the same, ``method`` joins views (``coordinated-views`` by default).

    Returns
    -------
    ViewsRun
        The map, with predictions of views that do not show a thing.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from sidelight.constraints import Correspondences
    >>> from sidelight.io import Table
    >>> from sidelight import jobs
    >>> t = np.linspace(0, 1, 80)
    >>> photos = Table(np.column_stack([t, np.sin(4 * t)]), None, ("a", "b"), Path("photos"))
    >>> sounds = Table(np.column_stack([np.cos(3 * t)]), None, ("c",), Path("sounds"))
    >>> known = Correspondences([(i, i) for i in range(0, 80, 8)], [80, 80])
    >>> settings = {"n_charts": 5}
    >>> found = jobs.run(
    ...     "embed",
    ...     data=photos,
    ...     k=1,
    ...     views=[sounds],
    ...     correspondences=known,
    ...     settings=settings,
    ...     raw=True,
    ... )
    >>> [places.shape for places in found.estimator.embeddings_]
    [(80, 1), (80, 1)]
    >>> bool(np.abs(found.predictions()["c"][:80] - np.cos(3 * t)).max() < 0.2)
    True
    """
    refuse_given(request, (*WHOLE_TABLE, "color"), "with several views")
    method = map_method(
        request.method or DEFAULT,
        lambda one: "correspondences" in one.tags.knowledge,
        "maps one table; these join views",
    )
    views = [_read(path, request) for path in (request.data, *request.views)]
    known = request.correspondences
    if known is None:
        raise InvalidRequest(
            "say which rows of the views show the same: "
            + worded("correspondences=", "--correspondences FILE, a column of ids for each view.")
        )
    if not isinstance(known, Correspondences):
        known = Correspondences.read(
            known, ids=[view.ids for view in views], sizes=[view.n_rows for view in views]
        )
    scale = (request.scale or "standard") if request.prepare else "none"
    scalers = [scaler_for(scale) for _ in views]
    scaled = [
        np.asarray(view.X if scaler is None else scaler.fit_transform(view.X), dtype=np.float64)
        for view, scaler in zip(views, scalers, strict=True)
    ]
    estimator = make_estimator(method, settings=request.settings, seed=request.seed, k=request.k)
    seconds = timed_fit(method, estimator, scaled, correspondences=known)
    notes = [note for view in views for note in view.notes]
    notes += [counted(known.n_links, "correspondence") + " between the views.", *known.notes]
    request = replace(request, method=method.name)
    return ViewsRun(
        request, method, estimator, views, scaled, scalers, known, tuple(notes), seconds
    )


def _read(data: Any, request: EmbedRequest) -> Table:
    """Read a view; columns that are named exist in one of the views."""
    if isinstance(data, Table):
        return data
    path = Path(data)
    names = column_names(path) if path.is_file() else []
    everything = set(names)
    for other in (request.data, *request.views):
        if isinstance(other, str | os.PathLike) and Path(other).is_file():
            everything |= set(column_names(Path(other)))
    for name in (*request.drop, *(request.columns or ())):
        if name not in everything:
            raise InvalidRequest(
                f"no view has a column {name!r}; {close_names(name, sorted(everything))}."
            )
    columns = None if request.columns is None else [n for n in request.columns if n in names]
    id_column = request.id_column if request.id_column in names else None
    return read_table(
        path, id_column=id_column, columns=columns, drop=[n for n in request.drop if n in names]
    )
