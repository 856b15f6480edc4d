"""Checks of estimators that make tables that can be published."""

from __future__ import annotations
