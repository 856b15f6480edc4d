"""Checks that hold for some methods of a kind only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sidelight.catalog import Method


def applies_to(applies: Callable[[Method], bool]) -> Callable[[Any], Any]:
    """Mark a check that only methods with a property have to pass."""

    def mark(check: Any) -> Any:
        check.applies = applies
        return check

    return mark


def has(*names: str) -> Callable[[Method], bool]:
    """Whether the class has one of these methods."""
    return lambda method: any(hasattr(method.cls, name) for name in names)


def knows(*kinds: str) -> Callable[[Method], bool]:
    """Whether the method uses all of these kinds of side information."""
    return lambda method: set(kinds) <= set(method.tags.knowledge)
