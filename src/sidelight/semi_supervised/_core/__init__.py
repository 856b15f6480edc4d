"""What several classifiers share: kernels, one machine per pair of classes, learners by name."""
