"""All or nothing: a call that fails leaves the map as it was."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from sidelight.exceptions import SidelightError
from sidelight.graphs import DynamicPathTrees, DynamicShortestPaths
from sidelight.manifold.incremental._growing_map import GrowingMap

Model = TypeVar("Model")
Given = ParamSpec("Given")
Result = TypeVar("Result")


def undone_on_error(
    call: Callable[Concatenate[Model, Given], Result],
) -> Callable[Concatenate[Model, Given], Result]:
    """Give an estimator back all that it was when one of its methods fails, also by Ctrl-C."""

    @functools.wraps(call)
    def run(self: Model, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        before = dict(vars(self))
        grown: GrowingMap | None = before.get("_map")
        saved = None if grown is None else SavedMap(grown)
        n_updates = len(before.get("updates_", ()))
        try:
            return call(self, *args, **kwargs)
        except BaseException as error:
            same = vars(self).get("_map") is grown
            vars(self).clear()
            vars(self).update(before)
            if saved is not None and same:
                # These are raised between changes of the geodesics, never in the middle of one.
                saved.restore(vars(self), intact=isinstance(error, (SidelightError, Warning)))
                del vars(self)["updates_"][n_updates:]
            raise

    return run


class SavedMap:
    """A copy of a map without its geodesics, which are many numbers, and follow from its edges."""

    def __init__(self, grown: GrowingMap) -> None:
        paths, rules = grown.graph.paths, grown.graph.rules
        shortcuts = {one: dict(others) for one, others in rules.shortcuts.items()}
        kept: dict[int, Any] = {id(paths): paths, id(rules): replace(rules, shortcuts=shortcuts)}
        self._changing = grown
        self._map = copy.deepcopy(grown, kept)
        self._edges = paths.graph
        self._sources = paths.sources.copy() if isinstance(paths, DynamicPathTrees) else None

    def restore(self, state: dict[str, Any], *, intact: bool) -> None:
        """Put the map back into the state of an estimator.

        Parameters
        ----------
        state : dict of str to object
            The attributes of the estimator.
        intact : bool
            Whether the geodesics are those of the edges that there are now.
        """
        paths, n = self._changing.graph.paths, self._map.n
        if intact and paths is self._map.graph.paths and self._only_grown():
            self._changing.graph.take_back(n, self._edges)
        elif self._sources is None:
            self._map.graph.paths = DynamicShortestPaths(self._edges)
        else:
            self._map.graph.paths = DynamicPathTrees(self._edges, self._sources)
        state["_map"] = self._map

    def _only_grown(self) -> bool:
        """Whether the rows of before are still there, each in its slot."""
        before, now = self._map.graph, self._changing.graph
        paths = now.paths
        if self._sources is not None:
            assert isinstance(paths, DynamicPathTrees)  # the same object as before
            if not np.array_equal(paths.sources, self._sources):
                return False
        return np.array_equal(now.serials[: before.n], before.serials)
