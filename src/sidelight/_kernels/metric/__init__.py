"""Loops of the learned distances."""
