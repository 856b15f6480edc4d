"""Commands that make and check tables to publish."""
