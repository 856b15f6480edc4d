"""TITLE constraints/exchange."""
