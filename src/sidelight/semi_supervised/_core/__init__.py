"""Shared parts of several classifiers: kernels, and learners by name."""
