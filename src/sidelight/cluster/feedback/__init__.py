"""TITLE cluster/feedback."""
