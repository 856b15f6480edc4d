"""TITLE mixture/constrained."""
