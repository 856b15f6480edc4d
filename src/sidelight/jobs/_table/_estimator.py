"""From the name of a method and its settings to an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.exceptions import InvalidRequest
from sidelight.tags import KINDS

#: Parameter of the classifiers that wrap another one.
BASE = "estimator"
#: Parameters that a request sets by other means.
RESERVED = {
    "random_state": ("seed=", "--seed"),
    BASE: ("base=", "--base"),
    "verbose": ("sidelight.progress()", "no option (--quiet shows no progress)"),
}


def named_method(job: str, name: str) -> Method:
    """Find a method by its name, and refuse one that another job runs."""
    kinds = [one for one, kind in KINDS.items() if kind.command == job]
    method = catalog.get(name, kind=kinds[0] if len(kinds) == 1 else None)
    if method.kind.command != job:
        raise InvalidRequest(
            f"{method.name} gives {method.kind.gives}: `sidelight {method.kind.command} DATA -m "
            f"{method.name}`."
        )
    return method


def methods_of(job: str) -> list[str]:
    """Names of the methods that a job runs."""
    return [method.name for method in catalog.methods() if method.kind.command == job]


def make_estimator(
    method: Method,
    *,
    settings: Mapping[str, Any],
    seed: int,
    k: Any = None,
    n_classes: int = 0,
    **parameters: Any,
) -> Any:
    """Make the estimator of a method.

    Parameters
    ----------
    method : Method
        The method, out of the catalog.
    settings : mapping of str to object
        Its parameters; text is read as the declaration of the parameter says.
    seed : int
        Seed of the random numbers.
    k : int or None, default=None
        Number of clusters, dimensions or features, whichever the method has.
    n_classes : int, default=0
        Number of known classes, for the message where ``k`` is missing.
    **parameters : object
        Parameters that have options of their own.
    """
    chosen = _settings(method, settings) | _size(method, k, n_classes) | parameters
    if "random_state" in declared(method.cls):
        chosen["random_state"] = seed
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
