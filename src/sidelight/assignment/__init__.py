"""TITLE assignment."""
