"""TITLE cluster/spectral."""
