"""The job ``sidelight ask``."""
