"""The page of clusters of rows and columns."""
