"""Loops of the mixtures."""
