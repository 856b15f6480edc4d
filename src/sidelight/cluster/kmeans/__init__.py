"""TITLE cluster/kmeans."""
