"""TITLE cluster/sized."""
