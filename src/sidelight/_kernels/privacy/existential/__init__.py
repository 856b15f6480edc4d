"""Loops of clustering under conditions on what every cluster holds."""
