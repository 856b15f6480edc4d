"""The job ``sidelight anonymize``."""
