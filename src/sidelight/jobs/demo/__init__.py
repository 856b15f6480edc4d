"""The job ``sidelight demo``."""
