"""The job ``sidelight check``."""
