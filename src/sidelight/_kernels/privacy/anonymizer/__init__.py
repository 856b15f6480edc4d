"""Loops of tables to publish."""
