"""TITLE mixture/discriminative."""
