"""The job ``sidelight select``."""
