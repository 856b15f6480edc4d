"""Loops of correlation clustering."""
