"""The job ``sidelight evaluate``."""
