"""Checks of estimators that give other splits than the known ones."""

from __future__ import annotations
