"""The job ``sidelight resolve``."""
