"""The job ``sidelight compare``."""
