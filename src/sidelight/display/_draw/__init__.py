"""Pictures with Matplotlib: one function for each kind of picture."""
