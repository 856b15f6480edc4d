"""The job ``sidelight categorize``."""
