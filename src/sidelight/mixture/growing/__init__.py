"""TITLE mixture/growing."""
