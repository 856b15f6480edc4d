"""Warnings that point at the line of the user's code that called Sidelight."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

PACKAGE = __name__.partition(".")[0]

#: Packages whose functions stand between the user's line and the function that warns: pipelines,
#: searches and wrappers of scikit-learn, functions that call back, and what starts threads and
#: processes. No user writes code in them.
PASSED_THROUGH = frozenset(
    (
        *(PACKAGE, "sklearn", "joblib", "numpy", "pandas", "scipy"),
        *("concurrent", "contextlib", "functools", "multiprocessing", "runpy", "threading"),
    )
)


class _Line(NamedTuple):
    """A line of code, as :func:`warnings.warn_explicit` takes it."""

    filename: str
    lineno: int
    module: str
    registry: dict[Any, Any]


#: The user's line that started the work of a thread of ours.
_starter: ContextVar[_Line | None] = ContextVar("sidelight_starter", default=None)


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is neither of Sidelight nor of what it is called through.

    In a thread of Sidelight it is the line that started the work (:func:`keep_line`); where no line
    is the user's, as in a thread or process that was started with a method of an estimator, it is
    the line of Sidelight that runs there.

    Parameters
    ----------
    message : str or Warning
        The sentence for the user, or a warning that was recorded before, which keeps its class.
    category : type of Warning, default=UserWarning
        Class of the warning.
    """
    line = _user_line() or _line(_outermost())
    # Unlike a level of the stack, this can be said of any frame, also across an import.
    warnings.warn_explicit(message, category, *line)


def keep_line(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make warnings of a function that will run in another thread point at the present user.

    The function has to run in a context of its own (``copy_context().run``).
    """
    line = _user_line()

    def run(*args: Arguments.args, **settings: Arguments.kwargs) -> Result:
        _starter.set(line)
        return work(*args, **settings)

    return run


def _user_line() -> _Line | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_passed_through(frame):
        frame = frame.f_back
    return _starter.get() if frame is None else _line(frame)


def _is_passed_through(frame: FrameType) -> bool:
    # Examples in docstrings are the user's, although they run with the names of a module of ours;
    # a generated __init__ has the names of its module too, but no file.
    if frame.f_code.co_filename.startswith("<doctest "):
        return False
    return _module(frame).partition(".")[0] in PASSED_THROUGH


def _module(frame: FrameType) -> str:
    """Name of the module of a frame, also where it was started with ``python -m``."""
    spec = frame.f_globals.get("__spec__")
    return str(getattr(spec, "name", None) or frame.f_globals.get("__name__", "<unknown>"))


def _outermost() -> FrameType:
    """Frame of Sidelight that all others were called from."""
    found = frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if _module(frame).partition(".")[0] == PACKAGE:
            found = frame
    return found


def _line(frame: FrameType) -> _Line:
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    return _Line(frame.f_code.co_filename, frame.f_lineno, _module(frame), registry)
