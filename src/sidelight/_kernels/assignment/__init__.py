"""Loops of assignment and colouring."""
