"""What jobs share beside the rows of a table: the method, its estimator, the fit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from sidelight._words import set_by, worded
from sidelight.catalog import Method
from sidelight.exceptions import InvalidRequest
from sidelight.jobs._options import fields_of
from sidelight.jobs._outputs import PathLike as PathLike
from sidelight.jobs._table._estimator import make_estimator, named_method


def is_path(given: Any) -> bool:
    """Whether something is named by its file."""
    return isinstance(given, str | os.PathLike)


def method_for(job: str, name: str) -> Method:
    """Find a method by its name, and refuse one that another job runs."""
    return named_method(job, name)


def estimator_for(method: Method, settings: Mapping[str, Any], seed: int) -> Any:
    """Make the estimator as it was asked for."""
    return make_estimator(method, settings=settings, seed=seed)


def check_takes(method: Method, knowledge: str, option: tuple[str, str]) -> None:
    """Refuse what a method has no use for."""
    if knowledge not in method.tags.knowledge:
        raise InvalidRequest(
            f"{method.cls.__name__} has no use for {knowledge}: leave {worded(*option)} out."
        )


def check_given_once(request: Any, names: Iterable[str]) -> None:
    """Refuse settings that are also given by a field of their own."""
    for name in names:
        if name in request.settings:
            option = fields_of(type(request))[name].names[0]
            where = worded(f"as {name}= and in settings", f"by {option} and by --set")
            raise InvalidRequest(f"{name} is given twice: {where}.")


def with_options(request: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with ``own``, the given parameters that have options of their own."""
    check_given_once(request, own)
    return {**request.settings, **own}


def check_different(columns: Iterable[str | None]) -> None:
    """Refuse a column that is named for two things."""
    named = [name for name in columns if name is not None]
    if twice := [name for name in named if named.count(name) > 1]:
        raise InvalidRequest(f"the column {twice[0]!r} cannot be two things at once.")


def timed_fit(method: Method, estimator: Any, X: Any, **beside: Any) -> float:
    """Fit, and tell how long it took; messages speak of the options that set the parameters."""
    start = time.perf_counter()
    with set_by(method.options):
        estimator.fit(X, **beside)
    return time.perf_counter() - start
