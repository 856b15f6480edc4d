"""What every fit shares: declared parameters, restarts, alternation, moments of rows."""
