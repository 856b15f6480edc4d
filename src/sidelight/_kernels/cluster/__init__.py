"""Loops of the clusterers."""
