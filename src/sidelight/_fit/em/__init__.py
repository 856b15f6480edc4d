"""Expectation maximization: the loop over blocks of rows, and components of counts."""
