"""Checks of estimators that make categories of documents."""

from __future__ import annotations
