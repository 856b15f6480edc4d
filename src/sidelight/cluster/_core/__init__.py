"""Shared parts of all k-means: distances, seeding, the loop, new rows."""
