"""The job ``sidelight embed``."""
