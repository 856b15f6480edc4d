"""From ``--method`` and ``--set name=value`` to an estimator."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from sidelight import catalog
from sidelight.catalog import Method
from sidelight.cli._errors import UsageError
from sidelight.tags import KINDS

WORDS = {"true": True, "false": False, "none": None, "inf": math.inf}
OWN_OPTIONS = {"n_clusters": "-k", "n_components": "-k", "random_state": "--seed"}


def parse_settings(settings: Sequence[str], method: Method) -> dict[str, Any]:
    """Read ``name=value``; a value is a Python literal, and otherwise text."""
    known = method.cls().get_params()
    free = sorted(set(known) - set(OWN_OPTIONS) - {"verbose"})
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals:
            raise UsageError(f"--set {setting}: write it as name=value.")
        if name in OWN_OPTIONS and name in known:
            raise UsageError(f"--set {setting}: use {OWN_OPTIONS[name]} for {name}.")
        if name not in free:
            raise UsageError(
                f"{method.cls.__name__} has no parameter {name!r}; it has {', '.join(free)}."
            )
        parsed[name] = _value(text.strip())
    return parsed


def _value(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def make_estimator(
    method: Method, *, k: int | None, seed: int, settings: Sequence[str], n_classes: int = 0
) -> Any:
    """The estimator as it was asked for."""
    parameters = parse_settings(settings, method)
    known = method.cls().get_params()
    number = next((name for name in ("n_clusters", "n_components") if name in known), None)
    if number is not None and (k is not None or method.tags.kind == "clusterer"):
        if k is None and method.tags.needs_n_clusters:
            hint = f" (the labels know {n_classes} classes)" if n_classes else ""
            raise UsageError(
                f"say how many clusters {method.cls.__name__} is to find: -k 3, for example{hint}."
            )
        if k is not None or number == "n_clusters":
            parameters[number] = k
    if "random_state" in known:
        parameters["random_state"] = seed
    return method.cls(**parameters)


def choose_method(name: str | None, *, something_known: bool) -> Method:
    """The method by its name, or the usual one."""
    method = catalog.get(name or ("pckmeans" if something_known else "kmeans"))
    if method.tags.kind != "clusterer":
        raise UsageError(
            f"{method.name} makes features, not clusters: `sidelight {command_for(method)} DATA "
            f"-m {method.name}`."
        )
    return method


def command_for(method: Method) -> str:
    """Name the command that a method belongs to."""
    return KINDS[method.tags.kind].command
