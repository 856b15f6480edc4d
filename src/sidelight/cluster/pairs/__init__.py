"""Prices of violated pairs, iterated conditional modes, contraction, starts from pairs."""
