"""The job ``sidelight consensus``."""
