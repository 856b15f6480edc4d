"""The job ``sidelight cocluster``."""
