"""The job ``sidelight alternatives``."""
