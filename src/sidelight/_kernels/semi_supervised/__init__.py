"""Loops of classifiers from few labels."""
