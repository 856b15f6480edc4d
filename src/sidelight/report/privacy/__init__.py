"""Pages about tables to publish."""
