"""TITLE mixture/field."""
