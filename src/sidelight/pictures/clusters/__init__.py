"""Clusters and what is known about rows, as pictures."""
