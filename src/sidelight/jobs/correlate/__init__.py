"""The job ``sidelight correlate``."""
