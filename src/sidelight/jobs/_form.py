"""The form of a request as plain values, for the workbench."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sidelight.jobs._options import (
    COLUMNS,
    REQUIRED,
    Field,
    Option,
    fields_of,
    output_fields,
    place_in_help,
)

#: Widgets of a form, by the kind of an option.
WIDGETS = {bool: "checkbox", int: "integer", float: "number", Path: "file", str: "text"}


def form_of(request: type, outputs: Mapping[str, Option]) -> list[dict[str, Any]]:
    """Return the fields of a form as plain values.

    Outputs stand behind the fields of the request, under their kinds.
    """
    fields = [*fields_of(request).values(), *output_fields(outputs)]
    return [
        {
            "name": one.name,
            "names": list(one.names),
            "panel": one.option.panel,
            "widget": _widget(one.option),
            "many": one.option.many,
            "choices": list(one.option.choices),
            "range": None if one.option.range is None else one.option.range.symbols(""),
            "help": one.option.help,
            "required": one.default is REQUIRED,
            "default": None if one.default is REQUIRED else write_default(one),
        }
        for one in sorted(fields, key=place_in_help)
    ]


def write_default(one: Field) -> Any:
    """Return the default of an option as plain values."""
    value = one.default
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return list(value) if isinstance(value, tuple) else value


def _widget(option: Option) -> str:
    if option.choices:
        return "choice"
    if option.metavar == "A,B,...":
        return "columns"
    if option.panel == COLUMNS and option.metavar == "NAME":
        return "column"
    return WIDGETS[option.kind]
