"""Parts of tables: files of a folder, datasets and queries, read block by block."""
