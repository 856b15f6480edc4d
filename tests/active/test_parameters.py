"""Searches and strategies declare their parameters as estimators do."""

from __future__ import annotations

from typing import Any

import pytest

from sidelight._fit.parameters import declared, parameter_entries
from sidelight.active import COBRAS, NPU, ActiveClusterer, ExploreConsolidate, MinMax
from sidelight.cluster import KMeans
from sidelight.evaluation import ConstraintSearchCV
from sidelight.exceptions import InvalidParameter

CLASSES = [ActiveClusterer, COBRAS, NPU, ExploreConsolidate, MinMax, ConstraintSearchCV]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_docstring_says_what_the_signature_declares(cls):
    parameters, entries = declared(cls), parameter_entries(cls)
    if cls in (ExploreConsolidate, MinMax):
        assert set(parameters) == {"trim"}
    assert list(parameters) == list(entries)
    for name, parameter in parameters.items():
        if parameter.hint is not Any:
            assert entries[name][0].startswith(parameter.type_text)
            assert parameter.admits(parameter.default)


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (lambda: ActiveClusterer(KMeans(2), budget=-1), "budget"),
        (lambda: ActiveClusterer(KMeans(2), verbose="yes"), "verbose"),
        (lambda: ConstraintSearchCV(KMeans(2), {}, constraints_cv=1), "constraints_cv"),
        (lambda: ConstraintSearchCV(KMeans(2), {}, constraints_cv=1.0), "constraints_cv"),
        (lambda: ConstraintSearchCV(KMeans(2), {}, balanced="no"), "balanced"),
    ],
)
def test_bad_values_are_refused_by_name(make, bad):
    model = make()
    more = {"oracle": lambda i, j: True} if isinstance(model, ActiveClusterer) else {}
    with pytest.raises(InvalidParameter, match=f"{bad} must be"):
        model.fit([[0.0], [1.0]], **more)
