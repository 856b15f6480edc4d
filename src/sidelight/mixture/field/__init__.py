"""Inference in the Markov random field that pairs make of the rows."""
