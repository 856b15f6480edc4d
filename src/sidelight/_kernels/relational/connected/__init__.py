"""Loops of connected clusters."""
