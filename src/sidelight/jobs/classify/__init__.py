"""The job ``sidelight classify``."""
