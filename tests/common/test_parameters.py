"""Parameters are declared once: signature, docstring and checks agree for every method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sidelight import catalog
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
