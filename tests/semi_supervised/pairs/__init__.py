"""Tests of classifiers from labels and pairs."""
