"""TITLE mixture/families."""
