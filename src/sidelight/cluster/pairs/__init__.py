"""TITLE cluster/pairs."""
