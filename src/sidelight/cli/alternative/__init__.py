"""The command that finds other splits than the known ones."""
