"""Loops over the values of rows."""
