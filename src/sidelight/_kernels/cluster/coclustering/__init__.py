"""Loops of co-clustering: concepts by bitsets, assignment of bi-sets, information."""
