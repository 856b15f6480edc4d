"""Loops of scores."""
