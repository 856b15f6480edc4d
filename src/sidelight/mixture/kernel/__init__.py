"""TITLE mixture/kernel."""
