"""Parts of the report of a map: colors, grids of nodes, and how it grew."""
