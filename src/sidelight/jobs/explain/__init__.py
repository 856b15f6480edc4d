"""The job ``sidelight explain``."""
