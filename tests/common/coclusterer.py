"""Checks of estimators that cluster rows and columns."""

from __future__ import annotations
