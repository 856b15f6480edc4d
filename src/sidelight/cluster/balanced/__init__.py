"""TITLE cluster/balanced."""
