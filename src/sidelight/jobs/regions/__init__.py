"""The job ``sidelight regions``."""
