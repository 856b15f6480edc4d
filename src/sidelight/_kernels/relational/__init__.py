"""Loops of correlation clustering, connected clusters and entity resolution."""
