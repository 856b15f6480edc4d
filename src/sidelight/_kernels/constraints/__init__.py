"""Loops over links between rows."""
