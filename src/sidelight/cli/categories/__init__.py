"""Command about categories of documents."""
