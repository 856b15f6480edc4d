"""Texts that spell numbers, dates and times, read by one convention per column."""
