"""Clusters of rows and columns on the command line."""
