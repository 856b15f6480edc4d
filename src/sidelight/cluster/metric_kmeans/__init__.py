"""TITLE cluster/metric_kmeans."""
