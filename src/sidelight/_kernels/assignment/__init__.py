"""Loops of assignment and coloring."""
