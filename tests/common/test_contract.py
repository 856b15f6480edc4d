"""The contract of its kind, checked for every method of the catalog.

A new method is covered the moment its tags put it into the catalog.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.common.contract import KINDS, all_checks, checks_of

from sidelight import catalog, tags

METHODS = catalog.methods()


# Cases are in the order of the methods, so that most processes fit a model for all its checks.
@pytest.mark.parametrize(
    ("method", "check"),
    [(method, check) for method in METHODS for check in checks_of(method)],
    ids=lambda case: case.name if isinstance(case, catalog.Method) else case.__name__[6:],
)
def test_contract(method: Any, check: Any) -> None:
    check(method)


def test_every_kind_has_its_checks() -> None:
    assert KINDS.keys() == tags.KINDS.keys()


def test_every_check_applies_to_some_method() -> None:
    applied = {check for method in METHODS for check in checks_of(method)}
    assert {check for kind in KINDS for check in all_checks(kind)} == applied
