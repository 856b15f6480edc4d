"""Shared parts of all fits: declared parameters, restarts, alternation, moments of rows."""
