"""The job ``sidelight predict``."""
