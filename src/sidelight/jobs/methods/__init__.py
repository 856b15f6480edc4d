"""The job ``sidelight methods``."""
