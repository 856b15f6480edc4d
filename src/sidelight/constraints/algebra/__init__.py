"""TITLE constraints/algebra."""
