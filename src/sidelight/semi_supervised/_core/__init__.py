"""What several classifiers share: kernels, and learners by name."""
