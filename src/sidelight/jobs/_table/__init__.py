"""What jobs on the rows of a table share: reading rows and knowledge, features, the fit, models."""
