"""Loops of conditions on clusters and of tables to publish."""
