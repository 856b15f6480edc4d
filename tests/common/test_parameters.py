"""Parameters are declared once: signature, docstring and checks agree for every method."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from sidelight import catalog
from sidelight._fit.parameters import declared, parameter_entries

METHODS = catalog.methods()
CASES = [(method, name) for method in METHODS for name in declared(method.cls)]


def named(cases: Any) -> Any:
    return pytest.mark.parametrize(
        ("method", "name"), cases, ids=lambda case: getattr(case, "name", case)
    )


@named(CASES)
def test_docstring_says_what_the_signature_declares(method: Any, name: str) -> None:
    parameter = declared(method.cls)[name]
    kind, text = parameter_entries(method.cls)[name]
    default = f'"{parameter.default}"' if isinstance(parameter.default, str) else parameter.default
    assert kind == f"{parameter.type_text}, default={default}"
    assert text.rstrip().endswith((".", ":"))
    assert parameter.help


@named(CASES)
def test_default_is_admitted(method: Any, name: str) -> None:
    parameter = declared(method.cls)[name]
    assert parameter.type_text != "object", f"{name} has no declared type"
    parameter.check(parameter.default)


@named([case for case in CASES if "object" not in declared(case[0].cls)[case[1]].type_text])
def test_fit_refuses_another_type(method: Any, name: str) -> None:
    class Nothing:
        """No parameter is of this type."""

    X = np.random.default_rng(0).uniform(1, 2, (12, 2))
    model = method.cls(**{name: Nothing()})
    with pytest.raises(ValueError, match=f"{name} must be"):
        model.fit(X, np.arange(12) % 2)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_public_methods_have_docstrings(method: Any) -> None:
    public = [name for name in dir(method.cls) if not name.startswith("_")]
    for name in public:
        member = inspect.getattr_static(method.cls, name)
        if callable(member) or isinstance(member, property):
            assert inspect.getdoc(getattr(method.cls, name)), f"{name} has no docstring"
