"""Parameters are declared once: signature, docstring and checks agree for every method."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import typing
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from tests.common.docstrings import entries_by_section
from tests.common.models import data_for, make

import sidelight
from sidelight import catalog
from sidelight._fit.docstrings import complete
from sidelight._fit.parameters import declared, parameter_entries

every_method = pytest.mark.parametrize("method", catalog.methods(), ids=lambda m: m.name)


@every_method
def test_docstring_says_what_the_signature_declares(method: Any) -> None:
    entries = parameter_entries(method.cls)
    for name, parameter in declared(method.cls).items():
        kind, text = entries[name]
        default = parameter.default
        shown = f'"{default}"' if isinstance(default, str) else default
        assert kind == f"{parameter.type_text}, default={shown}", name
        assert text.rstrip().endswith((".", ":")), name
        assert parameter.help, name


@every_method
def test_default_is_admitted(method: Any) -> None:
    for name, parameter in declared(method.cls).items():
        assert parameter.type_text != "object", f"{name} has no declared type"
        parameter.check(parameter.default)


@every_method
def test_fit_refuses_another_type(method: Any) -> None:
    class Nothing:
        """No parameter is of this type."""

    X = np.random.default_rng(0).uniform(1, 2, (12, 2))
    for name, parameter in declared(method.cls).items():
        if "object" not in parameter.type_text:
            with pytest.raises(ValueError, match=f"{name} must be"):
                method.cls(**{name: Nothing()}).fit(X, np.arange(12) % 2)


@every_method
def test_words_of_numpy_are_words(method: Any) -> None:
    """A choice that comes out of an array, as in a grid of a search, is the same choice."""
    for name, parameter in declared(method.cls).items():
        for option in parameter.options:
            for word in typing.get_args(option) if typing.get_origin(option) is Literal else ():
                if isinstance(word, str):
                    assert parameter.admits(np.str_(word)), (name, word)
        if not parameter.admits("no such word"):
            assert not parameter.admits(np.str_("no such word")), name


@every_method
def test_no_number_that_is_admitted_spoils_the_fit(method: Any) -> None:
    """Infinity means "without bound" or is refused; what is no number is refused always."""
    data = data_for(method)
    for name, parameter in declared(method.cls).items():
        assert parameter.default is math.nan or not parameter.admits(math.nan), name
        for value in (math.inf, -math.inf):
            if parameter.default == value or not parameter.admits(value):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                model = make(method, **{name: value}).fit(data.X, constraints=data.known)
            for found in ("labels_", "embedding_", "means_", "cluster_centers_", "components_"):
                if isinstance(getattr(model, found, None), np.ndarray):
                    assert not np.isnan(getattr(model, found)).any(), (name, found)


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
    assert {method.cls for method in catalog.methods()} < set(PUBLIC)


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
