"""The job ``sidelight sample``."""
