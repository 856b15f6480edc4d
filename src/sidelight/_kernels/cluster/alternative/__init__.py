"""Loops of clusterings that differ from known splits."""
