"""TITLE cluster/_core."""
