"""Pages of maps: embeddings, learned distances, and their parts: colors, grids, growth."""
