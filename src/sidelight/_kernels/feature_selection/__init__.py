"""Loops of the feature selectors."""
