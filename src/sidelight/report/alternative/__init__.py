"""The report of splits that differ from the known ones."""
