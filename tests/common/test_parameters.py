"""Parameters are declared once: signature, docstring and checks agree for every method."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from tests.common.docstrings import entries_by_section

import sidelight
from sidelight import catalog
from sidelight._fit.docstrings import complete
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


def public_estimators() -> Iterator[type]:
    """All classes with parameters that a package exports, those of the catalog among them."""
    for info in pkgutil.iter_modules(sidelight.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"sidelight.{info.name}")
            for name in getattr(module, "__all__", ()):
                found = getattr(module, name)
                if isinstance(found, type) and issubclass(found, BaseEstimator) and declared(found):
                    yield found


PUBLIC = list(dict.fromkeys(public_estimators()))


def test_the_catalog_is_public() -> None:
    assert {method.cls for method in METHODS} < set(PUBLIC)


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_parameter_stands_under_parameters(cls: Any) -> None:
    sections = entries_by_section(cls)
    assert sorted(sections["Parameters"]) == sorted(declared(cls))
    assert not set(declared(cls)) & set(sections.get("Attributes", ()))


def test_an_empty_section_is_completed_in_its_place() -> None:
    class Plain:
        """Something with sections.

        Parameters
        ----------

        Attributes
        ----------
        size_ : int
            Its size.

        Notes
        -----

        Examples
        --------
        >>> Plain()
        """

    complete(Plain, "Parameters", {"size : int": "The size.", "name : str": "The name."})
    complete(Plain, "Attributes", {"size_ : float": "Another text.", "name_ : str": "The name."})
    complete(Plain, "References", {"no_such : section": "Nowhere."})
    complete(Plain, "Notes", {"note : str": "A note."})
    assert Plain.__doc__ == inspect.cleandoc(
        """Something with sections.

        Parameters
        ----------
        size : int
            The size.
        name : str
            The name.

        Attributes
        ----------
        size_ : int
            Its size.
        name_ : str
            The name.

        Notes
        -----
        note : str
            A note.

        Examples
        --------
        >>> Plain()
        """
    )
