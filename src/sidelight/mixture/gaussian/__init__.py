"""TITLE mixture/gaussian."""
