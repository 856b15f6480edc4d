"""TITLE cluster/global_kmeans."""
