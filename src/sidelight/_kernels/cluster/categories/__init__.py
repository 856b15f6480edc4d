"""Loops over the words of documents and the seeds of categories."""
