"""TITLE mixture/_core."""
