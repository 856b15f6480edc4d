"""Loops of entity resolution."""
