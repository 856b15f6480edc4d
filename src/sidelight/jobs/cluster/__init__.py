"""The job ``sidelight cluster``."""
