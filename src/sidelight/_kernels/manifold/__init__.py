"""Loops of embeddings: shortest paths that change, maps that grow."""
